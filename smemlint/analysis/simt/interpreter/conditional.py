"""Choices: the value that a condition picks, known thread by thread or open."""

from __future__ import annotations

import numpy as np

from smemlint.analysis.simt.codegen.branches.if_conversion import stays_a_branch
from smemlint.analysis.simt.codegen.branches.kept_branches import leave_out_untaken, settled
from smemlint.analysis.simt.codegen.common_loads import load_in_front, load_once
from smemlint.analysis.simt.codegen.sinking import sink_loads
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.comparisons import is_seen
from smemlint.analysis.simt.domain.ctypes import PointerType
from smemlint.analysis.simt.domain.environment import Mask, Variable, is_any
from smemlint.analysis.simt.domain.integer_scev import chosen_scev
from smemlint.analysis.simt.domain.masking import chosen, is_staggered, truth_bounds
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Pointer,
    Space,
    Unknown,
    Value,
    hangs_on_null,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.joins import join, join_writes
from smemlint.analysis.simt.shared_functions import leads_to_shared
from smemlint.frontend import ir
from smemlint.reasons import Assumption, ReasonCode, outcome

_ORDERS = frozenset(("<", "<=", ">", ">="))


@evaluates(ir.TernaryOp)
def evaluate_ternary(ev: Evaluator, node: ir.TernaryOp) -> Value:
    """Returns the operand of `?:` that the condition picks, or the join of both."""
    condition = to_condition(ev.evaluate(node.cond))
    mask = ev.state.mask
    if isinstance(condition, AffineInt):
        if condition.constant is not None:
            note_untaken(ev, condition, node.iffalse if condition.constant else node.iftrue)
            leave_out_untaken(ev, node, condition)
            way = node.iftrue if condition.constant else node.iffalse
            if is_seen(condition):
                return ev.evaluate(way)
            _part_blocks(ev, node, is_uniform=False)
            behind = decided_by(ev, node.cond, holds=bool(condition.constant))
            value = evaluate_under(ev, mask, way, behind)
            assert value is not None
            return beside(ev, value, node.iffalse if condition.constant else node.iftrue)
        where = np.asarray(condition.base) != 0
        sunk = settled(ev, node)
        sink_loads(ev.state.trace, sunk, node.iftrue, mask & where)
        sink_loads(ev.state.trace, sunk, node.iffalse, mask & ~where)
        _part_blocks(ev, node, is_uniform=False)
        items = ev.state.trace.items
        begin = len(items)
        ways = [decided_by(ev, node.cond, holds=holds) for holds in (True, False)]
        left = evaluate_under(ev, mask & where, node.iftrue, ways[0])
        middle = len(items)
        right = evaluate_under(ev, mask & ~where, node.iffalse, ways[1])
        ours, theirs = items[begin:middle], items[middle:]
        ends_way = node in ev.state.node_facts.ending_ways
        load_once(node, ours, theirs, ends_way=ends_way)
        return _one_or_both(where, left, right)
    text = ev.state.source_text(node.cond)
    alternatives = (outcome(text, True), outcome(text, False))
    path = ev.policy.path_through(ev, node, alternatives)
    if path is not None:
        return ev.evaluate((node.iftrue, node.iffalse)[path])
    note_condition(ev, condition, alternatives, node.cond, node)
    may_hold, holds = truth_bounds(condition)
    parts = _part_blocks(ev, node, is_uniform=condition.is_uniform)
    ways = [decided_by(ev, node.cond, holds=each) for each in (True, False)]
    threads = mask & may_hold, mask & ~holds
    items = ev.state.trace.items
    begin = len(items)
    left, written = evaluate_assuming(
        ev, alternatives[0], threads[0], node.iftrue, ways[0], parts=parts
    )
    middle = len(items)
    right, otherwise = evaluate_assuming(
        ev, alternatives[1], threads[1], node.iffalse, ways[1], parts=parts
    )
    load_in_front(node, items[begin:middle], items[middle:])
    if left is None or right is None:
        ev.state.memory.replay((otherwise if left is None else written).values())
        return _one_or_both(may_hold, left, right)
    join_writes(ev, written, otherwise, condition, node)
    return join(ev, left, right, condition, node)


def beside(ev: Evaluator, value: Value, untaken: ir.Node) -> Value:
    """Returns a number that all threads of this block pick, which the compiler does not know.

    `c = t < 64 ? 4 : 2` ends no loop after four iterations for it (nvcc 13.5.37).
    """
    changes = ev.state.node_facts.mod_ref(untaken)
    if not isinstance(value, AffineInt) or not ev.policy.tracks_scev or changes is None:
        return value
    if changes.modified or changes.callees:
        return value
    with ev.state.dry():
        other = ev.evaluate(untaken)
    if not isinstance(other, AffineInt):
        return value
    either = AffineInt(value.base, value.type, value.terms)
    either.form = chosen_scev(value, other, either)
    return either


def note_untaken(ev: Evaluator, condition: AffineInt, untaken: ir.Node | None) -> None:
    """Notes a way that is not taken, since no pointer is taken to be null that a kernel is given.

    Args:
        ev: the evaluator.
        condition: a constant.
        untaken: the way; None for what stands behind one that all threads leave by.
    """
    ways = ev.state.null_ways
    if hangs_on_null(condition) and untaken not in ways:
        ways[untaken] = untaken is None or leads_to_shared(ev, untaken)


def _part_blocks(ev: Evaluator, node: ir.TernaryOp, *, is_uniform: bool) -> bool:
    """Parts what comes before from what comes after where an operand is a block of its own.

    Returns:
        Whether an operand may be one.
    """
    if not ev.policy.tracks_scev or goes_on(ev, node):  # nothing fuses in host code
        return True
    is_taken_out = is_uniform and (not ev.state.loops or is_unswitched(ev, node))
    stays = not is_taken_out and stays_a_branch(ev, node)
    if stays is None:
        ev.state.trace.part(SlowPath.EXPANSION)
    elif stays and any(leads_to_shared(ev, arm) for arm in (node.iftrue, node.iffalse)):
        ev.state.trace.fence("block")
    elif stays:
        ev.state.trace.part(SlowPath.CHOICE)
    return is_taken_out or stays is not False


def is_unswitched(ev: Evaluator, branch: ir.If | ir.TernaryOp) -> bool:
    """Returns whether the loop around a branch that parts no threads decides nothing of it.

    LLVM takes such a branch out of the loop (unswitching), which then has one body for each way.
    Of one that all iterations go on with it makes one branch in the loop.
    """
    facts = ev.state.node_facts
    loop = next((loop for loop in reversed(ev.state.loops) if not loop.is_switch), None)
    if loop is None or branch in facts.kept:
        return False
    return not loop.varies(facts.names_in(branch.cond))


def goes_on(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether a branch becomes one with that before it; its way goes on if it does."""
    state = ev.state
    kept = state.node_facts.kept.get(node)
    before = state.node_facts.going_on.get(node)
    is_next = (
        before is not None
        and not any(leads_to_shared(ev, way) for way in before.others)
        and _is_register(state.lookup(before.assigned))
    ) or (
        kept is not None
        and not kept.is_open
        and (kept.is_next or any(loop.copy for loop in state.loops[-kept.loops :]))
    )
    return is_next and state.trace.resume_way()


def _is_register(assigned: object) -> bool:
    """Returns whether what is assigned, or what it refers to, is a thread's own; nothing is."""
    if not isinstance(assigned, Variable):
        return True
    known = assigned.object.cells.get(0)
    if isinstance(assigned.type, PointerType) and isinstance(known, Pointer):
        return known.object.space is Space.LOCAL
    return assigned.object.space is Space.LOCAL


def note_condition(
    ev: Evaluator,
    condition: Unknown,
    alternatives: tuple[Assumption, Assumption],
    cond: ir.Node,
    branch: ir.Node,
) -> None:
    """Remembers which of an open condition's alternatives need not hold for all threads.

    That it is true may hold for few of them, or for others each iteration.

    Args:
        ev: the evaluator.
        condition: what is known of it.
        alternatives: that it holds, and that it does not.
        cond: the expression.
        branch: that hangs on it.
    """
    if not ev.policy.tracks_scev:  # one thread runs host code
        return
    facts = ev.state.node_facts
    if is_staggered(condition) or (not condition.is_uniform and facts.told(_singles_out, cond)):
        ev.state.data_conditions.add(alternatives[0])
    if not condition.is_uniform:
        if branch not in facts.kept:
            ev.state.divergent_conditions.update(alternatives)
        if condition.confines:
            ev.state.confining_conditions.update(alternatives)


def decided_by(ev: Evaluator, cond: ir.Node, *, holds: bool) -> tuple[int, ...]:
    """Returns the scopes of the operands that a condition evaluated to have an outcome.

    Those that it evaluated perhaps are less than 0: q, where `p && q` does not hold.
    """
    match cond:
        case ir.UnaryOp(op="!", expr=expr):
            return decided_by(ev, expr, holds=not holds)
        case ir.BinaryOp(op="&&" | "||" as op, left=left, right=right):
            sides = (decided_by(ev, part, holds=holds) for part in (left, right))
            found = (*next(sides), *ev.state.trace.ways.get(right, ()), *next(sides))
            return found if (op == "&&") == holds else tuple(-abs(way) for way in found)
    return ()


def evaluate_under(
    ev: Evaluator,
    mask: Mask,
    node: ir.Node,
    behind: tuple[int, ...] = (),
    taken: Assumption | None = None,
) -> Value | None:
    """Returns an operand that some threads evaluate; None where there are none.

    Args:
        ev: the evaluator.
        mask: the threads.
        node: the operand.
        behind: see `decided_by`.
        taken: the outcome of an open condition for which they do.
    """
    state = ev.state
    if not is_any(mask):
        return None
    before, state.mask = state.mask, mask
    mark = state.sums.mark()
    scope = state.trace.enter_way(behind)
    state.trace.ways[node] = state.trace.scope
    if taken is not None:
        state.trace.granted[state.trace.scope[-1]] = taken
    try:
        return ev.evaluate(node)
    finally:
        state.trace.leave_way(scope)
        state.sums.leave(mark)
        state.mask = state.going_on(before)


def evaluate_assuming(
    ev: Evaluator,
    taken: Assumption,
    mask: Mask,
    node: ir.Node,
    behind: tuple[int, ...] = (),
    *,
    parts: bool = True,
) -> tuple[Value | None, UndoLog]:
    """Returns an operand that is evaluated where an open condition has an outcome.

    And what it wrote, which is undone. None where no thread evaluates it, or it ends them: the
    other outcome is left then.

    Args:
        ev: the evaluator.
        taken: the outcome.
        mask: the threads.
        node: the operand.
        behind: see `decided_by`.
        parts: it is a block of its own if it accesses anything.
    """
    state = ev.state
    before, active, ended = state.trace.events, state.mask, state.ended
    state.assumptions.append(taken)
    state.memory.begin()
    try:
        value = evaluate_under(ev, mask, node, behind, taken)
        if state.ended is not ended:
            value = None
    finally:
        writes = state.memory.rollback()
        state.mask, state.ended = active, ended
        state.assumptions.pop()
        if parts and state.trace.events > before:  # issued under a predicate of its own
            state.trace.fence("block")
    return value, writes


def _singles_out(cond: ir.Node) -> bool:
    """Returns whether it tests for one value or bit; an order parts whole warps."""
    operators = {node.op for node in cond.walk() if isinstance(node, ir.BinaryOp)}
    return not operators.isdisjoint(("==", "&")) and operators.isdisjoint(_ORDERS)


def _one_or_both(where: Mask, a: Value | None, b: Value | None) -> Value:
    if a is None:
        return b if b is not None else Unknown.because(ReasonCode.NO_VALUE, "nothing is evaluated")
    if b is None:
        return a
    return chosen(where, a, b)
