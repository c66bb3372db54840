"""The few operations on floating point that integer code goes through.

ptxas divides integers by a reciprocal in single precision and moves constants with `HFMA2`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.arithmetic import lift
from smemlint.analysis.compiled.sass.instructions import Step, opaque, sources, translates, writes
from smemlint.analysis.compiled.sass.reading import BITS, reader
from smemlint.analysis.compiled.values import Value, signed
from smemlint.frontend.sass.operands import Immediate, Register
from smemlint.frontend.sass.parser import Instruction

_LARGEST = 0xFFFFFFFF


def _as_floats(bits: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(bits.astype(np.uint32).view(np.float32).astype(np.float64))


def _as_bits(values: NDArray[np.float64], rounding: str = "nearest") -> NDArray[np.int64]:
    """Returns the bits of the binary32 numbers that the values round to."""
    rounded = values.astype(np.float32)
    back = rounded.astype(np.float64)
    if rounding == "zero":
        rounded = np.where(
            np.abs(back) > np.abs(values), np.nextafter(rounded, np.float32(0)), rounded
        )
    if rounding == "up":
        rounded = np.where(back < values, np.nextafter(rounded, np.float32(np.inf)), rounded)
    return np.asarray(rounded.astype(np.float32).view(np.uint32).astype(np.int64))


@translates("I2F", "I2FP", "UI2F", "UI2FP")
def _to_float(instruction: Instruction) -> Step:
    modifiers = instruction.modifiers
    if "F64" in modifiers or "F16" in modifiers or {"S64", "U64"} & set(modifiers):
        return opaque(instruction)
    x = reader(sources(instruction)[0])
    is_unsigned = any(m.startswith("U") for m in modifiers)
    rounding = "up" if "RP" in modifiers else "zero" if "RZ" in modifiers else "nearest"

    def convert(bits: NDArray[np.int64]) -> NDArray[np.int64]:
        numbers = bits if is_unsigned else np.asarray(signed(bits, BITS))
        return _as_bits(np.asarray(numbers, dtype=np.float64), rounding)

    return writes(instruction, lambda s: lift(convert, BITS, x(s)))


@translates("F2I", "UF2I")
def _to_integer(instruction: Instruction) -> Step:
    modifiers = instruction.modifiers
    if any(m.endswith(("64", "F16")) for m in modifiers):
        return opaque(instruction)
    x = reader(sources(instruction)[0])
    is_unsigned = "U32" in modifiers
    low, high = (0, _LARGEST) if is_unsigned else (-(1 << 31), (1 << 31) - 1)
    directions = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}
    rounding = next((directions[m] for m in modifiers if m in directions), np.rint)

    def convert(bits: NDArray[np.int64]) -> NDArray[np.int64]:
        whole = rounding(np.nan_to_num(_as_floats(bits)))
        return np.asarray(np.clip(whole, low, high).astype(np.int64))

    return writes(instruction, lambda s: lift(convert, BITS, x(s)))


@translates("MUFU")
def _reciprocal(instruction: Instruction) -> Step:
    if "RCP" not in instruction.modifiers:
        return opaque(instruction)
    x = reader(sources(instruction)[0])

    def invert(bits: NDArray[np.int64]) -> NDArray[np.int64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return _as_bits(1.0 / _as_floats(bits))

    return writes(instruction, lambda s: lift(invert, BITS, x(s)))


@translates("FMUL")
def _product(instruction: Instruction) -> Step:
    if "RZ" not in instruction.modifiers:
        return opaque(instruction)
    x, y = (reader(o) for o in sources(instruction)[:2])

    def multiply(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        with np.errstate(over="ignore", invalid="ignore"):
            return _as_bits(_as_floats(a) * _as_floats(b), "zero")

    return writes(instruction, lambda s: lift(multiply, BITS, x(s), y(s)))


@translates("HFMA2")
def _constant_halves(instruction: Instruction) -> Step:
    """Translates `HFMA2 R, -RZ, RZ, a, b`: the halves a and b as one word."""
    read = sources(instruction)
    halves = [o for o in read[2:4] if isinstance(o, Immediate)]
    is_move = len(read) == 4 and len(halves) == 2
    if not is_move or not all(isinstance(o, Register) and o.is_zero for o in read[:2]):
        return opaque(instruction)
    with np.errstate(over="ignore"):
        high, low = (_half_bits(o.text) for o in halves)
    word = Value(high << 16 | low)
    return writes(instruction, lambda s: word)


def _half_bits(text: str) -> int:
    number = float(text.replace("INF", "inf").replace("QNAN", "nan"))
    return int(np.float16(number).view(np.uint16))
