"""Which function lowers which opcode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smemlint.analysis.compiled.ptx.lowering import Lowering
from smemlint.analysis.compiled.state import Effect
from smemlint.analysis.compiled.state import Operand as Reader
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Operand, Operation
from smemlint.lazy_dataclasses import dataclass
from smemlint.registration import registers


@dataclass(frozen=True, slots=True)
class Lowered:
    """What an instruction becomes.

    Attributes:
        run: its effect.
        is_kept: it does more than write registers.
    """

    run: Effect
    writes: tuple[str, ...] = ()
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One instruction on its way to a closure.

    Attributes:
        opcode: its parts.
        operation: as it was parsed.
        lowering: of the kernel: names, sites, notes.
    """

    opcode: Opcode
    operation: Operation
    lowering: Lowering

    @property
    def operands(self) -> tuple[Operand, ...]:
        """As they were parsed, destinations first."""
        return self.operation.operands

    def read(self, index: int) -> Reader:
        """Returns the value of an operand."""
        return self.lowering.names.reader(self.operands[index])

    def written(self) -> tuple[str, ...]:
        """Returns the registers that the first operand names, sinks left out."""
        return self.lowering.names.registers(self.operands[0])


Handler: TypeAlias = "Callable[[Call], Lowered | None]"
HANDLERS: dict[str, Handler] = {}


def executes(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function for opcodes by their first part; None from it does nothing."""
    return registers(HANDLERS, names)
