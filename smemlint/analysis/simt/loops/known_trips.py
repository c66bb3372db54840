"""Executes loops whose condition is known, iteration by iteration."""

from __future__ import annotations

import operator
from collections import ChainMap, defaultdict
from collections.abc import Iterable
from dataclasses import field, replace
from typing import TypeAlias

import numpy as np

from smemlint.analysis.simt.budget import Share
from smemlint.analysis.simt.builtins.intrinsics import BLOCK_BARRIERS
from smemlint.analysis.simt.codegen.induction import mark_induction_pointers
from smemlint.analysis.simt.codegen.sinking import sink_loads
from smemlint.analysis.simt.codegen.staggered import mark_thinned
from smemlint.analysis.simt.codegen.unroll import (
    is_close,
    is_left_by_llvm,
    stays_a_loop,
    unrolled,
)
from smemlint.analysis.simt.domain.environment import WARP, Mask, Variable, is_any, kept
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.masking import formed, number_of, seen_by, truth_bounds
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.scev import Scev, atom, power_of_two, sum_of
from smemlint.analysis.simt.domain.trace import Event, Fence, LoopEntry
from smemlint.analysis.simt.domain.values import AffineInt, Object, Pointer, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Loop, LoopPlan
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.jumps import drop_guards, join_at_target
from smemlint.analysis.simt.loops.counted_trips import counted_trips
from smemlint.analysis.simt.loops.heads import (
    Head,
    LoopParts,
    are_leaps,
    atoms_of,
    counter_of,
    is_countable,
    is_uncountable,
    may_be_left,
    most_of_triangle,
    numbers_tested,
    tests_indices,
)
from smemlint.analysis.simt.loops.modified import keeps_what_is_followed
from smemlint.analysis.simt.loops.widening import execute_iteration, execute_widened
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FORESEEN

Carried: TypeAlias = dict[tuple[int, int], tuple[Object, int, int | None]]
"""Cells that a loop changes: object, byte offset, change per iteration (0: by no constant)."""


@dataclass(frozen=True, slots=True)
class Trips:
    """How a loop was run.

    Attributes:
        count: iterations that were run.
        together: how many form one basic block.
        is_general: another one stands for all that were left.
        is_constant: the compiler knows how many there are.
        cost: of those that were run.
        atoms: names that sums have for what it advances.
        first: what the first iteration changed, as that left it.
    """

    count: int
    together: int
    is_general: bool
    is_constant: bool
    cost: int
    atoms: frozenset[str] = frozenset()
    first: UndoLog = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Iterations:
    """Iterations that are run one after another.

    Attributes:
        together: how many form one basic block; None where that is to be found out.
        carried: what the loop changes, to be marked as variable at the head of each block.
        most: how many to run at the most.
        foreseen: how many there would be.
        done: how many were run before.
        is_certain: the condition is known to hold for all of them.
        around: how the loop is entered, where these are not all of its iterations.
    """

    parts: LoopParts
    together: int | None
    carried: Carried = field(default_factory=dict)
    most: int | None = None
    foreseen: int | None = None
    done: int = 0
    is_certain: bool = False
    around: LoopEntry | None = None


@dataclass(slots=True)
class _Run:
    """What is known of iterations while they are run.

    Attributes:
        asked: which these are.
        left: threads whose condition ended the loop.
        starts: where each iteration begins in the trace.
        masks: the threads that run it.
        is_constant: no thread's condition ended it before that of all.
        heads: what the cells that it changes hold at the head of each block.
        first: what the first iteration changed, as that left it, where it is to be found out.
    """

    asked: Iterations
    left: Mask
    starts: list[int] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    is_constant: bool = True
    heads: dict[tuple[int, int], list[Head]] = field(default_factory=lambda: defaultdict(list))
    first: UndoLog = field(default_factory=dict)


def execute_iterations(ev: Evaluator, asked: Iterations) -> Trips:
    """Runs iterations of a loop, until no thread goes on or as many were run as were asked for."""
    parts, together, foreseen = asked.parts, asked.together, asked.foreseen
    state = ev.state
    entry, loop = state.mask, begun(ev, parts.node, state.budget.share())
    state.loops.append(loop)
    assumed = len(state.assumptions)
    state.memory.begin()
    head = state.frame.scopes[-1] if isinstance(parts.node, ir.For | ir.RangeFor) else {}
    own = frozenset(id(b.object) for b in head.values() if isinstance(b, Variable))
    mark = state.sums.mark()
    state.trace.loop_starts[parts.node] = state.trace.events
    run = _Run(asked, state.none_active())
    try:
        _iterate(ev, run)
    finally:
        state.loops.pop()
        drop_guards(ev, assumed, state.memory.commit(), own=own)
    if loop.is_run_time or not run.is_constant:
        state.sums.leave(mark)
    if (
        ev.policy.tracks_scev
        and _is_endless(parts)
        and not state.node_facts.told(may_be_left, parts.body)
    ):
        state.mask = state.none_active()  # what launches behind one on the host has a way out of it
    state.mask = kept(entry, state.mask | run.left | loop.broken)
    join_at_target(ev, loop.breaks)
    is_constant = run.is_constant and not loop.is_run_time
    if together is None:
        together = in_one_block(ev, parts, len(run.starts), foreseen, loop.cost, is_constant)
    plan = state.loop_plans.get(parts.node)
    if run.starts:
        _mark_pointers(ev, run, together, loop.cost)
    state.trace.fence_between(run.starts[together::together], asked.around)
    if plan is not None and plan.is_first_apart and not asked.done and len(run.starts) > 1:
        state.trace.part_stores_from(run.starts[1])
    atoms = atoms_of(run.heads.values())
    count, is_general = len(run.starts), loop.is_general
    return Trips(count, together, is_general, is_constant, loop.cost, atoms, run.first)


def _mark_pointers(ev: Evaluator, run: _Run, together: int, cost: int) -> None:
    """Marks what addresses LLVM makes pointers of that each block of iterations advances.

    None in a loop whose iterations it cannot count, nor of a sum that holds what an iteration
    changes otherwise than by adding a constant: of the four words of `s[4 * (t + k + q) + i]` with
    `k += 2; q = 2 * q + 1;` all are one LDS.128 (108 kernels, 288 of loops that halve their
    counter or end by data, whatever is in the sum; nvcc 13.5.37, sm_90).
    """
    node, count = run.asked.parts.node, len(run.starts)
    plan = ev.state.loop_plans.get(node)
    is_counted, parts = plan is not None and plan.is_counted, run.asked.parts
    if is_counted and is_uncountable(parts):
        return
    known = plan.pointers if plan is not None else {}
    if not run.asked.done:
        known.clear()
    is_open = plan is None or (plan.is_counted and not plan.is_from_constant)
    trips = run.asked.foreseen or count
    is_left = together == 1 and is_left_by_llvm(count, cost)
    if is_close(together, trips, cost * trips // count):
        is_left = None
    is_left = True if is_counted and not is_countable(ev, parts) else is_left
    leaps = atoms_of(heads for heads in run.heads.values() if are_leaps(heads))
    items = ev.state.trace.items[run.starts[0] :]
    mark_induction_pointers(
        [item for item in items if leaps.isdisjoint(_atoms_in(item))] if leaps else items,
        atoms_of(run.heads.values()),
        node.pragma,
        1 if is_open and not node.pragma else together,
        known,
        is_left=is_left,
        is_parted=plan is not None and plan.leaves_some_over and _is_parted(run, plan, together),
        is_from_constant=plan is not None and plan.is_from_constant and not plan.is_counted,
        may_be_left=ev.state.node_facts.told(may_be_left, parts.body),
        around=ChainMap(*(loop.heads for loop in ev.state.loops)),
    )


def _is_parted(run: _Run, plan: LoopPlan, together: int) -> bool:
    """Returns whether some iterations fill no block of so many, of some threads or of all."""
    heads = run.masks[::together]
    are_some = any(mask is not heads[k // together] for k, mask in enumerate(run.masks))
    return plan.is_behind_step or are_some or len(run.masks) % together > 0


def _atoms_in(item: Event | Fence) -> Iterable[str]:
    if not isinstance(item, Event) or not isinstance(item.offset, AffineInt):
        return ()
    return (atom for atom, _ in scev_of(item.offset).terms)


def _iterate(ev: Evaluator, run: _Run) -> None:
    """Executes iterations until no thread goes on."""
    state, asked, starts = ev.state, run.asked, run.starts
    parts, together = asked.parts, asked.together
    loop, returned = state.loops[-1], len(state.frame.returns)
    while is_any(state.mask) and len(starts) != asked.most:
        done = asked.done + len(starts)
        if not asked.is_certain and (done or not parts.first):
            rest = asked.foreseen - done if asked.foreseen is not None else 1
            going = _threads_going_on(ev, parts, len(starts), rest)
            if going is None:
                return
            if not done:
                sunk = state.sunk_at(parts.node)
                sink_loads(state.trace, sunk, parts.node, going)
            if going is not state.mask:
                run.is_constant = False
                _note_staggered(ev, parts.node, going, state.mask & ~going)
                run.left = run.left | (state.mask & ~going)
                state.mask = going
                if not is_any(going):
                    return
        loop.copy = len(starts) % together if together is not None else len(starts)
        if together is not None and not loop.copy:
            _mark_loop_carried(ev, run, together, done)
        starts.append(len(state.trace.items))
        run.masks.append(state.mask)
        tested = numbers_tested(ev, parts.cond)
        execute_iteration(ev, loop.counter, parts, loop)
        if together is None and len(starts) == 1:
            run.first = state.memory.since(state.memory.depth - 1)
        if not loop.is_left_openly and not _has_returned_openly(state.frame.returns[returned:]):
            continue
        if _is_endless(parts):
            execute_widened(ev, replace(parts, cond=None), is_uniform=True)
            return
        if tested and all(map(operator.is_, tested, numbers_tested(ev, parts.cond))):
            _execute_general(ev, parts, times=1)  # only what is open ends it
            return


def _note_staggered(ev: Evaluator, node: ir.Loop, going: Mask, left: Mask) -> None:
    """Notes in the plan of a loop that some threads of a warp leave it and others do not."""
    plan = ev.state.loop_plans.get(node)
    if plan is not None and not plan.is_staggered:
        parted = [threads.reshape(-1, WARP).any(axis=1) for threads in (going, left)]
        plan.is_staggered = bool((parted[0] & parted[1]).any())


def in_one_block(
    ev: Evaluator, parts: LoopParts, run: int, foreseen: int | None, cost: int, is_constant: bool
) -> int:
    """Returns how many iterations the compiler puts into one basic block.

    Args:
        ev: the evaluator.
        parts: of the loop.
        run: iterations that were run.
        foreseen: how many there would be.
        cost: of those that were run.
        is_constant: the compiler knows their number.
    """
    trips = run if foreseen is None else foreseen
    together = unrolled(
        trips,
        cost * trips // max(run, 1),
        parts.node.pragma,
        is_constant=is_constant,
        is_countable=is_countable(ev, parts),
        tests_indices=tests_indices(parts.node),
    )
    most = most_of_triangle(ev, parts)
    return together if most is None else trips if is_constant and 0 < trips <= most else 1


def _threads_going_on(ev: Evaluator, parts: LoopParts, trips: int, rest: int) -> Mask | None:
    """Returns threads that go on; None when the loop ends for all or was generalized."""
    state = ev.state
    is_spent = trips >= state.budget.max_trips or state.budget.has_spent(state.loops[-1].share)
    if isinstance(parts.node, ir.RangeFor) or (trips and is_spent):
        _execute_general(ev, parts, times=max(rest, 1))
        return None
    if parts.cond is None:
        return state.mask
    value = to_condition(ev.evaluate(parts.cond))
    if isinstance(value, Unknown) or value.terms:
        is_uniform = value.is_uniform or _is_uniform_count(ev, parts) or _is_joined(ev, parts)
        begin, entry = len(state.trace.items), state.mask
        may_go_on, _ = truth_bounds(value)
        state.mask = kept(entry, entry & may_go_on)
        if is_any(state.mask):
            execute_widened(ev, parts, is_uniform=is_uniform)
        state.mask = kept(entry, state.mask | entry & ~may_go_on)
        if isinstance(value, Unknown) and value.is_data and not is_uniform:
            mark_thinned(state.trace.items[begin:], may_stagger=not stays_a_loop(parts.node.pragma))
        return None
    state.loops[-1].is_run_time |= bool(scev_of(value).terms)
    if isinstance(value.base, int):
        return state.mask if value.base else None
    going = state.mask & (value.base != 0)
    return kept(state.mask, going)


def _execute_general(ev: Evaluator, parts: LoopParts, times: int) -> None:
    """Runs one iteration that stands for so many."""
    trace = ev.state.trace
    begin = len(trace.items)
    ev.state.loops[-1].is_general = not isinstance(parts.node, ir.RangeFor)
    execute_widened(ev, parts, is_uniform=True)
    for item in trace.items[begin:] if times > 1 else ():
        if isinstance(item, Event):
            item.issued *= times


def _is_uniform_count(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether a head of constants counts: `for (float x = -3; x <= 3; x++)`."""
    counter = counter_of(parts.node)
    init = parts.node.init if isinstance(parts.node, ir.For) else None
    heads = [part for part in (init, parts.cond, parts.step) if part is not None]
    effects = ev.state.node_facts.mod_ref(parts.body)
    return (
        bool(counter)
        and all(ev.state.node_facts.names_in(head) <= {counter} for head in heads)
        and effects is not None
        and counter not in effects.modified
    )


def _is_joined(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether the threads of a block meet at a barrier in each iteration."""
    return not BLOCK_BARRIERS.isdisjoint(ev.state.node_facts.names_in(parts.body))


def _mark_loop_carried(ev: Evaluator, run: _Run, together: int, trip: int) -> None:
    """Gives what the loop changes a form of its own: the compiler sees a variable there."""
    state, node = ev.state, run.asked.parts.node
    copy = "".join(f"~{loop.copy}" for loop in state.loops[:-1])  # by unrolling loops around it
    for cell, (obj, at, advance) in run.asked.carried.items():
        value = obj.cells.get(at)
        number = number_of(seen_by(state.mask, value))
        if number is None or advance is None:
            continue
        alignment = power_of_two(advance * together) if advance else 1
        before = scev_of(number)
        key = state.key(node, f"{obj.key}+{at}#{trip}{copy}")
        form = sum_of(before, atom(key, alignment))
        if trip:
            form = replace(form, terms=((key, 1),))
        set_form(ev, obj, at, form)
        state.loops[-1].heads[key] = number
        if not isinstance(value, Pointer):
            run.heads[cell].append(Head(key, number, state.mask))


def set_form(ev: Evaluator, obj: Object, at: int, form: Scev) -> None:
    """Sets how the compiler computes the number that a cell holds, or a pointer's offset."""
    value = obj.cells.get(at)
    number = number_of(value)
    if number is not None:
        marked = formed(number, form)
        value = replace(value, offset=marked) if isinstance(value, Pointer) else marked
        ev.state.memory.set_cell(obj, at, value)


def foresee_trips(ev: Evaluator, parts: LoopParts) -> int | None:
    """Returns how often a loop runs, from its header alone; None where the body may have a say."""
    state = ev.state
    if parts.cond is None or parts.step is None or parts.first:
        return None
    effects = state.node_facts.mod_ref(parts.body)
    names_in = state.node_facts.names_in
    header = names_in(parts.cond) | names_in(parts.step)
    if effects is None or effects.modified & header:
        return None
    if any(e.name in header and not keeps_what_is_followed(ev, e) for e in effects.escapes):
        return None
    trips, most = 0, MAX_FORESEEN * state.budget.max_trips
    with state.dry():
        counted = counted_trips(ev, parts.cond, parts.step)
        if counted is not None:
            trips = int(counted.max(initial=0))
            return trips if trips < most else None
        while trips < most:
            value = to_condition(ev.evaluate(parts.cond))
            if not isinstance(value, AffineInt) or value.terms:
                return None
            going = state.mask & (np.asarray(value.base) != 0)
            if not is_any(going):
                return trips
            state.mask = going
            ev.evaluate(parts.step)
            trips += 1
        return None


def _is_endless(parts: LoopParts) -> bool:
    """Returns whether only the body can end the loop: `for (;;)`, `while (true)`."""
    cond = parts.cond
    if isinstance(parts.node, ir.RangeFor):
        return False
    is_true = isinstance(cond, ir.ID) and cond.name == "true"
    is_number = isinstance(cond, ir.Constant) and cond.value != "0"
    return cond is None or is_true or is_number


def _has_returned_openly(returns: Iterable[tuple[Mask, Value, Unknown | None]]) -> bool:
    """Returns whether a `return` among these stands under an open condition."""
    return any(condition is not None for _, _, condition in returns)


def begun(ev: Evaluator, node: ir.Node, share: Share | None = None) -> Loop:
    """Returns a loop that no thread has left."""
    state = ev.state
    effects, none = state.node_facts.mod_ref(node), state.none_active()
    changed = effects.modified if effects is not None else frozenset()
    return Loop(none, none, counter_of(node), changed, share=share)
