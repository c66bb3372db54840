"""The facts of PTX files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from smemlint.analysis.compiled.demangle import kernel_name
from smemlint.analysis.compiled.launch import (
    Bounds,
    LaunchInfo,
    Passed,
    SourceLaunches,
    with_passed,
)
from smemlint.analysis.compiled.ptx.kernel import KernelTask, evaluate_kernel
from smemlint.analysis.compiled.source_places import Places
from smemlint.analysis.compiled.triton_cache import triton_block
from smemlint.analysis.compiled.triton_operations import operation_of, triton_operations
from smemlint.config.options import Block, read_block
from smemlint.config.settings import Settings
from smemlint.facts import Facts, Instance, KernelFacts, NotAnalysed, Span
from smemlint.files.sandbox import Sandbox
from smemlint.frontend.ptx.module import Function, Module, parse_module
from smemlint.frontend.ptx.syntax import Body, Unreadable
from smemlint.hardware.arch import architecture
from smemlint.limits.errors import OutOfSteps
from smemlint.limits.steps import spend
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic
from smemlint.sources.languages import CommentStyle
from smemlint.sources.pragmas import pragmas_in
from smemlint.sources.source import Source

MARKS = (".entry", ".target")
"""A text without any of them is no PTX."""
_SHARED = re.compile(r"\.shared\b|\bldmatrix\b|\bstmatrix\b|\bcvta\.shared\b")
_CUT_OFF = Reason(ReasonCode.SYNTAX, "the file ends inside of the kernel")
_STEPS_A_STATEMENT = 8
"""Reading a statement and lowering it takes as long."""


def ptx_facts(
    source: Source, settings: Settings, paths: Sequence[str], launches: SourceLaunches
) -> Facts:
    """Returns the facts of every kernel of a PTX file."""
    module = parse_module(source.text)
    launch = LaunchInfo(settings, triton_block(source.path, Sandbox.around(source.path)), launches)
    reader = _FileReader(source, module, settings.arch, launch, paths)
    if not module.functions:
        return Facts(
            not_analysed=(
                reader.note(1, "", Reason(ReasonCode.UNREADABLE, _why_empty(module.text))),
            )
        )
    kernels: list[KernelFacts] = []
    notes = [n for n in (reader.unreadable(module.unreadable),) if n is not None]
    for function in module.functions:
        try:
            kernels += reader.kernel(function) if function.is_kernel else ()
        except OutOfSteps as spent:  # what was decided so far stays
            name, _ = kernel_name(function.name)
            notes.append(
                reader.note(function.line, name, Reason(ReasonCode.STEP_LIMIT, f"{spent}, here"))
            )
            break
    return Facts(tuple(kernels), tuple(notes))


def _why_empty(text: str) -> str:
    return "holds no PTX" if not any(mark in text for mark in MARKS) else "holds no kernel"


class _FileReader:
    """Evaluates the kernels of one file."""

    def __init__(
        self, source: Source, module: Module, arch: str, launch: LaunchInfo, paths: Sequence[str]
    ) -> None:
        self._path = source.path
        self._module = module
        self._places = Places.of(source.path, module.files, paths)
        self._launch = launch
        is_triton = launch.triton is not None
        self._operations = (
            triton_operations(source.path, Sandbox.around(source.path)) if is_triton else {}
        )
        found = pragmas_in(source.text, CommentStyle.C) if "smemlint:" in source.text else ()
        self._pragmas = [p for p in found if p.name == "launch" and not p.problem]
        try:
            self._arch = architecture(module.target).name
        except ValueError:
            self._arch = arch

    def note(self, line: int, kernel: str, reason: Reason) -> NotAnalysed:
        """Returns a note at a line of the PTX text."""
        return NotAnalysed(Span(self._path, line, 1, line, 2), kernel, reason)

    def unreadable(self, problem: Unreadable | None) -> NotAnalysed | None:
        """Returns the note of a file that could not be read to its end."""
        return None if problem is None else self.note(problem.line, "", problem.reason)

    def kernel(self, function: Function) -> Iterator[KernelFacts]:
        """Yields the facts of a kernel, one for each block shape, if it touches shared memory."""
        if not _SHARED.search(function.text):
            return
        name, template = kernel_name(function.name)
        instance = Instance(
            name,
            self._span_of_head(function, None),
            tuple((str(i), value) for i, value in enumerate(template)),
            given_by=self._origin,
        )
        if not function.is_closed:
            yield self._without(instance, function, _CUT_OFF)
            return
        body = self._module.body(function)
        spend(len(body.statements) * _STEPS_A_STATEMENT)
        instance = replace(instance, span=self._span_of_head(function, body))
        if body.unreadable is not None:
            problem = body.unreadable
            yield self._without(instance, function, problem.reason, problem.line)
            return
        launched = self._launch.launched(instance, self._bounds(function))
        if isinstance(launched, Reason):
            yield self._without(instance, function, launched)
            return
        for at_block, assumptions in launched:
            task = KernelTask(
                body,
                at_block,
                self._places.span,
                self._arch,
                assumptions,
                dict(self._arguments(function, name)),
                function.parameters,
            )
            evaluate = partial(self._evaluated, task)
            yield with_passed(evaluate, self._launch.passed(at_block))

    def _evaluated(self, task: KernelTask, passed: Passed | None) -> KernelFacts:
        """Returns the facts of a kernel, under the arguments of its launch if they are given."""
        if passed is not None:
            names = [p.name for p in task.parameters]
            known = {
                (name, 0): a.value
                for a in passed.arguments
                for name in names[a.position : a.position + 1]
            }
            assumptions = (*task.assumptions, passed.assumed)
            task = replace(task, arguments={**known, **task.arguments}, assumptions=assumptions)
        return self._named(evaluate_kernel(self._module, task))

    def _named(self, kernel: KernelFacts) -> KernelFacts:
        """Returns the kernel with the operations of Triton that its accesses belong to."""
        if not self._operations:
            return kernel
        accesses = []
        for access in kernel.accesses:
            found = operation_of(access, self._operations)
            if found is not None:
                access = replace(access, operation=found.shown, advice=found.advice)
            accesses.append(access)
        return replace(kernel, accesses=tuple(accesses))

    @property
    def _origin(self) -> str:
        target = self._module.target or self._arch
        return f"{self._path.rpartition('/')[2]} ({target})"

    def _without(
        self, instance: Instance, function: Function, reason: Reason, line: int = 0
    ) -> KernelFacts:
        note = self.note(line or function.line, instance.kernel, reason)
        return KernelFacts(instance, not_analysed=(note,))

    def _span_of_head(self, function: Function, body: Body | None) -> Span:
        """Returns where the kernel stands: its first own place, if in a file of the run."""
        for statement in body.statements if body is not None else ():
            location = getattr(statement, "location", ())
            frame = self._places.frame(location[-1:])
            if frame is not None and self._places.is_of_run(self._places.path(frame)):
                return self._places.span((frame,), 0)
        return Span(self._path, function.line, 1, function.line, 2)

    # ---- what is known of the launch

    def _bounds(self, function: Function) -> Bounds:
        """Returns what the text says of the block shape."""
        written: tuple[Block, Assumption] | None = None
        for pragma in self._pragmas:
            if "block" in pragma.values and pragma.target == function.line:
                shape = read_block(pragma.values["block"].strip("()"))
                text = f"a block is {shape} as the pragma at line {pragma.line} says"
                written = written or (shape, Assumption(Topic.BLOCK, text))
        return Bounds(function.required_block, function.largest_block, written)

    def _arguments(self, function: Function, name: str) -> Iterator[tuple[tuple[str, int], int]]:
        """Returns the arguments that the configuration gives: by name, or as `param_2`."""
        parameters = {p.name: p.name for p in function.parameters}
        parameters |= {f"param_{i}": p.name for i, p in enumerate(function.parameters)}
        for parameter, value in self._launch.arguments(name):
            if parameter in parameters:
                yield (parameters[parameter], 0), value
