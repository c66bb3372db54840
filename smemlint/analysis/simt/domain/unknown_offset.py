"""Offsets into known arrays that are themselves not known."""

from __future__ import annotations

from smemlint.analysis.simt.domain.data_ranges import moved, without_range
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    DataRange,
    Object,
    Unknown,
    UnknownOffset,
)
from smemlint.reasons import ReasonCode

LOST = UnknownOffset("lost", "an index that is not known")


def is_lost(offset: AffineInt) -> bool:
    """Returns whether an offset into a known array is not known."""
    return bool(offset.terms) and any(
        isinstance(symbol, UnknownOffset) for symbol, _ in offset.terms
    )


def why_lost(obj: Object, offset: AffineInt | None = None) -> Unknown:
    """Returns why the offset into an array is not known.

    Args:
        obj: the array.
        offset: what it is now; a range of data holds only for the offset that was lost.
    """
    why = obj.default
    if not isinstance(why, Unknown):
        return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "the index is not known")
    if not isinstance(why, DataRange) or offset is None or len(offset.terms) != 1:
        return without_range(why)
    ((symbol, factor),) = offset.terms
    is_as_lost = symbol is LOST and isinstance(factor, int) and factor == 1
    return moved(why, offset.base) if is_as_lost else without_range(why)
