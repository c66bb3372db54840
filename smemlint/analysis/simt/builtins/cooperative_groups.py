"""Cooperative groups: `this_thread_block`, tiles of it, and their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.builtins.table import builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.domain.ctypes import FLOAT, NAMED, U32, RecordType
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    FloatValue,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.interpreter.lvalues import thread_coordinate
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from smemlint.analysis.simt.builtins.table import BuiltinCall
    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.frontend import ir

BLOCK_GROUP = RecordType("thread_block", (), 1, 1)
"""cooperative_groups::thread_block"""


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
    return Unknown(Reason(ReasonCode.UNKNOWN_TYPE, "a tile of a size that is not known"))


def call_group_method(
    ev: Evaluator, value: Aggregate, name: str, arguments: tuple[str, ...], node: ir.FuncCall
) -> Value | None:
    """Methods of thread groups."""
    state = ev.state
    kind = value.type
    if not isinstance(kind, RecordType) or kind.name not in (
        "thread_block",
        "thread_block_tile",
    ):
        return None
    size = kind.size if kind.name == "thread_block_tile" else 0
    linear = state.geometry.linear
    match name:
        case "sync" | "barrier_arrive" | "barrier_wait" | "arrive" | "wait":
            state.trace.fence("barrier")
            return number(0)
        case "thread_rank":
            return AffineInt(linear % size if size else linear, U32)
        case "size" | "num_threads":
            return AffineInt(size or int(np.prod(state.geometry.block)), U32)
        case "meta_group_rank" if size:
            return AffineInt(linear // size, U32)
        case "meta_group_size" if size:
            return AffineInt(-(-int(np.prod(state.geometry.block)) // size), U32)
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
            return Unknown(
                Reason(ReasonCode.DATA, f"the result of `{name}` depends on data"), is_data=True
            )


def _coordinate_triple(ev: Evaluator, name: str) -> Value:
    cells = {4 * i: thread_coordinate(ev, name, axis) for i, axis in enumerate("xyz")}
    return Aggregate(NAMED["dim3"], cells)
