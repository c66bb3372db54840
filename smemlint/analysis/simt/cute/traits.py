"""CuTe's traits: what `cosize_v<L>`, `sizeof_bits<T>::value` and the like say of a type."""

from __future__ import annotations

from smemlint.analysis.simt.cute.types import type_bits
from smemlint.analysis.simt.cute.values import plain_layout_of, value_of
from smemlint.analysis.simt.domain.ctypes import CType, IntType, StaticType, TupleType
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_arguments import split_qualified, type_argument

_FIGURES = ("cosize", "size", "rank")


def cute_trait(ev: Evaluator, name: str) -> Value | None:
    """Returns the value of a trait of CuTe's; None of all other names, and of unknown types."""
    prefix, last = split_qualified(name)
    if last == "value":
        last = split_qualified(prefix)[1]
    trait, arguments = ev.state.unit.template_arguments(last)
    if len(arguments) != 1 or trait in ev.state.unit.records:
        return None
    trait = trait.removesuffix("_v")
    if trait == "sizeof_bits":
        bits = type_bits(ev, arguments[0])
        return number(bits) if bits else None
    type_ = type_argument(ev, arguments[0])
    if trait == "is_static":
        is_static = _is_static(type_)
        return None if is_static is None else number(int(is_static))
    value = static_value(type_) if isinstance(type_, StaticType) else None
    if trait == "tuple_size":
        items = value.payload if isinstance(value, Cute) else None
        return number(len(items)) if isinstance(items, tuple) else None
    layout = plain_layout_of(value) if value is not None and trait in _FIGURES else None
    return value_of(getattr(layout, trait)) if layout is not None else None


def _is_static(type_: CType | None) -> bool | None:
    """Returns whether all numbers of a type are known from it; None where that is not known."""
    if isinstance(type_, TupleType):
        answers = [_is_static(mode) for mode in type_.modes]
        return False if False in answers else None if None in answers else True
    if not isinstance(type_, StaticType):
        return False if isinstance(type_, IntType) else None
    value = static_value(type_)
    layout = plain_layout_of(value)
    if layout is not None:
        return layout.is_static
    is_known = isinstance(value, AffineInt) or isinstance(getattr(value, "payload", None), tuple)
    return True if is_known else None
