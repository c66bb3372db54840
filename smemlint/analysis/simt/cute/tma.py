"""Copies by the Tensor Memory Accelerator: one thread moves a box, so no lane has an address."""

from __future__ import annotations

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.identity import identity_tensor
from smemlint.analysis.simt.domain.values import Cute, Value
from smemlint.layout import cute

_SMALLEST = 8
"""Bits: of a box only the layouts of whole tiles matter."""


@function(
    *("make_tma_copy", "make_tma_copy_A_sm90", "make_tma_copy_B_sm90", "make_tma_copy_C_sm90"),
    *("make_tma_atom", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100", "make_im2col_tma_copy"),
)
def _make_tma_copy(call: Call) -> Value:
    op = call.payload(0)
    if not isinstance(op, cute.CopyOp) or op.has_lane_addresses:
        op = cute.copy_op("SM90_TMA_LOAD")
        assert op is not None
    return Cute(cute.CopyAtom(op, _SMALLEST))


@function("sm90_cluster_shape_to_tma_atom", "sm100_cluster_shape_to_tma_atom_A")
def _select_tma_load(call: Call) -> Value:
    return Cute(cute.copy_op("SM90_TMA_LOAD"))


@function("tma_partition")
def _tma_partition(call: Call) -> Value:
    """Evaluates `tma_partition(atom, [cta, layout of CTAs,] smem, gmem)` by boxes."""
    return Cute((call.values[-1], call.values[-2]))


def tma_tensor(atom: cute.CopyAtom, call: Call) -> Value:
    """Returns `get_tma_tensor(shape)`, whose elements are coordinates."""
    return Cute(identity_tensor(cute.Layout(call.convert.int_tuple(call.values[0]))))
