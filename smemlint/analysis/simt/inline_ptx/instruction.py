"""One instruction of inline PTX, as it is run."""

from __future__ import annotations

from smemlint.frontend import ir
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Operand
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """An instruction that some threads run.

    Attributes:
        operands: destinations first.
        is_guarded: it stands under a predicate.
        is_certain: no predicate that is not known hangs over it.
    """

    node: ir.Node
    opcode: Opcode
    operands: tuple[Operand, ...]
    is_guarded: bool = False
    is_certain: bool = True
