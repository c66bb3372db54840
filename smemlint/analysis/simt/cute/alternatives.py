"""Tensors and tuples that alternatives of a condition, or iterations, leave in one variable."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.cute.run_time import from_engine, to_engine
from smemlint.analysis.simt.cute.values import Origin, payload_of, tensor_of
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.values import Cute, Unknown, Value
from smemlint.reasons import ReasonCode


def elements_of(a: Value, b: Value) -> list[tuple[Value, Value]] | None:
    """Returns the elements of two tuples of one length in pairs; None of all others."""
    one, other = payload_of(a), payload_of(b)
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
        return None
    return list(zip(one, other, strict=True))


def places_of(a: Value, b: Value) -> tuple[Value, Value] | None:
    """Returns where two tensors begin, in bits, if they differ in nothing else; None if they do.

    Where tensors outside of shared memory lie costs nothing there: two of different arrays are one
    at a place that is not known.
    """
    one, other = tensor_of(a), tensor_of(b)
    if one is None or other is None or not one.differs_in_place_only(other):
        return None
    mine, its = one.origin, other.origin
    if not isinstance(mine, Origin) or not isinstance(its, Origin):
        return (from_engine(one.base), from_engine(other.base)) if mine is its else None
    if mine.pointer.target != its.pointer.target:
        return None
    if mine.pointer.object is its.pointer.object and mine.use is its.use:
        return from_engine(one.base), from_engine(other.base)
    if one.is_shared:
        return None
    elsewhere = Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a tensor of one of several arrays")
    return elsewhere, elsewhere


def tensor_at(tensor: Value, place: Value, domain: AffineDomain) -> Value:
    """Returns a tensor that begins elsewhere, in bits."""
    known = tensor_of(tensor)
    assert known is not None
    return Cute(replace(known, base=to_engine(place, domain)))
