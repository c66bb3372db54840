"""`cutlass.utils.mixed_input_helpers`, as functions that are executed in place of the library's.

They are written anew and state which layouts, atoms and partitions those of nvidia-cutlass-dsl
4.8.1 return; what is no concern of shared memory is left out.
"""

from __future__ import annotations

from functools import cache

from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    function,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.copies import copy_by, copy_plainly
from smemlint.analysis.python.cute_dsl.execution.values import payload_of
from smemlint.analysis.python.interpreter.values import Value
from smemlint.frontend.python.python_source import PythonText, belong
from smemlint.layout import cute
from smemlint.sources.source import Source

MODULE = "mixed_input_helpers"
_TEXT = """
import cutlass.cute as cute
import cutlass.utils.blackwell_helpers as sm100
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils.mixed_input_helpers import TransformMode

def get_transform_a_source(a_major_mode):
    if a_major_mode == OperandMajorMode.K:
        return tcgen05.OperandSource.TMEM
    return tcgen05.OperandSource.SMEM

def compute_smem_layout(
    tiled_mma, mma_tiler_mnk, a_dtype, b_dtype, load2trans_stage_count, trans2mma_stage_count
):
    return (
        sm100.make_smem_layout_a(tiled_mma, mma_tiler_mnk, a_dtype, load2trans_stage_count),
        sm100.make_smem_layout_a(tiled_mma, mma_tiler_mnk, b_dtype, trans2mma_stage_count),
        sm100.make_smem_layout_b(tiled_mma, mma_tiler_mnk, b_dtype, load2trans_stage_count),
    )

def get_smem_layout_scale(
    mma_tiler, use_2cta_instrs, scale_granularity_m, scale_granularity_k, scale_major_mode,
    a_scale_dtype, num_scale_load2trans_stage
):
    rows, columns = cute.size(mma_tiler[0]), cute.size(mma_tiler[2])
    rows = rows // 2 if use_2cta_instrs else rows
    each_m, each_k = min(scale_granularity_m, rows), min(scale_granularity_k, columns)
    m, k = cute.ceil_div(rows, each_m), cute.ceil_div(columns, each_k)
    is_mn = scale_major_mode == OperandMajorMode.MN
    stride = ((0, 1), (0, m)) if is_mn else ((0, k), (0, 1))
    plain = cute.make_layout(((each_m, m), (each_k, k)), stride=stride)
    stage = cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, plain)
    stages = cute.make_layout(num_scale_load2trans_stage, stride=cute.cosize(plain))
    return (rows, columns), stage, cute.append(stage, stages)

def get_copy_atom_a_transform(
    mma_dtype, use_2cta_instrs, transform_a_source, a_smem_shape, a_dtype
):
    if transform_a_source == tcgen05.OperandSource.SMEM:
        universal = cute.nvgpu.CopyUniversalOp()
        return cute.make_copy_atom(universal, a_dtype, num_bits_per_copy=32)
    if cute.size(a_smem_shape[0][0]) == 64 and not use_2cta_instrs:
        narrow = tcgen05.St16x256bOp(tcgen05.Repetition(1), tcgen05.Unpack.NONE)
        return cute.make_copy_atom(narrow, mma_dtype)
    wide = tcgen05.St32x32bOp(tcgen05.Repetition(8), tcgen05.Unpack.NONE)
    return cute.make_copy_atom(wide, mma_dtype)

def transform_partition(
    transform_a_source, scale_mode, copy_atom_a_input, copy_atom_a_transform, sA_input, A_transform,
    transform_local_tidx
):
    target = A_transform[(None, None, None, 0)]
    if transform_a_source == tcgen05.OperandSource.SMEM:
        eights = cute.make_layout((128, 8), stride=(8, 1))
        tiled = cute.make_cotiled_copy(copy_atom_a_transform, eights, target.layout)
        stored = None
    else:
        if cute.size(A_transform, mode=[0, 0]) == 128 and cute.size(sA_input, mode=[0, 0]) == 64:
            twice = ((cute.make_layout(2, stride=0), None), None, None, None)
            layout = cute.logical_product(sA_input.layout, twice)
            sA_input = cute.make_tensor(sA_input.iterator, layout)
        tiled = tcgen05.make_tmem_copy(copy_atom_a_transform, target)
        stored = tiled
    thread = tiled.get_slice(transform_local_tidx)
    loaded = None
    if scale_mode is TransformMode.ConvertScale:
        loaded = cute.make_tiled_copy_S(copy_atom_a_input, tiled)
    return loaded, stored, thread.partition_S(sA_input), thread.partition_D(A_transform)

def scale_partition(src_copy_a, tCsS, transform_local_tidx, mma_dtype):
    thread = src_copy_a.get_slice(transform_local_tidx)
    part = thread.partition_S(tCsS)
    stage = part[(None, None, None, None, 0)].layout
    copied = cute.make_rmem_tensor(cute.filter_zeros(stage).shape, mma_dtype)
    view = cute.make_layout(stage.shape, stride=copied.layout.stride)
    return thread, part, copied, cute.make_tensor(copied.iterator, view)

def epilog_tmem_copy_and_partition(
    cta_tile_shape_mnk, c_layout, c_dtype, acc_dtype, tidx, tAcc, gC_mnl, epi_tile, use_2cta_instrs
):
    atom = sm100.get_tmem_load_op(
        cta_tile_shape_mnk, c_layout, c_dtype, acc_dtype, epi_tile, use_2cta_instrs
    )
    source = cute.flat_divide(tAcc[((None, None), 0, 0, None)], epi_tile)
    tiled = tcgen05.make_tmem_copy(atom, source[(None, None, 0, 0, 0)])
    thread = tiled.get_slice(tidx)
    target = cute.flat_divide(gC_mnl[((None, None), 0, 0, None, None, None)], epi_tile)
    stored = thread.partition_D(target)[(None, None, None, 0, 0, 0, 0, 0)]
    return tiled, thread.partition_S(source), cute.make_rmem_tensor(stored.shape, acc_dtype)

def epilog_smem_copy_and_partition(
    c_layout, c_dtype, acc_dtype, tiled_copy_t2r, tTR_rC, tidx, sC
):
    atom = sm100.get_smem_store_op(c_layout, c_dtype, acc_dtype, tiled_copy_t2r)
    tiled = cute.make_tiled_copy_D(atom, tiled_copy_t2r)
    return tiled, tiled.retile(tTR_rC), tiled.get_slice(tidx).partition_D(sC)

def epilog_gmem_copy_and_partition(
    c_dtype, tidx, tma_atom_c, tiled_copy_t2r, gC_mnl_tma, gC_mnl_simt, epi_tile, sC
):
    every = ((None, None), 0, 0, None, None, None)
    source, target, atom, stored = None, None, None, None
    if tma_atom_c is not None:
        tiles = cute.group_modes(cute.flat_divide(gC_mnl_tma[every], epi_tile), 0, 2)
        whole, one = cute.group_modes(sC, 0, 2), cute.make_layout(1)
        source, target = cpasync.tma_partition(tma_atom_c, 0, one, whole, tiles)
    if tiled_copy_t2r is not None:
        tiles = cute.flat_divide(gC_mnl_simt[every], epi_tile)
        stored = tiled_copy_t2r.get_slice(tidx).partition_D(tiles)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), c_dtype)
    return tma_atom_c, source, target, atom, stored

def scale_tma_partition(tCsS, tCgS, tma_atom_s, block_in_cluster_coord_vmnk, scale_cta_layout):
    at = block_in_cluster_coord_vmnk[2]
    shared, device = cute.group_modes(tCsS, 0, 3), cute.group_modes(tCgS, 0, 3)
    return cpasync.tma_partition(tma_atom_s, at, scale_cta_layout, shared, device)
"""


@cache
def text() -> PythonText:
    """Returns the functions."""
    found = PythonText.of(Source(f"cutlass/utils/{MODULE}.py", _TEXT.encode()))
    belong(found)
    return found


@function("mixed_input_helpers.store_transformed_a")
def store_transformed(call: Call) -> Value:
    """Evaluates `store_transformed_a(source, destination, atom)`: vectors where it has no atom."""
    sides = [needed_tensor(call.value(i, n)) for i, n in enumerate(("src_a", "dst_a"))]
    given = call.value(2, "copy_atom_a")
    policy = payload_of(given)
    if given is None:
        return copy_plainly(call, sides, cute.autovec_copy)
    if not isinstance(policy, cute.CopyAtom | cute.TiledCopy):
        policy = cute.CuteError(reason_of(given, "its copy atom is not known"))
    return copy_by(call, policy, sides)
