"""Ranges: what integers are known not to be below or above, whatever their unknowns are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.domain.lanes import largest, smallest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smemlint.analysis.simt.domain.values import AffineInt

_INFINITY = 1 << 62


def lower(a: AffineInt) -> int:
    """Returns a bound that the value is not below."""
    low = smallest(a.base)
    for s, c in a.terms:
        least = smallest(c)
        if not s.nonnegative or (least < 0 and s.most is None):
            return -_INFINITY
        low += min(least, 0) * (s.most or 0)
    return low


def upper(a: AffineInt) -> int:
    """Returns a bound that the value is not above."""
    high = largest(a.base)
    for s, c in a.terms:
        greatest = largest(c)
        if not s.nonnegative or (greatest > 0 and s.most is None):
            return _INFINITY
        high += max(greatest, 0) * (s.most or 0)
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
        if s.most is None or not s.nonnegative:
            below, above = np.sign(below) * _INFINITY, np.sign(above) * _INFINITY
        else:
            below, above = below * s.most, above * s.most
        if not s.nonnegative:
            below, above = below - above, above - below
        low, high = np.maximum(low + below, -_INFINITY), np.minimum(high + above, _INFINITY)
    return low, high
