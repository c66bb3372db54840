"""The figures of machine code: what a cubin's kernel issues at a block shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.accesses import accesses
from smemlint.analysis.compiled.machine import Machine
from smemlint.analysis.compiled.sass.targets import TARGETS, launched
from smemlint.analysis.compiled.sass.translate import translate
from smemlint.facts import Instance, Span
from smemlint.frontend.sass.cubin import KernelSection, kernel_sections
from smemlint.frontend.sass.parser import Disassembly
from smemlint.reasons import Reason, ReasonCode
from tests.oracle.compiled.toolchain import demangle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from smemlint.facts import Access
    from tests.oracle.compiled.toolchain import Toolchain

TARGET = TARGETS["sm_90"]
PARAMETERS = TARGET.parameters
LARGE = 4096


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One kernel at one block shape.

    Attributes:
        accesses: by source line.
        instructions: of the code.
        steps: that were run.
        outside: lines with an exact address outside of the static shared memory, where the kernel
            has no dynamic one.
    """

    accesses: tuple[Access, ...]
    instructions: int
    steps: int
    outside: frozenset[tuple[str, int]]


class Cubin:
    """One compiled file."""

    def __init__(self, path: Path, tools: Toolchain, is_library: Callable[[str], bool]) -> None:
        self._code = Disassembly(tools.disassemble(path), is_library)
        self.sections = kernel_sections(path.read_bytes())
        self.names = demangle(list(self._code.kernels))

    def evaluate(
        self,
        name: str,
        block: tuple[int, int, int],
        constants: Mapping[int, int] | None = None,
        limit: int | None = None,
    ) -> Evaluation:
        """Runs a kernel for one block.

        Args:
            name: mangled.
            block: its extents.
            constants: known words of constant bank 0, by offset.
            limit: instructions that the kernel may have.

        Raises:
            OverflowError: it has more.
        """
        function = self._code.function(name)
        if limit is not None and len(function.instructions) > limit:
            raise OverflowError(name)
        machine = Machine(translate(function), launched(TARGET, block, constants))
        machine.run()
        spent = Reason(ReasonCode.STEP_LIMIT, "the budget of instructions is spent")
        failure = spent if machine.is_spent else None
        instance = Instance(name, Span("", 0, 0, 0, 0), block=block)
        found = accesses(machine.recorder.sites, instance, arch=TARGET.arch, failure=failure)
        return Evaluation(
            found,
            len(function.instructions),
            machine.steps,
            _outside(found, self.sections.get(name)),
        )

    def large_sizes(self, name: str) -> dict[int, int]:
        """Returns constants that make every parameter of four bytes a large round number."""
        places = self.sections[name].parameters
        return {PARAMETERS + offset: LARGE for offset, size in places if size == 4}

    def parameter_words(self, name: str, values: Mapping[int, int]) -> dict[int, int]:
        """Returns the constants that parameters of known value are, by the parameter's number."""
        words = {}
        places = self.sections[name].parameters
        for number, value in values.items():
            offset, size = places[number]
            for word in range(max(size // 4, 1)):
                words[PARAMETERS + offset + 4 * word] = value >> 32 * word & 0xFFFFFFFF
        return words


def _outside(
    found: tuple[Access, ...], section: KernelSection | None
) -> frozenset[tuple[str, int]]:
    if section is None or section.shared_bytes <= TARGET.reserved:
        return frozenset()
    end = section.shared_bytes
    return frozenset(
        (access.span.path, access.span.line)
        for access in found
        for p in access.patterns
        if p.exact and (p.addresses[p.active] + p.width > end).any()
    )
