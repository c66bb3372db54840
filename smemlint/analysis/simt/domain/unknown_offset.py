"""Offsets into known arrays that are themselves not known."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.data_ranges import moved, without_range
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    DataRange,
    Object,
    Pointer,
    Space,
    Unknown,
    UnknownOffset,
    Value,
)
from smemlint.limits.budgets import MAX_BUFFERS
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


def lvalue_at_unknown_offset(base: Pointer, why: Unknown, *, is_sure: bool = True) -> LValue:
    """Returns a place in a known array at an unknown offset.

    Args:
        base: points into the array.
        why: the offset is not known.
        is_sure: it is this array; False where it may be another one.
    """
    known = base.object.origin or base.object
    lost = Object(known.name, known.type, known.space, f"{known.key} lost")
    lost.shared = known.shared
    lost.default = why
    lost.origin = known if is_sure else None
    lost.may_be_another = not is_sure
    return LValue(lost, AffineInt(0, I64, ((LOST, 1),)), base.target, base.is_volatile)


def forget_offset(pointer: Pointer, why: Unknown, *, is_sure: bool = True) -> Value:
    """Returns a pointer that points elsewhere now, into the same memory.

    What is reached in shared memory is counted even so, and a tensor in global memory is still one.

    Args:
        pointer: into an array.
        why: the place is not known.
        is_sure: it is a place in this array; False where it may be in another one.
    """
    if pointer.object.space not in (Space.SHARED, Space.GLOBAL):
        return why
    return lvalue_at_unknown_offset(pointer, why, is_sure=is_sure).pointer()


def one_or_other(a: Value, b: Value, why: Unknown) -> Value:
    """Returns a pointer into shared memory where one of two values is one, else what is unknown.

    Of pointers into two arrays one array is named: accesses are not lost. Its place is no index
    that is read, whatever the condition rests on.
    """
    for value in (a, b):
        if isinstance(value, Pointer) and value.object.space is Space.SHARED:
            return forget_offset(value, Unknown(why.reason), is_sure=False)
    return why


def either_of(a: Pointer, b: Pointer, chosen: str) -> Pointer | None:
    """Returns a pointer into either of two arrays that are alike, to the same place.

    As a pipeline swaps them: what is accessed costs the same in both. None of other pointers.

    Args:
        a: one of them, which all threads have.
        b: the other one, likewise.
        chosen: what is chosen so: places in an array that another choice picks are others.
    """
    found = {o.key: o for p in (a, b) for o in (p.object.members or (p.object,))}
    members = tuple(found[key] for key in sorted(found))
    first = members[0]
    places = [(p.offset.identity(), p.target, p.is_volatile) for p in (a, b)]
    if places[0] != places[1] or len(members) > MAX_BUFFERS or not all(map(_is_plain, members)):
        return None
    if any((o.type, o.is_volatile) != (first.type, first.is_volatile) for o in members):
        return None
    if len({o.shared.alignment for o in members if o.shared is not None}) > 1:
        return None
    first.choices = {} if first.choices is None else first.choices
    key = f"{chosen}: {' or '.join(sorted(found))}"
    if key not in first.choices:
        name = " or ".join(o.name for o in members)
        view = first.choices[key] = Object(name, first.type, first.space, key)
        assert first.shared is not None
        spans = tuple(o.shared.span for o in members if o.shared is not None)
        view.shared = replace(first.shared, name=name, dims=(), buffers=spans)
        view.is_volatile = first.is_volatile
        view.may_be_another, view.members = True, members
    return Pointer(first.choices[key], a.offset, a.target, a.is_volatile)


def _is_plain(obj: Object) -> bool:
    """Returns whether it is a static array in shared memory, and no view of one."""
    is_array = obj.space is Space.SHARED and obj.shared is not None and obj.layout is None
    return is_array and obj.origin is None and obj.default is None and not obj.may_be_another
