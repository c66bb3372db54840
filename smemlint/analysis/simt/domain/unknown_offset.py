"""Offsets into known arrays that are themselves not known."""

from __future__ import annotations

from smemlint.analysis.simt.domain.values import AffineInt, Object, Unknown, UnknownOffset
from smemlint.reasons import Reason, ReasonCode

LOST = UnknownOffset("lost", "an index that is not known")


def is_lost(offset: AffineInt) -> bool:
    """Returns whether an offset into a known array is not known."""
    return bool(offset.terms) and any(
        isinstance(symbol, UnknownOffset) for symbol, _ in offset.terms
    )


def why_lost(obj: Object) -> Unknown:
    """Returns why the offset into an array is not known."""
    why = obj.default
    return (
        why
        if isinstance(why, Unknown)
        else Unknown(Reason(ReasonCode.UNKNOWN_ADDRESS, "the index is not known"))
    )
