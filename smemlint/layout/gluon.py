"""Gluon's shared layouts, as written, and the views that they make of an allocation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from smemlint.layout.memdesc import SharedView, view_of, view_of_bases
from smemlint.layout.register_layouts import Bases
from smemlint.layout.triton import NVMMAShared, SwizzledShared
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """A shared layout of Gluon."""

    def view(self, shape: Sequence[int], element_bits: int) -> SharedView:
        """Returns the view of an allocation; leading dimensions beyond its rank number buffers.

        Raises:
            ValueError: the layout and the shape do not fit.
        """
        raise NotImplementedError

    def size(self, shape: Sequence[int]) -> int:
        """Returns the elements from the first of an allocation to its last, gaps included."""
        return prod(shape)


@dataclass(frozen=True, slots=True)
class Swizzled(SharedLayout):
    """`SwizzledSharedLayout(vec, per_phase, max_phase, order)`."""

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dimensions that it lays out."""
        return len(self.order)

    def why_invalid(self) -> str | None:
        """Returns what Triton ought to refuse and takes in silence; None where nothing is wrong."""
        for name in ("vec", "per_phase", "max_phase"):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                return f"{name} = {value} is not a power of two"
        return None

    def row(self, shape: Sequence[int]) -> int:
        """Returns the elements of the fastest dimension, within which groups are exchanged."""
        return shape[len(shape) - self.rank + self.order[0]]

    def view(self, shape: Sequence[int], element_bits: int) -> SharedView:
        """See `SharedLayout.view`."""
        problem = self.why_invalid()
        if problem is not None:
            raise ValueError(problem)
        if sorted(self.order) != list(range(self.rank)) or self.rank > len(shape):
            raise ValueError(f"order {list(self.order)} on shape {list(shape)}")
        inner = tuple(shape[len(shape) - self.rank :])
        if self.rank == 1:
            return view_of(lambda c: c[0], inner, element_bits).stacked(shape[:-1])
        fast, slow, *others = self.order
        matrix = SwizzledShared(self.vec, self.per_phase, self.max_phase, (1, 0))
        plane = (inner[slow], inner[fast])

        def offset(coordinate: tuple[int, ...]) -> int:
            found = int(matrix.offset((coordinate[slow], coordinate[fast]), plane))
            step = prod(plane)
            for dim in others:
                found += coordinate[dim] * step
                step *= inner[dim]
            return found

        return view_of(offset, inner, element_bits).stacked(shape[: len(shape) - self.rank])


@dataclass(frozen=True, slots=True)
class Nvmma(SharedLayout):
    """`NVMMASharedLayout(swizzle_byte_width, element_bitwidth, rank, transposed)`."""

    swizzle_bytes: int
    element_bits: int
    rank: int = 2
    is_transposed: bool = False

    def view(self, shape: Sequence[int], element_bits: int) -> SharedView:
        """See `SharedLayout.view`."""
        if element_bits != self.element_bits:
            raise ValueError(f"an NVMMA layout of {self.element_bits} bits on {element_bits}")
        if self.rank != 2 or len(shape) < 2 or self.swizzle_bytes not in (0, 32, 64, 128):
            raise ValueError(f"an NVMMA layout of rank {self.rank} on shape {list(shape)}")
        rows, columns = shape[-2:]
        contiguous = rows if self.is_transposed else columns
        if contiguous * element_bits // 8 < self.swizzle_bytes:
            raise ValueError(f"rows of {contiguous} elements below {self.swizzle_bytes} bytes")
        matrix = NVMMAShared(self.swizzle_bytes, element_bits, self.is_transposed)
        result = view_of(
            lambda c: matrix.offset((c[0], c[1]), (rows, columns)), shape[-2:], element_bits
        )
        return result.stacked(shape[:-2])


def default_nvmma(shape: Sequence[int], element_bits: int, *, transposed: bool) -> Nvmma:
    """Returns what `NVMMASharedLayout.get_default_for` does: the widest swizzle that divides a row.

    Source: triton 3.9.0, experimental/gluon/language/_layouts.py.
    """
    extents = [*shape[1:], *shape[:1]] if transposed else list(shape)
    row = extents[-1] * element_bits // 8
    width = next((w for w in (128, 64, 32) if row >= w and row % w == 0), 0)
    if len(shape) < 2 or prod(extents[:-1]) < 8:
        width = 0
    return Nvmma(width, element_bits, len(shape), transposed)


@dataclass(frozen=True, slots=True)
class Padded(SharedLayout):
    """`PaddedSharedLayout`: gaps behind intervals of a linear layout."""

    pairs: tuple[tuple[int, int], ...]
    offset_bases: Bases
    shape: tuple[int, ...]

    def view(self, shape: Sequence[int], element_bits: int) -> SharedView:
        """See `SharedLayout.view`."""
        rank = len(self.shape)
        if tuple(shape[len(shape) - rank :]) != self.shape:
            raise ValueError(f"a padded layout of {list(self.shape)} on {list(shape)}")
        view = view_of_bases(self.offset_bases, self.shape, element_bits)
        return replace(view, padding=self.pairs).stacked(shape[: len(shape) - rank])

    def size(self, shape: Sequence[int]) -> int:
        """See `SharedLayout.size`; nothing is left free behind the last element."""
        last = prod(shape) - 1
        return last + sum(last // interval * padding for interval, padding in self.pairs) + 1


def identity_bases(shape: Sequence[int], order: Sequence[int]) -> Bases:
    """Returns the offset bases of elements in order, the fastest dimension first."""
    return tuple(
        tuple(1 << bit if d == dim else 0 for d in range(len(shape)))
        for dim in order
        for bit in range(shape[dim].bit_length() - 1)
    )


@dataclass(frozen=True, slots=True)
class SharedLinear(SharedLayout):
    """`SharedLinearLayout`: the offset bases themselves."""

    offset_bases: Bases

    def view(self, shape: Sequence[int], element_bits: int) -> SharedView:
        """See `SharedLayout.view`."""
        rank = len(self.offset_bases[0]) if self.offset_bases else 0
        inner = tuple(shape[len(shape) - rank :])
        return view_of_bases(self.offset_bases, inner, element_bits).stacked(
            shape[: len(shape) - rank]
        )
