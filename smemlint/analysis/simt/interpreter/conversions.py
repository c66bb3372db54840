"""Conversions: values as other types, addresses as numbers."""

from __future__ import annotations

from smemlint.analysis.simt.codegen.slow_paths import conversion_path
from smemlint.analysis.simt.domain.comparisons import truth
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I8,
    I32,
    I64,
    U32,
    ArrayType,
    BitField,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    VoidType,
    is_tuple,
)
from smemlint.analysis.simt.domain.data_ranges import converted
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import atom, sum_of
from smemlint.analysis.simt.domain.values import (
    ADDRESS,
    GIVEN,
    AffineInt,
    Aggregate,
    CallableValue,
    FloatValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.reasons import Reason, ReasonCode


def convert(ev: Evaluator, value: Value, ctype: CType) -> Value:
    """Returns the value as a type, as an assignment or cast converts it."""
    if value.__class__ is AffineInt and value.type is ctype:  # most are
        return value
    found = _converted(ev, value, ctype)
    if isinstance(found, Unknown) and isinstance(ctype, IntType) and not ctype.is_bool:
        return ev.policy.convert_unknown(ev, converted(found, ctype), ctype)
    return found


def _converted(ev: Evaluator, value: Value, ctype: CType) -> Value:
    match ctype:
        case IntType():
            if isinstance(value, AffineInt):
                is_same = value.type is ctype or value.type == ctype
                return value if is_same else ev.state.domain.convert(value, ctype)
            if isinstance(value, FloatValue):
                return Unknown.because(
                    ReasonCode.DATA, "computed from a floating-point number", is_data=True
                )
            if isinstance(value, Pointer):
                return pointer_to_int(ev, value, ctype)
            if isinstance(value, Aggregate):
                return Unknown.because(
                    ReasonCode.NOT_MODELLED,
                    "a class object is converted to an integer",
                    is_data=_holds_data(value),
                )
        case FloatType():
            if not isinstance(value, FloatValue) or value.type != ctype:
                ev.state.trace.part(conversion_path(ctype, value))
            return FloatValue(ctype)
        case PointerType():
            if isinstance(value, Pointer):
                if (
                    isinstance(ctype.target, OpaqueType | VoidType)
                    and ctype.target.size in (0, 1)
                    and isinstance(ctype.target, OpaqueType)
                ):
                    return value
                is_volatile = value.is_volatile or ctype.is_volatile
                return Pointer(value.object, value.offset, ctype.target, is_volatile)
            if isinstance(value, AffineInt):
                return int_to_pointer(ev, value, ctype)
        case BitField() if isinstance(value, AffineInt):
            narrow = ctype.narrow()
            if narrow is None:
                return value
            is_int = narrow.bits < I32.bits  # what it is read as
            return convert(ev, convert(ev, value, narrow), I32 if is_int else narrow)
        case RecordType() if isinstance(value, Aggregate | Pointer):
            return _sliced(ev, value, ctype)
    return value


def _tuple_as(ev: Evaluator, value: Aggregate, ctype: RecordType) -> Value:
    """Returns a tuple with its elements converted to those of another."""
    members = value.type.members if isinstance(value.type, RecordType) else ()
    if not is_tuple(ctype) or members == ctype.members or len(members) != len(ctype.members):
        return value
    cells: dict[int, Value] = {}
    for of, to in zip(members, ctype.members, strict=True):
        held = {
            at: v for at, v in value.cells.items() if of.offset <= at < of.offset + of.type.size
        }
        for at, element in held.items():
            inner = at - of.offset
            is_scalar = not isinstance(to.type, RecordType)
            cells[to.offset + inner] = convert(ev, element, to.type) if is_scalar else element
    return Aggregate(ctype, cells)


def _sliced(ev: Evaluator, value: Aggregate | Pointer, ctype: RecordType) -> Value:
    """Returns the part of a class object that is the base class `ctype`, else the object."""
    type_ = value.type if isinstance(value, Aggregate) else value.target
    if isinstance(value, Aggregate) and is_tuple(type_):
        return _tuple_as(ev, value, ctype)
    begin = (
        type_.base_offset(ctype) if isinstance(type_, RecordType) and type_ is not ctype else None
    )
    if begin is None and isinstance(type_, RecordType) and type_.is_unrelated(ctype):
        text = f"an object of `{type_.name}` is made one of `{ctype.name}`"
        return Unknown.because(ReasonCode.NOT_MODELLED, text)
    if begin is None:
        return value
    if isinstance(value, Pointer):
        offset = ev.state.domain.add(value.offset, number(begin, I64))
        return Pointer(value.object, offset, ctype, value.is_volatile, value.is_reference)
    end = begin + ctype.size
    return Aggregate(ctype, {at - begin: v for at, v in value.cells.items() if begin <= at < end})


def to_condition(value: Value) -> AffineInt | Unknown:
    """Returns a value as a condition: 0 or 1 a thread, or unknown."""
    match value:
        case AffineInt():
            return truth(value)
        case Unknown():
            return value
        case Pointer():
            return compared(value, None)
        case CallableValue():
            return number(1, BOOL)
        case _:
            return Unknown.because(
                ReasonCode.DATA, "a condition on a value that is not followed", is_data=True
            )


def compared(a: Pointer, b: Pointer | None) -> AffineInt | Unknown:
    """Returns whether a pointer differs from one into another object, or from null.

    What a caller gives may be null, and may be where another pointer points that it gives.
    """
    others = (a,) if b is None else (a, b)
    if any(pointer.object.space is not Space.GLOBAL for pointer in others):
        return number(1, BOOL)
    if not any(pointer.object.is_given for pointer in others):
        return GIVEN
    names = " and ".join(sorted(f"{p.object.key}+{p.offset.identity()}" for p in others))
    text = "whether a pointer is null" if b is None else "whether two pointers are equal"
    reason = Reason(ReasonCode.UNKNOWN_CONDITION, text)
    is_uniform = all(pointer.offset.is_uniform for pointer in others)
    return Unknown(reason, is_uniform=is_uniform, condition=f"{names} differ")


def pointer_to_int(ev: Evaluator, pointer: Pointer, ctype: IntType = U32) -> AffineInt:
    """Returns the pointer as a number: its object's unknown base plus its offset."""
    obj = pointer.object
    key, alignment = _base_key(obj), _alignment_of(obj)
    base = ev.state.domain.symbol(key, f"&{obj.name}", ctype, multiple=alignment, nonnegative=True)
    ev.state.bases.update((symbol.key, (obj, base)) for symbol, _ in base.terms)
    offset = pointer.offset
    form = sum_of(scev_of(offset), atom(key, alignment))
    return AffineInt(base.base + offset.base, ctype, (*base.terms, *offset.terms), form)


def _base_key(obj: Object) -> str:
    return f"{ADDRESS}{obj.key}".replace(" ", ".")  # one name: see `is_of_launch`


def _alignment_of(obj: Object) -> int:
    declared = obj.shared.alignment if obj.shared is not None else 0
    return max(1024, declared) if obj.space is Space.SHARED else 16


def int_to_pointer(ev: Evaluator, value: AffineInt, ctype: PointerType) -> Value:
    """Returns the pointer that a number was made of; in host code null stays a number."""
    if value.constant == 0 and ev.policy.is_given_null:
        return value
    for i, (symbol, factor) in enumerate(value.terms):
        obj, base = ev.state.bases.get(symbol.key, (None, value))
        if obj is not None and isinstance(factor, int) and factor == base.terms[0][1]:
            rest = value.terms[:i] + value.terms[i + 1 :]
            form = sum_of(scev_of(value), atom(_base_key(obj), _alignment_of(obj)), -1)
            offset = AffineInt(value.base - base.base, I64, rest, form)
            return Pointer(obj, offset, ctype.target)
    return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a pointer is made from a number")


def shared_pointer(ev: Evaluator, value: Value) -> Pointer | Unknown:
    """Returns the pointer behind a 32-bit shared address, as inline PTX takes it."""
    if isinstance(value, Pointer):
        return value
    if isinstance(value, AffineInt):
        found = int_to_pointer(ev, value, PointerType(I8))
        if isinstance(found, Pointer):
            return found
    return (
        value
        if isinstance(value, Unknown)
        else Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "not an address of a shared array")
    )


def _holds_data(value: Aggregate) -> bool:
    return any(
        isinstance(v, FloatValue) or (isinstance(v, Unknown) and v.is_data)
        for v in value.cells.values()
    )


def binds_temporary(given: CType, target: CType) -> bool:
    """Returns whether a reference to a type that binds to a place of another refers to a copy."""
    if isinstance(given, ArrayType):
        return isinstance(target, PointerType)
    if isinstance(given, RecordType) and given.is_unrelated(target):
        return True
    kinds = type(given), type(target)
    if kinds == (IntType, IntType):
        return given != target
    return kinds in ((IntType, FloatType), (FloatType, IntType))
