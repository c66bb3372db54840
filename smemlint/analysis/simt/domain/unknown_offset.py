"""Offsets into known arrays that are themselves not known."""

from __future__ import annotations

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
