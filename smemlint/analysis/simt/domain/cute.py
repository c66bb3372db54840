"""CuTe's values: what its types stand for, and the pure functions on them.

A static integer is an `Int` like any other, a tuple a tuple of values; layouts and swizzles are
those of `smemlint.layout`. Everything that is not known at compile time has no such value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.values import AffineInt, Cute, Unknown, Value, number
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.domain.values import Pointer
    from smemlint.facts import LayoutUse
    from smemlint.layout.cute.int_tuples import IntTuple

    pass

_ATOM = re.compile(r"Layout_(?P<major>K|MN)_(?P<mode>INTER|SW32|SW64|SW128)(?P<wide>_32B)?_Atom")
_SPANS = {"INTER": (16, 0), "SW32": (32, 1), "SW64": (64, 2), "SW128": (128, 3)}


@dataclass(frozen=True, slots=True, eq=False)
class Swizzled:
    """A layout with the swizzle that its offsets go through.

    Attributes:
        layout: in elements.
        units: `elements` where the swizzle is of the layout's offset, `bytes` where it is of the
            pointer.
    """

    swizzle: Swizzle
    layout: cute.Layout
    units: str = "elements"

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.layout}"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A pointer with a layout.

    Attributes:
        pointer: to the element that offset 0 stands for.
        offset: elements added before the swizzle: what slicing has fixed.
        use: the swizzle as a fact; None without one.
    """

    pointer: Pointer
    layout: cute.Layout
    offset: AffineInt
    swizzle: Swizzle | None = None
    units: str = ""
    use: LayoutUse | None = None

    def __str__(self) -> str:
        at = f"{self.pointer.object.key}+{self.pointer.offset.identity()}+{self.offset.identity()}"
        return f"Tensor<{self.swizzle} o {self.layout}> at {at}"


def mma_atom(name: str, element_bytes: int) -> Swizzled | None:
    """The shared-memory atom of wgmma or tcgen05 with this name; None for no such name.

    Source: CUTLASS 4.7, `cute/atom/mma_traits_sm90_gmma.hpp` and `mma_traits_sm100.hpp`.
    """
    found = _ATOM.fullmatch(name)
    if found is None or element_bytes < 1:
        return None
    span, bits = _SPANS[found["mode"]]
    swizzle, rows = Swizzle(bits, 4, 3), 8
    if found["wide"]:
        swizzle, rows = Swizzle(2, 5, 2), 4
    width = span // element_bytes
    layout = cute.Layout((rows, width), (width, 1))
    if found["major"] == "MN":
        layout = cute.Layout((width, rows), (1, width))
    return Swizzled(swizzle, layout, "bytes")


def int_tuple(value: Value) -> IntTuple | None:
    """A nested tuple of known integers; None where one is not known."""
    if isinstance(value, AffineInt):
        return value.constant
    if not isinstance(value, Cute) or not isinstance(value.payload, tuple):
        return None
    parts = [int_tuple(v) for v in value.payload]
    return None if any(p is None for p in parts) else tuple(p for p in parts if p is not None)


def value_of(tree: IntTuple) -> Value:
    """The value of a nested tuple of integers."""
    if isinstance(tree, tuple):
        return Cute(tuple(map(value_of, tree)))
    assert isinstance(tree, int)
    return number(tree)


def layout_of(value: Value) -> cute.Layout | Swizzled | None:
    """The layout that a value is, or that a tensor has; None for others."""
    if not isinstance(value, Cute):
        return None
    held = value.payload
    if isinstance(held, Tensor):
        if held.swizzle is None:
            return held.layout
        return Swizzled(held.swizzle, held.layout, held.units)
    return held if isinstance(held, cute.Layout | Swizzled) else None


def tensor_of(value: Value) -> Tensor | None:
    """The shared tensor that a value is; None for others."""
    held = value.payload if isinstance(value, Cute) else None
    return held if isinstance(held, Tensor) else None


def plain_layout(value: Value) -> cute.Layout | None:
    """The same without the swizzle, which sizes do not depend on."""
    found = layout_of(value)
    return found.layout if isinstance(found, Swizzled) else found


def made_layout(parts: Sequence[Value]) -> Value:
    """`make_layout(shape)`, `make_layout(shape, stride)` or `make_layout(layout, ...)`."""
    layouts = [plain_layout(p) for p in parts]
    known = [x for x in layouts if x is not None]
    if known and len(known) == len(parts):
        return Cute(cute.make_layout(*known))
    shape = int_tuple(parts[0]) if parts else None
    if shape is None:
        return Unknown("a layout whose shape is known only at run time")
    if len(parts) == 1:
        return guarded(lambda: cute.Layout(shape))
    order = parts[1].payload if isinstance(parts[1], Cute) else None
    if order == "LayoutLeft":
        return guarded(lambda: cute.Layout(shape))
    if order == "LayoutRight":
        return guarded(lambda: right_major(shape))
    stride = int_tuple(parts[1])
    if stride is None:
        return Unknown("a layout whose strides are known only at run time")
    return guarded(lambda: cute.Layout(shape, stride))


def right_major(shape: IntTuple) -> cute.Layout:
    """The compact layout whose last mode is the fastest, nested modes included."""
    return cute.Layout(shape, cute.compact_strides(shape, is_right=True))


def composed(outer: Value, inner: Value) -> Value:
    """`composition(outer, inner)` of swizzles, layouts and tilers."""
    if not isinstance(outer, Cute):
        return Unknown("a composition of what is not known")
    function, layout = outer.payload, plain_layout(inner)
    if isinstance(function, Swizzle):
        if layout is None or isinstance(layout_of(inner), Swizzled):
            return Unknown("a swizzle is composed with what is not known")
        return Cute(layout) if function.is_identity else Cute(Swizzled(function, layout))
    if isinstance(function, Swizzled):
        inside = composed(Cute(function.layout), inner)
        if not isinstance(inside, Cute) or not isinstance(inside.payload, cute.Layout):
            return inside
        return Cute(Swizzled(function.swizzle, inside.payload, function.units))
    if not isinstance(function, cute.Layout):
        return Unknown("a composition of what is not known")
    if layout is not None:
        return guarded(lambda: cute.composition(function, layout))
    tiler = _tiler(inner)
    if tiler is None:
        return Unknown("a composition with what is not known")
    return guarded(lambda: cute.composition(function, tuple(tiler)))


def _tiler(value: Value) -> list[cute.Layout] | None:
    """A tuple of layouts and extents as one layout a mode."""
    if not isinstance(value, Cute) or not isinstance(value.payload, tuple):
        return None
    modes = []
    for item in value.payload:
        layout = plain_layout(item)
        extent = int_tuple(item)
        if layout is None and extent is None:
            return None
        modes.append(layout if layout is not None else cute.Layout(extent or 1))
    return modes


def tiled(parts: Sequence[Value]) -> Value:
    """`tile_to_shape(atom, shape, order)`."""
    atom = layout_of(parts[0]) if parts else None
    shape = int_tuple(parts[1]) if len(parts) > 1 else None
    if atom is None or shape is None:
        return Unknown("a tiled layout whose shape is known only at run time")
    order: list[int] | None = None
    if len(parts) > 2:
        ranks = parts[2].payload if isinstance(parts[2], Cute) else None
        found = int_tuple(parts[2])
        flat = [n for n in cute.leaves(found) if isinstance(n, int)] if found is not None else None
        if ranks == "LayoutRight":
            flat = list(range(len(cute.leaves(shape)), 0, -1))
        if flat is None and ranks != "LayoutLeft":
            return Unknown("a tiled layout whose order is not known")
        order = flat
    extents = cute.wrap(shape)
    if not all(isinstance(e, int) for e in extents):
        return Unknown("a layout is tiled to a nested shape")
    flat_extents = [e for e in extents if isinstance(e, int)]
    layout = atom.layout if isinstance(atom, Swizzled) else atom
    ranking: cute.Order = tuple(order) if order is not None else "left"
    made = guarded(lambda: cute.tile_to_shape(layout, tuple(flat_extents), ranking))
    if isinstance(atom, Swizzled) and isinstance(made, Cute):
        inside = made.payload
        assert isinstance(inside, cute.Layout)
        return Cute(Swizzled(atom.swizzle, inside, atom.units))
    return made


def guarded(make: object) -> Value:
    """The layout that `make` returns; what CuTe would refuse to compile is not known."""
    try:
        return Cute(make())  # type: ignore[operator]
    except ValueError as error:
        return Unknown(f"CuTe refuses the layout: {error}")
