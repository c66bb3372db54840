"""Views of Triton's shared memory: where each element of a descriptor lies.

All shapes are powers of two and all layouts linear over F2, so that a view is one element offset
for every bit of every coordinate. Indexing, slicing, permuting and reshaping only regroup them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeAlias

from smemlint.layout.linear import LinearMap
from smemlint.layout.register_layouts import Bases, Coordinate, bits_of
from smemlint.lazy_dataclasses import dataclass

Offsets: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedView:
    """A shared memory descriptor.

    Attributes:
        steps: for each dimension the element offset of each bit of the coordinate, to be combined
            by exclusive-or.
        element_bits: of an element.
        start: element offset of the view, combined by exclusive-or before padding.
        base: element offset that is added at the end, e.g. of a buffer of a ring.
        padding: (interval, padding) in elements; empty for none.
    """

    steps: tuple[Offsets, ...]
    element_bits: int
    start: int = 0
    base: int = 0
    padding: tuple[tuple[int, int], ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(1 << len(s) for s in self.steps)

    def linear(self, coordinate: Coordinate) -> int:
        """Returns the element offset of a coordinate before `start`, padding and `base`."""
        offset = 0
        for x, steps in zip(coordinate, self.steps, strict=True):
            for bit, step in enumerate(steps):
                if x >> bit & 1:
                    offset ^= step
        return offset

    def physical(self, linear: Any) -> Any:
        """Returns byte offsets of linear offsets (integers or integer arrays)."""
        offset = linear ^ self.start
        padded = offset + sum(offset // every * pad for every, pad in self.padding)
        return (padded + self.base) * self.element_bits // 8

    def index(self, position: int) -> SharedView:
        """Returns the view of one position of the first dimension; buffers lie end to end."""
        whole = prod(self.shape[1:])
        padded = whole + sum(whole // every * pad for every, pad in self.padding)
        return replace(self, steps=self.steps[1:], base=self.base + position * padded)

    def stacked(self, extents: Sequence[int]) -> SharedView:
        """Returns the view of buffers, end to end, numbered by further leading dimensions.

        The first of them may be any number, as of a ring of 3: it is one of a power of two, whose
        last buffers nobody takes.
        """
        result = self
        for place, extent in reversed(list(enumerate(extents))):
            if place == 0:
                extent = 1 << (extent - 1).bit_length()
            whole = prod(result.shape)
            result = replace(
                result, steps=(tuple(whole << b for b in range(bits_of(extent))), *result.steps)
            )
        return result

    def slice(self, start: int, length: int, dim: int) -> SharedView:
        """Returns the view of `length` positions from `start` of a dimension.

        Raises:
            ValueError: it does not lie in the dimension, or is no slice that Triton takes.
        """
        is_inside = length > 0 and start >= 0 and start + length <= self.shape[dim]
        if not is_inside or start % length:
            raise ValueError(f"a slice [{start}, {start + length}) of {self.shape[dim]}")
        at = self.linear(tuple(start if d == dim else 0 for d in range(len(self.steps))))
        cut = self.steps[dim][: bits_of(length)]
        steps = (*self.steps[:dim], cut, *self.steps[dim + 1 :])
        return replace(self, steps=steps, start=self.start ^ at)

    def permute(self, order: Sequence[int]) -> SharedView:
        """Returns the view with its dimensions in another order.

        Raises:
            ValueError: no permutation.
        """
        if sorted(order) != list(range(len(self.steps))):
            raise ValueError(f"{list(order)} is no permutation of {len(self.steps)} dimensions")
        return replace(self, steps=tuple(self.steps[d] for d in order))

    def reshape(self, shape: Sequence[int]) -> SharedView:
        """Returns the view of the same elements, in row-major order, in another shape.

        Raises:
            ValueError: the numbers of elements differ.
        """
        if prod(shape) != prod(self.shape):
            raise ValueError(f"a view of {prod(self.shape)} elements in shape {list(shape)}")
        flat = [step for steps in reversed(self.steps) for step in steps]
        regrouped: list[Offsets] = []
        for extent in reversed(shape):
            bits = bits_of(extent)
            regrouped.append(tuple(flat[:bits]))
            flat = flat[bits:]
        return replace(self, steps=tuple(reversed(regrouped)))


def view_of(
    offset: Callable[[Coordinate], int], shape: Sequence[int], element_bits: int
) -> SharedView:
    """Returns the view of a linear offset function."""
    steps = tuple(
        tuple(
            offset(tuple(1 << bit if d == dim else 0 for d in range(len(shape))))
            for bit in range(bits_of(extent))
        )
        for dim, extent in enumerate(shape)
    )
    return SharedView(steps, element_bits)


def view_of_bases(bases: Bases, shape: Sequence[int], element_bits: int) -> SharedView:
    """Returns the view of a layout given as the coordinate that each bit of the offset adds.

    Raises:
        ValueError: the bases do not reach every element once.
    """
    widths = [bits_of(extent) for extent in shape]
    if len(bases) != sum(widths):
        raise ValueError(f"{len(bases)} offset bases for a shape of {sum(widths)} bits")
    packed = LinearMap(tuple(_packed(b, widths) for b in bases))
    inverse = packed.inverse()
    if inverse is None:
        raise ValueError("the offset bases do not reach every element once")
    return view_of(lambda c: inverse(_packed(c, widths)), shape, element_bits)


def _packed(coordinate: Coordinate, widths: Sequence[int]) -> int:
    number = 0
    for x, width in zip(coordinate, widths, strict=True):
        if x >> width:
            raise ValueError(f"a basis {list(coordinate)} outside the shape")
        number = number << width | x
    return number
