"""Layouts: functions from coordinates to offsets, as nested shapes and strides.

A layout `(s0,s1,..):(d0,d1,..)` maps a coordinate to the sum of coordinate x stride; an integer
stands for the coordinate that it numbers, first mode fastest. A `ComposedLayout` swizzles that.

Source: CUTLASS 4.7, `cute/layout.hpp` and `cute/layout_composed.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.layout.cute.int_tuples import (
    IntTuple,
    Order,
    colexicographic_index,
    compact_order,
    compact_strides,
    crd2idx,
    group_modes,
    idx2crd,
    is_congruent,
    is_static,
    leaves,
    product,
    wrap,
)
from smemlint.layout.cute.integers import (
    CuteError,
    DynamicInt,
    Integer,
    Underscore,
    absolute,
    apply_swizzle,
    is_static_value,
    static,
)
from smemlint.layout.cute.mixed_bits import MixedBits
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """A nested shape with strides of the same structure; compact column-major by default.

    Raises:
        CuteError: on construction, if the structures differ or an extent is not positive.
    """

    shape: IntTuple
    stride: IntTuple = ()

    def __post_init__(self) -> None:
        if self.stride == () and self.shape != ():
            object.__setattr__(self, "stride", compact_strides(self.shape))
        if not is_congruent(self.shape, self.stride):
            raise CuteError(f"shape {self.shape} and stride {self.stride} differ in structure")
        if any(isinstance(extent, int) and extent < 1 for extent in leaves(self.shape)):
            raise CuteError(f"an extent of {self.shape} is not positive")

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    @property
    def size(self) -> Integer:
        """The number of coordinates."""
        return product(self.shape)

    @property
    def cosize(self) -> Integer:
        """One more than the largest offset, strides taken as positive, as CuTe counts."""
        total: Integer = 1
        for extent, stride in self.flat_modes():
            total = total + (extent - 1) * absolute(stride)
        return total

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return len(wrap(self.shape))

    @property
    def is_static(self) -> bool:
        """Whether all extents and strides are compile-time constants."""
        return is_static(self.shape) and is_static(self.stride)

    @property
    def plain(self) -> Layout:
        """The layout without a swizzle: itself."""
        return self

    def apply(self, function: Callable[[Layout], Layout]) -> AnyLayout:
        """Returns the function's result for this layout."""
        return function(self)

    def modes(self) -> tuple[Layout, ...]:
        """Returns the top-level modes, each as a layout."""
        if not isinstance(self.shape, tuple) or not isinstance(self.stride, tuple):
            return (self,)
        return tuple(Layout(s, d) for s, d in zip(self.shape, self.stride, strict=True))

    def mode(self, *path: int) -> Layout:
        """Returns the mode at a path of indexes, as `layout<0,1>(x)` does.

        Raises:
            CuteError: there is no such mode.
        """
        shape, stride = self.shape, self.stride
        for index in path:
            shapes, strides = wrap(shape), wrap(stride)
            if not 0 <= index < len(shapes):
                raise CuteError(f"{self} has no mode {','.join(map(str, path))}")
            shape, stride = shapes[index], strides[index]
        return Layout(shape, stride)

    def flat_modes(self) -> list[tuple[Integer, Integer]]:
        """Returns extent and stride of every innermost mode, fastest first."""
        return list(zip(leaves(self.shape), leaves(self.stride), strict=True))

    def static_modes(self) -> list[tuple[int, int]]:
        """Returns `flat_modes` of a static layout.

        Raises:
            CuteError: an extent or a stride is dynamic.
        """
        return [(static(extent), static(stride)) for extent, stride in self.flat_modes()]

    def __call__(self, *coordinate: Any) -> Any:
        """Returns the offset of a coordinate.

        Args:
            coordinate: one number for the whole layout, or one entry a mode, each a number or a
                nested tuple; numbers may be integer arrays, which broadcast.

        Raises:
            CuteError: the coordinate does not fit the shape.
        """
        single: Any = coordinate[0] if len(coordinate) == 1 else coordinate
        return crd2idx(single, self.shape, self.stride)

    def offsets(self) -> NDArray[np.int64]:
        """Returns the offsets of all coordinates in order, as int64 of shape (size,).

        Raises:
            CuteError: the layout is not static.
        """
        import numpy as np

        found: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        for extent, stride in self.static_modes():
            found = (np.arange(extent, dtype=np.int64)[:, None] * stride + found).ravel()
        return found

    def flat_coordinate(self, index: Integer) -> tuple[Integer, ...]:
        """Returns one number a mode for an index: `get_flat_coord`, right for compact layouts."""
        shapes, strides = wrap(self.shape), wrap(self.stride)
        found = (idx2crd(index, s, d) for s, d in zip(shapes, strides, strict=True))
        return tuple(colexicographic_index(c, s) for c, s in zip(found, shapes, strict=True))


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """A swizzle of an offset plus a layout: `composition(swizzle, offset, layout)` in CuTe.

    Attributes:
        offset: what slicing fixed in the bits that the swizzle reads or changes, in elements.
    """

    swizzle: Swizzle
    layout: Layout
    offset: Integer | MixedBits = 0

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.offset} o {self.layout}"

    @property
    def shape(self) -> IntTuple:
        """The shape of the layout inside."""
        return self.layout.shape

    @property
    def size(self) -> Integer:
        """The number of coordinates."""
        return self.layout.size

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return self.layout.rank

    @property
    def cosize(self) -> Integer:
        """CuTe's cosize, which ignores the swizzle."""
        return self.layout.cosize

    @property
    def is_static(self) -> bool:
        """Whether layout and offset are compile-time constants."""
        return isinstance(self.offset, int) and self.layout.is_static

    @property
    def plain(self) -> Layout:
        """The layout inside: `get_nonswizzle_portion`."""
        return self.layout

    def apply(self, function: Callable[[Layout], Layout]) -> AnyLayout:
        """Returns this with the function's result for the layout inside."""
        return compose_swizzle(self.swizzle, function(self.layout), self.offset)

    def __call__(self, *coordinate: Any) -> Any:
        """Returns the offset of a coordinate, as for a layout."""
        offset = self.offset
        start = offset if isinstance(offset, int | DynamicInt) else offset.integer
        moved = start + self.layout(*coordinate)
        if isinstance(moved, int | DynamicInt):
            return apply_swizzle(self.swizzle, moved)
        return self.swizzle(moved)

    def offsets(self) -> NDArray[np.int64]:
        """Returns the offsets of all coordinates in order, as int64 of shape (size,)."""
        assert isinstance(self.offset, int)
        return self.swizzle(self.offset + self.layout.offsets())


AnyLayout: TypeAlias = "Layout | ComposedLayout"
Tiler: TypeAlias = "int | DynamicInt | Underscore | Layout | tuple[Tiler, ...]"


def compose_swizzle(swizzle: Swizzle, layout: Layout, offset: Integer | MixedBits = 0) -> AnyLayout:
    """Returns `composition(swizzle, offset, layout)`; the identity at offset 0 vanishes."""
    if swizzle.is_identity and is_static_value(offset, 0):
        return layout
    return ComposedLayout(swizzle, layout, offset)


def make_layout(*modes: Layout) -> Layout:
    """Returns a layout with the given layouts as its modes."""
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


def make_ordered_layout(shape: IntTuple, order: Order) -> Layout:
    """Returns the compact layout whose modes are ranked by `order`, the fastest lowest."""
    return Layout(shape, compact_order(shape, order))


def append(layout: Layout, rank: int) -> Layout:
    """Returns the layout with modes `1:0` behind it up to a rank."""
    missing = max(rank - layout.rank, 0)
    if not missing:
        return layout
    return Layout((*wrap(layout.shape), *(1,) * missing), (*wrap(layout.stride), *(0,) * missing))


def prepend(layout: Layout, rank: int) -> Layout:
    """Returns the layout with modes `1:0` before it up to a rank."""
    missing = max(rank - layout.rank, 0)
    if not missing:
        return layout
    return Layout((*(1,) * missing, *wrap(layout.shape)), (*(0,) * missing, *wrap(layout.stride)))


def group(layout: Layout, begin: int, end: int) -> Layout:
    """Returns the layout with the modes from `begin` to before `end` in one."""
    return Layout(
        group_modes(wrap(layout.shape), begin, end), group_modes(wrap(layout.stride), begin, end)
    )


def flatten(layout: Layout) -> Layout:
    """Returns the layout without nesting; a single number stays one."""
    if not isinstance(layout.shape, tuple):
        return layout
    return Layout(leaves(layout.shape), leaves(layout.stride))


def from_modes(modes: list[tuple[Integer, Integer]]) -> Layout:
    """Returns the layout of pairs of extent and stride; of a single pair without a tuple."""
    if len(modes) == 1:
        return Layout(*modes[0])
    return Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def _text(tree: IntTuple) -> str:
    return f"({','.join(map(_text, tree))})" if isinstance(tree, tuple) else str(tree)
