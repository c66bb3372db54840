"""Built-in functions of CUDA C++: barriers, numbers, conversions, lanes and shuffles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.builtins.atomics import is_one_for_a_warp
from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.domain.assumed_extremes import assumed_extreme
from smemlint.analysis.simt.domain.ctypes import FLOAT, I32, U64, FloatType
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp, one_for_a_warp
from smemlint.analysis.simt.domain.environment import WARP, LValue
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.lanes import elected, settled
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import pointer_to_int
from smemlint.analysis.simt.interpreter.pointers import dereference
from smemlint.frontend import ir
from smemlint.frontend.heuristics import ROUNDED_UP_QUOTIENTS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

BLOCK_BARRIERS = frozenset(
    ("__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count")
)
"""Functions at which the threads of a block meet."""
_BARRIERS = BLOCK_BARRIERS | frozenset((
    "__syncwarp", "__threadfence_block", "__threadfence", "__threadfence_system",
    "__pipeline_wait_prior", "__pipeline_commit", "syncthreads", "arch_fence_view_async_shared",
    "cp_async_fence", "cp_async_wait", "cp_async_wait_all", "__store_by_strides", "__nanosleep",
))  # fmt: skip
_SHARED_ADDRESSES = (
    "__cvta_generic_to_shared", "cast_smem_ptr_to_uint", "__nvvm_get_smem_pointer",
)  # fmt: skip
_STORES = ("__stcg", "__stcs", "__stwb", "__stwt")
WITH_EFFECT = frozenset((*_BARRIERS, "sync", *_SHARED_ADDRESSES, *_STORES, "__load_by_strides"))
"""Functions of this module that do more than give a value, or lead to shared memory."""
SHUFFLES = frozenset(("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"))
"""Functions that read a register of another lane."""


@builtin(*_BARRIERS, "sync")
def _barrier(ev: Evaluator, call: BuiltinCall) -> Value:
    state = ev.state
    argument_values(ev, call.node)
    for frame in state.frames:
        frame.opens_with_barrier(state.trace)
    state.trace.fence("barrier")
    return number(0)


@builtin("__load_by_strides")
def _load_by_strides(ev: Evaluator, call: BuiltinCall) -> Value:
    """Returns an element that may lie in shared memory for all that the compiler knows."""
    values = argument_values(ev, call.node)  # one, but where a program uses the name
    ev.state.trace.part(SlowPath.CHOICE)
    return values[0] if values else number(0)


@builtin(
    "printf", "assert", "__assume", "__builtin_assume", "__brkpt",
    "__prof_trigger",
)  # fmt: skip
def _nothing(ev: Evaluator, call: BuiltinCall) -> Value:
    argument_values(ev, call.node)
    return number(0)


def _bounded(
    ev: Evaluator, call: BuiltinCall, parts: Sequence[ir.Node], a: AffineInt, b: AffineInt
) -> AffineInt | Unknown:
    """Returns the extreme of a value that varies by thread and an unknown bound, with a note.

    `b` is the last of the parts, `a` the extreme of those before it.
    """

    def assumed(is_first: bool, limit: int | None) -> Assumption:
        whole, *before, last = (ev.state.source_text(node) for node in (call.node, *parts))
        first = before[0] if len(before) == 1 else f"{call.name}({{{', '.join(before)}}})"
        taken = first if is_first else last
        spelled = taken if limit is None else f"{call.name}({taken}, {limit})"
        return Assumption(Topic.NUMBER, f"`{whole}` is `{spelled}`", whole)

    return assumed_extreme(ev.state.domain, call.name in _LARGEST, a, b, assumed)


_SMALLEST = ("min", "umin", "__vimin", "llmin")
_LARGEST = ("max", "umax", "__vimax", "llmax")
_NO_QUOTIENT = Reason(ReasonCode.UNKNOWN_VALUE, "a rounded quotient")
_NO_EXTREME = Reason(ReasonCode.UNKNOWN_VALUE, "the larger or smaller of two values")


@builtin(*_SMALLEST, *_LARGEST, least=1)
def _extreme(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `min(a, b)`, `std::min({a, b, c})`; a third argument compares."""
    parts = call.node.args
    match parts:
        case (ir.BraceList(args=listed),) if listed:
            parts = listed
        case _ if len(parts) != 2:
            argument_values(ev, call.node)
            return Unknown(_NO_EXTREME)
    found, *values = (ev.evaluate(part) for part in parts)
    for k, value in enumerate(values, 2):
        found = _of_two(ev, call, parts[:k], found, value)
    return found


def _of_two(
    ev: Evaluator, call: BuiltinCall, parts: Sequence[ir.Expression], a: Value, b: Value
) -> Value:
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        return _bounded(ev, call, parts, a, b)
    if isinstance(a, FloatValue) or isinstance(b, FloatValue):
        return a if isinstance(a, FloatValue) else b
    for value in (a, b):
        if isinstance(value, Unknown):
            uniform = all(getattr(v, "is_uniform", False) for v in (a, b))
            return Unknown(value.reason, value.is_data, uniform)
    return Unknown(_NO_EXTREME)


@builtin(*ROUNDED_UP_QUOTIENTS, least=2)
def _rounded_up_quotient(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `raft::ceildiv(a, b)`: (a + b - 1) / b."""
    a, b, *_ = argument_values(ev, call.node)
    domain = ev.state.domain
    if not (isinstance(a, AffineInt) and isinstance(b, AffineInt)):
        return a if isinstance(a, Unknown) else Unknown(_NO_QUOTIENT)
    raised = domain.add(domain.add(a, b), number(1), -1)
    return domain.divide(raised, b)


@builtin("gcd", least=2)
def _common_divisor(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `std::gcd(16, n)`: of a number that is known it is a divisor, and not above it."""
    a, b, *_ = argument_values(ev, call.node)
    known = [v for v in (a, b) if isinstance(v, AffineInt) and v.constant]
    divisor = math.gcd(*(v.constant or 0 for v in known))
    if len(known) == 2:
        return AffineInt(divisor, known[0].type)
    if not known or not getattr(a, "is_uniform", False) or not getattr(b, "is_uniform", False):
        return Unknown.because(ReasonCode.UNKNOWN_VALUE, "a common divisor")
    ev.state.sequence += 1
    key, name = f"gcd{ev.state.sequence}", ev.state.source_text(call.node)
    found = ev.state.domain.symbol(key, name, known[0].type, nonnegative=True)
    terms = tuple((replace(s, most=divisor, least=1), c) for s, c in found.terms)
    return AffineInt(found.base, found.type, terms)


@builtin("abs", "labs", "iabs", least=1)
def _absolute(ev: Evaluator, call: BuiltinCall) -> Value:
    value = argument_values(ev, call.node)[0]
    if isinstance(value, AffineInt) and value.is_concrete:
        return AffineInt(settled(np.abs(value.base)), value.type)
    return (
        value
        if isinstance(value, FloatValue | Unknown)
        else Unknown.because(ReasonCode.UNKNOWN_VALUE, "an absolute value")
    )


@builtin(
    "move", "forward", "__builtin_expect", "__builtin_assume_aligned", "__cvta_generic_to_global",
    "__cvta_generic_to_local", "__cvta_generic_to_constant", "__cvta_global_to_generic",
    "__cvta_shared_to_generic", "__cvta_local_to_generic", "__cvta_constant_to_generic",
    "launder", "as_const", "to_address", "__nv_associate_access_property", "aligned_size_t",
    least=1,
)  # fmt: skip
def _through(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates `__ldg(p)`, `std::move(x)` and other functions that give what they are given."""
    return argument_values(ev, call.node)[0]


@builtin("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv", least=1)
def _load(ev: Evaluator, call: BuiltinCall) -> Value:
    place = dereference(ev, argument_values(ev, call.node)[0], call.node)
    return read_lvalue(ev, place, call.node) if isinstance(place, LValue) else place


@builtin(*_STORES, least=2)
def _store(ev: Evaluator, call: BuiltinCall) -> Value:
    """Stores with a hint for the caches."""
    pointer, value, *_ = argument_values(ev, call.node)
    place = dereference(ev, pointer, call.node)
    if isinstance(place, LValue):
        write_lvalue(ev, place, value, call.node)
    return number(0)


_SPACES = {
    "__isShared": Space.SHARED, "__isGlobal": Space.GLOBAL, "__isLocal": Space.LOCAL,
}  # fmt: skip


@builtin(*_SPACES, least=1)
def _is_in_space(ev: Evaluator, call: BuiltinCall) -> Value:
    pointer, *_ = argument_values(ev, call.node)
    if isinstance(pointer, Pointer):
        return number(int(pointer.object.space is _SPACES[call.name]))
    return pointer if isinstance(pointer, Unknown) else Unknown(_NO_POINTER)


_NO_POINTER = Reason(ReasonCode.UNKNOWN_ADDRESS, "where a number points to is not known")
_TWO_RESULTS = (
    "sincos", "sincosf", "__sincosf", "sincospi", "sincospif", "frexp", "frexpf", "modf", "modff",
    "remquo", "remquof",
)  # fmt: skip


@builtin(*_TWO_RESULTS, least=2)
def _to_pointers(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates functions that write a second result, or both, through pointers."""
    for pointer in argument_values(ev, call.node):
        place = dereference(ev, pointer, call.node) if isinstance(pointer, Pointer) else None
        if isinstance(place, LValue):
            is_float = isinstance(place.type, FloatType)
            data = Unknown.because(ReasonCode.DATA, f"`{call.name}` computes it", is_data=True)
            write_lvalue(ev, place, FloatValue(place.type) if is_float else data, call.node)
    return FloatValue(FLOAT)


@builtin(*_SHARED_ADDRESSES, least=1)
def _shared_address(ev: Evaluator, call: BuiltinCall) -> Value:
    value = argument_values(ev, call.node)[0]
    return pointer_to_int(ev, value, U64) if isinstance(value, Pointer) else value


@builtin(*SHUFFLES, least=3)
def _shuffle(ev: Evaluator, call: BuiltinCall) -> Value:
    values = argument_values(ev, call.node)
    width = values[3].constant if len(values) > 3 and isinstance(values[3], AffineInt) else WARP
    return shuffled(ev, call.name, values[1], values[2], width)


def shuffled(ev: Evaluator, name: str, value: Value, lane: Value, width: int | None) -> Value:
    """Returns what a shuffle gives: of known numbers it is followed, all else is data.

    Args:
        ev: the evaluator.
        name: of the function, e.g. `__shfl_xor_sync`.
        value: what each lane offers.
        lane: which one it reads, or how far away.
        width: of the segments; None where it is not known.
    """
    if isinstance(value, FloatValue):
        return value
    is_broadcast = name == "__shfl_sync" and width == WARP and is_one_for_a_warp(lane)
    if isinstance(value, AffineInt) and value.is_uniform:
        return AffineInt(value.base, value.type, value.terms, _seen(value, is_broadcast))
    everyone = ev.state.mask.sum() == ev.state.geometry.exists.sum()
    if (
        isinstance(value, AffineInt)
        and isinstance(lane, AffineInt)
        and value.is_concrete
        and lane.is_concrete
        and width in (1, 2, 4, 8, 16, 32)
        and everyone
    ):
        result = _exchanged(value, lane, name, width)
        result.form = _seen(result, is_broadcast)
        return result
    why = Unknown.because(ReasonCode.DATA, "a value from another lane", is_data=True)
    is_from_one = name == "__shfl_sync" and width == WARP and agrees_by_warp(lane)
    return one_for_a_warp(why) if is_from_one else why


def _seen(value: AffineInt, is_broadcast: bool) -> Scev:
    """Returns the form of what a shuffle gives: from one lane to all, it is one for the warp."""
    form = scev_of(value)
    return replace(form, is_divergent=False) if is_broadcast else form


def _exchanged(value: AffineInt, operand: AffineInt, name: str, width: int) -> AffineInt:
    """Returns what the lanes of segments of `width` lanes read of each other."""
    lanes = np.broadcast_to(np.asarray(value.base), np.shape(value.base)).reshape(-1, WARP)
    own = np.arange(WARP, dtype=np.int64)
    first, last = own & -width, own | (width - 1)
    lowest = np.asarray(operand.base % WARP)  # the instruction takes five bits of it
    shift = np.broadcast_to(lowest, lanes.size).reshape(-1, WARP)
    match name:
        case "__shfl_sync":
            source = first | (shift & (width - 1))
        case "__shfl_xor_sync":
            source = np.where((own ^ shift) > last, own, own ^ shift)
        case "__shfl_up_sync":
            source = np.where(own - shift < first, own, own - shift)
        case _:
            source = np.where(own + shift > last, own, own + shift)
    return AffineInt(np.take_along_axis(lanes, source, axis=1).reshape(-1), value.type)


@builtin("canonical_warp_idx", "canonical_warp_idx_sync")
def _warp_id(ev: Evaluator, call: BuiltinCall) -> Value:
    return AffineInt(ev.state.geometry.linear // WARP, I32)


@builtin("canonical_warp_group_idx")
def _warp_group_id(ev: Evaluator, call: BuiltinCall) -> Value:
    return AffineInt(ev.state.geometry.linear // (4 * WARP), I32)


@builtin("canonical_lane_idx", "__laneid", "LaneId", "laneId", "lane_id")
def _lane_id(ev: Evaluator, call: BuiltinCall) -> Value:
    return AffineInt(ev.state.geometry.linear % WARP, I32)


@builtin("thread0")
def _first_thread(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates CuTe's thread 0 of block 0, whose cost no other block has."""
    return AffineInt((ev.state.geometry.linear == 0).astype(np.int64), I32)


@builtin("elect_one_sync")
def _elect_one(ev: Evaluator, call: BuiltinCall) -> Value:
    return AffineInt(elected(ev.state.mask), I32)
