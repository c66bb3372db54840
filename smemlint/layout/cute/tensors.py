"""Tensors: a pointer into a memory space with a layout.

A swizzle has three homes: in a `ComposedLayout` it acts on element offsets; in the pointer (all
layouts with a `smem_ptr_flag`) on byte addresses; `as_position_independent` turns the second into
the first.

Source: CUTLASS 4.7, `cute/tensor_impl.hpp`, `cute/pointer_swizzle.hpp`, `cute/pointer_flagged.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from smemlint.layout.cute.algebra import zipped_divide
from smemlint.layout.cute.int_tuples import (
    Coordinate,
    IntTuple,
    crd2idx,
    dice_tuple,
    has_underscore,
    leaves,
    product_each,
    repeat_underscore,
)
from smemlint.layout.cute.integers import (
    UNDERSCORE,
    CuteError,
    Integer,
    Underscore,
    apply_swizzle,
    greatest_common_divisor,
)
from smemlint.layout.cute.inverses import (
    max_alignment,
    max_common_layout,
    max_common_vector,
    recast_layout,
    recast_swizzle,
)
from smemlint.layout.cute.layouts import (
    AnyLayout,
    ComposedLayout,
    Layout,
    Tiler,
    compose_swizzle,
    group,
)
from smemlint.layout.cute.mixed_bits import MixedBits, same_bits
from smemlint.layout.cute.products import make_fragment_like
from smemlint.layout.cute.slicing import slice_layout
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass


class Space(Enum):
    """The memory that a pointer points into."""

    SHARED = "smem"
    GLOBAL = "gmem"
    REGISTER = "rmem"
    TENSOR_MEMORY = "tmem"
    COORDINATE = "coordinate"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A pointer with a layout.

    Attributes:
        space: the memory of the pointer.
        bits: width of an element.
        layout: in elements.
        base: address of offset 0 in bits, before a pointer swizzle.
        swizzle: of the byte address: what a pointer with `smem_ptr_flag` has.
        origin: what it points into, for whoever made the tensor.
        alignment: bytes that the pointer is declared to be a multiple of, as far as the strides
            of slices keep that; only the Python DSL asks for it. 0 for nothing declared.
    """

    space: Space
    bits: int
    layout: AnyLayout
    base: Integer = 0
    swizzle: Swizzle | None = None
    origin: object = None
    alignment: int = 0

    def __str__(self) -> str:
        pointer = f"{self.swizzle} o " if self.swizzle is not None else ""
        at = f"{self.origin}+{self.base}" if self.origin is not None else self.base
        return f"{self.space.value}[{self.bits}b]@{at} o {pointer}{self.layout}"

    @property
    def shape(self) -> IntTuple:
        """The shape of the layout."""
        return self.layout.shape

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return self.layout.rank

    @property
    def size(self) -> Integer:
        """The number of elements."""
        return self.layout.size

    @property
    def is_shared(self) -> bool:
        """Whether it lies in shared memory."""
        return self.space is Space.SHARED

    def address(self, offset: Integer) -> Integer:
        """Returns the byte address of an offset of elements, the pointer's swizzle applied."""
        byte = (self.base + offset * self.bits) // 8
        return apply_swizzle(self.swizzle, byte) if self.swizzle is not None else byte

    def address_of(self, *coordinate: Coordinate) -> Integer:
        """Returns the byte address of the element at a coordinate."""
        offset: Integer = self.layout(*coordinate)
        return self.address(offset)

    def differs_in_place_only(self, other: Tensor) -> bool:
        """Returns whether two tensors are equal but for the address of their offset 0."""
        mine, its = self.layout, other.layout
        if isinstance(mine, ComposedLayout) and isinstance(its, ComposedLayout):
            offsets = mine.offset, its.offset
            if any(isinstance(o, MixedBits) for o in offsets) and not same_bits(*offsets):
                return False
        return (self.space, self.bits, self.swizzle, str(mine)) == (
            other.space,
            other.bits,
            other.swizzle,
            str(its),
        )

    def is_same(self, other: Tensor) -> bool:
        """Returns whether two tensors are known to be equal."""
        is_there = self.origin is other.origin and repr(self.base) == repr(other.base)
        return is_there and self.differs_in_place_only(other)

    def slice(self, *coordinate: Coordinate) -> Tensor:
        """Returns the modes under an underscore at the other coordinates."""
        at = coordinate[0] if len(coordinate) == 1 else coordinate
        if not has_underscore(at):
            raise CuteError(f"{at} keeps no mode")
        layout, offset = slice_layout(self.layout, at)
        plain = self.layout.plain
        step = _known_multiple(at, plain.shape, plain.stride) * self.bits // 8
        kept = greatest_common_divisor(self.alignment, step) if self.alignment else 0
        return replace(self.at(layout, offset), alignment=kept)

    def at(self, layout: AnyLayout, offset: Integer = 0) -> Tensor:
        """Returns the tensor with another layout, some elements further."""
        return replace(self, layout=layout, base=self.base + offset * self.bits)

    def apply(self, function: Callable[[Layout], Layout]) -> Tensor:
        """Returns the tensor with the function's result for its plain layout."""
        return replace(self, layout=self.layout.apply(function))

    def mode(self, *path: int) -> Tensor:
        """Returns one mode: `tensor<0>(x)`."""
        return self.apply(lambda layout: layout.mode(*path))

    def group(self, begin: int, end: int) -> Tensor:
        """Returns the tensor with some modes in one: `group_modes<begin, end>(x)`."""
        return self.apply(lambda layout: group(layout, begin, end))

    def recast(self, bits: int) -> Tensor:
        """Returns the tensor in elements of another width: `recast<T>(x)`."""
        if bits == self.bits:
            return self
        layout = recast_layout(self.layout, self.bits, bits)
        return replace(self, layout=layout, bits=bits)

    def domain_offset(self, coordinate: Coordinate) -> Tensor:
        """Returns the tensor that begins at a coordinate."""
        plain = self.layout.plain
        if isinstance(self.layout, Layout):
            return self.at(plain, plain(coordinate))
        if not isinstance(self.layout.offset, int):
            raise CuteError("a swizzled slice is moved")
        moved = self.layout.offset + plain(coordinate)
        return replace(self, layout=compose_swizzle(self.layout.swizzle, plain, moved))

    def fragment_like(self, bits: int | None = None) -> Tensor:
        """Returns a register tensor for this partition: `make_fragment_like`."""
        return make_register_tensor(bits or self.bits, make_fragment_like(self.layout.plain))


def _known_multiple(coordinate: Coordinate, shape: IntTuple, stride: IntTuple) -> int:
    """Returns what the offset of a coordinate is a multiple of by its strides alone; 0 of offset 0.

    A dynamic coordinate may be anything, so each stride that it meets counts.
    """
    if isinstance(coordinate, Underscore):
        return 0
    if isinstance(coordinate, tuple) and isinstance(shape, tuple) and isinstance(stride, tuple):
        parts = zip(coordinate, shape, stride, strict=True)
        return greatest_common_divisor(*(_known_multiple(c, s, d) for c, s, d in parts))
    steps = leaves(stride)
    if isinstance(coordinate, int) and all(isinstance(d, int) for d in steps):
        offset = crd2idx(coordinate, shape, stride)
        return abs(offset) if isinstance(offset, int) else 1
    return greatest_common_divisor(*(abs(d) if isinstance(d, int) else d.multiple for d in steps))


def make_register_tensor(bits: int, layout: Layout) -> Tensor:
    """Returns a tensor in registers."""
    return Tensor(Space.REGISTER, bits, layout)


def as_position_independent(tensor: Tensor) -> Tensor:
    """Returns the tensor with the pointer's swizzle in its layout, in elements."""
    if tensor.swizzle is None or tensor.swizzle.is_identity:
        return tensor
    swizzle = recast_swizzle(tensor.swizzle, 8, tensor.bits)
    return replace(tensor, layout=compose_swizzle(swizzle, tensor.layout.plain), swizzle=None)


# ---- partitioning by tiles


def local_tile(
    tensor: Tensor, tiler: Tiler, coordinate: Coordinate, projection: Coordinate | None = None
) -> Tensor:
    """Returns one tile of a tensor; coordinates that are missing keep their mode.

    Args:
        tensor: what is tiled.
        tiler: the tile by mode.
        coordinate: which tile.
        projection: drops the modes of tiler and coordinate that have an underscore (`X`).
    """
    if projection is not None:
        tiler, coordinate = dice_tuple(projection, tiler), dice_tuple(projection, coordinate)
    tiled = tensor.apply(lambda layout: zipped_divide(layout, tiler))
    plain = tiled.layout.plain
    keep = repeat_underscore(plain.mode(0).rank)
    return tiled.slice(keep, _filled(coordinate, plain.mode(1).rank))


def outer_partition(tensor: Tensor, tiler: Tiler, coordinate: Coordinate) -> Tensor:
    """Returns the elements at one coordinate of every tile."""
    tiled = tensor.apply(lambda layout: zipped_divide(layout, tiler))
    plain = tiled.layout.plain
    keep = repeat_underscore(plain.mode(1).rank)
    return tiled.slice(_filled(coordinate, plain.mode(0).rank), keep)


def local_partition(
    tensor: Tensor, threads: Layout, index: Integer, projection: Coordinate | None = None
) -> Tensor:
    """Returns the elements that a thread of a thread layout owns.

    The index goes through the projected layout as if it were compact, as in CuTe.
    """
    if projection is not None:
        threads = Layout(
            dice_tuple(projection, threads.shape), dice_tuple(projection, threads.stride)
        )
    coordinate = threads.flat_coordinate(index)
    return outer_partition(tensor, product_each(threads.shape), coordinate)


def _filled(coordinate: Coordinate, rank: int) -> Coordinate:
    if not isinstance(coordinate, tuple):
        return coordinate
    return coordinate + (UNDERSCORE,) * (rank - len(coordinate))


# ---- vectors


def common_vector(a: Tensor, b: Tensor) -> int:
    """Returns how many elements a copy could move at once by its layouts; 0 for none.

    References to elements below a byte are no lvalues and never vectorize, nor do types that
    differ in width.
    """
    if a.bits != b.bits or a.bits < 8:
        return 0
    return max_common_vector(a.layout, b.layout)


def common_layout(a: Tensor, b: Tensor) -> Layout:
    """Returns the coordinates of the longest run that lies together in both tensors."""
    return max_common_layout(a.layout, b.layout)


def alignment_bits(tensor: Tensor) -> int:
    """Returns the alignment that a tensor is statically known to have, in bits.

    A raw pointer says nothing (0 divides by everything), a swizzled one keeps its groups together.
    """
    pointer = 8 * tensor.swizzle.group if tensor.swizzle is not None else 0
    return greatest_common_divisor(pointer, max_alignment(tensor.layout) * tensor.bits)
