"""How operands are read: one function of the machine's state an operand."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from smemlint.analysis.compiled.arithmetic import absolute, add, multiply, negate
from smemlint.analysis.compiled.bits import bitwise, invert
from smemlint.analysis.compiled.sass.targets import constant
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import ONE, UNSET, ZERO, Value, top, uniform, weak
from smemlint.frontend.sass.operands import (
    Address,
    Constant,
    Immediate,
    Operand,
    Predicate,
    Register,
    next_register,
)
from smemlint.frontend.sass.parser import Instruction

Read: TypeAlias = "Callable[[State], Value]"

TOP = top(UNSET)

BITS = 32


def reader(operand: Operand, word: int = 0) -> Read:
    """Returns how an operand is read.

    Args:
        operand: a register, predicate, number or word of a constant bank; all else is uniform.
        word: which word of a pair or quadruple; beyond the first, a number reads as its sign.
    """
    if isinstance(operand, Register):
        return _signed(_register(operand, word), operand)
    if isinstance(operand, Predicate):
        return predicate(operand)
    if isinstance(operand, Immediate):
        sign = 0xFFFFFFFF if operand.text.startswith("-") else 0
        number = Value(sign if word else operand.bits)
        return lambda state: number
    if isinstance(operand, Constant):
        return _signed(_constant(operand, 4 * word), operand)
    return lambda state: uniform()


def predicate(operand: Predicate) -> Read:
    """Returns how a predicate is read, as 0 or 1."""
    if operand.is_constant:
        value = ZERO if operand.is_negated else ONE
        return lambda state: value
    name = operand.name
    if operand.is_negated:
        return lambda state: bitwise("xor", state.get(name), ONE, 1)
    return lambda state: state.get(name)


def address(operand: Operand) -> Read:
    """Returns how a memory operand's low 32 bits are computed."""
    if not isinstance(operand, Address):
        return lambda state: TOP
    offset = Value(operand.offset & 0xFFFFFFFF)
    if not operand.terms:
        return lambda state: offset
    (name, scale), *others = operand.terms
    first = _scaled(name, scale)
    if not others:
        if not operand.offset:
            return first
        return lambda state: add(first(state), offset, BITS)
    rest = [_scaled(*term) for term in others]

    def total(state: State) -> Value:
        value = add(first(state), offset, BITS)
        for term in rest:
            value = add(value, term(state), BITS)
        return value

    return total


def _scaled(name: str, scale: int) -> Read:
    if scale == 1:
        return lambda state: state.get(name)
    factor = Value(scale)
    return lambda state: multiply(state.get(name), factor, BITS)


def _register(operand: Register, word: int) -> Read:
    if operand.is_zero:
        return lambda state: ZERO
    name = next_register(operand.name, word)
    if operand.part.startswith(("H", "B")):
        return lambda state: weak(state.get(name))
    return lambda state: state.get(name)


def _signed(read: Read, operand: Register | Constant) -> Read:
    if operand.is_absolute:
        inner = read
        read = lambda state: absolute(inner(state), BITS)  # noqa: E731
    if operand.is_inverted:
        plain = read
        read = lambda state: invert(plain(state), BITS)  # noqa: E731
    if operand.is_negated:
        positive = read
        return lambda state: negate(positive(state), BITS)
    return read


def _constant(operand: Constant, offset: int) -> Read:
    if operand.register:
        name = operand.register
        return lambda state: weak(state.get(name))
    place = operand.offset + offset
    if operand.bank != 0:
        return lambda state: uniform()
    register, unknown = constant(place), _unknown_constant(place)
    return lambda state: state.geometry.launch.get(register, unknown)


@lru_cache(maxsize=4096)
def _unknown_constant(place: int) -> Value:
    return uniform(f"c[0x0][{place:#x}]", 0xFFFFFFFF)


def registers_read(instruction: Instruction) -> tuple[str, ...]:
    """Returns every register that an instruction may read, those of pairs included."""
    names: list[str] = []
    for operand in instruction.operands:
        if isinstance(operand, Register) and not operand.is_zero:
            names += [next_register(operand.name, i) for i in range(_words(instruction))]
        elif isinstance(operand, Predicate) and not operand.is_constant:
            names.append(operand.name)
        elif isinstance(operand, Address):
            for name, _ in operand.terms:
                names += [name, next_register(name)]
        elif isinstance(operand, Constant) and operand.register:
            names.append(operand.register)
    if instruction.opcode in ("P2R", "UP2UR"):
        names += [f"{'U' * (instruction.opcode[0] == 'U')}P{i}" for i in range(7)]
    return tuple(names)


def _words(instruction: Instruction) -> int:
    """Returns how many registers an operand may stand for."""
    if instruction.opcode == "STL":
        return 4
    return 2 if {"WIDE", "HI", "64"} & set(instruction.modifiers) else 1
