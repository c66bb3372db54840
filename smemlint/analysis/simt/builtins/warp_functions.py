"""Functions of a warp: votes, which lanes are active, matches and reductions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.builtins.table import BuiltinCall, builtin
from smemlint.analysis.simt.calls.operands import argument_values
from smemlint.analysis.simt.domain.ctypes import I32, U32
from smemlint.analysis.simt.domain.data_ranges import one_for_a_warp
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.lanes import Array, settled
from smemlint.analysis.simt.domain.values import AffineInt, FloatValue, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.reasons import Reason, ReasonCode

_VOTE = Unknown.because(ReasonCode.DATA, "a vote of the warp", is_data=True)
_REDUCTIONS = tuple(f"__reduce_{name}_sync" for name in ("add", "min", "max", "and", "or", "xor"))
_LANES = np.arange(WARP, dtype=np.int64)


@builtin("__activemask")
def _active_mask(ev: Evaluator, call: BuiltinCall) -> Value:
    return _ballot(ev.state.mask)


@builtin("__ballot_sync", "__all_sync", "__any_sync", least=2)
def _vote(ev: Evaluator, call: BuiltinCall) -> Value:
    """Evaluates votes whose members are all active lanes, on what is known of each."""
    members, predicate, *_ = argument_values(ev, call.node)
    truth = to_condition(predicate)
    mask = ev.state.mask
    if not _are_all(members):
        return _VOTE
    if not isinstance(truth, AffineInt) or not truth.is_concrete:
        return one_for_a_warp(_VOTE)
    holds = mask & (np.asarray(truth.base) != 0)
    if call.name == "__ballot_sync":
        return _ballot(holds)
    by_warp = (holds if call.name == "__any_sync" else ~(mask & ~holds)).reshape(-1, WARP)
    found = by_warp.any(axis=1) if call.name == "__any_sync" else by_warp.all(axis=1)
    return AffineInt(settled(found.repeat(WARP).astype(np.int64)), I32)


def _are_all(members: Value) -> bool:
    """Returns whether a mask of members names every lane."""
    constant = members.constant if isinstance(members, AffineInt) else None
    return constant is not None and constant & 0xFFFFFFFF == 0xFFFFFFFF


def _ballot(holds: NDArray[np.bool_]) -> AffineInt:
    bits: Array = (holds.reshape(-1, WARP).astype(np.int64) << _LANES).sum(axis=1)
    return AffineInt(settled(bits.repeat(WARP)), U32)


@builtin(
    "__match_any_sync", "__match_all_sync", *_REDUCTIONS, "__fns", "clock", "clock64", "__clock",
    "__clock64", "__globaltimer",
)  # fmt: skip
def _from_lanes(ev: Evaluator, call: BuiltinCall) -> Value:
    values = argument_values(ev, call.node)
    if len(values) > 1 and isinstance(values[1], FloatValue):
        return values[1]
    reason = Reason(ReasonCode.DATA, f"the result of `{call.name}` depends on data")
    why = Unknown(reason, is_data=True)
    is_one = call.name in _REDUCTIONS and len(values) > 1 and _are_all(values[0])
    return one_for_a_warp(why) if is_one else why
