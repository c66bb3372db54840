"""CuTe DSL's layouts and swizzles as values of the exploration of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.memory import Modes
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, ModelValue, Value, is_known
from smemlint.facts import Span
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class SwizzleValue(ModelValue):
    """`make_swizzle(b, m, s)` with known numbers, and where it stands."""

    triple: tuple[int, int, int]
    span: Span
    spelled: str


@dataclass(frozen=True, slots=True, eq=False)
class LayoutValue(ModelValue):
    """A layout of known numbers; of a tiled one only the modes of the atom are known."""

    layout: cute.Layout
    is_tiled: bool = False

    @property
    def shape(self) -> Modes:
        """The extents of the flat modes."""
        return tuple(extent for extent, _ in self.layout.static_modes())

    @property
    def stride(self) -> Modes:
        """The strides of the flat modes."""
        return tuple(stride for _, stride in self.layout.static_modes())


@dataclass(frozen=True, slots=True, eq=False)
class ComposedValue(ModelValue):
    """Evaluates `make_composed_layout(swizzle, offset, layout)`."""

    swizzle: SwizzleValue
    offset: int
    layout: LayoutValue | None


@dataclass(frozen=True, slots=True, eq=False)
class Cosize(ModelValue):
    """`cosize(layout)`: how a `cute.struct` says which layout a field is for."""

    of: ComposedValue


_LARGEST = (1 << 31) - 1
"""Elements: more are not in shared memory."""


def _tree(value: Value) -> cute.IntTuple | None:
    """Returns a shape or stride of known numbers; None for anything else."""
    if type(value) is int:
        return value if abs(value) <= _LARGEST else None
    if not isinstance(value, tuple | list) or not value or not is_known(value):
        return None
    parts = [_tree(v) for v in value]
    return None if None in parts else tuple(part for part in parts if part is not None)


def _made(make: Callable[[], cute.Layout]) -> Value:
    """Returns the layout that is made; unknown where CuTe refuses it, or it is too large."""
    try:
        layout = make()
        sizes = (cute.static(layout.size), cute.static(layout.cosize))
    except ValueError:  # of the engine, or an order of another length than the shape
        return UNKNOWN
    return LayoutValue(layout) if max(map(abs, sizes)) <= _LARGEST else UNKNOWN


def layout_of(given: BoundArguments) -> Value:
    """Returns `make_layout(shape, stride=)`; without strides the first mode is the fastest."""
    shape = _tree(given.get(0, "shape"))
    if shape is None:
        return UNKNOWN
    if "stride" not in given.named:
        return _made(lambda: cute.Layout(shape))
    stride = _tree(given.named["stride"])
    return UNKNOWN if stride is None else _made(lambda: cute.Layout(shape, stride))


def ordered(given: BoundArguments) -> Value:
    """Returns `make_ordered_layout(shape, order=)`: compact, the smallest order is the fastest."""
    shape, order = _tree(given.get(0, "shape")), _tree(given.get(1, "order"))
    if shape is None or order is None:
        return UNKNOWN
    return _made(lambda: cute.make_ordered_layout(shape, order))


def composed(given: BoundArguments) -> Value:
    """Evaluates `make_composed_layout(swizzle, offset, layout)`."""
    inner, offset, outer = given.get(0, "inner"), given.get(1, "offset"), given.get(2, "outer")
    if not isinstance(inner, SwizzleValue) or type(offset) is not int:
        return UNKNOWN
    if abs(offset) > _LARGEST:
        return UNKNOWN
    return ComposedValue(inner, offset, outer if isinstance(outer, LayoutValue) else None)


def tiled(atom: Value) -> Value:
    """Returns the atom repeated: how it lies inside itself stays, its extent does not."""
    if isinstance(atom, LayoutValue):
        return replace(atom, is_tiled=True)
    if isinstance(atom, ComposedValue):
        layout = replace(atom.layout, is_tiled=True) if atom.layout is not None else None
        return replace(atom, layout=layout)
    return UNKNOWN
