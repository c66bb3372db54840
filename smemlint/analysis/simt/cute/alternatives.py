"""Tensors and tuples that alternatives of a condition, or iterations, leave in one variable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.simt.cute.run_time import from_engine, to_engine
from smemlint.analysis.simt.cute.values import payload_of, tensor_of
from smemlint.analysis.simt.domain.values import Cute, Value

if TYPE_CHECKING:
    from smemlint.analysis.simt.domain.affine import AffineDomain


def elements_of(a: Value, b: Value) -> list[tuple[Value, Value]] | None:
    """Returns the elements of two tuples of one length in pairs; None of all others."""
    one, other = payload_of(a), payload_of(b)
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
        return None
    return list(zip(one, other, strict=True))


def places_of(a: Value, b: Value) -> tuple[Value, Value] | None:
    """Returns where two tensors begin, in bits, if they differ in nothing else; None if they do."""
    one, other = tensor_of(a), tensor_of(b)
    if one is None or other is None or one.origin is not other.origin:
        return None
    if not one.differs_in_place_only(other):
        return None
    return from_engine(one.base), from_engine(other.base)


def tensor_at(tensor: Value, place: Value, domain: AffineDomain) -> Value:
    """Returns a tensor that begins elsewhere, in bits."""
    known = tensor_of(tensor)
    assert known is not None
    return Cute(replace(known, base=to_engine(place, domain)))
