"""Sums, products and shifts of 32-bit registers, with carries between the words of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.arithmetic import (
    absolute,
    add,
    lift,
    maximum,
    minimum,
    multiply,
    shift_left,
    shift_right,
)
from smemlint.analysis.compiled.bits import funnel_shift
from smemlint.analysis.compiled.sass.instructions import (
    Step,
    general_registers,
    numbers_and_predicates,
    predicates_written,
    sources,
    translates,
    writes,
)
from smemlint.analysis.compiled.sass.reading import BITS, Read, predicate, reader
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import Value, signed, trailing_zeros, unsigned, weak
from smemlint.frontend.sass.operands import Constant, Immediate, Operand, Predicate, Register
from smemlint.frontend.sass.parser import Instruction

_LOW = 0xFFFFFFFF


@translates("MOV", "UMOV", "R2UR", "UR2UR", "MOV32I")
def _move(instruction: Instruction) -> Step:
    source = sources(instruction)[0]
    if "64" in instruction.modifiers:
        return _pair(instruction, reader(source), reader(source, 1))
    return writes(instruction, reader(source))


@translates("IADD3", "UIADD3", "VIADD", "IADD", "UIADD")
def _add(instruction: Instruction) -> Step:
    numbers, conditions = numbers_and_predicates(instruction)
    if "64" in instruction.modifiers:
        return _add_pairs(instruction, numbers)
    carries = _carries(instruction, conditions)
    return _sum(instruction, [reader(o) for o in numbers], carries, _are_negated(numbers))


def _are_negated(numbers: Sequence[Operand]) -> list[bool]:
    return [isinstance(o, Register | Constant) and o.is_negated for o in numbers]


def _add_pairs(instruction: Instruction, numbers: Sequence[Operand]) -> Step:
    """Returns the sum of pairs of registers, which sm_120 has instructions for."""
    lower = [reader(o) for o in numbers]
    upper = [reader(o, 1) for o in numbers]
    negated = _are_negated(numbers)

    def low(state: State) -> Value:
        return _total(state, lower)

    def high(state: State) -> Value:
        carry = lift(partial(_carry, negated), BITS, *[read(state) for read in lower])
        return add(_total(state, upper), carry, BITS)

    return _pair(instruction, low, high)


def _carry(negated: Sequence[bool], *words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns what a sum carries; of `a - b` the hardware adds ~b + 1, which carries for b = 0."""
    zeros = [word == 0 for word, is_negated in zip(words, negated, strict=False) if is_negated]
    return np.asarray((sum(words[1:], words[0]) >> BITS) + sum(zeros))


def _pair(instruction: Instruction, low: Read, high: Read) -> Step:
    """Returns the step that writes both words of a pair."""
    names = general_registers(instruction)

    def step(state: State) -> None:
        words = (low(state), high(state))
        for name, word in zip(names, words, strict=False):
            state.set(name, word)

    return step


def _total(state: State, reads: Sequence[Read]) -> Value:
    value = reads[0](state)
    for read in reads[1:]:
        value = add(value, read(state), BITS)
    return value


@translates("IMAD", "UIMAD")
def _multiply_add(instruction: Instruction) -> Step:
    numbers, conditions = numbers_and_predicates(instruction)
    x, y, z = (reader(o) for o in numbers[:3])
    upper = reader(numbers[2], 1)
    is_signed = "U32" not in instruction.modifiers
    if "WIDE" in instruction.modifiers:
        names = general_registers(instruction)

        def wide(state: State) -> None:
            a, b, c, d = x(state), y(state), z(state), upper(state)
            low = add(multiply(a, b, BITS), c, BITS)
            pair = (low, _high_word(a, b, c, d, is_signed=is_signed))
            for name, word in zip(names, pair, strict=False):
                state.set(name, word)

        return wide
    if "HI" in instruction.modifiers:
        return writes(
            instruction, lambda s: _high_word(x(s), y(s), z(s), upper(s), is_signed=is_signed)
        )
    carries = _carries(instruction, conditions)
    return _sum(instruction, [lambda s: multiply(x(s), y(s), BITS), z], carries)


def _high_word(x: Value, y: Value, low: Value, high: Value, *, is_signed: bool) -> Value:
    """Returns the upper 32 bits of `x * y` plus the pair (low, high)."""

    def upper(
        a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64], d: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        read = signed if is_signed else unsigned
        product = np.asarray(read(a, BITS)) * np.asarray(read(b, BITS))
        carry = ((product & _LOW) + c) >> BITS
        return np.asarray((product >> BITS) + d + carry)

    factor = y.constant
    is_power = factor is not None and factor > 0 and factor & (factor - 1) == 0
    if is_power and not is_signed and low.constant == 0 and high.constant == 0:
        return shift_right(x, Value(BITS - trailing_zeros(factor or 1)), BITS)
    with np.errstate(over="ignore"):
        return lift(upper, BITS, x, y, low, high)


@translates("LEA", "ULEA")
def _shift_add(instruction: Instruction) -> Step:
    numbers, conditions = numbers_and_predicates(instruction)
    *values, distance = numbers
    count = distance.bits if isinstance(distance, Immediate) else 0
    left, right = Value(count), Value(BITS - count)
    x, y, *upper = (reader(o) for o in values)
    carries = _carries(instruction, conditions)
    if "HI" not in instruction.modifiers:
        return _sum(instruction, [lambda s: shift_left(x(s), left, BITS), y], carries)
    is_extended = "SX32" in instruction.modifiers
    addends: list[Read] = [lambda s: shift_right(x(s), right, BITS, is_extended), y]
    if upper and not is_extended:
        addends.append(lambda s: shift_left(upper[0](s), left, BITS))
    return _sum(instruction, addends, carries)


def _carries(instruction: Instruction, conditions: list[Predicate]) -> list[Read]:
    """Returns the predicates that an instruction with `.X` adds."""
    return [predicate(p) for p in conditions] if "X" in instruction.modifiers else []


def _sum(
    instruction: Instruction,
    addends: list[Read],
    carries: list[Read],
    negated: Sequence[bool] = (),
) -> Step:
    """Returns the step that writes a sum, and its carry where a predicate takes it."""
    reads = (*addends, *carries)

    def total(state: State) -> Value:
        return _total(state, reads)

    names = predicates_written(instruction)
    set_sum = writes(instruction, total)
    if not names:
        return set_sum

    def step(state: State) -> None:
        carry = lift(partial(_overflow, negated), 1, *[read(state) for read in reads])
        set_sum(state)
        state.set(names[0], carry)
        for name in names[1:]:
            state.set(name, weak(carry))

    return step


def _overflow(negated: Sequence[bool], *words: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(_carry(negated, *words) != 0).astype(np.int64)


@translates("SHF", "USHF")
def _funnel_shift(instruction: Instruction) -> Step:
    low, count, high = (reader(o) for o in sources(instruction)[:3])
    modifiers = instruction.modifiers
    is_right, is_high = "R" in modifiers, "HI" in modifiers
    is_signed = "S32" in modifiers or "S64" in modifiers
    wraps = "W" in modifiers

    def value(state: State) -> Value:
        distance = count(state)
        if is_right and is_high:
            if wraps and distance.constant is not None:
                distance = Value(distance.constant & (BITS - 1))
            return shift_right(high(state), distance, BITS, is_signed)
        if not is_right and not is_high:
            return shift_left(low(state), distance, BITS)
        if (distance.constant or 0) > BITS and not wraps:
            return weak(low(state), high(state), distance)
        return funnel_shift(low(state), high(state), distance, is_right=is_right, clamps=not wraps)

    return writes(instruction, value)


@translates("IABS", "UIABS")
def _absolute(instruction: Instruction) -> Step:
    x = reader(sources(instruction)[0])
    return writes(instruction, lambda s: absolute(x(s), BITS))


@translates("VIMNMX", "IMNMX", "VIADDMNMX", "UIMNMX", "UVIMNMX", "VIMNMX3")
def _extremum(instruction: Instruction) -> Step:
    numbers, conditions = numbers_and_predicates(instruction)
    reads = [reader(o) for o in numbers]
    is_signed = "U32" not in instruction.modifiers
    takes_smaller = predicate(conditions[0])
    is_known_form = len(reads) == (3 if instruction.opcode == "VIADDMNMX" else 2)
    is_known_form &= "RELU" not in instruction.modifiers

    def value(state: State) -> Value:
        words = [read(state) for read in reads]
        smaller = takes_smaller(state).constant
        if smaller is None or not is_known_form:
            return weak(*words)
        if instruction.opcode == "VIADDMNMX":
            words = [add(words[0], words[1], BITS), words[2]]
        operation = minimum if smaller else maximum
        return operation(words[0], words[1], BITS, is_signed=is_signed)

    return writes(instruction, value)
