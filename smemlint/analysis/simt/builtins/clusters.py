"""Clusters of blocks: `this_cluster`, its methods, and the shared memory of other blocks.

Loads, stores and atomics of another block's shared memory have no banks that a profiler counts, and
stores take as long whatever banks they meet in (H100, fixtures/gpu/cluster.json); those of a
block's own memory, through the cluster's window, cost what they cost without it.
"""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.domain.ctypes import I32, U32, RecordType
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

CLUSTER_GROUP = RecordType("cluster_group", (), 1, 1)
"""cooperative_groups::cluster_group"""


@builtin("this_cluster")
def _this_cluster(ev: Evaluator, call: BuiltinCall) -> Value:
    return Aggregate(CLUSTER_GROUP, {})


@builtin("__clusterRelativeBlockRank", "__clusterSizeInBlocks")
def _of_the_block(ev: Evaluator, call: BuiltinCall) -> Value:
    return _rank(ev) if call.name.endswith("Rank") else _size(ev)


@builtin("__cluster_map_shared_rank", least=2)
def _map(ev: Evaluator, call: BuiltinCall) -> Value:
    return _mapped(ev, call.node)


@builtin(
    *("initialize_barrier", "set_barrier_transaction_bytes", "arrive_barrier", "wait_barrier"),
    *("umma_arrive", "umma_arrive_2x1SM", "umma_arrive_multicast", "umma_arrive_multicast_2x1SM"),
    *("cpasync_barrier_arrive", "cpasync_barrier_arrive_noinc", "initialize_barrier_array"),
    *("initialize_barrier_array_aligned", "initialize_barrier_array_pair"),
    "initialize_barrier_array_pair_aligned",
)
def _on_barrier(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates the arguments of CuTe's and CUTLASS's functions but the mbarriers, references."""
    for argument in call.node.args[1:]:
        ev.evaluate(argument)
    return number(0)


@builtin("__pipeline_stage", least=2)
def _stage(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates the index of a `cutlass::PipelineState`: all lanes of a warp wait for one stage."""
    count, stages = argument_values(ev, call.node)[:2]
    most = stages.constant if isinstance(stages, AffineInt) else None
    if isinstance(count, AffineInt) and isinstance(stages, AffineInt):
        return ev.state.domain.operate("%", count, stages)
    if not most:
        return count
    if most == 1:
        return number(0)
    state = ev.state
    state.sequence += 1
    key = state.key(call.node, f"stage{state.sequence}")
    stage = state.domain.symbol(key, "the stage", I32, nonnegative=True)
    terms = tuple((replace(s, most=most - 1) if c == 1 else s, c) for s, c in stage.terms)
    return AffineInt(stage.base, stage.type, terms)


def call_cluster_method(ev: Evaluator, name: str, node: ir.FuncCall) -> Value:
    """Evaluates methods of a cluster."""
    match name:
        case "sync" | "barrier_arrive" | "barrier_wait":
            ev.state.trace.fence("barrier")
            return number(0)
        case "map_shared_rank":
            return _mapped(ev, node)
        case "block_rank":
            return _rank(ev)
        case "num_blocks":
            return _size(ev)
        case "thread_rank":
            geometry = ev.state.geometry
            start = ev.state.domain.multiply(_rank(ev), AffineInt(geometry.threads, U32))
            lanes = AffineInt(geometry.linear, U32)
            return ev.state.domain.add(start, lanes) if isinstance(start, AffineInt) else start
    return Unknown.because(ReasonCode.NOT_MODELLED, f"`{name}` of a cluster is not followed")


def _rank(ev: Evaluator) -> AffineInt:
    return ev.state.domain.symbol("cluster:rank", "block_rank", U32, nonnegative=True)


def _size(ev: Evaluator) -> AffineInt:
    return ev.state.domain.symbol("cluster:size", "num_blocks", U32, nonnegative=True)


def _mapped(ev: Evaluator, node: ir.FuncCall) -> Value:
    """Returns the address in the block of a rank: the same where that is this block's own."""
    pointer, *ranks = argument_values(ev, node)
    if not isinstance(pointer, Pointer) or pointer.object.space is not Space.SHARED:
        return pointer
    rank = ranks[0] if ranks else None
    if isinstance(rank, AffineInt) and rank.identity() == _rank(ev).identity():
        return pointer
    text = f"`{pointer.object.name}` of another block: no banks of its memory are counted"
    ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))
    name = f"{pointer.object.name} of another block"
    there = Object(name, pointer.object.type, Space.GLOBAL, f"cluster:{pointer.object.key}")
    return Pointer(there, ORIGIN, pointer.target)
