"""Transfer functions of bitwise operations: masks, swizzles, bit fields, permutations."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.arithmetic import lift, multiply, shift_left, shift_right
from smemlint.analysis.compiled.values import (
    NOT_LINEAR,
    WORD_BITS,
    ZERO,
    Lanes,
    Symbol,
    Terms,
    Value,
    alignment,
    both_known,
    cause_of,
    common_cause,
    is_row_uniform,
    possible_bits,
    sum_terms,
    top,
    trailing_zeros,
    union_of_bits,
    weak,
    wrap,
)
from smemlint.lazy_dataclasses import dataclass

Operation: TypeAlias = Literal["and", "or", "xor"]


def bitwise(operation: Operation, x: Value, y: Value, width: int = 32) -> Value:
    """Computes `x & y`, `x | y` or `x ^ y`."""
    if operation == "and" and (x.constant == 0 or y.constant == 0):
        return ZERO
    known = both_known(x.known, y.known)
    if width == 1 and known is not True:
        return predicate_logic(x, y, ZERO, _TABLES_OF_TWO[operation])
    if known is False:
        return top(common_cause(x, y))
    if not x.terms and not y.terms:
        base = _apply(operation, x.base, y.base)
        return Value(wrap(base, width), known=known, cause=cause_of(x, y))
    if width == 1 and operation == "xor":
        return _negated(x, y)
    found = _by_masks(operation, x, y, width) or _of_low_bits(operation, x, y)
    if found is None and width == 1:
        return predicate_logic(x, y, ZERO, _TABLES_OF_TWO[operation])
    if found is None:
        return top(NOT_LINEAR)
    found.known, found.cause = known, cause_of(x, y)
    return found


def invert(x: Value, width: int = 32) -> Value:
    """Computes `~x`."""
    return bitwise("xor", x, Value(wrap(-1, width)), width)


def _apply(operation: Operation, x: Lanes, y: Lanes) -> Lanes:
    if operation == "and":
        return x & y
    return x | y if operation == "or" else x ^ y


def _negated(x: Value, y: Value) -> Value:
    """Negates a predicate, which keeps its symbol, so that branches on both agree."""
    if x.constant == 1:
        x, y = y, x
    return weak(x, y) if y.constant != 1 else Value(1 - x.base, sum_terms((), x.terms, -1))


@dataclass(frozen=True, slots=True)
class _Masked:
    """A value whose unknown bits are apart from the known ones: `base + unknown == base | unknown`.

    Attributes:
        base: zero in every unknown bit.
        unknown: the bits that are not known, negative for all from some bit on.
        terms: the sum that makes exactly the unknown bits; None where it is another unknown.
    """

    base: Lanes
    unknown: int
    terms: Terms | None


def _masked(x: Value) -> _Masked | None:
    if not x.terms:
        return _Masked(x.base, 0, ())
    unknown = possible_bits(x.terms)
    overlap = union_of_bits(x.base) & unknown
    if not overlap:
        return _Masked(x.base, unknown, x.terms)
    carry = trailing_zeros(overlap)
    if not is_row_uniform(x.base >> carry):
        return None
    return _Masked(x.base & ((1 << carry) - 1), unknown | -(1 << carry), None)


def _by_masks(operation: Operation, x: Value, y: Value, width: int) -> Value | None:
    """Computes an operation bit by bit; None where a result is neither known nor uniform."""
    a, b = _masked(x), _masked(y)
    if a is None or b is None:
        return None
    from_a = _survives(operation, a.unknown & ~b.unknown, b.base)
    from_b = _survives(operation, b.unknown & ~a.unknown, a.base)
    if from_a is None or from_b is None:
        return None
    unknown = from_a | from_b | (a.unknown & b.unknown)
    base = wrap(_apply(operation, a.base, b.base) & ~unknown, width)
    bits = min(v.bits if v.terms else width for v in (x, y))
    if unknown >= 0 and unknown < 1 << bits and union_of_bits(base) < 1 << bits:
        bits = WORD_BITS
    if not unknown:
        return Value(base)
    keeps = operation != "and" or (from_a == a.unknown and from_b == b.unknown)
    flips = operation == "xor" and (
        union_of_bits(b.base) & a.unknown or union_of_bits(a.base) & b.unknown
    )
    is_apart = not a.unknown & b.unknown and from_a == a.unknown and from_b == b.unknown
    if keeps and is_apart and not flips and a.terms is not None and b.terms is not None:
        return Value(base, sum_terms(a.terms, b.terms), bits)
    zeros = trailing_zeros(unknown)
    return Value(base, ((Symbol(mask=unknown >> zeros if unknown > 0 else -1), 1 << zeros),), bits)


def _survives(operation: Operation, unknown: int, other: Lanes) -> int | None:
    """Returns the unknown bits that the other operand's known bits leave unknown.

    None where lanes of a warp disagree on them.
    """
    if not unknown:
        return 0
    if isinstance(other, int):
        some = every = other
    else:
        rows = np.bitwise_or.reduce(other, axis=1)
        lows = np.bitwise_and.reduce(other, axis=1)
        if bool(((rows & ~lows) & int(wrap(unknown, WORD_BITS))).any()):
            return None
        some, every = union_of_bits(rows), int(np.bitwise_and.reduce(rows))
    if operation == "and":
        return unknown & some
    return unknown & ~every if operation == "or" else unknown


def _of_low_bits(operation: Operation, x: Value, y: Value) -> Value | None:
    """Returns exact lanes that only reach the bits of a sum below its unknown part."""
    if not x.terms:
        x, y = y, x
    if y.terms:
        return None
    low = (1 << min(alignment(x.terms), WORD_BITS - 2)) - 1
    if operation == "and":
        lanes = y.base if isinstance(y.base, int) else int(np.bitwise_and.reduce(y.base, axis=None))
        is_identity = (lanes | low) == (lanes | low | ((1 << min(x.bits, 32)) - 1))
        if not is_identity:
            return None
    elif union_of_bits(y.base) & ~low:
        return None
    base = x.base - (x.base & low) + (_apply(operation, x.base, y.base) & low)
    return Value(base, x.terms, x.bits)


_TABLES = (0xF0, 0xCC, 0xAA)
"""Truth tables of the three operands of `lop3`."""
_TABLES_OF_TWO: dict[Operation, int] = {"and": 0xC0, "or": 0xFC, "xor": 0x3C}
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 2, 0))


@dataclass(frozen=True, slots=True)
class _Recipe:
    """A table of `lop3` as `outer(inner(a, b), c)`, operands complemented where `flips` says so.

    Attributes:
        order: which operands a, b and c are.
        flips: of a, b, c and of the result.
    """

    inner: Operation
    outer: Operation
    order: tuple[int, int, int]
    flips: tuple[bool, bool, bool, bool]


def logic3(x: Value, y: Value, z: Value, table: int) -> Value:
    """Computes `lop3`: each bit of the result is the table's at (x, y, z)."""
    operands = (x, y, z)
    if all(v.is_exact for v in operands):
        return lift(lambda p, q, r: _lookup(p, q, r, table), 32, x, y, z)
    for at in (0, 1, 2):
        if (table ^ 0xFF) == _TABLES[at]:
            return invert(operands[at])
        if table == _TABLES[at]:
            return operands[at]
    recipe = _recipe(table)
    if recipe is not None:
        a, b, c = (
            invert(operands[at]) if flip else operands[at]
            for at, flip in zip(recipe.order, recipe.flips[:3], strict=True)
        )
        found = bitwise(recipe.outer, bitwise(recipe.inner, a, b), c)
        return invert(found) if recipe.flips[3] else found
    for at, other, third in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        chosen, rest = _TABLES[other] & _TABLES[at], _TABLES[third] & ~_TABLES[at]
        choices = {chosen | rest: (other, third), _swap(at, other, third): (third, other)}
        if table in choices:
            first, second = choices[table]
            selector = operands[at]
            yes = bitwise("and", operands[first], selector)
            return bitwise("or", yes, bitwise("and", operands[second], invert(selector)))
    return weak(*operands)


def predicate_logic(x: Value, y: Value, z: Value, table: int) -> Value:
    """Computes a table of `lop3` of predicates by lane: false and what is not known is false."""
    ways = [_possible(v) for v in (x, y, z)]
    can_hold = can_fail = np.asarray(False)
    for row in range(8):
        occurs = ways[0][row >> 2 & 1] & ways[1][row >> 1 & 1] & ways[2][row & 1]
        if table >> row & 1:
            can_hold = can_hold | occurs
        else:
            can_fail = can_fail | occurs
    known = can_hold ^ can_fail
    if not known.any():
        return top(common_cause(x, y, z))
    base = can_hold.astype(np.int64) if can_hold.ndim else int(can_hold)
    return Value(base) if known.all() else Value(base, (), WORD_BITS, known, common_cause(x, y, z))


def _possible(x: Value) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns the lanes that may hold 0 and those that may hold 1."""
    is_open = np.asarray(bool(x.terms)) | ~np.asarray(x.known)
    is_set = np.asarray(x.base) != 0
    return is_open | ~is_set, is_open | is_set


def _swap(at: int, other: int, third: int) -> int:
    return (_TABLES[third] & _TABLES[at]) | (_TABLES[other] & ~_TABLES[at])


@cache
def _recipe(table: int) -> _Recipe | None:
    """Searches the compositions of two operations for one with this truth table."""
    operations: tuple[Operation, ...] = ("and", "or", "xor")
    either = (False, True)
    for flips in product(either, either, either, either):
        for inner, outer, order in product(operations, operations, _ORDERS):
            a, b, c = (
                _TABLES[at] ^ (0xFF if flip else 0)
                for at, flip in zip(order, flips[:3], strict=True)
            )
            result = _apply(outer, _apply(inner, a, b), c)
            if result == table ^ (0xFF if flips[3] else 0):
                return _Recipe(inner, outer, order, flips)
    return None


def _lookup(
    p: NDArray[np.int64], q: NDArray[np.int64], r: NDArray[np.int64], table: int
) -> NDArray[np.int64]:
    found: NDArray[np.int64] = p * 0
    for k in range(8):
        if table >> k & 1:
            found = found | (p if k & 4 else ~p) & (q if k & 2 else ~q) & (r if k & 1 else ~r)
    return found


def bit_field(x: Value, start: Value, count: Value, width: int, *, is_signed: bool) -> Value:
    """Computes `bfe`: `count` bits of `x` from bit `start` on, extended to `width`.

    Args:
        x: the register.
        start: the first bit.
        count: how many bits.
        width: of the result, in bits.
        is_signed: whether the highest bit is repeated.
    """
    first, length = start.constant, count.constant
    if first is None or length is None:
        return weak(x, start, count)
    first, length = first & 0xFF, length & 0xFF
    if not length or first >= width:
        return ZERO if not is_signed or not length else shift_right(x, Value(width), width, True)
    if not is_signed:
        mask = Value(wrap((1 << min(length, width)) - 1, width))
        return bitwise("and", shift_right(x, Value(first), width), mask, width)
    above = max(width - first - length, 0)
    high = shift_left(x, Value(above), width)
    return shift_right(high, Value(first + above), width, True)


def insert_bits(x: Value, y: Value, start: Value, count: Value, width: int) -> Value:
    """Computes `bfi`: `y` with its `count` bits from `start` on replaced by the lowest of `x`.

    Args:
        x: where the bits come from.
        y: the register that they are put into.
        start: the first bit that is replaced.
        count: how many are.
        width: of the result, in bits.
    """
    first, length = start.constant, count.constant
    if first is None or length is None:
        return weak(x, y, start, count)
    mask = wrap(((1 << (length & 0xFF)) - 1) << (first & 0xFF), width)
    kept = bitwise("and", y, Value(wrap(~mask, width)), width)
    field = bitwise("and", shift_left(x, Value(first & 0xFF), width), Value(mask), width)
    return bitwise("or", kept, field, width)


def permute_bytes(x: Value, y: Value, selector: Value) -> Value:
    """Computes `prmt` in its default mode: four bytes chosen of eight."""
    choice = selector.constant
    if choice is None:
        return weak(x, y, selector)
    nibbles = [choice >> 4 * i & 15 for i in range(4)]
    if nibbles == [0, 1, 2, 3]:
        return x
    if nibbles == [4, 5, 6, 7]:
        return y
    found = ZERO
    for position, nibble in enumerate(nibbles):
        source = y if nibble & 4 else x
        byte = bitwise("and", shift_right(source, Value(8 * (nibble & 3))), Value(0xFF))
        if nibble & 8:
            byte = multiply(shift_right(byte, Value(7)), Value(0xFF))
        found = bitwise("or", found, shift_left(byte, Value(8 * position)))
    return found


def funnel_shift(low: Value, high: Value, count: Value, *, is_right: bool, clamps: bool) -> Value:
    """Computes `shf`: 32 bits of `high:low`, shifted by `count`.

    Args:
        low: the lower word.
        high: the upper one.
        count: by how much; taken modulo 32 unless `clamps`.
        is_right: the lower word is the result, else the upper one.
        clamps: a count above 32 is one of 32.
    """
    shift = count.constant
    if shift is None:
        return weak(low, high, count)
    shift = min(shift, 32) if clamps else shift & 31
    if shift == 0:
        return low if is_right else high
    if shift == 32:
        return high if is_right else low
    right, left = (shift, 32 - shift) if is_right else (32 - shift, shift)
    return bitwise("or", shift_right(low, Value(right)), shift_left(high, Value(left)))


def count_ones(x: Value, width: int) -> Value:
    """Computes `popc`."""
    return lift(lambda p: _each_bit(p, width).sum(axis=0), 32, x)


def leading_zeros(x: Value, width: int) -> Value:
    """Computes `clz`."""
    return lift(lambda p: width - _highest(p, width) - 1, 32, x)


def highest_bit(x: Value, width: int) -> Value:
    """Computes `bfind.u`: the position of the highest set bit, all ones for zero."""
    return lift(lambda p: _highest(p, width), 32, x)


def reverse_bits(x: Value, width: int) -> Value:
    """Computes `brev`."""

    def reverse(p: NDArray[np.int64]) -> NDArray[np.int64]:
        weights = np.left_shift(np.int64(1), np.arange(width - 1, -1, -1))
        return np.asarray(np.tensordot(weights, _each_bit(p, width), axes=1))

    return lift(reverse, width, x)


def _each_bit(p: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    return np.stack([p >> i & 1 for i in range(width)])


def _highest(p: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Returns the position of the highest set bit; -1 for zero."""
    ranks = np.arange(1, width + 1).reshape(-1, *(1 for _ in np.shape(p)))
    return np.asarray((_each_bit(p, width) * ranks).max(axis=0) - 1)
