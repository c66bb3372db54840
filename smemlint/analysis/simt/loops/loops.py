"""Loops: tried for what an iteration costs, then run as the compiler lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.codegen.induction import mark_left_over
from smemlint.analysis.simt.codegen.next_iterations import (
    mark_open_blocks,
    neighbours_if_unrolled,
    neighbours_of_iterations,
)
from smemlint.analysis.simt.codegen.staggered import mark_staggered
from smemlint.analysis.simt.codegen.unroll import RUN_TIME, is_block_settled, is_close
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.ctypes import CType, IntType
from smemlint.analysis.simt.domain.environment import Variable, content_of
from smemlint.analysis.simt.domain.integer_scev import one_of, scev_of
from smemlint.analysis.simt.domain.masking import number_of
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Object, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import LoopPlan
from smemlint.analysis.simt.interpreter.names import find_binding
from smemlint.analysis.simt.loops.carried import carried_by
from smemlint.analysis.simt.loops.chunks import Layout, chunk_of
from smemlint.analysis.simt.loops.counted_trips import counted_trips
from smemlint.analysis.simt.loops.float_only import execute_float_only, is_float_only
from smemlint.analysis.simt.loops.heads import (
    LoopParts,
    begin_of,
    counter_of,
    is_constant,
    is_open_triangle,
    may_be_left,
    pragma_of,
    step_of,
    tests_indices,
    with_pragma,
)
from smemlint.analysis.simt.loops.known_trips import (
    Carried,
    Iterations,
    Trips,
    execute_iterations,
    foresee_trips,
    set_form,
)
from smemlint.analysis.simt.loops.periodic import REPEATED, execute_blocks
from smemlint.analysis.simt.loops.ranges import counted_loop, iterated_loop
from smemlint.analysis.simt.state import State
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
    """Executes a range-based `for` as the loop it stands for, else an unknown number of times."""
    frame = ev.state.frame
    frame.enter_scope()
    try:
        loop = counted_loop(ev, node) or iterated_loop(ev, node)
        if loop is not None:
            execute_for(ev, loop)
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
    state, budget = ev.state, ev.state.budget
    if parts.node.pragma:
        parts = replace(parts, node=with_pragma(parts.node, pragma_of(ev, parts.node)))
    before, budget.max_trips = budget.max_trips, ev.policy.max_trips(ev, parts.node)
    try:
        if is_float_only(ev, parts.node):
            execute_float_only(ev, parts)
        elif not ev.policy.tracks_scev:  # nothing fuses there: no trial is needed
            execute_iterations(ev, Iterations(parts, 1))
        elif state.trace.is_muted:
            execute_blocks(ev, Iterations(parts, 1, foreseen=foresee_trips(ev, parts)))
        else:
            _execute_as_compiled(ev, parts)
    finally:
        budget.max_trips = before
        if state.ended is not None:  # in a trial that was undone
            state.ended = state.ended & ~state.mask


def _execute_as_compiled(ev: Evaluator, parts: LoopParts) -> None:
    """Executes a loop in the basic blocks that the compiler makes of it.

    How many iterations the compiler puts together depends on what they cost, so a loop is tried
    first to learn that; where it stays a loop it is run with its variables marked as such. Two
    iterations tell it where the header alone says how many there are. One in a loop that is
    fully unrolled is laid out anew where it runs another number of times.
    """
    state, node = ev.state, parts.node
    plan = state.loop_plans.get(node)
    asks = plan is None or plan.is_rolled or plan.constant is not None or state.budget.has_shares
    foreseen = foresee_trips(ev, parts) if asks else None
    was_empty = plan is not None and plan.is_empty
    if plan is not None and plan.constant in (None, foreseen) and not was_empty:
        _execute_planned(ev, parts, plan, _carried_now(state, plan), foreseen)
        return
    tried = _TRIED if foreseen is not None and foreseen > _TRIED else None
    frame, planned, mark = state.frame, set(state.loop_plans), state.sums.mark()
    mask, returned, left = state.mask, len(frame.returns), len(frame.pending.jumps)
    size, events, costs = len(state.trace.items), state.trace.events, state.costs()
    state.memory.begin()
    is_from_constant = is_constant(begin_of(ev, parts))
    chunk = chunk_of(ev, parts) if foreseen != 0 else None
    trial = execute_iterations(ev, Iterations(parts, None, {}, tried, foreseen))
    trips, together = trial.count, trial.together
    layout = chunk.layout(foreseen or trips, node.pragma) if chunk and trips else Layout.WHOLE
    was_cut_short = trips == tried and not trial.is_general
    is_unrolled = trial.is_constant and foreseen is not None and foreseen <= together
    is_parted = was_cut_short and is_unrolled and _barriers_part(state.trace.items[size:])
    if is_parted or layout is Layout.APART:
        together = 1  # nothing fuses from one iteration to the next
    plan = state.loop_plans[node] = LoopPlan(
        together,
        is_counted=not trial.is_constant,
        is_from_constant=is_from_constant,
        surely_runs=parts.first or (trips > 0 and not was_empty and _hangs_on_counters(ev, parts)),
        constant=foreseen if trial.is_constant else None,
        is_first_apart=layout is Layout.FIRST,
    )
    is_final = trial.is_general and state.budget.has_shares  # what a rerun would cost is not left
    is_whole = trips <= together and not was_cut_short and layout is Layout.WHOLE
    if is_final or (is_whole and (trial.is_constant or trips < 1)):
        state.memory.commit()
        plan.is_empty = trips < 1 and not trial.is_constant
        return
    ends = state.memory.rollback()
    for inner in state.loop_plans.keys() - planned - {node} if not is_unrolled else ():
        del state.loop_plans[inner]  # how often they run may hang on a variable of this loop
    _leave_open(ev, parts, plan, trial, layout, foreseen, state.trace.items[size:])
    state.sums.forget(mark)
    state.trace.cut(size, events)
    del frame.returns[returned:], frame.pending.jumps[left:]
    state.mask = mask
    state.count(0, costs)
    plan.leaves_behind = any(map(_begins_at_constant, ends.values()))
    carried = carried_by(ends, trial, mask) if not is_unrolled else {}
    plan.tried = trips if foreseen is None and not trial.is_general else None
    plan.carried = [(obj.key, at, by) for obj, at, by in carried.values()]
    plan.is_rolled = foreseen is not None and foreseen // together >= REPEATED
    _execute_planned(ev, parts, plan, carried, foreseen)


def _leave_open(
    ev: Evaluator,
    parts: LoopParts,
    plan: LoopPlan,
    trial: Trips,
    layout: Layout,
    foreseen: int | None,
    items: Sequence[Event | Fence],
) -> None:
    """Notes in the plan of a loop which accesses other blocks than those of the trial may fuse."""
    node, trips = parts.node, foreseen or trial.count
    if layout is Layout.OPEN or (foreseen is not None and not _is_settled(node, trial, foreseen)):
        plan.may_fuse = neighbours_of_iterations(items, trial.count, trial.cost)
        is_parted = _may_be_parted(trial, plan.unroll_factor, trips)
        plan.may_part = layout is Layout.OPEN or is_parted
    if is_open_triangle(ev, parts, trips):
        plan.may_fuse = neighbours_if_unrolled(items)


def _begins_at_constant(change: tuple[Object, int, Value | None]) -> bool:
    """Returns whether what a loop that is about to run changes is an integer constant."""
    obj, at, _ = change
    return obj.space is Space.LOCAL and is_constant(obj.cells.get(at))


def _may_be_parted(trial: Trips, together: int, expected: int) -> bool:
    """Returns whether what so many iterations cost leaves open how many are put together."""
    return is_close(together, expected, trial.cost * expected // max(trial.count, 1))


def _hangs_on_counters(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether only counters of loops around it say how often a loop runs, and constants.

    Of `for (i = 1; i < 16; i++) for (j = 0; j < i; j++)` the compiler sees that the inner one runs.
    """
    state, init = ev.state, getattr(parts.node, "init", None)
    counters = {loop.counter for loop in state.loops} | {counter_of(parts.node)}
    heads = [head for head in (init, parts.cond) if head is not None]
    names = frozenset().union(*map(state.node_facts.names_in, heads)) - counters
    return _are_constants(ev, names)


def _is_settled(node: ir.Loop, trial: Trips, foreseen: int) -> bool:
    """Returns whether other blocks than those of a trial would fuse no more and no less."""
    holds_loops = not node.pragma and any(isinstance(part, ir.Loop) for part in node.stmt.walk())
    if holds_loops and trial.together < foreseen:
        return False
    if not trial.is_constant or not trial.count:
        return True
    cost = trial.cost * foreseen // trial.count
    return is_block_settled(foreseen, cost, node.pragma, tests_indices=tests_indices(node))


def _execute_planned(
    ev: Evaluator, parts: LoopParts, plan: LoopPlan, carried: Carried, trips: int | None
) -> None:
    items = ev.state.trace.items
    begin = len(items)
    tried, plan.tried = plan.tried, None
    stepped = _with_step(parts)
    plan.leaves_some_over = _steps_evenly(ev, stepped)
    plan.is_behind_step = plan.is_counted and _begins_behind_step(ev, stepped)
    rests = _left_over(ev, parts, plan, tried) if plan.is_counted else None
    if rests is not None:
        _execute_left_over(ev, parts, carried, rests)
        trips = trips - int(rests.min()) if trips is not None and rests.size else None
    if rests is None or rests.size:
        execute_blocks(ev, Iterations(parts, plan.unroll_factor, carried, foreseen=trips))
    _mark_staggered(ev, parts, plan, items[begin:])
    if plan.is_counted:
        ev.state.trace.guard(begin, runs=plan.surely_runs)
    mark_open_blocks(items[begin:] if plan.may_fuse else (), plan.may_fuse, may_part=plan.may_part)


def _mark_staggered(
    ev: Evaluator, parts: LoopParts, plan: LoopPlan, items: Sequence[Event | Fence]
) -> None:
    """Marks accesses of which threads of a warp leave the loop in different iterations."""
    is_staggered, plan.is_staggered = plan.is_staggered, False
    factor = plan.unroll_factor
    if not is_staggered or (factor < RUN_TIME if parts.node.pragma else factor != RUN_TIME):
        return
    if not ev.state.node_facts.told(may_be_left, parts.body) and _steps_by_constants(ev, parts):
        events = [item for item in items if isinstance(item, Event)]
        mark_staggered(events, begins_at_constant=plan.is_from_constant)


def _left_over(
    ev: Evaluator, parts: LoopParts, plan: LoopPlan, tried: int | None
) -> NDArray[np.int64] | None:
    """Returns how many iterations of each active thread no block takes of a loop unrolled by four.

    None where none is unrolled so, and where they stand behind the blocks; an empty array where
    there are no others.
    """
    is_run, parts = parts.first, _with_step(parts)
    if parts.node.pragma or plan.unroll_factor != RUN_TIME or not plan.leaves_some_over:
        return None
    if plan.is_from_constant or plan.leaves_behind or parts.step is None:
        return None
    trips = tried if tried is not None else foresee_trips(ev, parts)
    if trips is not None and trips < RUN_TIME:
        return np.zeros(0, np.int64)
    if trips is None or parts.cond is None or ev.state.node_facts.told(may_be_left, parts.body):
        return None
    with ev.state.trace.muted():
        counted = counted_trips(ev, parts.cond, parts.step)
    if counted is None or (is_run and counted.min(initial=RUN_TIME) < RUN_TIME):
        return None
    return counted % RUN_TIME if (counted % RUN_TIME).any() else None


def _with_step(parts: LoopParts) -> LoopParts:
    """Returns the parts of a loop, of one that ends with its step as of a `for`."""
    step = step_of(parts.node, parts.step)
    if step is None or step is parts.step or not isinstance(parts.body, ir.Compound):
        return parts
    rest = ir.Compound(parts.body.block_items[:-1], at=parts.body.at)
    return LoopParts(parts.node, parts.cond, step, rest)


def _execute_left_over(
    ev: Evaluator, parts: LoopParts, carried: Carried, rests: NDArray[np.int64]
) -> None:
    """Executes the iterations in front of the blocks of a loop that is unrolled by four."""
    state, entry = ev.state, ev.state.loop_entry()
    begin, threads = len(state.trace.items), state.mask
    numbers = ((obj, at, number_of(obj.cells.get(at))) for obj, at, _ in carried.values())
    forms = [(obj, at, scev_of(number)) for obj, at, number in numbers if number is not None]
    if not rests.size:
        run = execute_iterations(ev, Iterations(parts, 1, carried))
        mark_left_over(state.trace.items[begin:], run.atoms)
        return
    left = np.zeros(threads.shape, rests.dtype)
    left[threads] = rests
    atoms: set[str] = set()
    done = 0
    for count in sorted(set(rests.tolist()) - {0}):
        if done:
            state.trace.fence("iteration", entry)
        state.mask = left >= count
        asked = Iterations(parts, 1, carried, count - done, done=done)
        atoms |= execute_iterations(ev, asked).atoms
        done = count
    mark_left_over(state.trace.items[begin:], atoms)
    state.mask = threads
    state.trace.fence("iteration", entry)
    for obj, at, form in forms:  # the blocks are the same behind none and behind three
        set_form(ev, obj, at, form)


def _steps_evenly(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether LLVM knows before a loop how often it steps, if it has a step at all."""
    steps = _steps_by_constants(ev, parts) or _steps_by_variables(ev, parts)
    return parts.step is not None and steps


def _begins_behind_step(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether a loop begins at a variable and what it steps by: `j = w + 1; ..; ++j`.

    LLVM lets it count from w, and j + 1 stands in sums (InstCombine's `foldPHIArgBinOp`).
    """
    begin = begin_of(ev, parts)
    match parts.step:
        case ir.UnaryOp(op="++" | "p++"):
            by = 1
        case ir.Assignment(op="+=", rvalue=ir.Constant(value=value)) if value.isdecimal():
            by = int(value)
        case _:
            return False
    return begin is not None and one_of(begin) == by


def _steps_by_variables(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether a step adds signed variables that the loop leaves alone.

    LLVM counts such a loop in front of it, none whose step reads `blockDim.x`, is unsigned or is
    a multiple: with `step = 4 * blockDim.x` the loop of `i += step` stays as it is.
    """
    effects = ev.state.node_facts.mod_ref(parts.node)
    match parts.step:
        case ir.Assignment(op="+=" | "-=", lvalue=ir.ID(name=counter), rvalue=step):
            names = {counter, *ev.state.node_facts.names_in(step)}
            held = [find_binding(ev, name) for name in names]
        case _:
            return False
    return (
        effects is not None
        and effects.modified.isdisjoint(names - {counter})
        and all(isinstance(v, Variable) and _is_signed(v.type) for v in held)
        and not any(_is_multiple(ev, name) for name in names - {counter})
    )


def _is_multiple(ev: Evaluator, name: str) -> bool:
    """Returns whether a variable was given a multiple of a number."""
    value = content_of(ev.state.lookup(name))
    terms = scev_of(value).terms if isinstance(value, AffineInt) else ()
    return any(factor != 1 for _, factor in terms)


def _is_signed(ctype: CType) -> bool:
    return isinstance(ctype, IntType) and ctype.signed


def _steps_by_constants(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether the compiler knows what the step of a loop adds, if it has one."""
    if parts.step is None:
        return True
    effects = ev.state.node_facts.mod_ref(parts.step)
    moved = effects.modified if effects is not None else frozenset()
    names = ev.state.node_facts.names_in(parts.step)
    return _are_constants(ev, names - moved - {counter_of(parts.node)})


def _are_constants(ev: Evaluator, names: Iterable[str]) -> bool:
    """Returns whether variables have numbers that the compiler knows."""
    values = [find_binding(ev, name) for name in names]
    held = [v.object.cells.get(0) if isinstance(v, Variable) else v for v in values]
    return all(isinstance(v, AffineInt) and not scev_of(v).terms for v in held)


def _carried_now(state: State, plan: LoopPlan) -> Carried:
    """Returns what the loop changes, in the objects that exist this time."""
    found: Carried = {}
    for key, at, by in plan.carried:
        obj = state.latest.get(key)
        if obj is not None:
            found[id(obj), at] = obj, at, by
    return found


def _barriers_part(iterations: Sequence[Event | Fence]) -> bool:
    """Returns whether iterations end at a barrier, so that their accesses do not meet."""
    last = iterations[-1] if iterations else None
    return isinstance(last, Fence) and last.kind == "barrier"
