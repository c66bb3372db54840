"""CuTe DSL's layouts and swizzles as values, by their flat modes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from smemlint.analysis.python.interpreter.values import UNKNOWN, ModelValue, Value, is_known

if TYPE_CHECKING:
    from smemlint.analysis.python.cute_dsl.memory import Modes
    from smemlint.analysis.python.interpreter.arguments import BoundArguments
    from smemlint.facts import Span


@dataclass(frozen=True, slots=True, eq=False)
class SwizzleValue(ModelValue):
    """`make_swizzle(b, m, s)` with known numbers, and where it stands."""

    triple: tuple[int, int, int]
    span: Span
    spelled: str


@dataclass(frozen=True, slots=True, eq=False)
class LayoutValue(ModelValue):
    """A layout by its flat modes; of a tiled one only those of the atom are known."""

    shape: Modes
    stride: Modes
    is_tiled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ComposedValue(ModelValue):
    """`make_composed_layout(swizzle, offset, layout)`."""

    swizzle: SwizzleValue
    offset: int
    layout: LayoutValue | None


@dataclass(frozen=True, slots=True, eq=False)
class Cosize(ModelValue):
    """`cosize(layout)`: how a `cute.struct` says which layout a field is for."""

    of: ComposedValue


_LARGEST = (1 << 31) - 1
"""Elements: more are not in shared memory."""


def _flat(value: Value) -> Modes | None:
    """The modes of a shape or stride of known numbers, nesting dissolved."""
    if type(value) is int:
        return (value,) if abs(value) <= _LARGEST else None
    if not isinstance(value, tuple | list) or not is_known(value):
        return None
    parts = [_flat(v) for v in value]
    return None if None in parts else tuple(n for part in parts if part for n in part)


def layout_of(given: BoundArguments) -> Value:
    """`make_layout(shape, stride=)`; without strides the first mode is the fastest."""
    shape = _flat(given.get(0, "shape"))
    if shape is None:
        return UNKNOWN
    if "stride" not in given.named:
        return _packed(shape, range(len(shape)))
    stride = _flat(given.named["stride"])
    if stride is None or len(stride) != len(shape):
        return UNKNOWN
    return LayoutValue(shape, stride)


def ordered(given: BoundArguments) -> Value:
    """`make_ordered_layout(shape, order=)`: compact, the smallest order is the fastest."""
    shape, order = _flat(given.get(0, "shape")), _flat(given.get(1, "order"))
    if shape is None or order is None or len(order) != len(shape):
        return UNKNOWN
    return _packed(shape, order)


def _packed(shape: Modes, order: Modes | range) -> Value:
    if abs(prod(shape)) > _LARGEST:
        return UNKNOWN
    return LayoutValue(shape, _compact(shape, order))


def _compact(shape: Modes, order: Modes | range) -> Modes:
    strides = [0] * len(shape)
    step = 1
    for mode in sorted(range(len(shape)), key=lambda k: order[k]):
        strides[mode] = step
        step *= shape[mode]
    return tuple(strides)


def composed(given: BoundArguments) -> Value:
    """`make_composed_layout(swizzle, offset, layout)`."""
    inner, offset, outer = given.get(0, "inner"), given.get(1, "offset"), given.get(2, "outer")
    if not isinstance(inner, SwizzleValue) or type(offset) is not int:
        return UNKNOWN
    if abs(offset) > _LARGEST:
        return UNKNOWN
    return ComposedValue(inner, offset, outer if isinstance(outer, LayoutValue) else None)


def tiled(atom: Value) -> Value:
    """The atom repeated: how it lies inside itself stays, its extent does not."""
    if isinstance(atom, LayoutValue):
        return replace(atom, is_tiled=True)
    if isinstance(atom, ComposedValue):
        layout = replace(atom.layout, is_tiled=True) if atom.layout is not None else None
        return replace(atom, layout=layout)
    return UNKNOWN
