"""Bitwise operations, bit counts and fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.arithmetic import lift, shift_left, shift_right
from smemlint.analysis.compiled.bits import (
    bitwise,
    count_ones,
    highest_bit,
    logic3,
    permute_bytes,
    reverse_bits,
)
from smemlint.analysis.compiled.predicates import compare
from smemlint.analysis.compiled.sass.instructions import (
    Step,
    numbers_and_predicates,
    predicates_written,
    sources,
    translates,
    writes,
)
from smemlint.analysis.compiled.sass.reading import BITS, TOP, reader
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import ONE, ZERO, Value
from smemlint.frontend.sass.operands import Immediate, Register
from smemlint.frontend.sass.parser import Instruction

_PREDICATES = range(7)


@translates("LOP3", "ULOP3")
def _logic(instruction: Instruction) -> Step:
    numbers, _ = numbers_and_predicates(instruction)
    x, y, z = (reader(o) for o in numbers[:3])
    table = _table(numbers[3])
    names = predicates_written(instruction)

    def value(state: State) -> Value:
        return logic3(x(state), y(state), z(state), table)

    if not names:
        return writes(instruction, value)

    def step(state: State) -> None:
        found = value(state)
        writes(instruction, lambda _: found)(state)
        state.set(names[0], compare("ne", found, ZERO, BITS, is_signed=False))

    return step


def _table(operand: object) -> int:
    return operand.bits & 0xFF if isinstance(operand, Immediate) else 0


@translates("PRMT", "UPRMT")
def _permute(instruction: Instruction) -> Step:
    x, selector, y = (reader(o) for o in sources(instruction)[:3])
    return writes(instruction, lambda s: permute_bytes(x(s), y(s), selector(s)))


@translates("SGXT", "USGXT")
def _extend(instruction: Instruction) -> Step:
    x, count = (reader(o) for o in sources(instruction)[:2])
    is_signed = "U32" not in instruction.modifiers

    def value(state: State) -> Value:
        bits = count(state).constant
        if bits is None or bits > BITS:
            return TOP
        rest = Value(BITS - bits)
        return shift_right(shift_left(x(state), rest, BITS), rest, BITS, is_signed)

    return writes(instruction, value)


@translates("POPC", "UPOPC")
def _ones(instruction: Instruction) -> Step:
    x = reader(sources(instruction)[0])
    return writes(instruction, lambda s: count_ones(x(s), BITS))


@translates("BREV", "UBREV")
def _reverse(instruction: Instruction) -> Step:
    x = reader(sources(instruction)[0])
    return writes(instruction, lambda s: reverse_bits(x(s), BITS))


@translates("FLO", "UFLO")
def _highest(instruction: Instruction) -> Step:
    x = reader(sources(instruction)[0])
    is_distance = "SH" in instruction.modifiers  # counted from the top, as a shift to normalise

    def value(state: State) -> Value:
        found = highest_bit(x(state), BITS)
        return (
            lift(lambda p: np.where(p == -1 & 0xFFFFFFFF, p, 31 - p), BITS, found)
            if is_distance
            else found
        )

    return writes(instruction, value)


@translates("BMSK", "UBMSK")
def _mask(instruction: Instruction) -> Step:
    start, count = (reader(o) for o in sources(instruction)[:2])

    def bits(first: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
        ones = np.left_shift(np.int64(1), np.clip(length, 0, BITS)) - 1
        return np.asarray(np.left_shift(ones, np.clip(first, 0, BITS - 1)))

    return writes(instruction, lambda s: lift(bits, BITS, start(s), count(s)))


@translates("R2P", "UR2UP")
def _to_predicates(instruction: Instruction) -> Step:
    source, mask = instruction.operands[1:3]
    byte = int(source.part[1:]) if isinstance(source, Register) and source.part[:1] == "B" else 0
    plain = Register(source.name) if isinstance(source, Register) else source
    x = reader(plain)
    chosen = mask.bits if isinstance(mask, Immediate) else 0x7F
    prefix = "UP" if instruction.opcode.startswith("U") else "P"

    def step(state: State) -> None:
        value = x(state)
        for i in _PREDICATES:
            if chosen >> i & 1:
                bit = shift_right(value, Value(i + 8 * byte), BITS)
                state.set(f"{prefix}{i}", bitwise("and", bit, ONE, BITS))

    return step


@translates("P2R", "UP2UR")
def _from_predicates(instruction: Instruction) -> Step:
    *_, kept, mask = instruction.operands
    is_plain = isinstance(kept, Register) and not kept.part
    x = reader(kept)
    chosen = mask.bits if isinstance(mask, Immediate) else 0x7F
    keep = Value(0xFFFFFFFF ^ chosen)
    prefix = "UP" if instruction.opcode.startswith("U") else "P"

    def value(state: State) -> Value:
        if not is_plain:
            return TOP
        found = bitwise("and", x(state), keep, BITS)
        for i in _PREDICATES:
            if chosen >> i & 1:
                bit = state.get(f"{prefix}{i}")
                found = bitwise("or", found, shift_left(bit, Value(i), BITS), BITS)
        return found

    return writes(instruction, value)
