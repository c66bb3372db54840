"""Ranges that wander through a warp: `(unsigned)t < n`, where each iteration moves `t` by little.

A number is compared as an unsigned one where it may be below 0, so the range has both ends: which
lanes are inside of it is another matter in each iteration, whatever its length.
"""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.intervals import decided_by_lane
from smemlint.analysis.simt.domain.values import AffineInt, LanePredicate, Unknown, Value
from smemlint.reasons import Reason, ReasonCode


def wandering_range(op: str, a: Value, b: Value) -> LanePredicate | None:
    """Returns the condition that a number is in such a range; None for all other comparisons."""
    number, bound = (a, b) if op in ("<", "<=") else (b, a)
    if op not in ("<", "<=", ">", ">=") or not isinstance(number, AffineInt) or number.type.signed:
        return None
    if not isinstance(bound, AffineInt | Unknown) or not _wanders(number):
        return None
    may_hold, _ = decided_by_lane(">=", number)
    reason = Reason(ReasonCode.UNKNOWN_CONDITION, "the condition is not known")
    is_data = isinstance(bound, Unknown) and bound.is_data
    return LanePredicate(
        reason, is_data, may_hold=may_hold, holds=np.zeros_like(may_hold), is_staggered=True
    )


def _wanders(number: AffineInt) -> bool:
    """Returns whether an iteration moves it by less than what the lanes of a warp are apart."""
    if isinstance(number.base, int) or not np.min(number.base) < 0:
        return False
    rows = number.base.reshape(-1, WARP)
    span = int((rows.max(axis=1) - rows.min(axis=1)).max())
    steps = [abs(int(c)) * s.multiple for s, c in number.terms if s.is_iteration]
    return bool(steps) and max(steps) <= span
