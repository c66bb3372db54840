"""Ranges: what integers are known not to be below or above, whatever their unknowns are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.lanes import largest, smallest

if TYPE_CHECKING:
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
