"""Loops: tried for what an iteration costs, then run as the compiler lays them out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.masking import same
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.loops.float_only import execute_float_only, is_float_only
from smemlint.analysis.simt.loops.known_trips import (
    Carried,
    LoopParts,
    execute_iterations,
    foresee_trips,
)
from smemlint.analysis.simt.loops.periodic import REPEATED, execute_blocks
from smemlint.analysis.simt.loops.ranges import counted_loop
from smemlint.analysis.simt.state import LoopPlan, State
from smemlint.frontend import ir

_TRIED = 2
"""Iterations that tell what one costs and changes."""


@executes(ir.For)
def execute_for(ev: Evaluator, node: ir.For) -> None:
    """Executes a `for` loop, whose head has a scope of its own."""
    frame = ev.state.frame
    frame.enter_scope()
    try:
        if node.init is not None:
            ev.execute(node.init)
        execute_loop(ev, LoopParts(node, node.cond, node.next, node.stmt))
    finally:
        frame.leave_scope()


@executes(ir.RangeFor)
def execute_range_for(ev: Evaluator, node: ir.RangeFor) -> None:
    """Executes a range-based `for`; in kernels it runs an unknown number of times."""
    frame = ev.state.frame
    frame.enter_scope()
    try:
        counted = counted_loop(ev, node) if ev.policy.follows_lists else None
        if counted is not None:
            execute_for(ev, counted)
            return
        ev.execute(node.decl)
        execute_loop(ev, LoopParts(node, None, None, node.stmt))
    finally:
        frame.leave_scope()


@executes(ir.While)
def execute_while(ev: Evaluator, node: ir.While) -> None:
    """Executes a `while` loop."""
    execute_loop(ev, LoopParts(node, node.cond, None, node.stmt))


@executes(ir.DoWhile)
def execute_do_while(ev: Evaluator, node: ir.DoWhile) -> None:
    """Executes a `do` loop."""
    execute_loop(ev, LoopParts(node, node.cond, None, node.stmt, first=True))


def execute_loop(ev: Evaluator, parts: LoopParts) -> None:
    """Executes a loop: iteration by iteration while its condition is known, else widened."""
    budget = ev.state.budget
    before, budget.max_trips = budget.max_trips, ev.policy.max_trips(ev, parts.node)
    try:
        if is_float_only(ev, parts.node):
            execute_float_only(ev, parts)
        elif not ev.policy.tracks_scev:  # nothing fuses there: no trial is needed
            execute_iterations(ev, parts, 1, {})
        elif ev.state.trace.is_muted:
            execute_blocks(ev, parts, 1, {}, foresee_trips(ev, parts))
        else:
            _execute_as_compiled(ev, parts)
    finally:
        budget.max_trips = before


def _execute_as_compiled(ev: Evaluator, parts: LoopParts) -> None:
    """Executes a loop in the basic blocks that the compiler makes of it.

    How many iterations the compiler puts together depends on what they cost, so a loop is tried
    first to learn that; where it stays a loop it is run with its variables marked as such. Two
    iterations tell it where the header alone says how many there are.
    """
    state, node = ev.state, parts.node
    plan = state.loop_plans.get(node)
    if plan is not None:
        is_counted = plan.is_rolled or state.budget.has_shares
        trips = foresee_trips(ev, parts) if is_counted else None
        execute_blocks(ev, parts, plan.unroll_factor, _carried_now(state, plan), trips)
        return
    foreseen = foresee_trips(ev, parts)
    tried = _TRIED if foreseen is not None and foreseen > _TRIED else None
    frame = state.frame
    mask, returned, left = state.mask, len(frame.returns), len(frame.pending.jumps)
    size, events = len(state.trace.items), state.trace.events
    costs = [loop.cost for loop in state.loops]
    mark = state.sums.mark()
    state.memory.begin()
    planned = set(state.loop_plans)
    trial = execute_iterations(ev, parts, None, {}, tried, foreseen)
    trips, together = trial.count, trial.together
    was_cut_short = trips == tried and not trial.is_general
    is_whole = foreseen is not None and foreseen <= together
    if was_cut_short and is_whole and _barriers_part(state.trace.items[size:]):
        together = 1  # nothing fuses from one iteration to the next
    plan = state.loop_plans[node] = LoopPlan(together)
    is_final = trial.is_general and state.budget.has_shares  # what a rerun would cost is not left
    if is_final or (trips <= together and not was_cut_short):
        state.memory.commit()
        return
    ends = state.memory.rollback()
    for inner in state.loop_plans.keys() - planned - {node} if not is_whole else ():
        del state.loop_plans[inner]  # how often they run may hang on a variable of this loop
    state.sums.forget(mark)
    del state.trace.items[size:], frame.returns[returned:], frame.pending.jumps[left:]
    state.trace.events, state.mask = events, mask
    for loop, cost in zip(state.loops, costs, strict=True):
        loop.cost = cost
    carried: Carried = {}
    for key, (obj, at, end) in ends.items() if not is_whole else ():
        advance = _advance(obj.cells.get(at), end, trips)
        if advance is not None:
            carried[key] = obj, at, advance
    plan.carried = [(obj.key, at, by) for obj, at, by in carried.values()]
    plan.is_rolled = foreseen is not None and foreseen // together >= REPEATED
    execute_blocks(ev, parts, together, carried, foreseen)


def _carried_now(state: State, plan: LoopPlan) -> Carried:
    """Returns what the loop changes, in the objects that exist this time."""
    found: Carried = {}
    for key, at, by in plan.carried:
        obj = state.latest.get(key)
        if obj is not None:
            found[id(obj), at] = obj, at, by
    return found


def _barriers_part(iterations: Sequence[Event | Fence]) -> bool:
    """Whether iterations end at a barrier, so that no access of one meets one of the next."""
    last = iterations[-1] if iterations else None
    return isinstance(last, Fence) and last.kind == "barrier"


def _advance(begin: Value | None, end: Value | None, trips: int) -> int | None:
    """What a cell changes by each iteration; 0 when not by a constant, None for no number."""
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        begin, end = begin.offset, end.offset
    if not isinstance(begin, AffineInt) or not isinstance(end, AffineInt):
        return None
    if not isinstance(begin.base, int) or not isinstance(end.base, int):
        change = np.unique(np.asarray(end.base) - np.asarray(begin.base))
        if len(change) != 1 or not same(
            AffineInt(0, terms=begin.terms), AffineInt(0, terms=end.terms)
        ):
            return 0
        total = int(change[0])
    else:
        total = end.base - begin.base
    return total // trips if total % trips == 0 else 0
