"""Cooperative groups: `this_thread_block`, tiles of it, and their methods."""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.builtins.clusters import CLUSTER_GROUP, call_cluster_method
from smemlint.analysis.simt.builtins.intrinsics import SHUFFLES, shuffled
from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.domain.bitwise_scev import operated_scev
from smemlint.analysis.simt.domain.ctypes import FLOAT, U32, Member, RecordType
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.lanes import settled
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    FloatValue,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.lvalues import thread_coordinate
from smemlint.analysis.simt.types.builtin_types import NAMED
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.frontend import ir
from smemlint.hardware.arch import LARGEST_BLOCK
from smemlint.reasons import Reason, ReasonCode

BLOCK_GROUP = RecordType("thread_block", (), 1, 1)
"""cooperative_groups::thread_block"""
COALESCED_GROUP = RecordType(
    "coalesced_group", (Member("rank", U32, 0), Member("size", U32, 4)), 8, 4
)
"""cooperative_groups::coalesced_group, with the rank of each thread and how many there are."""
_OF_COALESCED = {"thread_rank": 0, "size": 4, "num_threads": 4}
_GROUPS = ("thread_block", "thread_block_tile", "coalesced_group")


@builtin("this_thread_block")
def _this_block(ev: Evaluator, call: BuiltinCall) -> Value:
    return Aggregate(BLOCK_GROUP, {})


@builtin("tiled_partition")
def _tile(ev: Evaluator, call: BuiltinCall) -> Value:
    values = argument_values(ev, call.node)
    size = (
        value_argument(ev, call.template_arguments[0])
        if call.template_arguments
        else values[1]
        if len(values) > 1
        else None
    )
    if isinstance(size, AffineInt) and size.constant in (1, 2, 4, 8, 16, 32):
        return Aggregate(RecordType("thread_block_tile", (), size.constant or 1, 1), {})
    return Unknown.because(ReasonCode.UNKNOWN_TYPE, "a tile of a size that is not known")


def call_group_method(
    ev: Evaluator, value: Aggregate, name: str, node: ir.FuncCall
) -> Value | None:
    """Evaluates methods of thread groups."""
    state = ev.state
    ctype = value.type
    if ctype is COALESCED_GROUP and name in _OF_COALESCED:
        return value.cells[_OF_COALESCED[name]]
    if ctype is CLUSTER_GROUP:
        return call_cluster_method(ev, name, node)
    if not isinstance(ctype, RecordType) or ctype.name not in _GROUPS:
        return None
    size = ctype.size if ctype.name == "thread_block_tile" else 0
    threads = state.geometry.threads
    form = atom("rank in block", is_divergent=True, most=LARGEST_BLOCK[0] - 1)
    rank = AffineInt(state.geometry.linear, U32, form=form)
    if size and f"__{name}_sync" in SHUFFLES:
        return _shuffle_in_tile(ev, name, size, node)
    match name:
        case "sync" | "barrier_arrive" | "barrier_wait" | "arrive" | "wait":
            state.trace.fence("barrier")
            return number(0)
        case "thread_rank":
            return _operated(ev, "%", rank, size) if size else rank
        case "size" | "num_threads":
            return number(size, U32) if size else AffineInt(threads, U32, form=atom("block size"))
        case "meta_group_rank" if size:
            return _operated(ev, "/", rank, size)
        case "meta_group_size" if size:
            return AffineInt(-(-threads // size), U32, form=atom(f"tiles of {size}"))
        case "thread_index":
            return _coordinate_triple(ev, "threadIdx")
        case "group_index":
            return _coordinate_triple(ev, "blockIdx")
        case "group_dim" | "dim_threads":
            return _coordinate_triple(ev, "blockDim")
        case _:
            values = argument_values(ev, node)
            if any(isinstance(v, FloatValue) for v in values):
                return FloatValue(FLOAT)
            return Unknown.because(
                ReasonCode.DATA, f"the result of `{name}` depends on data", is_data=True
            )


def _operated(ev: Evaluator, op: str, rank: AffineInt, size: int) -> Value:
    """Returns a quotient or remainder of what is known at run time only."""
    by = number(size, U32)
    result = ev.state.domain.operate(op, rank, by)
    if isinstance(result, AffineInt):
        result.form = operated_scev(op, rank, by, signed=False)
    return result


def _shuffle_in_tile(ev: Evaluator, name: str, size: int, node: ir.FuncCall) -> Value:
    """Evaluates `tile.shfl(x, lane)` and its kin, whose segments are the tile."""
    values = argument_values(ev, node)
    if len(values) < 2:
        return Unknown.because(
            ReasonCode.NOT_MODELLED, f"`{name}` is called with too few arguments"
        )
    return shuffled(ev, f"__{name}_sync", values[0], values[1], size)


@builtin("coalesced_threads")
def _coalesced(ev: Evaluator, call: BuiltinCall) -> Value:
    """Returns the active threads of each warp: known where nothing that is open parts them."""
    state = ev.state
    if state.assumptions or any(frame.open for frame in state.frames):
        return Unknown.because(
            ReasonCode.UNKNOWN_CONDITION, "which threads are active is not known"
        )
    active = state.mask.reshape(-1, WARP)
    rank = (active.cumsum(axis=1) - 1).reshape(-1)
    count = active.sum(axis=1).repeat(WARP)
    cells: dict[int, Value] = {
        at: AffineInt(settled(lanes.astype(np.int64)), U32) for at, lanes in ((0, rank), (4, count))
    }
    return Aggregate(COALESCED_GROUP, cells)


@builtin("thread_rank", "group_size", "num_threads", least=1)
def _of_group(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `cg::thread_rank(group)` and `cg::group_size(group)`, as functions."""
    group = argument_values(ev, call.node)[0]
    name = "size" if call.name == "group_size" else call.name
    found = call_group_method(ev, group, name, call.node) if isinstance(group, Aggregate) else None
    why = Reason(ReasonCode.NOT_DECLARED, f"`{call.name}` of what is no group that is known")
    return found if found is not None else Unknown(why)


@builtin("reduce", "inclusive_scan", "exclusive_scan", least=2, is_scoped=True)
def _of_values_of_group(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `cg::reduce(group, x, op)` and its kin, which combine threads' values."""
    group, value, *_ = argument_values(ev, call.node)
    ctype = group.type if isinstance(group, Aggregate) else None
    if not isinstance(ctype, RecordType) or ctype.name not in _GROUPS:
        return unfollowed_call(ev, call.name, call.node)
    if isinstance(value, FloatValue):
        return value
    why = Reason(ReasonCode.DATA, f"the result of `{call.name}` depends on data")
    return Unknown(why, is_data=True)


def _coordinate_triple(ev: Evaluator, name: str) -> Value:
    cells = {4 * i: thread_coordinate(ev, name, axis) for i, axis in enumerate("xyz")}
    return Aggregate(NAMED["dim3"], cells)
