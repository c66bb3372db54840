"""Gluon (`triton.experimental.gluon`): loads and stores of shared memory that layouts decide."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.gluon.model import GluonModel
from smemlint.analysis.python.gluon.values import LayoutLiteral, TileAccess
from smemlint.analysis.python.interpreter import Interpreter
from smemlint.analysis.python.interpreter.calls import call_from_outside, functions_of
from smemlint.analysis.python.interpreter.guarded import run_within_budget
from smemlint.analysis.python.interpreter.pytest_parameters import parametrizations
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    Function,
    Launch,
    Scope,
    Value,
    is_known,
)
from smemlint.config.settings import Settings
from smemlint.facts import Access, Facts, Instance, KernelFacts, NotAnalysed
from smemlint.frontend.heuristics import is_barrier_allocation, names_amd_module
from smemlint.frontend.python.python_source import NotPython, PythonText
from smemlint.layout.register_layouts import RegisterLayout
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_GLUON_LAUNCHES
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic
from smemlint.sources.source import Source

KERNEL_MARKS = ("gluon.jit", "ttgluon.jit", "triton.experimental.gluon.jit")


def analyze(source: Source, settings: Settings) -> tuple[Facts, Dependencies]:
    """Returns the facts of the Gluon kernels of a file, which depend on no other file."""
    try:
        text = PythonText.of(source)
    except NotPython as problem:
        return problem.facts, Dependencies()
    return _File(text, settings).facts(), Dependencies()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A kernel with the arguments that one launch, or nobody, gives."""

    function: Function
    arguments: Scope
    origin: str
    left: int = 0  # launches of the kernel that are not evaluated
    warps: Value = None


class _File:
    """One file and what its functions do."""

    def __init__(self, text: PythonText, settings: Settings) -> None:
        self._text = text
        self._settings = settings
        self._model = GluonModel(text.span, text.segment)
        self._notes: list[NotAnalysed] = []
        self._is_amd = False

    def facts(self) -> Facts:
        """Returns the facts of all kernels that hold shared memory."""
        interpreter = Interpreter(self._model, KERNEL_MARKS)
        scope: Scope = {}
        self._guarded("", lambda: interpreter.run(self._text.tree.body, (scope,)))
        functions = list(functions_of(scope))
        left: list[tuple[Launch, ast.FunctionDef, int]] = []
        for host in functions:
            if host.is_kernel:
                continue
            evaluate = partial(interpreter.evaluate, scopes=(scope,))
            before = len(interpreter.launches)
            chosen, others = parametrizations(host.node, evaluate)
            for arguments in chosen:
                interpreter.steps = 0
                call = partial(call_from_outside, interpreter, host, arguments)
                self._guarded(host.node.name, call)
            left += ((launch, host.node, others) for launch in interpreter.launches[before:])
        kernels = [f for f in functions if f.is_kernel]
        self._model.reached.clear()  # by hosts: no kernel is executed yet
        found = []
        layouts = []
        nested = {launch.function.node: launch.function for launch in interpreter.launches}
        kernels += [f for node, f in nested.items() if all(node is not k.node for k in kernels)]
        concerned = set()
        for run in _runs(kernels, interpreter.launches):
            kernel = self._kernel(run)
            if kernel is not None:
                found.append(kernel)
                layouts += self._model.layouts
                concerned.add(run.function.node)
                self._note_left(run.function.node, run.left, "launches")
        for launch, test, others in left:
            if launch.function.node in concerned:
                self._note_left(test, others, "parametrizations")
        self._notes += self._unreached()
        return Facts(tuple(found), tuple(self._notes), tuple(layouts))

    def _note_left(self, node: ast.FunctionDef, count: int, what: str) -> None:
        reason = Reason(ReasonCode.LEFT_OUT, f"{count} further {what} are not evaluated")
        note = NotAnalysed(self._text.span(node), node.name, reason)
        if count > 0 and note not in self._notes:
            self._notes.append(note)

    def _unreached(self) -> list[NotAnalysed]:
        """Returns allocations that no execution of a kernel reached; none of files for AMD."""
        if self._is_amd or names_amd_module(self._text.text):
            return []
        text = "an allocation that was not reached: in a class, or called from elsewhere"
        why = Reason(ReasonCode.NOT_REACHED, text)
        calls = (n for n in ast.walk(self._text.tree) if isinstance(n, ast.Call))
        return [
            NotAnalysed(self._text.span(call), "", why)
            for call in calls
            if getattr(call.func, "attr", "") == "allocate_shared_memory"
            and not is_barrier_allocation(ast.unparse(call))
            and self._text.span(call) not in self._model.reached
        ]

    def _kernel(self, run: _Run) -> KernelFacts | None:
        """Returns the facts of one run; None without shared memory, or for another vendor."""
        node = run.function.node
        model = self._model
        model.accesses, model.arrays, model.layouts = [], [], []
        model.has_amd, model.kernel = False, node.name
        model.warps = run.warps if isinstance(run.warps, int) else None
        interpreter = Interpreter(model, KERNEL_MARKS)
        call = partial(call_from_outside, interpreter, run.function, run.arguments)
        self._guarded(node.name, call)
        self._is_amd |= model.has_amd
        if model.has_amd or not model.accesses:
            model.layouts = [] if model.has_amd else model.layouts
            return None
        from smemlint.analysis.python.gluon.accesses import access_of

        instance = Instance(
            node.name, self._text.span(node), _template(run.arguments), None, run.origin
        )
        assumptions = (
            (Assumption(Topic.ARGUMENT, f"arguments of the {run.origin}"),) if run.origin else ()
        )

        def evaluate(access: TileAccess) -> Access:
            return access_of(access, instance, assumptions, self._settings.arch)

        accesses = tuple(map(evaluate, model.accesses))
        if any(a.ways > 1 for a in accesses):
            from smemlint.analysis.python.gluon.layout_advice import with_advice

            elsewhere = model.elsewhere
            accesses = with_advice(
                model.accesses, accesses, lambda array: array.span in elsewhere, evaluate
            )
        return KernelFacts(instance, tuple(model.arrays), accesses, (), interpreter.steps)

    def _guarded(self, kernel: str, action: Callable[[], object]) -> None:
        self._notes += run_within_budget(action, self._text.path, kernel)


def _runs(kernels: list[Function], launches: list[Launch]) -> list[_Run]:
    """Returns the launches of each kernel that differ in known arguments, else the kernel."""
    found = []
    names, attributes = _mentioned(kernels)
    for kernel in kernels:
        mine = [launch for launch in launches if launch.function.node is kernel.node]
        distinct: dict[frozenset[tuple[str, str]], Launch] = {}
        for launch in mine:
            distinct.setdefault(frozenset(_layout_arguments(launch.arguments).items()), launch)
        chosen = [
            launch for known, launch in distinct.items() if not _knows_less(known, launch, distinct)
        ]
        left = len(chosen) - MAX_GLUON_LAUNCHES
        for launch in chosen[:MAX_GLUON_LAUNCHES]:
            warps = {"num_warps": 4, **launch.options, **launch.arguments}["num_warps"]
            origin = f"launch in line {launch.line}"
            found.append(_Run(kernel, launch.arguments, origin, left, warps))
        called = names if kernel.owner is None else attributes
        if not mine and kernel.node.name not in called:
            found.append(_Run(kernel, {}, ""))
    return found


def _knows_less(
    known: frozenset[tuple[str, str]],
    launch: Launch,
    others: Mapping[frozenset[tuple[str, str]], Launch],
) -> bool:
    """Returns whether a caller of the function that launches tells the same, and more."""
    return any(known < more and other.line == launch.line for more, other in others.items())


def _mentioned(kernels: list[Function]) -> tuple[set[str], set[str]]:
    """Names, and names of attributes, that kernels mention: their callers give the arguments."""
    names: set[str] = set()
    attributes: set[str] = set()
    for kernel in kernels:
        for node in ast.walk(kernel.node):
            if isinstance(node, ast.Name) and node.id != kernel.node.name:
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                attributes.add(node.attr)
    return names, attributes


def _layout_arguments(arguments: Scope) -> dict[str, str]:
    """Returns arguments that decide layouts, as text."""
    spelled = {}
    for name, value in arguments.items():
        if value is UNKNOWN:
            continue
        if isinstance(value, LayoutLiteral):  # one spelling makes many where a helper has it
            spelled[name] = repr(value.layout or value.spelled)
        elif isinstance(value, RegisterLayout) or is_known(value):
            spelled[name] = repr(value)
    return spelled


def _template(arguments: Scope) -> tuple[tuple[str, str], ...]:
    """Returns arguments that are numbers, for the kernel's title."""
    return tuple((k, str(v)) for k, v in arguments.items() if isinstance(v, int))
