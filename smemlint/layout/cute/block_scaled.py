"""Scale factors of block-scaled MMAs: where they lie in shared memory, and which thread loads them.

Source: CUTLASS 4.7, `cute/atom/mma_traits_sm120.hpp`, `cutlass/detail/sm100_blockscaled_layout.hpp`
and `cutlass/gemm/collective/builders/sm120_common.inl`; checked against nvidia-cutlass-dsl 4.8.1
(tests/layout/cute/test_block_scaled.py).
"""

from __future__ import annotations

from smemlint.layout.cute.algebra import composition, filter_zeros, logical_divide, zipped_divide
from smemlint.layout.cute.int_tuples import repeat_underscore
from smemlint.layout.cute.integers import UNDERSCORE, CuteError, Integer, static
from smemlint.layout.cute.inverses import right_inverse
from smemlint.layout.cute.layouts import Layout, flatten, group, make_layout
from smemlint.layout.cute.products import make_fragment_like
from smemlint.layout.cute.tensors import Tensor
from smemlint.layout.cute.tiled_mma import Operand, TiledMma

_ROWS = 128
_FACTORS = 4
"""Rows and factors of a row of the block that scale factors come in."""


def warp_permutation(
    tile: tuple[int, int, int], vector: int, *, is_fp4: bool
) -> tuple[int, Layout, int]:
    """Returns the permutation of M, N and K by which sm_120's block-scaled MMAs tile.

    Raises:
        CuteError: no MMA has scale factors for so many elements.
    """
    if vector not in (16, 32):
        raise CuteError(f"no MMA has a scale factor for {vector} elements")
    return min(tile[0], _ROWS), Layout((8, 2, 2), (1, 16, 8)), 64 if is_fp4 else 32


def scale_factor_layout(
    mma: TiledMma, rows: int, columns: int, vector: int, stages: Integer
) -> Layout:
    """Returns the layout of scale factors of A or B in shared memory for warps' MMAs (sm_120).

    Args:
        mma: what takes them.
        rows: M or N of a block.
        columns: K of a block.
        vector: elements that share a scale factor.
        stages: how often.

    Raises:
        CuteError: the tile is no multiple of a block of scale factors.
    """
    factors = mma.op.shape[2] // vector
    if rows % _ROWS or not factors or columns % (vector * _FACTORS):
        raise CuteError(f"scale factors of {rows}x{columns} do not fill their blocks")
    block = _ROWS * _FACTORS
    count = rows // _ROWS
    in_rows = Layout(((32, 4), count), ((16, 4), block))
    in_columns = Layout(
        ((vector, factors), _FACTORS // factors, columns // vector // _FACTORS),
        ((0, 1), factors, count * block),
    )
    one = make_layout(in_rows, in_columns)
    return make_layout(*one.modes(), Layout(stages, filter_zeros(one).cosize))


def scale_factor_thread_value(mma: TiledMma, operand: Operand) -> Layout:
    """Returns (thread, value) to the number of a coordinate in the tile: `get_layoutSFA_TV`.

    Raises:
        CuteError: the MMA takes no scale factors.
    """
    axis = _axis(operand)
    tile = Layout((mma.tile_size(axis), mma.tile_size(2)))
    threads = mma.thread_layout
    extents = (threads.mode(1).size, threads.mode(2).size)
    over = Layout(extents, (1, 0) if operand == "A" else (0, 1))
    spread = composition(
        _to_threads(mma, tile, operand), ((UNDERSCORE, (over, UNDERSCORE)), UNDERSCORE)
    )
    return composition(spread, (right_inverse(threads), UNDERSCORE))


def scale_factor_fragment(
    mma: TiledMma, factors: Tensor, thread: Integer, operand: Operand
) -> Layout:
    """Returns the layout of registers for a thread's scale factors: `partition_fragment_SFA`.

    Raises:
        CuteError: the MMA takes no scale factors, or its tile does not divide the tensor.
    """
    at = mma.thread_layout.flat_coordinate(thread)
    divided = factors.apply(lambda layout: _to_threads(mma, layout, operand))
    rests = divided.layout.plain.mode(1, 1).rank
    part = divided.slice(
        (at[0], (at[_axis(operand) + 1], at[3])), (UNDERSCORE, repeat_underscore(rests))
    )
    modes = group(flatten(part.layout.plain), 0, 2)
    return make_fragment_like(modes if operand == "A" else group(modes, 1, 3))


def _axis(operand: Operand) -> int:
    return 0 if operand == "A" else 1


def _to_threads(mma: TiledMma, layout: Layout, operand: Operand) -> Layout:
    """Maps (M, K, ..) to ((ThrV,(ThrM,ThrK)), (FrgV,(RestM,RestK,..))) of the factors."""
    axis, shape = _axis(operand), mma.op.shape
    if shape[2] not in (32, 64):
        raise CuteError(f"{mma.op} takes no scale factors")
    permuted = logical_divide(layout, (mma.permutation_of(axis), mma.permutation_of(2)))
    atoms = zipped_divide(permuted, (Layout(shape[axis]), Layout(shape[2])))
    by_value = composition(atoms, (_atom(operand, shape[2]), UNDERSCORE))
    threads = mma.thread_layout
    over = tuple(Layout(static(threads.mode(mode).size)) for mode in (axis + 1, 3))
    return zipped_divide(by_value, (UNDERSCORE, over))


def _atom(operand: Operand, k: int) -> Layout:
    """Maps (thread, value) of one instruction's scale factors."""
    extent = (k, 1) if k == 32 else k
    step = 16 if operand == "A" else 8
    stride = (step, 0) if k == 32 else step
    if operand == "A":
        return Layout(((2, 2, 8), extent), ((8, 0, 1), stride))
    return Layout(((4, 8), extent), ((0, 1), stride))
