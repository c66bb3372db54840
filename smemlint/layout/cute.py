"""CuTe layouts: functions from coordinates to offsets, as nested shapes and strides.

A layout `(s0, s1, ...) : (d0, d1, ...)` maps a coordinate to the sum of coordinate x stride; an
integer stands for the coordinate that it numbers, first mode fastest. Modes nest. Strides and
shapes are known integers here; the algebra is that of CUTLASS 4.7, `cute/layout.hpp`, and its
static conditions are ValueErrors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from smemlint.layout.swizzle import Swizzle

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"


@dataclass(frozen=True, slots=True)
class Layout:
    """A nested shape with strides of the same structure; compact column-major by default.

    Raises:
        ValueError: on construction, if the structures differ or an extent is not positive.
    """

    shape: IntTuple
    stride: IntTuple = ()

    def __post_init__(self) -> None:
        if self.stride == () and self.shape != ():
            object.__setattr__(self, "stride", compact_strides(self.shape))
        if not _congruent(self.shape, self.stride):
            raise ValueError(f"shape {self.shape} and stride {self.stride} differ in structure")
        if any(extent < 1 for extent in flatten(self.shape)):
            raise ValueError(f"an extent of {self.shape} is not positive")

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return prod(flatten(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the largest offset, strides taken as positive, as CuTe counts."""
        return 1 + sum((s - 1) * abs(d) for s, d in self.flat_modes())

    @property
    def rank(self) -> int:
        """How many modes there are at the top."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    def modes(self) -> tuple[Layout, ...]:
        """The top-level modes, each as a layout."""
        if isinstance(self.shape, int) or isinstance(self.stride, int):
            return (self,)
        return tuple(Layout(s, d) for s, d in zip(self.shape, self.stride, strict=True))

    def flat_modes(self) -> list[tuple[int, int]]:
        """Extent and stride of every innermost mode, fastest first."""
        return list(zip(flatten(self.shape), flatten(self.stride), strict=True))

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate.

        Args:
            coordinate: one number for the whole layout, or one entry a mode, each a number or a
                nested tuple; numbers may be integer arrays, which broadcast.
        """
        return _offset(coordinate[0] if len(coordinate) == 1 else coordinate, self)

    def offsets(self) -> NDArray[np.int64]:
        """The offsets of all coordinates in order, of shape (size,)."""
        import numpy as np

        found: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        for extent, stride in self.flat_modes():
            found = (np.arange(extent, dtype=np.int64)[:, None] * stride + found).ravel()
        return found


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """A swizzle of an offset plus a layout: `composition(swizzle, offset, layout)` in CuTe."""

    swizzle: Swizzle
    layout: Layout
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.offset} o {self.layout}"

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.layout.size

    @property
    def cosize(self) -> int:
        """What CuTe's cosize says, which ignores the swizzle; `extent` is what memory needs."""
        return self.layout.cosize

    @property
    def extent(self) -> int:
        """One more than the largest offset that is really used."""
        return int(self.offsets().max()) + 1

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, as for a layout."""
        return self.swizzle(self.offset + self.layout(*coordinate))

    def offsets(self) -> NDArray[np.int64]:
        """The offsets of all coordinates in order, of shape (size,)."""
        return self.swizzle(self.offset + self.layout.offsets())


def make_layout(*modes: Layout) -> Layout:
    """A layout with the given layouts as its modes."""
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


def row_major(*extents: int) -> Layout:
    """A compact layout whose last mode is the fastest."""
    return Layout(extents, tuple(prod(extents[i + 1 :]) for i in range(len(extents))))


def coalesce(layout: Layout) -> Layout:
    """The same function of the one-number coordinate with the fewest modes, none nested."""
    merged: list[tuple[int, int]] = []
    for extent, stride in layout.flat_modes():
        if extent == 1:
            continue
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, stride))
    return _from_modes(merged) if merged else Layout(1, 0)


def composition(outer: Layout, inner: Layout) -> Layout:
    """The layout c -> outer(inner(c)), of the inner shape.

    Raises:
        ValueError: extents and strides do not divide, as CuTe demands.
    """
    modes = outer.flat_modes()
    # The last mode is unbounded: it answers also for offsets beyond the outer layout's size.
    modes[-1] = (max(modes[-1][0], 2), modes[-1][1])
    modes = coalesce(_from_modes(modes)).flat_modes()
    shape, stride = _compose(modes, inner.shape, inner.stride)
    return Layout(shape, stride)


def composition_by_mode(outer: Layout, inner: Sequence[Layout]) -> Layout:
    """Each top-level mode of `outer` composed with its own layout; modes without one stay.

    Raises:
        ValueError: as `composition`, or there are more layouts than modes.
    """
    modes = list(outer.modes())
    if len(inner) > len(modes):
        raise ValueError(f"{len(inner)} tilers for {len(modes)} modes")
    for i, tiler in enumerate(inner):
        modes[i] = composition(modes[i], tiler)
    return make_layout(*modes)


def complement(layout: Layout, cosize: IntTuple | None = None) -> Layout:
    """The offsets up to `cosize` that the layout leaves out, as a layout of its own.

    A shape as `cosize` is rounded up to whole repetitions mode by mode, as CuTe does.

    Raises:
        ValueError: the layout maps two coordinates to one offset.
    """
    used = sorted((d, s) for s, d in layout.flat_modes() if s > 1 and d)
    modes: list[tuple[int, int]] = []
    current = 1
    for stride, extent in used:
        if stride < current:
            raise ValueError(f"{layout} maps two coordinates to one offset")
        modes.append((stride // current, current))
        current = stride * extent
    repetitions, divisor = 1, current
    for extent in flatten(layout.cosize if cosize is None else cosize):
        repetitions *= -(-extent // divisor)
        divisor = -(-divisor // extent)
    modes.append((repetitions, current))
    return coalesce(_from_modes(modes))


def right_inverse(layout: Layout) -> Layout:
    """The largest layout r with layout(r(i)) == i."""
    modes: list[tuple[int, int]] = []
    position, ordered = 1, []
    for extent, stride in layout.flat_modes():
        ordered.append((stride, extent, position))
        position *= extent
    current = 1
    for stride, extent, at in sorted(ordered):
        if extent == 1:
            continue
        if stride != current:
            break
        modes.append((extent, at))
        current *= extent
    return coalesce(_from_modes(modes)) if modes else Layout(1, 0)


def logical_divide(layout: Layout, tiler: Layout) -> Layout:
    """Two modes: the elements that the tiler points to, and the tiles.

    Raises:
        ValueError: as `composition` and `complement`.
    """
    return composition(layout, make_layout(tiler, complement(tiler, coalesce(layout).shape)))


def logical_product(block: Layout, tiler: Layout) -> Layout:
    """Two modes: the block, and its repetitions laid out by the tiler.

    Raises:
        ValueError: as `composition` and `complement`.
    """
    rest = complement(block, block.size * tiler.cosize)
    return make_layout(block, composition(rest, tiler))


def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """The logical product with block and repetition of every mode zipped together.

    Raises:
        ValueError: as `logical_product`.
    """
    rank = max(block.rank, tiler.rank)
    product = logical_product(_appended(block, rank), _appended(tiler, rank))
    inner, outer = product.modes()
    return make_layout(
        *(make_layout(a, b) for a, b in zip(inner.modes(), outer.modes(), strict=True))
    )


def tile_to_shape(
    block: Layout, shape: Sequence[int], order: Sequence[int] | None = None
) -> Layout:
    """The block repeated to fill a shape; `order` ranks the modes, fastest 0 (first by default).

    Raises:
        ValueError: an extent of the block does not divide the shape's.
    """
    modes = _appended(block, len(shape)).modes()
    if len(modes) > len(shape):
        raise ValueError(f"{block} has more modes than {tuple(shape)}")
    repeats = []
    for extent, mode in zip(shape, modes, strict=True):
        if extent % mode.size:
            raise ValueError(f"a block of {mode.size} does not divide {extent}")
        repeats.append(extent // mode.size)
    ranks = list(order) if order is not None else list(range(len(shape)))
    strides, current = [0] * len(shape), 1
    for mode_index in sorted(range(len(shape)), key=lambda i: ranks[i]):
        strides[mode_index] = current
        current *= repeats[mode_index]
    return blocked_product(make_layout(*modes), Layout(tuple(repeats), tuple(strides)))


def upcast(layout: Layout, factor: int) -> Layout:
    """The layout in units of `factor` elements.

    Raises:
        ValueError: a stride and the factor do not divide.
    """

    def one(extent: int, stride: int) -> tuple[int, int]:
        if stride == 0:
            return extent, stride
        if stride % factor and factor % stride:
            raise ValueError(f"stride {stride} and factor {factor} do not divide")
        sign = 1 if stride > 0 else -1
        return -(-extent // -(-factor // abs(stride))), sign * -(-abs(stride) // factor)

    return _transformed(layout, one)


def downcast(layout: Layout, factor: int) -> Layout:
    """The layout in units of which `factor` make an element.

    Raises:
        ValueError: no mode has stride 1: elements are not adjacent.
    """
    if not any(abs(stride) == 1 for _, stride in layout.flat_modes()):
        raise ValueError(f"{layout} has no mode of stride 1")

    def one(extent: int, stride: int) -> tuple[int, int]:
        return (extent * factor, stride) if abs(stride) == 1 else (extent, stride * factor)

    return _transformed(layout, one)


def flatten(value: IntTuple) -> list[int]:
    """The integers of a nested tuple, in order."""
    return [value] if isinstance(value, int) else [i for v in value for i in flatten(v)]


def compact_strides(shape: IntTuple, start: int = 1) -> IntTuple:
    """Strides of the compact layout of a shape, first mode fastest."""
    if isinstance(shape, int):
        return start
    strides = []
    for extent in shape:
        strides.append(compact_strides(extent, start))
        start *= prod(flatten(extent))
    return tuple(strides)


def _compose(
    outer: list[tuple[int, int]], shape: IntTuple, stride: IntTuple
) -> tuple[IntTuple, IntTuple]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        pairs = [_compose(outer, s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
    assert isinstance(shape, int) and isinstance(stride, int)
    modes = list(_walk(outer, shape, stride)) if stride else [(shape, 0)]
    composed = _from_modes(modes)
    return composed.shape, composed.stride


def _walk(outer: list[tuple[int, int]], extent: int, stride: int) -> Iterator[tuple[int, int]]:
    """The modes of the outer layout that `extent` steps of `stride` pass through."""
    yielded = False
    for outer_extent, outer_stride in outer[:-1]:
        if stride % outer_extent and stride >= outer_extent:
            raise ValueError(f"stride {stride} and extent {outer_extent} do not divide")
        available = -(-outer_extent // abs(stride))
        following = -(-abs(stride) // outer_extent) * (1 if stride > 0 else -1)
        if available > 1 and extent > 1:
            taken = min(available, extent)
            if extent % taken:
                raise ValueError(f"extent {extent} does not divide by {taken}")
            yield taken, stride * outer_stride
            yielded = True
            extent //= taken
        stride = following
    if extent > 1 or not yielded:
        yield extent, stride * outer[-1][1]


def _from_modes(modes: Sequence[tuple[int, int]]) -> Layout:
    if len(modes) == 1:
        return Layout(*modes[0])
    return Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def _appended(layout: Layout, rank: int) -> Layout:
    modes = layout.modes()
    return make_layout(*modes, *[Layout(1, 0)] * (rank - len(modes)))


def _transformed(layout: Layout, one: Any) -> Layout:
    if isinstance(layout.shape, int) and isinstance(layout.stride, int):
        return Layout(*one(layout.shape, layout.stride))
    return make_layout(*(_transformed(mode, one) for mode in layout.modes()))


def _offset(coordinate: Any, layout: Layout) -> Any:
    if isinstance(coordinate, tuple):
        modes = layout.modes()
        if len(coordinate) != len(modes):
            raise ValueError(f"coordinate {coordinate} for {layout}")
        return sum(_offset(c, mode) for c, mode in zip(coordinate, modes, strict=True))
    modes_left = layout.flat_modes()
    total: Any = 0
    for extent, stride in modes_left[:-1]:
        total = total + coordinate % extent * stride
        coordinate = coordinate // extent
    return total + coordinate * modes_left[-1][1]


def _congruent(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) and all(map(_congruent, shape, stride))


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(map(_text, value))})"
