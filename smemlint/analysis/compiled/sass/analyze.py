"""The facts of cubins: machine code, so that nothing is left for a compiler to change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.accesses import accesses
from smemlint.analysis.compiled.async_copies import Probe, with_copies
from smemlint.analysis.compiled.demangle import kernel_name
from smemlint.analysis.compiled.launch import Bounds, LaunchInfo, with_passed
from smemlint.analysis.compiled.machine import Machine
from smemlint.analysis.compiled.recorder import Recorder
from smemlint.analysis.compiled.sass.targets import TARGETS, launched, target_of
from smemlint.analysis.compiled.sass.translate import translate
from smemlint.analysis.compiled.source_places import Places, is_library
from smemlint.analysis.compiled.triton_cache import triton_block
from smemlint.analysis.compiled.values import Value
from smemlint.facts import Access, Facts, Instance, KernelFacts, NotAnalysed, SharedArray, Span
from smemlint.files.sandbox import Sandbox
from smemlint.frontend.sass.cubin import KernelSection, is_elf, kernel_sections
from smemlint.frontend.sass.line_table import calls_at
from smemlint.frontend.sass.nvdisasm import CannotDisassemble, disassemble
from smemlint.frontend.sass.parser import Disassembly
from smemlint.limits.errors import OutOfSteps
from smemlint.limits.steps import spend
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from smemlint.analysis.compiled.launch import Passed, SourceLaunches
    from smemlint.analysis.compiled.program import Program
    from smemlint.analysis.compiled.recorder import Issued, Site
    from smemlint.analysis.compiled.sass.targets import Target
    from smemlint.config.options import Block
    from smemlint.config.settings import Settings
    from smemlint.frontend.sass.parser import Function
    from smemlint.reasons import Assumption
    from smemlint.sources.source import Source

_STEPS_AN_INSTRUCTION = 8
"""Parsing an instruction and translating it takes as long."""
_WORD = 4
_ALIGNMENT = 16
_SHARED = frozenset({"LDS", "STS", "LDSM", "STSM", "ATOMS", "LDGSTS", "LD", "ST", "ATOM"})
_BY_DESCRIPTOR = Reason(
    ReasonCode.NOT_MODELLED, "operands that a descriptor names have no addresses by lane"
)
_BULK = Reason(ReasonCode.NOT_MODELLED, "a bulk copy has no addresses by lane")
_DESCRIPTORS = {
    "HGMMA": _BY_DESCRIPTOR,
    "IGMMA": _BY_DESCRIPTOR,
    "QGMMA": _BY_DESCRIPTOR,
    "UBLKCP": _BULK,
    "UTMALDG": _BULK,
    "UTMASTG": _BULK,
}


def cubin_facts(
    source: Source, settings: Settings, paths: Sequence[str], launches: SourceLaunches
) -> Facts:
    """Returns the facts of every kernel of a cubin."""
    data = source.data
    try:
        if not is_elf(data):
            raise CannotDisassemble("no cubin: it is no 64-bit ELF file")
        sections = kernel_sections(data)
        code = Disassembly(disassemble(data, source.path), is_library, calls_at(data))
        target = target_of(code.target)
        if target is None:
            shown = code.target or "an unknown target"
            text = f"machine code of {shown} is not read, only of {', '.join(TARGETS)}"
            raise CannotDisassemble(f"{text}: check the PTX of the kernel")
    except (CannotDisassemble, ValueError) as problem:
        return Facts(
            not_analysed=(_note(source.path, "", Reason(ReasonCode.UNREADABLE, str(problem))),)
        )
    launch = LaunchInfo(settings, triton_block(source.path, Sandbox.around(source.path)), launches)
    reader = _FileReader(source.path, code, target, sections, launch, paths)
    kernels: list[KernelFacts] = []
    notes: list[NotAnalysed] = []
    for name in code.kernels:
        try:
            kernels += reader.kernel(name)
        except OutOfSteps as spent:  # what was decided so far stays
            notes.append(
                _note(
                    source.path,
                    kernel_name(name)[0],
                    Reason(ReasonCode.STEP_LIMIT, f"{spent}, here"),
                )
            )
            break
    if not code.kernels:
        notes.append(_note(source.path, "", Reason(ReasonCode.UNREADABLE, "holds no kernel")))
    return Facts(tuple(kernels), tuple(notes))


def _note(path: str, kernel: str, reason: Reason) -> NotAnalysed:
    return NotAnalysed(Span(path, 1, 1, 1, 1), kernel, reason)


def _probe(program: Program, target: Target, block: Block, section: KernelSection) -> Probe:
    """Runs the kernel again with numbers in the place of its arguments."""

    def run(number: int) -> Mapping[Site, Issued] | None:
        words = {}
        for offset, size in section.parameters:
            place = _first_parameter(target, section) + offset
            is_pair = size == 2 * _WORD  # a number or pointer; of a structure all words are one
            for at in range(0, max(size, _WORD), _WORD):
                words[place + at] = 0 if is_pair and at else number
        geometry = launched(target, block, words)
        first: dict[Hashable, Value] = {f"SR_CTAID.{axis}": Value(0) for axis in "XYZ"}
        recorder = Recorder(has_sources=True)
        machine = Machine(program, replace(geometry, launch={**geometry.launch, **first}), recorder)
        machine.run()
        return None if machine.is_spent else recorder.sites

    return Probe(run, has_pointers_apart=False)


def _first_parameter(target: Target, section: KernelSection) -> int:
    return target.parameters if section.first_parameter is None else section.first_parameter


def _all_memory(target: Target, span: Span) -> SharedArray:
    """Returns the shared memory of a block, of which machine code names no arrays."""
    return SharedArray("", span, "", 0, (None,), target.reserved, None, _ALIGNMENT)


class _FileReader:
    """Evaluates the kernels of one cubin."""

    def __init__(
        self,
        path: str,
        code: Disassembly,
        target: Target,
        sections: dict[str, KernelSection],
        launch: LaunchInfo,
        paths: Sequence[str],
    ) -> None:
        self._path = path
        self._code = code
        self._target = target
        self._sections = sections
        self._places = Places.of(path, {}, paths)
        self._launch = launch

    def kernel(self, mangled: str) -> Iterator[KernelFacts]:
        """Yields the facts of a kernel, one for each block shape, if it touches shared memory."""
        function = self._code.function(mangled)
        opcodes = {i.opcode for i in function.instructions}
        if opcodes.isdisjoint((*_SHARED, *_DESCRIPTORS)):
            return
        spend(len(function.instructions) * _STEPS_AN_INSTRUCTION)
        section = self._sections.get(mangled, KernelSection(mangled))
        name, template = kernel_name(mangled)
        instance = Instance(
            name,
            self._span_of_head(function),
            tuple((str(i), value) for i, value in enumerate(template)),
            given_by=f"{self._path.rpartition('/')[2]} ({self._code.target})",
        )
        bounds = Bounds(section.block, section.max_block)
        launched = self._launch.launched(instance, bounds)
        if isinstance(launched, Reason):
            yield KernelFacts(instance, not_analysed=(_note(self._path, name, launched),))
            return
        program, notes = translate(function), tuple(self._notes(function, name))
        for at_block, assumptions in launched:
            evaluate = partial(self._at_block, program, section, at_block, notes, assumptions)
            yield with_passed(evaluate, self._launch.passed(at_block))

    def _at_block(
        self,
        program: Program,
        section: KernelSection,
        instance: Instance,
        notes: tuple[NotAnalysed, ...],
        assumptions: tuple[Assumption, ...],
        passed: Passed | None,
    ) -> KernelFacts:
        assert instance.block is not None
        name = instance.kernel
        words: dict[int, int] = {}
        if passed is not None:
            assumptions = (*assumptions, passed.assumed)
            words |= self._words(section, [(a.position, a.value) for a in passed.arguments])
        words |= self._words(section, self._configured(name))
        target = self._target
        machine = Machine(program, launched(target, instance.block, words))
        machine.run()
        text = f"evaluation stopped after {machine.steps} instructions"
        failure = Reason(ReasonCode.STEP_LIMIT, text) if machine.is_spent else None
        found = accesses(
            with_copies(machine.recorder.sites, _probe(program, target, instance.block, section)),
            instance,
            arch=target.arch,
            assumptions=assumptions,
            failure=failure,
            arrays=(_all_memory(target, instance.span),),
        )
        if failure is not None:
            notes = (*notes, NotAnalysed(instance.span, name, failure))
        shown = tuple(sorted(map(self._placed, found), key=lambda a: (a.span, a.kind)))
        return KernelFacts(instance, (), shown, notes, machine.steps)

    def _configured(self, kernel: str) -> Iterator[tuple[int, int]]:
        """Returns the arguments that the configuration gives, by the place of the parameter."""
        for name, value in self._launch.arguments(kernel):
            number = name.removeprefix("param_")
            if number.isdigit():
                yield int(number), value

    def _words(
        self, section: KernelSection, arguments: Iterable[tuple[int, int]]
    ) -> dict[int, int]:
        """Returns the constants that known arguments are, by their offset in the constant bank."""
        first = _first_parameter(self._target, section)
        return {
            first + offset + _WORD * word: value >> 32 * word & 0xFFFFFFFF
            for number, value in arguments
            for offset, size in section.parameters[number : number + 1]
            for word in range(max(size // _WORD, 1))
        }

    def _notes(self, function: Function, kernel: str) -> Iterator[NotAnalysed]:
        """Yields what has no addresses by lane, once for each line."""
        seen: set[tuple[Span, Reason]] = set()
        for instruction in function.instructions:
            reason = _DESCRIPTORS.get(instruction.opcode)
            line = instruction.line
            if reason is None:
                continue
            span = self._span(line.path, line.line) if line else self._span("", 0)
            if (span, reason) not in seen:
                seen.add((span, reason))
                yield NotAnalysed(span, kernel, reason)

    def _span_of_head(self, function: Function) -> Span:
        """Returns where the kernel stands: its first line in a file of the run."""
        for instruction in function.instructions:
            outer = instruction.lines[-1] if instruction.lines else None
            if outer is not None and self._places.is_of_run(self._places.path_of(outer.path)):
                return self._span(outer.path, outer.line)
        return self._span("", 0)

    def _placed(self, access: Access) -> Access:
        """Returns the access at the user's place: without a line table, its place in the code."""
        span = access.span
        if span.line:
            shown = self._span(span.path, span.line)
            calls = tuple(
                replace(c, span=self._span(c.span.path, c.span.line)) for c in access.calls
            )
            return replace(access, span=shown, calls=calls, line=shown.line)
        offset = span.column
        where = f"{access.expression} at {offset:#x}"
        at = offset // 16 + 1  # instructions of 16 bytes, numbered like lines
        return replace(access, span=Span(self._path, at, 1, at, 2), expression=where, line=at)

    def _span(self, path: str, line: int) -> Span:
        if not line:
            return Span(self._path, 1, 1, 1, 2)
        return Span(self._places.path_of(path), line, 1, line, 2)
