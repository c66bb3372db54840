"""Slices of layouts; of a swizzled layout they keep the swizzle or decay to plain strides.

Addresses never depend on the decay, vector widths do: a decayed layout has dynamic strides where
the bits that decide them are dynamic, and then `copy(src, dst)` assumes no alignment.

Source: CUTLASS 4.7, `cute/swizzle_layout.hpp`, `slice_and_offset`.
"""

from __future__ import annotations

from smemlint.layout.cute.algebra import composition
from smemlint.layout.cute.int_tuples import (
    Coordinate,
    compact_strides,
    crd2idx,
    dice_tuple,
    is_all_underscore,
    leaves,
    product,
    slice_tuple,
    split_coordinate,
)
from smemlint.layout.cute.integers import DynamicInt, Integer, apply_swizzle, static
from smemlint.layout.cute.layouts import AnyLayout, ComposedLayout, Layout, compose_swizzle
from smemlint.layout.cute.mixed_bits import MixedBits, exclusive_or, mixed_bits
from smemlint.layout.swizzle import Swizzle


def slice_layout(layout: AnyLayout, coordinate: Coordinate) -> tuple[AnyLayout, Integer]:
    """Returns the modes under an underscore, and what the other coordinates add to the pointer.

    Raises:
        CuteError: coordinate and shape differ, or a swizzled layout cannot be sliced there.
    """
    kept = Layout(
        slice_tuple(coordinate, layout.plain.shape), slice_tuple(coordinate, layout.plain.stride)
    )
    if isinstance(layout, Layout):
        return kept, crd2idx(coordinate, layout.shape, layout.stride)
    if is_all_underscore(coordinate):
        return compose_swizzle(layout.swizzle, kept, layout.offset), 0
    return _slice_swizzled(layout, coordinate, kept)


def _slice_swizzled(
    layout: ComposedLayout, coordinate: Coordinate, kept: Layout
) -> tuple[AnyLayout, Integer]:
    swizzle = layout.swizzle
    fixed = Layout(
        dice_tuple(coordinate, layout.layout.shape), dice_tuple(coordinate, layout.layout.stride)
    )
    at = dice_tuple(coordinate, coordinate)
    only_zy, anti_zy = _projections(swizzle)
    seen = composition(only_zy, fixed)
    moved = mixed_bits(seen.shape, seen.stride, split_coordinate(at, seen.shape))
    offset = _combined(layout.offset, moved)
    rest = composition(anti_zy, fixed)
    beside = crd2idx(at, rest.shape, rest.stride)
    active = _active_bits(only_zy, kept)
    if active & ~swizzle(active):
        return compose_swizzle(swizzle, kept, offset), beside
    return composition(_decayed(swizzle, offset), kept), _swizzled(swizzle, offset) + beside


def _projections(swizzle: Swizzle) -> tuple[Layout, Layout]:
    """Returns layouts that keep, and drop, the bits that a swizzle reads or changes."""
    gap = abs(swizzle.shift) - swizzle.bits
    shape = (1 << swizzle.base, 1 << swizzle.bits, 1 << gap, 1 << swizzle.bits, 1)
    low, z, middle, y, _ = leaves(compact_strides(shape))
    only_zy = Layout(shape, (0, z, 0, y, 0))
    return only_zy, Layout(shape, (low, 0, middle, 0, product(shape)))


def _combined(offset: Integer | MixedBits, moved: int | MixedBits) -> int | MixedBits:
    if isinstance(offset, DynamicInt):
        offset = MixedBits(0, offset.value, -1)
    return exclusive_or(offset, moved)


def _active_bits(only_zy: Layout, kept: Layout) -> int:
    """Returns the bits of both fields that the remaining coordinates reach."""
    reached = composition(only_zy, kept)
    last = static(reached.size) - 1
    return static(crd2idx(last, reached.shape, reached.stride))


def _swizzled(swizzle: Swizzle, offset: int | MixedBits) -> Integer:
    return apply_swizzle(swizzle, offset if isinstance(offset, int) else offset.integer)


def _decayed(swizzle: Swizzle, offset: int | MixedBits) -> Layout:
    """Returns the plain layout of a swizzle once the offset decides its other bits."""
    z, y = swizzle.z_mask & -swizzle.z_mask, swizzle.y_mask & -swizzle.y_mask
    # Moving by a Z bit adds or subtracts it, as the Y bit says; a Y bit takes its Z bit along.
    z_strides = tuple(_decided(offset, y << i, z << i, -z << i) for i in range(swizzle.bits))
    y_strides = tuple(
        _decided(offset, z << i, (y + z) << i, (y - z) << i) for i in range(swizzle.bits)
    )
    low, high = (z_strides, y_strides) if z < y else (y_strides, z_strides)
    gap = abs(swizzle.shift) - swizzle.bits
    above = swizzle.base + swizzle.bits
    pairs = (2,) * swizzle.bits
    return Layout(
        (1 << swizzle.base, pairs, 1 << gap, pairs, 1),
        (1, low, 1 << above, high, 1 << (above + abs(swizzle.shift))),
    )


def _decided(offset: int | MixedBits, bit: int, clear: int, is_set: int) -> Integer:
    """Returns one of two strides, as a bit of the offset says; static only if the bit is."""
    if isinstance(offset, int):
        return is_set if offset & bit else clear
    if not offset.mask & bit:
        return is_set if offset.known & bit else clear
    if offset.lanes is None:
        return DynamicInt()
    return DynamicInt(clear + (offset.lanes & bit) // bit * (is_set - clear))
