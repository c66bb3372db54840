"""Comparisons of integers, logic on predicates, and selections by them."""

from __future__ import annotations

from collections.abc import Iterable

from smemlint.analysis.compiled.bits import Operation, bitwise, logic3, predicate_logic
from smemlint.analysis.compiled.predicates import compare, select
from smemlint.analysis.compiled.sass.instructions import (
    Read,
    Step,
    numbers_and_predicates,
    translates,
    writes,
)
from smemlint.analysis.compiled.sass.reading import BITS, predicate, reader
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import (
    ONE,
    ZERO,
    Value,
    common_cause,
    is_uniform,
    top,
    uniform,
)
from smemlint.frontend.sass.operands import Immediate, Predicate
from smemlint.frontend.sass.parser import Instruction

_STRICT = {"le": "lt", "ge": "gt"}
_ALWAYS = {"T": ONE, "F": ZERO}


@translates("ISETP", "UISETP")
def _compare(instruction: Instruction) -> Step:
    comparison, *modifiers = instruction.modifiers
    first, second, left, right, combined, *lower = instruction.operands
    x, y = reader(left), reader(right)
    other = reader(combined)
    below = reader(lower[0]) if lower and "EX" in modifiers else None
    is_signed = "U32" not in modifiers
    combine = _combination(modifiers)

    def step(state: State) -> None:
        found = _ALWAYS.get(comparison)
        if found is None:
            found = _relation(comparison.lower(), x(state), y(state), is_signed)
            if below is not None:
                found = _extended(comparison.lower(), x(state), y(state), below(state), is_signed)
        extra = other(state)
        _set(state, first, bitwise(combine, found, extra, 1))
        _set(state, second, bitwise(combine, bitwise("xor", found, ONE, 1), extra, 1))

    return step


@translates("FSETP", "DSETP")
def _compare_floats(instruction: Instruction) -> Step:
    first, second, *rest = instruction.operands
    words = (0, 1) if instruction.opcode == "DSETP" else (0,)
    x = [reader(o, w) for o in rest if not isinstance(o, Predicate) for w in words]
    other = reader(rest[-1])
    combine = _combination(instruction.modifiers)

    def step(state: State) -> None:
        extra = other(state)
        numbers = [read(state) for read in x]
        found = uniform(mask=1) if all(map(is_uniform, numbers)) else top(common_cause(*numbers))
        _set(state, first, bitwise(combine, found, extra, 1))
        _set(state, second, bitwise(combine, bitwise("xor", found, ONE, 1), extra, 1))

    return step


def _combination(modifiers: Iterable[str]) -> Operation:
    return "or" if "OR" in modifiers else "xor" if "XOR" in modifiers else "and"


def _relation(comparison: str, x: Value, y: Value, is_signed: bool) -> Value:
    return compare(comparison, x, y, BITS, is_signed=is_signed)


def _extended(comparison: str, x: Value, y: Value, below: Value, is_signed: bool) -> Value:
    """Returns the comparison of pairs, of whose lower words `below` is the result."""
    if comparison == "ne":
        return bitwise("or", _relation("ne", x, y, is_signed), below, 1)
    equal = bitwise("and", _relation("eq", x, y, is_signed), below, 1)
    if comparison == "eq":
        return equal
    strict = _relation(_STRICT.get(comparison, comparison), x, y, is_signed)
    return bitwise("or", strict, equal, 1)


def _set(state: State, operand: object, value: Value) -> None:
    if isinstance(operand, Predicate) and not operand.is_constant:
        state.set(operand.name, value)


@translates("PLOP3", "UPLOP3")
def _logic(instruction: Instruction) -> Step:
    first, second, *rest = instruction.operands
    conditions = [o for o in rest if isinstance(o, Predicate)]
    tables = [o.bits & 0xFF for o in rest if isinstance(o, Immediate)]
    reads = [predicate(p) for p in conditions[:3]]
    targets = list(zip((first, second), tables, strict=False))

    def step(state: State) -> None:
        x, y, z = (read(state) for read in reads)
        for target, table in targets:
            found = bitwise("and", logic3(x, y, z, table), ONE, 1)
            is_known = found.known is True
            _set(state, target, found if is_known else predicate_logic(x, y, z, table))

    return step


@translates("SEL", "USEL", "FSEL")
def _select(instruction: Instruction) -> Step:
    numbers, conditions = numbers_and_predicates(instruction)
    x, y = (reader(o) for o in numbers[:2])
    condition = predicate(conditions[-1])
    return writes(instruction, lambda s: select(condition(s), x(s), y(s)))


def conjunction(*conditions: Read) -> Read:
    """Returns how the conjunction of predicates is read."""

    def value(state: State) -> Value:
        found = conditions[0](state)
        for condition in conditions[1:]:
            found = bitwise("and", found, condition(state), 1)
        return found

    return value
