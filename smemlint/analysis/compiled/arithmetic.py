"""Transfer functions of integer arithmetic: sums, products, shifts, conversions.

Every function takes the width of the result in bits and computes modulo `2**width`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.values import (
    NOT_LINEAR,
    WORD_BITS,
    ZERO,
    Lanes,
    Symbol,
    Value,
    alignment,
    both_known,
    cause_of,
    common_cause,
    fits,
    is_row_uniform,
    is_uniform,
    scaled_terms,
    signed,
    sum_terms,
    top,
    trailing_zeros,
    uniform,
    union_of_bits,
    unsigned,
    weak,
    wrap,
)


def add(x: Value, y: Value, width: int = 32) -> Value:
    """Computes `x + y`."""
    return _sum(x, y, width, 1)


def subtract(x: Value, y: Value, width: int = 32) -> Value:
    """Computes `x - y`."""
    return _sum(x, y, width, -1)


def negate(x: Value, width: int = 32) -> Value:
    """Computes `-x`."""
    return _sum(ZERO, x, width, -1)


def _sum(x: Value, y: Value, width: int, sign: int) -> Value:
    if x.known is True and y.known is True and not x.terms and not y.terms:
        return Value(wrap(x.base + sign * y.base, width))
    known = both_known(x.known, y.known)
    if known is False:
        return top(common_cause(x, y))
    terms = sum_terms(x.terms, y.terms, sign)
    bits = min(x.bits if x.terms else width, y.bits if y.terms else width, width)
    return Value(wrap(x.base + sign * y.base, width), terms, bits, known, cause_of(x, y))


def multiply(x: Value, y: Value, width: int = 32) -> Value:
    """Computes the low half of `x * y`."""
    if x.constant == 0 or y.constant == 0:
        return ZERO
    known = both_known(x.known, y.known)
    if known is False:
        return top(common_cause(x, y))
    if not x.terms and not y.terms:
        return Value(wrap(x.base * y.base, width), known=known, cause=cause_of(x, y))
    if x.terms and y.terms:
        return _product_of_unknowns(x, y)
    if y.terms:
        x, y = y, x
    factor = signed(y.base, width)
    if isinstance(factor, int):
        terms = scaled_terms(x.terms, factor)
        bits = min(x.bits + trailing_zeros(factor), width)
        return Value(wrap(x.base * factor, width), terms, bits, known, cause_of(x, y))
    if not is_row_uniform(factor):
        return top(NOT_LINEAR)
    common = int(np.gcd.reduce(factor, axis=None))  # by warp: any multiple of what divides all
    terms = ((Symbol(), gcd(*(f for _, f in x.terms)) * common),) if common else ()
    bits = min(x.bits + trailing_zeros(common), width)
    return Value(wrap(x.base * factor, width), terms, bits, known, cause_of(x, y))


def _product_of_unknowns(x: Value, y: Value) -> Value:
    if not (is_uniform(x) and is_uniform(y)):
        return top(NOT_LINEAR)
    zeros = sum(
        min(alignment(v.terms), trailing_zeros(union_of_bits(v.base)), v.bits) for v in (x, y)
    )
    return uniform(factor=1 << min(zeros, WORD_BITS - 1))


def multiply_wide(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes the whole product, of `2 * width` bits, of two registers of `width` bits."""
    wide = 2 * width
    return multiply(extend(x, width, is_signed), extend(y, width, is_signed), wide)


def multiply_high(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes the high half of a product."""
    if width <= 32:
        return shift_right(
            multiply_wide(x, y, width, is_signed=is_signed), Value(width), 2 * width, is_signed
        )
    if x.constant is None or y.constant is None:
        return weak(x, y)
    read = signed if is_signed else unsigned
    product = int(read(x.constant, width)) * int(read(y.constant, width))
    return Value(wrap(product >> width, width))


def extend(x: Value, width: int, is_signed: bool) -> Value:
    """Extends a register of `width` bits to 64, by its sign or with zeros."""
    if x.is_top or width >= WORD_BITS:
        return x
    if not x.terms:
        base = signed(x.base, width) if is_signed else unsigned(x.base, width)
        return Value(base, known=x.known, cause=x.cause)
    if fits(x, width - 1 if is_signed else width):
        return Value(x.base, x.terms, WORD_BITS, x.known, x.cause)
    return Value(x.base, x.terms, min(x.bits, width), x.known, x.cause)


def convert(x: Value, source: int, target: int, *, is_signed: bool) -> Value:
    """Converts between integer registers of `source` and `target` bits."""
    wide = extend(x, source, is_signed)
    if wide.is_top:
        return wide
    bits = min(wide.bits, target)
    if wide.terms and wide.bits == WORD_BITS and fits(wide, target):
        bits = WORD_BITS
    return Value(wrap(wide.base, target), wide.terms, bits, wide.known, wide.cause)


def shift_left(x: Value, y: Value, width: int = 32) -> Value:
    """Computes `x << y`; shifts of `width` or more give zero."""
    count = y.constant
    if count is not None:
        return ZERO if not 0 <= count < width else multiply(x, Value(1 << count), width)
    if x.terms or y.terms or x.is_top or y.is_top:
        return weak(x, y)
    return lift(
        lambda p, q: np.where(q >= width, 0, np.left_shift(p, np.minimum(q, 63))), width, x, y
    )


def shift_right(x: Value, y: Value, width: int = 32, is_signed: bool = False) -> Value:
    """Computes `x >> y`, arithmetic or logical; large shifts leave the sign or zero."""
    count = y.constant
    if x.is_top or y.is_top:
        return top(common_cause(x, y))
    if not x.terms and not y.terms:
        return lift(lambda p, q: _shifted(p, q, width, is_signed), width, x, y)
    if count is None or not x.terms:
        return weak(x, y)
    if not is_signed and count >= width:
        return ZERO
    return _shift_sum_right(x, min(count, width - 1), width, is_signed)


def _shift_sum_right(x: Value, count: int, width: int, is_signed: bool) -> Value:
    if fits(x, width - 1 if is_signed else width):
        x = Value(x.base, x.terms, WORD_BITS, x.known, x.cause)
    if alignment(x.terms) >= count:
        terms = tuple((s, f >> count) for s, f in x.terms)
        bits = WORD_BITS if x.bits == WORD_BITS else max(x.bits - count, 0)
        return Value(x.base >> count, terms, bits, x.known, x.cause)
    high = x.base >> alignment(x.terms)
    if x.bits < width or not is_row_uniform(high):
        return weak(x)
    return Value(0, uniform().terms, WORD_BITS, x.known, x.cause)


def _shifted(
    p: NDArray[np.int64], q: NDArray[np.int64], width: int, is_signed: bool
) -> NDArray[np.int64]:
    if is_signed:
        return np.asarray(signed(p, width), dtype=np.int64) >> np.minimum(q, width - 1)
    values = np.asarray(p)
    if width < WORD_BITS:
        return np.where(q >= width, 0, values >> np.minimum(q, 63))
    shifted = (values.astype(np.uint64) >> np.minimum(q, 63).astype(np.uint64)).astype(np.int64)
    return np.where(q >= width, 0, shifted)


def divide(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes `x / y`, rounded towards zero; of zero divisors nothing is known that matters."""
    return _division(x, y, width, is_signed, remainder=False)


def remainder(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes what `divide` leaves, with the sign of `x`."""
    return _division(x, y, width, is_signed, remainder=True)


def _division(x: Value, y: Value, width: int, is_signed: bool, *, remainder: bool) -> Value:
    if x.is_top or y.is_top or x.terms or y.terms:
        return weak(x, y)
    read = signed if is_signed else unsigned

    def quotient(p: NDArray[np.int64], q: NDArray[np.int64]) -> NDArray[np.int64]:
        a, b = np.asarray(read(p, width)), np.asarray(read(q, width))
        b = np.where(b == 0, 1, b)
        whole = np.abs(a) // np.abs(b) * np.where((a < 0) != (b < 0), -1, 1)
        return np.asarray(a - whole * b if remainder else whole)

    return lift(quotient, width, x, y)


def minimum(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes the smaller operand."""
    read = signed if is_signed else unsigned
    return lift(lambda p, q: np.minimum(read(p, width), read(q, width)), width, x, y)


def maximum(x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Computes the larger operand."""
    read = signed if is_signed else unsigned
    return lift(lambda p, q: np.maximum(read(p, width), read(q, width)), width, x, y)


def absolute(x: Value, width: int) -> Value:
    """Computes `|x|` of a signed register."""
    return lift(lambda p: np.abs(signed(p, width)), width, x)


def lift(function: Callable[..., NDArray[np.int64]], width: int, *operands: Value) -> Value:
    """Applies a function of arrays to exact lanes; other operands give a weak result.

    Args:
        function: takes int64 arrays that broadcast, returns one.
        width: bits of the result.
        operands: the function's arguments.
    """
    known = True if all(v.known is True for v in operands) else operands[0].known
    for value in operands[1:]:
        known = both_known(known, value.known)
    if known is False or any(v.terms for v in operands):
        return weak(*operands)
    found = function(*(np.asarray(v.base, dtype=np.int64) for v in operands))
    base: Lanes = int(found) if found.ndim == 0 else found.astype(np.int64, copy=False)
    return Value(wrap(base, width), known=known, cause=cause_of(*operands))
