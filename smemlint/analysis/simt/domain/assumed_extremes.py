"""The smaller or larger of two numbers, where what they take for granted holds."""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.intervals import is_bound, lower, upper
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Unknown,
    assuming,
    assuming_as,
    without_assumptions,
)
from smemlint.reasons import Assumption


def assumed_extreme(
    domain: AffineDomain,
    is_largest: bool,
    a: AffineInt,
    b: AffineInt,
    assumed: Callable[[bool, int | None], Assumption | None],
) -> AffineInt | Unknown:
    """Returns `max(a, b)` or `min(a, b)`.

    Of a number that varies by thread and an open bound that does not, the number is returned, with
    a note; as far as the range of the bound is known, it limits the number.

    Args:
        domain: computes with them.
        is_largest: `max`.
        a: a number.
        b: another one.
        assumed: gives the note, if that is to be assumed, of whether `a` is taken, and of the
            limit.
    """
    known = without_assumptions(a), without_assumptions(b)
    result = domain.extreme(is_largest, *known)
    if isinstance(result, AffineInt):
        return assuming_as(result, a, b)
    if a.is_uniform == b.is_uniform:
        return result
    inside, bound = known if b.is_uniform else known[::-1]
    end = lower(bound) if is_largest else upper(bound)
    limited = domain.extreme(is_largest, inside, AffineInt(end)) if is_bound(end) else inside
    if isinstance(limited, Unknown):
        return result
    note = assumed(b.is_uniform, end if limited is not inside else None)
    return assuming_as(assuming(limited, note), a, b) if note is not None else result
