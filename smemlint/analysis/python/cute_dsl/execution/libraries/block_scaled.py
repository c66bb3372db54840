"""Helpers of `cutlass.utils` for block-scaled MMAs of warps (sm_120), and scale factors of tcgen05.

Source: nvidia-cutlass-dsl 4.8.1, `cutlass/utils/blackwell_helpers.py` and `blockscaled_layout.py`.
"""

from __future__ import annotations

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, reason_of
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import registers
from smemlint.analysis.python.cute_dsl.execution.libraries.hopper import smem_store
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    Origin,
    ThreadSlice,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import Value
from smemlint.layout import cute


def _mma(call: Call, at: int, name: str) -> cute.TiledMma:
    """Returns a tiled MMA, or that of a slice of threads."""
    found = payload_of(call.value(at, name))
    if isinstance(found, ThreadSlice) and isinstance(found.tiled, cute.TiledMma):
        return found.tiled
    return call.tiled_mma(at, name)


@function("sm120_get_smem_store_op")
def get_smem_store_op(call: Call) -> Value:
    """Evaluates `sm120_get_smem_store_op(layout_enum, d, acc)`: stmatrix.x2 for 16-bit results."""
    return smem_store(call, 2)


@function("get_permutation_mnk")
def get_permutation(call: Call) -> Value:
    """Evaluates `get_permutation_mnk(tile_mnk, vector, is_mxf8f6f4)`."""
    m, n, k, *_ = (cute.static(e) for e in cute.leaves(call.int_tuple(0, "tile_shape_mnk")))
    is_fp8 = call.value(2, "use_mxf8f6f4", False)
    if not isinstance(is_fp8, bool):
        raise cute.CuteError(reason_of(is_fp8, "the operands of an MMA are not known"))
    vector = call.static(1, "sf_vec_size")
    return call.result(cute.warp_permutation((m, n, k), vector, is_fp4=not is_fp8))


@function("get_layoutSFA_TV", "get_layoutSFB_TV")
def get_thread_value(call: Call) -> Value:
    """Evaluates `get_layoutSFA_TV(mma)` and `get_layoutSFB_TV`."""
    operand: cute.Operand = "A" if "SFA" in call.name else "B"
    return Cute(cute.scale_factor_thread_value(_mma(call, 0, "tiled_mma"), operand))


@function("partition_fragment_SFA", "partition_fragment_SFB")
def partition_fragment(call: Call) -> Value:
    """Evaluates `partition_fragment_SFA(tensor, thr_mma, thread)` and `_SFB`: registers."""
    operand: cute.Operand = "A" if "SFA" in call.name else "B"
    factors = call.tensor(0, f"sf{operand.lower()}_tensor")
    if isinstance(factors, UnknownTensor):
        return Cute(UnknownTensor(cute.Space.REGISTER, factors.reason, factors.dtype))
    mma, thread = _mma(call, 1, "thr_mma"), call.integer(2, "tidx")
    layout = cute.scale_factor_fragment(mma, factors, thread, operand)
    assert isinstance(factors.origin, Origin)
    return Cute(registers(factors.origin.dtype, layout))


@function("sm120_make_smem_layout_sfa", "sm120_make_smem_layout_sfb")
def make_scale_factor_layout(call: Call) -> Value:
    """Evaluates `sm120_make_smem_layout_sfa(mma, tile_mnk, vector, stages)` and `_sfb`."""
    m, n, k, *_ = (cute.static(e) for e in cute.leaves(call.int_tuple(1, "tile_shape_mnk")))
    rows = m if call.name.endswith("a") else n
    vector, stages = call.static(2, "sf_vec_size"), call.integer(3, "num_stages")
    mma = _mma(call, 0, "tiled_mma")
    return Cute(cute.scale_factor_layout(mma, rows, k, vector, stages))
