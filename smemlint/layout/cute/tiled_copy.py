"""TiledCopy: a copy atom repeated over threads and values, and how it partitions tensors.

Source: CUTLASS 4.7, `cute/atom/copy_atom.hpp`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from smemlint.layout.cute.algebra import (
    coalesce,
    composition,
    filter_layout,
    zip_modes,
    zipped_divide,
)
from smemlint.layout.cute.copy_traits import CopyOp
from smemlint.layout.cute.int_tuples import Coordinate, IntTuple, product_each, repeat_underscore
from smemlint.layout.cute.integers import UNDERSCORE, CuteError, Integer, static
from smemlint.layout.cute.inverses import left_inverse, recast_layout, right_inverse, upcast
from smemlint.layout.cute.layouts import Layout, Tiler, make_layout
from smemlint.layout.cute.products import logical_product, raked_product
from smemlint.layout.cute.slicing import slice_layout
from smemlint.layout.cute.tensors import Tensor
from smemlint.layout.cute.tiled_mma import TiledMma
from smemlint.lazy_dataclasses import dataclass

Side = Literal["S", "D"]
"""Source or destination."""

ONE = Layout(1)


def partition_for_tma(tensor: Tensor) -> Tensor:
    """Returns (TMA, TMA_M, TMA_K, REST..) of a tensor (BLK_M, BLK_K, REST..): one box for all."""

    def divided(layout: Layout) -> Layout:
        modes = layout.modes()
        return make_layout(make_layout(*modes[:2]), ONE, ONE, *modes[2:])

    return tensor.apply(divided)


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """A copy operation on values of one width: `Copy_Atom<Op, T>`.

    Attributes:
        bits: width of a value.
        element: the name of the value type; empty where only the width matters.

    Raises:
        CuteError: on construction, if the operation does not move whole values.
    """

    op: CopyOp
    bits: int
    element: str = ""

    def __post_init__(self) -> None:
        if not self.op.has_lane_addresses:
            return
        for layout in (self.source, self.destination, self.reference):
            if layout.mode(0).size != self.op.threads.size:
                raise CuteError(f"{self.op.name} does not move values of {self.bits} bits")

    def __str__(self) -> str:
        return f"Copy_Atom<{self.op},{self.element or f'{self.bits}b'}>"

    @property
    def source(self) -> Layout:
        """(thread, value) of the source."""
        return _in_values(self.op.source, self.bits)

    @property
    def destination(self) -> Layout:
        """(thread, value) of the destination."""
        return _in_values(self.op.destination, self.bits)

    @property
    def reference(self) -> Layout:
        """(thread, value) of the side that thread-value layouts speak about."""
        return _in_values(self.op.reference, self.bits)

    @property
    def threads(self) -> int:
        """The number of threads that execute one operation."""
        return static(self.reference.mode(0).size)

    @property
    def values(self) -> int:
        """The number of values that one thread moves, on the reference side."""
        return static(self.reference.mode(1).size)

    def to_reference(self, side: Side) -> Layout:
        """Returns (thread, value) of a side as (thread, value) of the reference."""
        target = self.source if side == "S" else self.destination
        return composition(right_inverse(self.reference), target)


@cache
def _in_values(bit_layout: Layout, bits: int) -> Layout:
    return recast_layout(bit_layout, 1, bits).plain


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """A copy atom over a tile.

    Attributes:
        atom: what is repeated.
        thread_value: (thread, value) to the number of a coordinate in the tile.

    Raises:
        CuteError: on construction, if the tile has too few threads or values for the atom.
    """

    atom: CopyAtom
    thread_value: Layout
    tiler: Tiler

    def __post_init__(self) -> None:
        if not self.atom.op.has_lane_addresses:
            return
        values = static(self.thread_value.mode(1).size)
        if self.threads % self.atom.threads or values % self.atom.values:
            raise CuteError(f"a TiledCopy has too few threads or values for {self.atom.op.name}")

    def __str__(self) -> str:
        tiler = ",".join(map(str, self.tiler if isinstance(self.tiler, tuple) else (self.tiler,)))
        return f"TiledCopy<{self.atom},{self.thread_value},({tiler})>"

    @property
    def threads(self) -> int:
        """The number of threads."""
        return static(self.thread_value.mode(0).size)

    def layout_of(self, side: Side) -> Layout:
        """Returns `get_layoutS_TV` or `get_layoutD_TV`: the layout that a side has in the tile."""
        tile = Layout((tiler_shape(self.tiler), 1))
        divided = self._to_threads(tile, side)
        layout, _ = slice_layout(divided, (UNDERSCORE, UNDERSCORE, 0))
        return layout.plain

    def _to_threads(self, tiled: Layout, side: Side) -> Layout:
        """Maps ((tile), (rest..)) to (thread, (atom values, atoms), (rest..))."""
        atoms = zipped_divide(self.thread_value, (self.atom.threads, self.atom.values))
        inside, outside = atoms.modes()
        inside = composition(inside, self.atom.to_reference(side))
        by_thread = coalesce(zip_modes(make_layout(inside, outside)), (1, (1, 1)))
        tile, rest = tiled.modes()
        placed = composition(tile, by_thread)
        return make_layout(*placed.modes(), rest)

    def partition(self, tensor: Tensor, thread: Integer, side: Side) -> Tensor:
        """Returns what a thread copies: ((atom values, atoms), rests.., untiled modes..).

        Raises:
            CuteError: the tile does not divide the tensor.
        """
        divided = tensor.apply(
            lambda layout: self._to_threads(zipped_divide(layout, self.tiler), side)
        )
        return divided.slice(thread, UNDERSCORE, repeat_underscore(tensor.rank))

    def retile(self, tensor: Tensor) -> Tensor:
        """Returns a register tensor in the order of this copy: `retile_S` and `retile_D`.

        Raises:
            CuteError: the fragment's values do not fit the tile.
        """
        rank = tensor.rank
        retiled = tensor.apply(self._retiled)
        keep: Coordinate = (0, *(UNDERSCORE,) * (rank - 1)) if rank > 1 else 0
        return retiled.slice(UNDERSCORE, keep)

    def _retiled(self, layout: Layout) -> Layout:
        values = static(layout.mode(0).size)
        tile = Layout(tiler_shape(self.tiler))
        by_position = composition(right_inverse(self.thread_value), tile)
        fragment = upcast(by_position, self.threads * values)
        order = logical_product(Layout(values), right_inverse(fragment))
        in_atoms = zipped_divide(order, Layout(self.atom.values))
        taken, rest = zipped_divide(layout, (values, *product_each(fragment.shape))).modes()
        return make_layout(composition(taken, in_atoms), rest)


def tiler_shape(tiler: Tiler) -> IntTuple:
    """Returns the shape that a tiler covers."""
    if isinstance(tiler, tuple):
        return tuple(tiler_shape(t) for t in tiler)
    if not isinstance(tiler, int | Layout):
        raise CuteError("a tile whose extent is known only at run time")
    return tiler.shape if isinstance(tiler, Layout) else tiler


# ---- makers


def make_tiled_copy(atom: CopyAtom, threads: Layout, values: Layout = ONE) -> TiledCopy:
    """Returns the copy of thread and value layouts; `threads` must be compact (`is_compact`).

    Raises:
        CuteError: the layouts have no product.
    """
    coordinates = raked_product(threads, values)
    shape = (threads.size, values.size)
    thread_value = composition(right_inverse(coordinates), Layout(shape))
    return TiledCopy(atom, thread_value, product_each(coordinates.shape))


def is_compact(layout: Layout) -> bool:
    """Returns whether a thread layout numbers its coordinates without a gap or a repetition."""
    return right_inverse(layout).size == layout.size


def make_tiled_copy_like(atom: CopyAtom, other: TiledCopy, side: Side) -> TiledCopy:
    """Returns `make_tiled_copy_S` or `make_tiled_copy_D`: the order of the other copy's side."""
    return TiledCopy(atom, other.layout_of(side), other.tiler)


def make_tiled_copy_for(
    atom: CopyAtom, mma: TiledMma, operand: Literal["A", "B", "C"]
) -> TiledCopy:
    """Returns `make_tiled_copy_A`, `_B` or `_C`: the order in which an MMA takes an operand."""
    return TiledCopy(atom, mma.thread_value(operand), mma.tile(operand))


def make_tiled_copy_c_atom(atom: CopyAtom, mma: TiledMma) -> TiledCopy:
    """Returns `make_tiled_copy_C_atom`: the smallest copy that retiles an MMA's C.

    Raises:
        CuteError: C has fewer values than the atom moves.
    """
    order = mma.thread_value("C")
    values = static(atom.source.mode(1).size)
    if values > static(order.mode(1).size):
        raise CuteError(f"{atom.op.name} moves more values than the MMA's C has")
    order = composition(order, Layout((order.mode(0).size, values)))
    return _restrided(atom, order, Layout(mma.tile("C")))


def make_cotiled_copy(atom: CopyAtom, atom_order: Layout, data: Layout) -> TiledCopy:
    """Returns `make_cotiled_copy`: threads and values by the offsets that they touch in `data`.

    Raises:
        CuteError: the data layout has no inverse.
    """
    inverse = make_layout(left_inverse(data), Layout(1, 0))
    order = composition(inverse, atom_order)
    return _restrided(atom, order, Layout(product_each(data.shape)))


def _restrided(atom: CopyAtom, order: Layout, tile: Layout) -> TiledCopy:
    """Returns the copy whose tile has only the coordinates that `order` reaches."""
    shape = tile.shape
    rank = tile.rank
    units = [tuple(int(i == j) for j in range(rank)) for i in range(rank)]
    tiler = tuple(filter_layout(composition(Layout(shape, unit), order)) for unit in units)
    placed = composition(tile, tiler)
    return TiledCopy(atom, composition(left_inverse(placed), order), tiler)
