"""Comparisons, selections and what they tell about lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.arithmetic import subtract
from smemlint.analysis.compiled.joins import join_uniform, pick
from smemlint.analysis.compiled.values import (
    PATHS,
    Cause,
    Lanes,
    Symbol,
    Value,
    alignment,
    both_known,
    cause_of,
    common_cause,
    is_same_terms,
    is_uniform,
    possible_bits,
    signed,
    top,
    uniform,
    unsigned,
)
from smemlint.reasons import Reason, ReasonCode

CONDITION = Cause(
    Reason(ReasonCode.UNKNOWN_CONDITION, "which lanes take part depends on an unknown")
)

Comparison: TypeAlias = "Callable[[Lanes, Lanes], NDArray[np.bool_] | bool]"

COMPARISONS: dict[str, Comparison] = {
    "eq": lambda p, q: p == q, "ne": lambda p, q: p != q, "lt": lambda p, q: p < q,
    "le": lambda p, q: p <= q, "gt": lambda p, q: p > q, "ge": lambda p, q: p >= q,
}  # fmt: skip


def compare(operation: str, x: Value, y: Value, width: int, *, is_signed: bool) -> Value:
    """Compares registers of `width` bits; a predicate holds 0 or 1.

    Args:
        operation: a key of `COMPARISONS`.
        x: the first operand.
        y: the second.
        width: of the operands, in bits.
        is_signed: whether they are read as two's complement.
    """
    if x.is_top or y.is_top:
        return top(common_cause(x, y))
    known = both_known(x.known, y.known)
    if known is False:
        return top(common_cause(x, y))
    decided = _decided(operation, x, y, width, is_signed)
    if decided is not None:
        return Value(_numbers(decided), known=known, cause=cause_of(x, y))
    if known is True and is_uniform(x) and is_uniform(y):
        return uniform(mask=1)
    return top(cause_of(x, y) or CONDITION)


def _decided(
    operation: str, x: Value, y: Value, width: int, is_signed: bool
) -> NDArray[np.bool_] | bool | None:
    if not x.terms and not y.terms:
        read = signed if is_signed else unsigned
        p, q = read(x.base, width), read(y.base, width)
        if width == 64 and not is_signed:
            p, q = _ordered(p), _ordered(q)
        return COMPARISONS[operation](p, q)
    if operation in ("eq", "ne"):
        return _equality(operation, x, y, width)
    return _by_range(operation, x, y, width)


def _ordered(lanes: Lanes) -> Lanes:
    """Maps 64-bit registers to numbers that compare as their unsigned readings do."""
    if isinstance(lanes, int):
        return lanes - (1 << 63)
    return np.asarray(lanes.astype(np.uint64) ^ np.uint64(1 << 63)).astype(np.int64)


def _equality(operation: str, x: Value, y: Value, width: int) -> NDArray[np.bool_] | bool | None:
    difference = subtract(x, y, width)
    if is_same_terms(x.terms, y.terms) and difference.bits >= width:
        return COMPARISONS[operation](difference.base, 0)
    common = min(alignment(difference.terms), difference.bits, 62)
    if np.all(np.asarray(difference.base) & ((1 << common) - 1)):
        return operation == "ne"
    return None


def _by_range(operation: str, x: Value, y: Value, width: int) -> bool | None:
    low_x, high_x = _range(x, width)
    low_y, high_y = _range(y, width)
    if operation in ("gt", "ge"):
        low_x, high_x, low_y, high_y = low_y, high_y, low_x, high_x
    is_strict = operation in ("lt", "gt")
    if high_x < low_y or (not is_strict and high_x == low_y):
        return True
    if low_x > high_y or (is_strict and low_x == high_y):
        return False
    return None


def _range(value: Value, width: int) -> tuple[int, int]:
    """Returns the least and the largest number, the same signed or not; wide where not provable."""
    wide = (-(1 << 64), 1 << 64)
    bits = possible_bits(value.terms)
    if bits < 0 or value.bits < width:
        return wide
    lanes = np.asarray(value.base)
    low, high = int(lanes.min()), int(lanes.max()) + bits
    return (low, high) if low >= 0 and high < 1 << (width - 1) else wide


def _numbers(truth: NDArray[np.bool_] | bool) -> Lanes:
    return truth.astype(np.int64) if isinstance(truth, np.ndarray) else int(truth)


def truth(value: Value) -> tuple[Symbol, bool] | None:
    """Returns the symbol of a predicate of one unknown, and whether it is true where that is 1."""
    if value.known is not True or len(value.terms) != 1 or not isinstance(value.base, int):
        return None
    symbol, factor = value.terms[0]
    if symbol.mask != 1 or (value.base, factor) not in ((0, 1), (1, -1)):
        return None
    return symbol, factor == 1


def select(predicate: Value, x: Value, y: Value) -> Value:
    """Computes `predicate ? x : y`."""
    constant = predicate.constant
    if constant is not None:
        return x if constant else y
    if x is y:
        return x
    if predicate.known is not False and not predicate.terms:
        chosen = pick(np.asarray(predicate.base) != 0, x, y)
        return chosen if predicate.known is True else _where_known(chosen, predicate)
    if is_uniform(predicate):
        return join_uniform(x, y)
    if x.is_top or y.is_top:
        return top(common_cause(x, y, predicate))
    same = is_same_terms(x.terms, y.terms) & np.asarray(x.base == y.base)
    return _restricted(x, same, both_known(x.known, y.known), predicate)


def _where_known(chosen: Value, predicate: Value) -> Value:
    known = both_known(chosen.known, predicate.known)
    if known is False:
        return top(common_cause(chosen, predicate))
    return Value(chosen.base, chosen.terms, chosen.bits, known, cause_of(chosen, predicate))


def _restricted(
    x: Value, same: NDArray[np.bool_], known: bool | NDArray[np.bool_], p: Value
) -> Value:
    if same.ndim == 0:
        return Value(x.base, x.terms, x.bits, known, x.cause) if same else top(p.cause or PATHS)
    if same.all():
        return Value(x.base, x.terms, x.bits, known, x.cause)
    kept = both_known(known, same)
    if kept is False or not same.any():
        return top(p.cause or PATHS)
    return Value(x.base, x.terms, x.bits, kept, p.cause or PATHS)
