"""Whether two types are one.

A class that a launch gives a kernel was worked out in host code; the kernel's own code works it out
again, so that one class may be two objects.
"""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    PointerType,
    RecordType,
    StaticIntType,
    StaticType,
    TupleType,
)
from smemlint.analysis.simt.domain.environment import CTYPES
from smemlint.analysis.simt.domain.values import AffineInt, Cute
from smemlint.frontend.program import Record
from smemlint.limits.budgets import MAX_TYPE_DEPTH


def same_type(one: CType, other: CType, depth: int = 0) -> bool:
    """Returns whether two types are one, as far as both are known."""
    if one is other or depth > MAX_TYPE_DEPTH:
        return one is other
    if isinstance(one, RecordType) and isinstance(other, RecordType):
        return _same_class(one, other, depth)
    if isinstance(one, PointerType) and isinstance(other, PointerType):
        is_alike = one.is_reference == other.is_reference
        return is_alike and same_type(one.target, other.target, depth + 1)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return one.count == other.count and same_type(one.element, other.element, depth + 1)
    if isinstance(one, StaticType) and isinstance(other, StaticType):
        return one == other or _same_value(one.value, other.value)
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        is_alike = len(one.modes) == len(other.modes)
        return is_alike and all(map(same_type, one.modes, other.modes))
    for tuple_type, known in ((one, other), (other, one)):
        if isinstance(tuple_type, TupleType) and isinstance(known, StaticType):
            return _has_modes(known.value, tuple_type)
    return one == other


def _has_modes(value: object, ctype: CType) -> bool:
    """Returns whether a value of CuTe's may be of a type: a tuple that is not static as a whole."""
    if isinstance(ctype, TupleType):
        items = value.payload if isinstance(value, Cute) else None
        if not isinstance(items, tuple) or len(items) != len(ctype.modes):
            return False
        return all(map(_has_modes, items, ctype.modes))
    if isinstance(ctype, StaticType):
        return _same_value(value, ctype.value)
    is_static = isinstance(value, AffineInt) and isinstance(value.type, StaticIntType)
    return not is_static and not isinstance(value, Cute)


def _same_value(one: object, other: object) -> bool:
    """Returns whether two values of CuTe's are of one type: numbers, tuples, layouts, atoms."""
    if isinstance(one, AffineInt) and isinstance(other, AffineInt):
        if isinstance(one.type, StaticIntType) and isinstance(other.type, StaticIntType):
            return one.constant is not None and one.constant == other.constant
        return one.type == other.type
    if not isinstance(one, Cute) or not isinstance(other, Cute):
        return False
    mine, its = one.payload, other.payload
    if isinstance(mine, tuple) and isinstance(its, tuple):
        return len(mine) == len(its) and all(map(_same_value, mine, its))
    return type(mine) is type(its) and str(mine) == str(its)


def _same_class(one: RecordType, other: RecordType, depth: int) -> bool:
    """Returns whether two classes have one definition, and template arguments that are the same."""
    record, same = cast("Record | None", one.record), cast("Record | None", other.record)
    if record is None or same is None or (record.name, record.span) != (same.name, same.span):
        return False
    parameters = [*record.template, *(p for e in record.around for p in e.template)]
    if any(p.is_pack for p in parameters):
        return False
    names = [p.name for p in parameters if p.name]
    return all(_same_bound(one.statics.get(n), other.statics.get(n), depth) for n in names)


def _same_bound(one: object, other: object, depth: int) -> bool:
    if isinstance(one, AffineInt) and isinstance(other, AffineInt):
        return one.constant is not None and one.constant == other.constant
    if isinstance(one, CTYPES) and isinstance(other, CTYPES):
        return same_type(one, other, depth + 1)
    return one is other
