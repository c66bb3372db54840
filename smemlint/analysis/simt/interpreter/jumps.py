"""Jumps: `return`, `break` and `continue`, and what is written before those under open conditions.

What follows is evaluated as if no such jump was taken; what was written before it is joined where
it ends: behind a loop, at the end of an iteration, in the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.budget import BudgetExceeded
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.masking import same
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.values import FloatValue, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import PendingJumps
from smemlint.analysis.simt.interpreter.joins import join_writes
from smemlint.frontend import ir
from smemlint.limits.budgets import MAX_CELLS_NOTED
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic


def pending_jumps(ev: Evaluator) -> PendingJumps:
    """Returns the ways out of a block of code that begins here."""
    return PendingJumps(ev.state.memory.depth, len(ev.state.frame.open))


def record_jump(ev: Evaluator, pending: PendingJumps) -> bool:
    """Notes what was written before a jump; whether an open condition decides about it."""
    state = ev.state
    if len(state.frame.open) <= pending.around:
        return False
    condition = open_condition_around(ev, pending.around)
    pending.is_uniform &= condition.is_uniform
    if written := state.memory.since(pending.depth):
        state.budget.cells_noted += len(written)
        if state.budget.cells_noted > MAX_CELLS_NOTED:
            raise BudgetExceeded("too much is written before jumps under open conditions")
        pending.jumps.append((written, condition, state.frame.open[-1][1]))
    return True


def open_condition_around(ev: Evaluator, around: int) -> Unknown:
    """Returns the innermost open condition, uniform if all but the first `around` ones are."""
    inner = ev.state.frame.open[-1][0]
    is_uniform = all(condition.is_uniform for condition, _ in ev.state.frame.open[around:])
    return Unknown(inner.reason, inner.is_data, is_uniform)


def assume(ev: Evaluator, taken: Sequence[Assumption], has_returned: bool) -> None:
    """Notes what holds for the threads that stay; of those that returned, none comes back."""
    state = ev.state
    state.assumptions += [a for a in taken if a not in state.assumptions]
    if has_returned:
        state.frame.guards |= dict.fromkeys(taken)


def drop_guards(
    ev: Evaluator,
    assumed: int,
    before: UndoLog,
    *,
    reached: frozenset[int] = frozenset(),
    own: frozenset[int] = frozenset(),
) -> None:
    """Drops the conditions of a block that ends, unless what it wrote hangs on them.

    Those under which threads returned stay.

    Args:
        ev: the evaluator.
        assumed: conditions that were assumed before it.
        before: what it wrote, with the values from before.
        reached: ids of objects that outlive it, if they had a value or not.
        own: ids of objects that do not, though they had one.
    """
    state = ev.state
    guards = state.assumptions[assumed:]
    if not guards:
        return
    del state.assumptions[assumed:]
    assume(ev, [a for a in guards if a in state.frame.guards], has_returned=False)
    for obj, offset, old in before.values():
        now = obj.cells.get(offset)
        outlives = id(obj) not in own and (old is not None or id(obj) in reached)
        if outlives and not isinstance(now, FloatValue) and not same(old, now):
            assume(ev, guards, has_returned=False)
            break


def join_at_target(ev: Evaluator, pending: PendingJumps) -> None:
    """Joins what was written before the jumps to this place with what is there without them."""
    for written, condition, node in pending.jumps:
        join_writes(ev, written, {}, condition, node)
    pending.jumps.clear()


@executes(ir.Return)
def execute_return(ev: Evaluator, node: ir.Return) -> None:
    """Leaves the function with a value."""
    state = ev.state
    value: Value = FloatValue(I32)
    if node.expr is not None:
        if state.frame.returns_reference:
            place = ev.lvalue(node.expr)
            value = place.pointer() if isinstance(place, LValue) else place
        else:
            value = ev.evaluate(_constructed(node.expr, state.frame.result))
    condition = open_condition_around(ev, 0) if state.frame.open else None
    _note_filled(ev, node)
    state.frame.returns.append((state.mask, value, condition))
    if condition is not None:
        state.frame.deciding.append(tuple(of for _, of in state.frame.open))
    if state.frame.call is not None:  # behind a kernel nothing arrives
        record_jump(ev, state.frame.pending)
    state.mask = state.none_active()


def _note_filled(ev: Evaluator, node: ir.Return) -> None:
    """Notes whether all that a call returned so far was filled member by member."""
    frame, filled = ev.state.frame, ev.state.node_facts.filled
    if frame.call is None:
        return
    if node.expr in filled and (not frame.returns or frame.call in filled):
        filled.add(frame.call)
    else:
        filled.discard(frame.call)


def _constructed(expr: ir.Expression, result: ir.Type | None) -> ir.Expression:
    """Returns a result as it is constructed: `return {a, b}` gives them to the declared type."""
    if not isinstance(expr, ir.BraceList) or result is None:
        return expr
    return ir.Construct(result, expr.args, at=expr.at)


@executes(ir.Break)
def execute_break(ev: Evaluator, node: ir.Break) -> None:
    """Leaves the loop or switch."""
    state = ev.state
    if state.loops:
        loop = state.loops[-1]
        loop.broken = loop.broken | state.mask
        loop.is_left_openly |= record_jump(ev, loop.breaks)
    state.mask = state.none_active()


@executes(ir.Continue)
def execute_continue(ev: Evaluator, node: ir.Continue) -> None:
    """Leaves the iteration."""
    state = ev.state
    if state.loops:
        loop = state.loops[-1]
        loop.continued = loop.continued | state.mask
        record_jump(ev, loop.continues)
    state.mask = state.none_active()


@executes(ir.Goto)
def execute_goto(ev: Evaluator, node: ir.Goto) -> None:
    """Notes a jump that is not followed: all figures are samples, as it may lead anywhere."""
    state = ev.state
    ev.policy.on_jump(ev, node)
    state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, "goto is not followed"))
    taken = Assumption(Topic.JUMP, f"`goto {node.name}` is not followed", node.name)
    if taken in state.guessed:
        return
    state.guessed[taken] = None
    for event in state.trace.all_events():
        event.assumptions = (*event.assumptions, taken)
