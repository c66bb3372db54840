"""Products of layouts, and the layouts that are made after others.

Source: CUTLASS 4.7, `cute/layout.hpp`.
"""

from __future__ import annotations

from smemlint.layout.cute.algebra import (
    by_mode,
    complement,
    composition,
    filter_zeros,
    tiled_divide,
    unpacked,
)
from smemlint.layout.cute.int_tuples import (
    IntTuple,
    Order,
    compact_order,
    compact_strides,
    is_static,
    product_each,
    zip2_by,
)
from smemlint.layout.cute.integers import CuteError, Integer, Underscore, ceil_div
from smemlint.layout.cute.layouts import Layout, Tiler, append, make_layout, make_ordered_layout


def logical_product(block: Layout, tiler: Tiler) -> Layout:
    """Returns two modes: the block, and its repetitions laid out by the tiler."""
    if isinstance(tiler, tuple):
        return by_mode(logical_product, block, tiler)
    if isinstance(tiler, Underscore):
        return block
    tile = tiler if isinstance(tiler, Layout) else Layout(tiler)
    rest = complement(block, block.size * tile.cosize)
    return make_layout(block, composition(rest, tile))


def zipped_product(block: Layout, tiler: Tiler) -> Layout:
    """Returns the logical product as `((blocks..),(repetitions.., other modes..))`."""
    product = logical_product(block, tiler)
    return Layout(zip2_by(product.shape, tiler), zip2_by(product.stride, tiler))


def tiled_product(block: Layout, tiler: Tiler) -> Layout:
    """Returns `((blocks..), repetitions..)`."""
    blocks, rest = zipped_product(block, tiler).modes()
    return make_layout(blocks, *unpacked(rest))


def flat_product(block: Layout, tiler: Tiler) -> Layout:
    """Returns `(blocks.., repetitions..)`."""
    blocks, rest = zipped_product(block, tiler).modes()
    return make_layout(*unpacked(blocks), *unpacked(rest))


def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Returns the logical product with block and repetition of every mode zipped together."""
    inner, outer = _padded_product(block, tiler).modes()
    return _zipped(inner, outer)


def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Returns `blocked_product` with the repetition inside the block: it interleaves."""
    inner, outer = _padded_product(block, tiler).modes()
    return _zipped(outer, inner)


def _padded_product(block: Layout, tiler: Layout) -> Layout:
    rank = max(block.rank, tiler.rank)
    return logical_product(append(block, rank), append(tiler, rank))


def _zipped(first: Layout, second: Layout) -> Layout:
    pairs = zip(first.modes(), second.modes(), strict=True)
    return make_layout(*(make_layout(a, b) for a, b in pairs))


def tile_to_shape(block: Layout, shape: IntTuple, order: Order = "left") -> Layout:
    """Returns the block repeated to fill a shape.

    Args:
        block: what is repeated.
        shape: the extent of each mode; nested modes count by their size.
        order: ranks the modes, the fastest lowest; the first mode is the fastest by default.

    Raises:
        CuteError: an extent of the block does not divide the shape's, or it has more modes.
    """
    targets = product_each(shape)
    if block.rank > len(targets):
        raise CuteError(f"{block} has more modes than {shape}")
    padded = append(block, len(targets))
    extents = product_each(padded.shape)
    repeats: list[Integer] = []
    for target, extent in zip(targets, extents, strict=True):
        if isinstance(target, int) and isinstance(extent, int) and target % extent:
            raise CuteError(f"a block of {extent} does not divide {target}")
        repeats.append(ceil_div(target, extent))
    return blocked_product(padded, make_ordered_layout(tuple(repeats), order))


def tile_to_mma_shape(block: Layout, shape: IntTuple, order: Order = "left") -> Layout:
    """Returns the block repeated to fill a partitioned operand: ((M, K), tiles of M, of K, ..)."""
    if not isinstance(shape, tuple) or len(shape) < 3 or not isinstance(shape[0], tuple):
        raise CuteError(f"{shape} is not the shape of an operand")
    extents = product_each(shape[0])
    whole = tuple(zip(shape[0], shape[1:3], strict=True)) + shape[3:]
    return tiled_divide(tile_to_shape(block, whole, order), extents)


def make_layout_like(layout: Layout) -> Layout:
    """Returns the compact layout whose modes are ordered as the strides of another."""
    compact = compact_order(filter_zeros(layout).shape, layout.stride)
    return Layout(layout.shape, compact)


def make_fragment_like(layout: Layout) -> Layout:
    """Returns the register layout for a partitioned tensor: `make_fragment_like`.

    The first mode is compact (modes of stride 0 stay 0), the others follow in the order of the
    strides.
    """
    if layout.rank > 1 and is_static(layout.shape):
        first = layout.mode(0)
        rest_modes = make_layout(*layout.modes()[1:])
        rest = make_ordered_layout(rest_modes.shape, rest_modes.stride)
        values = Layout(first.shape, compact_strides(filter_zeros(first).shape))
        return tiled_product(values, rest)
    return Layout(layout.shape)
