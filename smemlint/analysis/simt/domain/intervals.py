"""Ranges: what integers are known not to be below or above, whatever their unknowns are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.lanes import largest, smallest
from smemlint.analysis.simt.domain.values import AffineInt, Unknown

NO_BOUND = 1 << 62
"""What `lower`, negated, and `upper` give where there is no bound."""


def lower(a: AffineInt) -> int:
    """Returns a bound that the value is not below."""
    low = smallest(a.base)
    for s, c in a.terms:
        least, greatest = smallest(c), largest(c)
        if (greatest > 0 and not s.nonnegative) or (least < 0 and s.most is None):
            return -NO_BOUND
        low += least * (s.least if least >= 0 else s.most or 0)
    return low


def upper(a: AffineInt) -> int:
    """Returns a bound that the value is not above."""
    high = largest(a.base)
    for s, c in a.terms:
        least, greatest = smallest(c), largest(c)
        if (least < 0 and not s.nonnegative) or (greatest > 0 and s.most is None):
            return NO_BOUND
        high += greatest * (s.least if greatest <= 0 else s.most or 0)
    return high


def decided(op: str, low: int, high: int) -> bool | None:
    """Returns whether `x op 0` is settled for all x in [low, high]."""
    match op:
        case "<":
            return True if high < 0 else False if low >= 0 else None
        case "<=":
            return True if high <= 0 else False if low > 0 else None
        case ">":
            return True if low > 0 else False if high <= 0 else None
        case ">=":
            return True if low >= 0 else False if high < 0 else None
        case "==":
            return False if low > 0 or high < 0 else None
        case _:
            return True if low > 0 or high < 0 else None


def decided_by_lane(op: str, a: AffineInt) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns the lanes for which `a op 0` may hold, and those for which it is settled to."""
    low, high = _bounds_by_lane(a)
    match op:
        case "<":
            return low < 0, high < 0
        case "<=":
            return low <= 0, high <= 0
        case ">":
            return high > 0, low > 0
        case ">=":
            return high >= 0, low >= 0
        case "==":
            return (low <= 0) & (high >= 0), (low == 0) & (high == 0)
        case _:
            return (low != 0) | (high != 0), (low > 0) | (high < 0)


def _bounds_by_lane(a: AffineInt) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    low = high = np.asarray(a.base, dtype=np.int64)
    for s, c in a.terms:
        factors = np.asarray(c, dtype=np.int64)
        below, above = np.minimum(factors, 0), np.maximum(factors, 0)
        most = NO_BOUND if s.most is None else s.most
        least = s.least if s.nonnegative else -NO_BOUND
        low = np.maximum(low + _scaled(below, most) + _scaled(above, least), -NO_BOUND)
        high = np.minimum(high + _scaled(above, most) + _scaled(below, least), NO_BOUND)
    return low, high


def _scaled(factors: NDArray[np.int64], bound: int) -> NDArray[np.int64]:
    return np.sign(factors) * bound if abs(bound) == NO_BOUND else factors * bound


def is_bound(limit: int) -> bool:
    """Returns whether `lower` or `upper` gave a bound, and not that there is none."""
    return abs(limit) < NO_BOUND


def is_below(a: AffineInt, b: AffineInt) -> bool:
    """Returns whether `0 <= a < b`, whatever the unknowns are."""
    low, high = lower(a), upper(a)
    return bool(b.terms) and low >= 0 and is_bound(high) and high < lower(b)


def with_least(value: AffineInt | Unknown, least: int) -> AffineInt | Unknown:
    """Returns an unknown that is known not to be below a number; others as they are."""
    if isinstance(value, Unknown) or len(value.terms) != 1 or least <= 0:
        return value
    ((symbol, factor),) = value.terms
    bounded = replace(symbol, nonnegative=True, least=max(symbol.least, least))
    return AffineInt(value.base, value.type, ((bounded, factor),), value.form)


def within(low: int, high: int, value: AffineInt | Unknown) -> AffineInt | Unknown:
    """Returns a fresh unknown as one that is known to be in a range."""
    if isinstance(value, Unknown) or not isinstance(value.base, int) or value.base != 0:
        return value
    most, least = high if is_bound(high) and high >= 0 else None, max(low, 0)
    terms = tuple((replace(s, most=most, least=least), factor) for s, factor in value.terms)
    return AffineInt(0, value.type, terms)
