"""Instructions of inline PTX by which the lanes of a warp exchange values."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.builtins.intrinsics import shuffled
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.data_ranges import one_for_a_warp
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.lanes import elected
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.inline_ptx.instruction import Instruction
from smemlint.analysis.simt.inline_ptx.registers import RESULT, Registers
from smemlint.frontend.ptx.syntax import Operand

_SHUFFLES = {
    "idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync",
    "bfly": "__shfl_xor_sync",
}  # fmt: skip


def exchanged(registers: Registers, instruction: Instruction) -> tuple[Value, Value] | None:
    """Returns what an instruction gives every lane, and its predicate `d|p`; else None."""
    opcode, operands = instruction.opcode, instruction.operands[1:]
    match opcode.name:
        case "elect" if operands:
            return RESULT, AffineInt(elected(registers.ev.state.mask), I32)
        case "shfl" if opcode.type == "b32" and len(operands) > 2:
            mode = next((_SHUFFLES[p] for p in opcode.parts if p in _SHUFFLES), "")
            return (_shuffled(registers, mode, operands) if mode else RESULT), RESULT
        case "redux":
            return one_for_a_warp(RESULT), RESULT
    return None


def _shuffled(registers: Registers, name: str, operands: Sequence[Operand]) -> Value:
    value, lane, bounds = (registers.read_as(operand, "b32") for operand in operands[:3])
    return shuffled(registers.ev, name, value, lane, _width(name, bounds))


def _width(name: str, bounds: Value) -> int | None:
    """Returns the lanes of a segment, which the operand holds as `32 - width`, above the last one.

    Source: PTX ISA, `shfl.sync`; a bound within the segment is none that an intrinsic has.
    """
    packed = bounds.constant if isinstance(bounds, AffineInt) else None
    last = 0 if name == "__shfl_up_sync" else WARP - 1
    return None if packed is None or packed & 0x1F != last else WARP - (packed >> 8 & 0x1F)
