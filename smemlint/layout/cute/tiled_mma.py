"""TiledMMA: an MMA atom repeated over threads, and how it partitions its operands.

Source: CUTLASS 4.7, `cute/atom/mma_atom.hpp`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from smemlint.layout.cute.algebra import complement, composition, logical_divide, zipped_divide
from smemlint.layout.cute.int_tuples import repeat_underscore
from smemlint.layout.cute.integers import UNDERSCORE, Integer, static
from smemlint.layout.cute.inverses import right_inverse
from smemlint.layout.cute.layouts import Layout, Tiler, append, make_layout
from smemlint.layout.cute.mma_traits import MmaOp
from smemlint.layout.cute.products import make_fragment_like, tiled_product
from smemlint.layout.cute.tensors import Tensor, make_register_tensor
from smemlint.lazy_dataclasses import dataclass

Operand = Literal["A", "B", "C"]

ONE_ATOM = Layout((1, 1, 1))
_AXES: dict[Operand, tuple[int, int]] = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
"""Which of M, N and K an operand has."""


@cache
def _thread_layout(threads: Layout, atoms: Layout) -> Layout:
    return tiled_product(threads, append(atoms, 3))


@dataclass(frozen=True, slots=True)
class TiledMma:
    """An MMA atom over a tile.

    Attributes:
        op: what is repeated.
        atoms: how atoms are laid out over M, N and K.
        permutation: by mode, an extent or layout that reorders the tile; `_` for none.
    """

    op: MmaOp
    atoms: Layout = ONE_ATOM
    permutation: tuple[Tiler, ...] = (UNDERSCORE, UNDERSCORE, UNDERSCORE)

    def __str__(self) -> str:
        return f"TiledMMA<{self.op},{self.atoms},({','.join(map(str, self.permutation))})>"

    @property
    def thread_layout(self) -> Layout:
        """(V, M, N, K) of the atoms to thread: `ThrLayoutVMNK`."""
        return _thread_layout(self.op.threads, self.atoms)

    @property
    def threads(self) -> int:
        """The number of threads."""
        return static(self.thread_layout.size)

    def permutation_of(self, mode: int) -> Tiler:
        """Returns the extent or layout of the tile in M, N or K."""
        given = self.permutation[mode] if mode < len(self.permutation) else UNDERSCORE
        if given is UNDERSCORE:
            return self.op.shape[mode] * static(self.thread_layout.mode(mode + 1).size)
        return given

    def tile_size(self, mode: int) -> int:
        """Returns the extent of the tile in M, N or K."""
        extent = self.permutation_of(mode)
        return static(extent.size if isinstance(extent, Layout) else Layout(extent).size)  # type: ignore[arg-type]

    def tile(self, operand: Operand) -> tuple[int, int]:
        """Returns the tile's extents in the two modes of an operand."""
        first, second = _AXES[operand]
        return self.tile_size(first), self.tile_size(second)

    def _atom_layout(self, operand: Operand) -> Layout:
        return {"A": self.op.a, "B": self.op.b, "C": self.op.c}[operand]

    def _to_threads(self, layout: Layout, operand: Operand) -> Layout:
        """Maps (M, K, ..) to ((ThrV,(ThrM,ThrK)), (FrgV,(RestM,RestK,..))): `thrfrg_A`."""
        i, j = _AXES[operand]
        permuted = logical_divide(layout, (self.permutation_of(i), self.permutation_of(j)))
        tile = (Layout(self.op.shape[i]), Layout(self.op.shape[j]))
        atom, rest = zipped_divide(permuted, tile).modes()
        by_value = make_layout(composition(atom, self._atom_layout(operand)), rest)
        threads = self.thread_layout
        over = (Layout(threads.mode(i + 1).size), Layout(threads.mode(j + 1).size))
        return zipped_divide(by_value, (UNDERSCORE, over))

    def partition(self, tensor: Tensor, thread: Integer, operand: Operand) -> Tensor:
        """Returns the values of an operand that a thread holds: (V, RestM, RestK, ..).

        Raises:
            CuteError: the tile does not divide the tensor.
        """
        i, j = _AXES[operand]
        at = self.thread_layout.flat_coordinate(thread)
        divided = tensor.apply(lambda layout: self._to_threads(layout, operand))
        rests = divided.layout.plain.mode(1, 1).rank
        return divided.slice(
            (at[0], (at[i + 1], at[j + 1])), (UNDERSCORE, repeat_underscore(rests))
        )

    def thread_value(self, operand: Operand) -> Layout:
        """Returns (thread, value) to the number of a coordinate in the tile: `get_layoutA_TV`."""
        tile = self._to_threads(Layout(self.tile(operand)), operand)
        threads = self.thread_layout
        if operand != "C":
            over_m, over_n = threads.mode(1).size, threads.mode(2).size
            strides = (1, 0) if operand == "A" else (0, 1)
            inner, values = tile.modes()
            value, over = inner.modes()
            spread = composition(over, (Layout((over_m, over_n), strides), UNDERSCORE))
            tile = make_layout(make_layout(value, spread), values)
        all_threads = make_layout(threads, complement(threads))
        numbers = composition(Layout((threads.size, 1), (1, 0)), right_inverse(all_threads))
        holders, values = tile.modes()
        return make_layout(composition(holders, numbers), values)

    def fragment(self, partition: Tensor, operand: Operand, bits: int = 0) -> Tensor:
        """Returns the registers for a partitioned operand: `make_fragment_A`, `_B` or `_C`.

        Args:
            partition: what a thread holds.
            operand: of which operand.
            bits: width of an element; the operation's by default, or the partition's.
        """
        width = bits or self.op.element_bits(operand) or partition.bits
        plain = partition.layout.plain
        layout = Layout(plain.shape) if operand == "C" else make_fragment_like(plain)
        return make_register_tensor(width, layout)
