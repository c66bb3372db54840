"""Triton's register layouts: which element of a tensor each register of each lane holds.

Every one of them is linear over F2: the coordinate of (register, lane, warp) is the exclusive-or of
one coordinate for every set bit of the three. A coordinate of those is a *basis*.

Source: `toLinearLayout` of triton 3.9.0, which the bases equal on the recorded layouts
(tests/oracle/record_gluon.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from smemlint.hardware.arch import LANES
from smemlint.lazy_dataclasses import dataclass

Coordinate: TypeAlias = tuple[int, ...]
Bases: TypeAlias = tuple[Coordinate, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A register layout on a shape: one basis for every bit of register, lane and warp number."""

    registers: Bases
    lanes: Bases
    warps: Bases

    @property
    def warp_count(self) -> int:
        """Warps of the block."""
        return 1 << len(self.warps)


class RegisterLayout:
    """A distributed layout of Gluon."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        """Dimensions of the tensors that it lays out."""
        raise NotImplementedError

    def on(self, shape: Sequence[int]) -> Spread:
        """Returns the layout on a tensor's shape.

        Raises:
            ValueError: the layout and the shape do not fit, or the layout is not one of a warp of
                32 lanes.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Blocked(RegisterLayout):
    """`BlockedLayout`: blocks of elements to threads, of threads to warps, of warps to the CTA."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dimensions of the tensors."""
        return len(self.order)

    def on(self, shape: Sequence[int]) -> Spread:
        """See `RegisterLayout.on`."""
        tile = _Tile(self.order)
        tile.extend("register", self.size_per_thread)
        tile.extend("lane", self.threads_per_warp)
        tile.extend("warp", self.warps_per_cta)
        return tile.fitted(shape)


@dataclass(frozen=True, slots=True)
class Slice(RegisterLayout):
    """`SliceLayout`: a layout of one dimension more, with that dimension taken out."""

    dim: int
    parent: RegisterLayout

    @property
    def rank(self) -> int:
        """Dimensions of the tensors."""
        return self.parent.rank - 1

    def on(self, shape: Sequence[int]) -> Spread:
        """See `RegisterLayout.on`."""
        dim = self.dim
        whole = self.parent.on((*shape[:dim], 1, *shape[dim:]))

        def cut(bases: Bases) -> Bases:
            return tuple((*b[:dim], *b[dim + 1 :]) for b in bases)

        registers = tuple(b for b in cut(whole.registers) if any(b))
        return Spread(registers, cut(whole.lanes), cut(whole.warps))


@dataclass(frozen=True, slots=True)
class Linear(RegisterLayout):
    """`DistributedLinearLayout`: the bases themselves."""

    registers: Bases
    lanes: Bases
    warps: Bases
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dimensions of the tensors."""
        return len(self.shape)

    def on(self, shape: Sequence[int]) -> Spread:
        """See `RegisterLayout.on`."""
        if tuple(shape) != self.shape:
            raise ValueError(f"a linear layout of shape {list(self.shape)} on {list(shape)}")
        _require_warp(len(self.lanes))
        return Spread(self.registers, self.lanes, self.warps)


@dataclass(frozen=True, slots=True)
class Mma(RegisterLayout):
    """`NVMMADistributedLayout`: the accumulator of `mma` (version 2) and `wgmma` (version 3)."""

    version: int
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dimensions of the tensors."""
        return len(self.warps_per_cta)

    @property
    def warp_order(self) -> tuple[int, ...]:
        """Fastest dimension of the warps first: `wgmma` counts along M."""
        rows_first = (self.rank - 2, self.rank - 1)
        return rows_first if self.version == 3 else rows_first[::-1]

    def on(self, shape: Sequence[int]) -> Spread:
        """See `RegisterLayout.on`."""
        self._require_known()
        tile = _Tile((1, 0))
        tile.add_mma(self.instr_shape[:2], inner=1, width=2)
        tile.extend("warp", self.warps_per_cta, self.warp_order)
        return tile.fitted(shape)

    def _require_known(self) -> None:
        if self.version not in (2, 3) or self.rank != 2 or len(self.instr_shape) < 2:
            raise ValueError(f"an MMA layout of version {self.version} and rank {self.rank}")


@dataclass(frozen=True, slots=True)
class DotOperand(RegisterLayout):
    """`DotOperandLayout`: operand 0 (A) or 1 (B) of the dot whose result has the parent layout."""

    operand: int
    parent: RegisterLayout
    k_width: int

    @property
    def rank(self) -> int:
        """Dimensions of the tensors."""
        return self.parent.rank

    def on(self, shape: Sequence[int]) -> Spread:
        """See `RegisterLayout.on`."""
        if self.rank != 2 or self.operand not in (0, 1):
            raise ValueError("a dot operand that is not a matrix")
        k = 1 - self.operand
        if isinstance(self.parent, Mma):
            return self._of_mma(self.parent, k, shape)
        if isinstance(self.parent, Blocked):
            return _fma_operand(self.parent, k, shape)
        raise ValueError("a dot operand whose parent is neither an MMA nor a blocked layout")

    def _of_mma(self, parent: Mma, k: int, shape: Sequence[int]) -> Spread:
        parent._require_known()
        if parent.version == 3 and self.operand == 1:
            raise ValueError("wgmma takes operand B from shared memory")
        depth = self.k_width * 8
        tile = _Tile((k, 1 - k))
        tile.add_mma((16, depth) if self.operand == 0 else (depth, 8), inner=k, width=self.k_width)
        tile.extend("warp", parent.warps_per_cta, parent.warp_order, repeated=k)
        return tile.fitted(shape)


def _fma_operand(parent: Blocked, k: int, shape: Sequence[int]) -> Spread:
    """Returns the operand of a dot without tensor cores: a thread holds all of K."""
    sizes = list(parent.size_per_thread)
    sizes[k] = shape[k]
    tile = _Tile(parent.order)
    tile.extend("register", sizes)
    tile.extend("lane", parent.threads_per_warp, repeated=k)
    tile.extend("warp", parent.warps_per_cta, repeated=k)
    return tile.fitted(shape)


class _Tile:
    """A layout that grows outwards: what is added lies beyond what is there."""

    def __init__(self, order: Sequence[int]) -> None:
        if sorted(order) != list(range(len(order))):
            raise ValueError(f"order {list(order)} is no permutation")
        self._order = tuple(order)
        self._extent = [1] * len(order)
        self._bases: dict[str, list[Coordinate]] = {"register": [], "lane": [], "warp": []}

    def add(self, what: str, count: int, dim: int) -> None:
        """Adds `count` elements along a dimension, by consecutive numbers of `what`."""
        for _ in range(bits_of(count)):
            self._bases[what].append(self._unit(dim, self._extent[dim]))
            self._extent[dim] *= 2

    def extend(
        self,
        what: str,
        counts: Sequence[int],
        order: Sequence[int] = (),
        repeated: int | None = None,
    ) -> None:
        """Counts for all dimensions; along the `repeated` one all hold the same."""
        if len(counts) != len(self._order):
            raise ValueError(f"{list(counts)} in a layout of rank {len(self._order)}")
        for dim in order or self._order:
            if dim == repeated:
                self._bases[what] += [self._unit(dim, 0)] * bits_of(counts[dim])
            else:
                self.add(what, counts[dim], dim)

    def add_mma(self, shape: Sequence[int], inner: int, width: int) -> None:
        """Adds a tile's core matrices: 8 rows of 4 lanes with `width` neighbours."""
        outer = 1 - inner
        if shape[outer] % 8 or shape[inner] % (4 * width):
            raise ValueError(f"an MMA tile of {list(shape)} elements with k_width {width}")
        self.add("register", width, inner)
        self.add("lane", 4, inner)
        self.add("lane", 8, outer)
        self.add("register", shape[outer] // 8, outer)
        self.add("register", shape[inner] // (4 * width), inner)

    def fitted(self, shape: Sequence[int]) -> Spread:
        """Fits the layout to a shape: repeated by registers, or folded."""
        if len(shape) != len(self._order):
            raise ValueError(f"a layout of rank {len(self._order)} on shape {list(shape)}")
        _require_warp(len(self._bases["lane"]))
        for dim in self._order:
            self.add("register", max(shape[dim] // self._extent[dim], 1), dim)

        def within(bases: list[Coordinate]) -> Bases:
            return tuple(
                tuple(x if x < n else 0 for x, n in zip(b, shape, strict=True)) for b in bases
            )

        return Spread(*(within(self._bases[w]) for w in ("register", "lane", "warp")))

    def _unit(self, dim: int, value: int) -> Coordinate:
        return tuple(value if d == dim else 0 for d in range(len(self._order)))


def bits_of(count: int) -> int:
    """Returns binary digits that number `count` things.

    Raises:
        ValueError: no power of two.
    """
    if count < 1 or count & (count - 1):
        raise ValueError(f"{count} is not a power of two")
    return count.bit_length() - 1


def _require_warp(lane_bits: int) -> None:
    if 1 << lane_bits != LANES:
        raise ValueError(f"warps of {1 << lane_bits} lanes")
