"""CuTe's traits: what `cosize_v<L>`, `sizeof_bits<T>::value` and the like say of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from smemlint.analysis.simt.cute.types import type_bits
from smemlint.analysis.simt.cute.values import plain_layout_of, value_of
from smemlint.analysis.simt.domain.ctypes import (
    CType,
    IntType,
    StaticIntType,
    StaticType,
    TupleType,
)
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_arguments import (
    split_qualified,
    type_argument,
    value_argument,
)

_FIGURES = ("cosize", "size", "rank")


def cute_trait(ev: Evaluator, name: str) -> Value | None:
    """Returns the value of a trait of CuTe's; None of all other names, and of unknown types."""
    prefix, last = split_qualified(name)
    if last == "value":
        prefix, last = split_qualified(prefix)
    trait, arguments = ev.state.unit.template_arguments(last)
    if not arguments or prefix == "std" or trait in ev.state.unit.records:
        return None
    trait = trait.removesuffix("_v")
    if trait == "sizeof_bits":
        bits = type_bits(ev, arguments[0])
        return number(bits) if bits else None
    type_ = type_argument(ev, arguments[-1])
    value = static_value(type_) if isinstance(type_, StaticType) else None
    if trait == "is_constant" and len(arguments) == 2:
        wanted = value_argument(ev, arguments[0])
        if not isinstance(wanted, AffineInt) or not isinstance(value, AffineInt):
            return None
        return number(int(wanted.constant == value.constant))
    if len(arguments) > 1:
        return None
    test = _TESTS.get(trait)
    if test is not None:
        answer = test(type_)
        return None if answer is None else number(int(answer))
    items = value.payload if isinstance(value, Cute) else None
    if isinstance(items, tuple) and trait in ("tuple_size", "rank"):
        return number(len(items))
    layout = plain_layout_of(value) if value is not None and trait in _FIGURES else None
    return value_of(getattr(layout, trait)) if layout is not None else None


def _is_static(type_: CType | None) -> bool | None:
    """Returns whether all numbers of a type are known from it; None where that is not known."""
    if isinstance(type_, TupleType):
        return _all(map(_is_static, type_.modes))
    if not isinstance(type_, StaticType):
        return False if isinstance(type_, IntType) else None
    return _has_static(static_value(type_))


def _has_static(value: Value) -> bool | None:
    layout = plain_layout_of(value)
    if layout is not None:
        return layout.is_static
    if isinstance(value, AffineInt):
        return isinstance(value.type, StaticIntType)
    items = value.payload if isinstance(value, Cute) else None
    return _all(map(_has_static, items)) if isinstance(items, tuple) else None


def _all(answers: Iterable[bool | None]) -> bool | None:
    """Returns whether all answers are yes; None where one is not known and none is no."""
    known = set(answers)
    return False if False in known else None if None in known else True


def _is_integral(type_: CType | None) -> bool | None:
    """Returns whether a type is one of CuTe's static integers; `is_integral` has the others."""
    is_static = isinstance(type_, StaticType) and isinstance(static_value(type_), AffineInt)
    return True if is_static else None


def _is_tuple(type_: CType | None) -> bool | None:
    if isinstance(type_, StaticType):
        return isinstance(getattr(static_value(type_), "payload", None), tuple)
    return True if isinstance(type_, TupleType) else False if isinstance(type_, IntType) else None


_TESTS: dict[str, Callable[[CType | None], bool | None]] = {
    "is_static": _is_static,
    "is_integral": _is_integral,
    "is_tuple": _is_tuple,
}
