"""Values of the standard's type traits, which `if constexpr` asks for.

`std::is_same_v<T, float>`, `std::is_same<T, float>::value`, `cuda::std::is_integral_v<T>`; a trait
of a type that is not known has no value.
"""

from __future__ import annotations

from collections.abc import Callable

from smemlint.analysis.simt.domain.ctypes import (
    NULL,
    ArrayType,
    ClosureType,
    CType,
    FloatType,
    IntType,
    PointerType,
    RecordType,
    StaticType,
    is_opaque,
)
from smemlint.analysis.simt.domain.values import Cute, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.same_type import same_type
from smemlint.analysis.simt.types.template_arguments import split_qualified, type_argument

_STANDARD_FLOATS = frozenset(("float", "double", "long double"))
"""Of which `std::is_floating_point` holds; `__half` and its like are classes."""


def _is_standard_float(ctype: CType) -> bool:
    return isinstance(ctype, FloatType) and ctype.name in _STANDARD_FLOATS


def _is_same(a: CType, b: CType) -> bool:
    """Returns whether two types are one; `half2` and `__half2` are two names of a vector type."""
    if isinstance(a, RecordType) and isinstance(b, RecordType) and a.record is b.record is None:
        return _plain_name(a) == _plain_name(b)
    return same_type(a, b)


def _plain_name(ctype: RecordType) -> str:
    return ctype.name.lstrip("_").removeprefix("nv_")


_OF_ONE_TYPE: dict[str, Callable[[CType], bool]] = {
    "is_integral": lambda kind: isinstance(kind, IntType) and kind != NULL,
    "is_floating_point": _is_standard_float,
    "is_arithmetic": lambda kind: (
        _is_standard_float(kind) or (isinstance(kind, IntType) and kind != NULL)
    ),
    "is_signed": lambda kind: (
        _is_standard_float(kind) or (isinstance(kind, IntType) and kind.signed)
    ),
    "is_unsigned": lambda kind: isinstance(kind, IntType) and not kind.signed,
    "is_pointer": lambda kind: isinstance(kind, PointerType) and not kind.is_reference,
    "is_reference": lambda kind: isinstance(kind, PointerType) and kind.is_reference,
    "is_array": lambda kind: isinstance(kind, ArrayType),
    "is_class": lambda kind: (
        isinstance(kind, RecordType | ClosureType)
        or (isinstance(kind, FloatType) and kind.name not in _STANDARD_FLOATS)
    ),
}

_OF_CUTE = frozenset(("is_layout", "is_composed_layout", "is_tensor"))
"""Traits of CuTe's class templates, which no reference to one has."""


def _is_of_cute(kind: CType, trait: str) -> bool | None:
    """Returns whether a type is one of CuTe's; None where its value is not known."""
    if not isinstance(kind, StaticType):
        return False
    if not isinstance(kind.value, Cute):
        return None
    from smemlint.layout import cute

    layouts = (cute.Layout, cute.ComposedLayout, cute.SmemAtom)
    kinds = {"is_layout": layouts, "is_composed_layout": layouts[1:], "is_tensor": (cute.Tensor,)}
    return isinstance(kind.value.payload, kinds[trait])


def trait_value(ev: Evaluator, spelling: str) -> Value | None:
    """Returns what a trait's name stands for; None of all other names, and of unknown types."""
    prefix, last = split_qualified(spelling)
    if last == "value":
        name, arguments = ev.state.unit.template_arguments(split_qualified(prefix)[1])
    elif "_v<" in last:
        name, arguments = ev.state.unit.template_arguments(last)
        name = name.removesuffix("_v")
    else:
        return None
    kinds = [type_argument(ev, a) for a in arguments]
    known = [k for k in kinds if isinstance(k, ClosureType) or not (k is None or is_opaque(k))]
    if len(known) < len(kinds):
        return None
    if name == "is_same" and len(known) == 2:
        return number(int(_is_same(*known)))
    if name in _OF_CUTE and len(known) == 1:
        answer = _is_of_cute(known[0], name)
        return None if answer is None else number(int(answer))
    test = _OF_ONE_TYPE.get(name)
    return number(int(test(known[0]))) if test is not None and len(known) == 1 else None
