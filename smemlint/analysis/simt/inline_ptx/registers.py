"""Registers of an `asm` statement: its operands, those that it declares, and special ones."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    IntType,
)
from smemlint.analysis.simt.domain.environment import WARP, Mask
from smemlint.analysis.simt.domain.masking import same, select
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import convert, pointer_to_int, to_condition
from smemlint.analysis.simt.interpreter.lvalues import thread_coordinate
from smemlint.frontend.ptx.syntax import Immediate, Name, Negated, Operand, Sum, Vector
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import ReasonCode

INTEGERS: dict[str, IntType] = {
    "b8": U8, "u8": U8, "s8": I8, "b16": U16, "u16": U16, "s16": I16,
    "b32": U32, "u32": U32, "s32": I32, "b64": U64, "u64": U64, "s64": I64,
}  # fmt: skip
"""Types of PTX that hold integers; operands of bits are taken without a sign."""
RESULT = Unknown.because(ReasonCode.DATA, "the result of inline PTX", is_data=True)
_COORDINATES = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
_LANE_MASKS = {
    "%lanemask_eq": lambda lane: 1 << lane,
    "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1,
    "%lanemask_gt": lambda lane: 0xFFFFFFFF & -(2 << lane),
    "%lanemask_ge": lambda lane: 0xFFFFFFFF & -(1 << lane),
}


@dataclass(slots=True)
class Registers:
    """What the registers of one `asm` statement hold.

    Attributes:
        values: by name; operands are `%0`, `%1`, ...
        written: names that an instruction wrote.
    """

    ev: Evaluator
    values: dict[str, Value] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def read(self, operand: Operand) -> Value:
        """Returns the value of an operand, as it is."""
        match operand:
            case Immediate(value):
                return AffineInt(value, I64)
            case Name(text):
                found = self.values.get(text)
                return found if found is not None else self._special(text)
            case Negated(name):
                truth = to_condition(self.read(name))
                if isinstance(truth, AffineInt) and truth.is_concrete:
                    return AffineInt(1 - truth.base, I32)
                return truth
            case Sum(name, offset):
                base = self._integer(self.read(name), U64)
                if isinstance(base, AffineInt):
                    return self.ev.state.domain.add(base, number(offset))
                return base
            case Vector(items):
                return self._packed([self.read(item) for item in items])
        return RESULT

    def read_as(self, operand: Operand, type_: str) -> Value:
        """Returns the value of an operand in a type of PTX."""
        value = self.read(operand)
        ctype = INTEGERS.get(type_)
        return self._integer(value, ctype) if ctype is not None else value

    def write(self, operand: Operand, value: Value) -> None:
        """Writes a register in the active threads; the others keep what they have."""
        names = operand.items if isinstance(operand, Vector) else (operand,)
        for name in names:
            if isinstance(name, Name) and name.text != "_":
                self.values[name.text] = self._merged(self.values.get(name.text), value)
                self.written.add(name.text)

    def write_under(self, operand: Operand, value: Value, *, is_certain: bool) -> None:
        """Writes a register under a predicate that is known, or that may hold or not."""
        if is_certain:
            self.write(operand, value)
            return
        old = self.values.get(operand.text) if isinstance(operand, Name) else None
        is_same = old is not None and same(old, value)
        self.write(operand, value if is_same or isinstance(value, FloatValue) else RESULT)

    def _merged(self, old: Value | None, new: Value) -> Value:
        mask = self.ev.state.mask
        everyone: Mask = self.ev.state.geometry.exists
        if old is None or bool((mask | ~everyone).all()):
            return new
        return select(mask, new, old)

    def _integer(self, value: Value, ctype: IntType) -> Value:
        if isinstance(value, Pointer):
            return pointer_to_int(self.ev, value, ctype)
        if isinstance(value, AffineInt):
            return convert(self.ev, value, ctype)
        return value if isinstance(value, Unknown) else RESULT

    def _packed(self, parts: list[Value]) -> Value:
        """Evaluates `{low, high}` as one number."""
        low, *rest = parts
        if len(rest) != 1 or not isinstance(low, AffineInt) or not isinstance(rest[0], AffineInt):
            return RESULT
        shift = AffineInt(1 << low.type.bits, U64)
        domain = self.ev.state.domain
        try:
            above = domain.multiply(AffineInt(rest[0].base, U64, rest[0].terms), shift)
            return domain.add(low, above) if isinstance(above, AffineInt) else above
        except OverflowError:  # numbers that vary by lane end at 2^63
            return RESULT

    def _special(self, text: str) -> Value:
        state = self.ev.state
        lane = state.geometry.linear % WARP
        name, _, axis = text.removeprefix("%").partition(".")
        if name in _COORDINATES and axis in ("x", "y", "z"):
            return thread_coordinate(self.ev, _COORDINATES[name], axis)
        if text == "%laneid":
            return AffineInt(lane, U32, form=atom(text, is_divergent=True))
        if text == "%warpid":
            return AffineInt(state.geometry.linear // WARP, U32)
        if text in _LANE_MASKS:
            return AffineInt(np.asarray(_LANE_MASKS[text](lane), np.int64), U32)
        return RESULT


def loaded(type_: str) -> Value:
    """Returns what an instruction reads from memory, or computes of data."""
    return FloatValue(FLOAT) if type_ not in INTEGERS and type_ != "pred" else RESULT
