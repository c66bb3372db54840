"""Branches: conditions known thread by thread split the mask, unknown ones are taken both ways.

Each way is run, rolled back, and the two are joined; accesses under it say what was assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from smemlint.analysis.simt.codegen.branches.chosen_stores import chosen_stores
from smemlint.analysis.simt.codegen.branches.if_conversion import keeps_blocks
from smemlint.analysis.simt.codegen.branches.kept_branches import leave_out_untaken, settled
from smemlint.analysis.simt.codegen.branches.overwriting_stores import is_selected
from smemlint.analysis.simt.codegen.common_loads import begin_once, load_once, mark_first
from smemlint.analysis.simt.codegen.sinking import sink_loads
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.comparisons import is_seen
from smemlint.analysis.simt.domain.environment import Mask, Variable, is_any, kept
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.masking import truth_bounds
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.values import AffineInt, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conditional import (
    beside,
    decided_by,
    goes_on,
    is_unswitched,
    note_condition,
    note_untaken,
)
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.joins import join_writes
from smemlint.analysis.simt.interpreter.jumps import assume
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, ReasonCode, outcome

_NAMES = (ir.ID, ir.StructRef, ir.Constant, ir.Cast, ir.Type)
"""Parts of what is evaluated without side effects."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """What one alternative of an open condition leaves.

    Attributes:
        mask: the threads that reach its end.
        guards: what was assumed inside for them to reach it.
        has_ended: a call ended others, behind which nothing comes: that needs no assumption.
    """

    taken: Assumption
    mask: Mask
    writes: UndoLog
    guards: Sequence[Assumption]
    has_ended: bool = False


@executes(ir.If)
def execute_if(ev: Evaluator, node: ir.If) -> None:
    """Executes the branch that the condition picks, or both."""
    state = ev.state
    chosen = chosen_stores(ev, node)
    if chosen:
        for each in chosen:
            if isinstance(each, ir.If):
                _execute_branch(ev, each)
            else:
                ev.execute(each)
    elif node in state.node_facts.overwriting and is_selected(ev, node):
        with state.trace.muted():
            _execute_branch(ev, node)
    else:
        _execute_branch(ev, node)


def _execute_branch(ev: Evaluator, node: ir.If) -> None:
    state = ev.state
    value = to_condition(ev.evaluate(node.cond))
    mask = state.mask
    if isinstance(value, AffineInt) and not value.terms:
        if isinstance(value.base, int):
            leave_out_untaken(ev, node, value)
            taken, untaken = (node.iftrue, node.iffalse)[:: 1 if value.base else -1]
            if untaken is not None:
                note_untaken(ev, value, untaken)
            if is_seen(value):
                _execute_one_way(ev, node, taken)
            else:
                _execute_way(ev, node, value, taken)
                _set_beside(ev, untaken)
            if not is_any(state.mask):
                note_untaken(ev, value, None)
            return
        taken = mask & (value.base != 0)
        rest = mask & ~taken
        if is_any(rest) and is_any(taken):
            _execute_by_lane(ev, node, taken, rest)
        else:
            state.trace.one_ways += 1
            way, untaken = (node.iftrue, node.iffalse)[:: 1 if is_any(taken) else -1]
            _execute_one_way(ev, node, way)
            _set_beside(ev, untaken)
        return
    assert isinstance(value, Unknown) or value.terms
    unknown = (
        value
        if isinstance(value, Unknown)
        else Unknown.because(ReasonCode.UNKNOWN_CONDITION, "the condition is not known")
    )
    may_hold, holds = truth_bounds(unknown)
    alternatives = _alternatives(ev, node.cond)
    if node.is_constexpr:
        state.constexpr_conditions.update(alternatives)
    execute_both_ways(
        ev,
        (alternatives[0], mask & may_hold, node.iftrue),
        (alternatives[1], mask & ~holds, node.iffalse),
        unknown,
        node,
    )


def _set_beside(ev: Evaluator, untaken: ir.Node | None) -> None:
    """Sets what a way assigns that no thread takes to what the compiler knows of it."""
    match untaken:
        case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=other) | ir.Compound(
            (ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=other),)
        ):
            variable = ev.state.lookup(name)
            if isinstance(variable, Variable) and variable.object.space is Space.LOCAL:
                value = variable.object.cells.get(0)
                if value is not None:
                    ev.state.memory.set_cell(variable.object, 0, beside(ev, value, other))


def _execute_by_lane(ev: Evaluator, node: ir.If, taken: Mask, rest: Mask) -> None:
    """Executes both ways of a branch, each for the threads that are known to take it."""
    state, trace = ev.state, ev.state.trace
    mask, alive = state.mask, state.none_active()
    parts_blocks = _parts_blocks(ev, node, is_uniform=False)
    _fence_if(ev, parts_blocks and not goes_on(ev, node))
    sunk = settled(ev, node)
    ways = ((node.iftrue, taken, True), (node.iffalse, rest, False))
    for way, threads, _ in ways:
        sink_loads(trace, sunk, way, threads)
    one_ways, first = trace.one_ways, 0
    begins = []
    for way, threads, holds in ways:
        begins.append(len(trace.items))
        mark = state.sums.mark()
        state.mask = threads
        with trace.conditional(decided_by(ev, node.cond, holds=holds), first):
            ev.execute(way)
        state.sums.leave(mark)
        alive = alive | state.mask
        first = first or trace.last_way
        _fence_if(ev, parts_blocks and holds)
    begin, middle = begins
    ours, theirs = trace.items[begin:middle], trace.items[middle:]
    load_once(node, ours, theirs, ends_way=node in state.node_facts.ending_ways)
    mark_first(node.iftrue, node.iffalse, ours)
    trace.join(first, one_ways)
    _fence_if(ev, parts_blocks)
    state.mask = kept(mask, alive)
    sink_loads(trace, sunk, None, state.mask)


def _alternatives(ev: Evaluator, cond: ir.Node) -> tuple[Assumption, Assumption]:
    """Returns that a condition holds and that it does not, as the user wrote it."""
    text = ev.state.source_text(cond)
    found = outcome(text, True), outcome(text, False)
    is_ours = isinstance(cond, ir.UnaryOp) and ev.state.source_text(cond.expr) == text
    return found[::-1] if is_ours else found


def _execute_one_way(ev: Evaluator, node: ir.If, way: ir.Node | None) -> None:
    """Executes the way that all threads take; what only the other one reads, none of them loads."""
    state = ev.state
    sunk = settled(ev, node)
    other = node.iffalse if way is node.iftrue else node.iftrue
    if other is not None:
        sink_loads(state.trace, sunk, other, state.none_active())
    ev.execute(way)
    sink_loads(state.trace, sunk, None, state.mask)


def _execute_way(ev: Evaluator, node: ir.If, condition: AffineInt, way: ir.Node | None) -> None:
    """Executes the way that all threads take of a branch which the compiler leaves one."""
    trace = ev.state.trace
    parts_blocks = _parts_blocks(ev, node, is_uniform=True)
    if parts_blocks and scev_of(condition).is_open:
        trace.part(SlowPath.EXPANSION)
        parts_blocks = False
    _fence_if(ev, parts_blocks and not goes_on(ev, node))
    one_ways = trace.one_ways
    with trace.conditional(decided_by(ev, node.cond, holds=bool(condition.base))):
        _execute_one_way(ev, node, way)
    trace.join(trace.last_way, one_ways)
    _fence_if(ev, parts_blocks)


def _parts_blocks(ev: Evaluator, node: ir.If | ir.TernaryOp, *, is_uniform: bool) -> bool:
    """Returns whether the ways of a branch surely are blocks; notes it where they may be."""
    if not ev.policy.tracks_scev:  # nothing fuses in host code
        return False
    keeps = keeps_blocks(ev, node.cond, node.iftrue, node.iffalse)
    if keeps and is_uniform and is_unswitched(ev, node):
        keeps = None
    if keeps is None:
        ev.state.trace.part(SlowPath.EXPANSION)
    return bool(keeps)


def _fence_if(ev: Evaluator, parts_blocks: bool) -> None:
    if parts_blocks:
        ev.state.trace.fence("block")


def execute_both_ways(
    ev: Evaluator,
    first: tuple[Assumption, Mask, ir.Node | None],
    second: tuple[Assumption, Mask, ir.Node | None],
    condition: Unknown,
    node: ir.If | ir.TernaryOp,
) -> None:
    """Runs two alternatives of an unknown condition and joins what they leave.

    Args:
        ev: the evaluator.
        first: the assumption that it is taken, the threads that may take it, its statement.
        second: the other alternative, likewise.
        condition: what is known of the condition.
        node: the branch.
    """
    state, mask = ev.state, ev.state.mask
    path = ev.policy.path_through(ev, node, (first[0], second[0]))
    if path is not None:
        with _refined(ev, node.cond, holds=path == 0):
            ev.execute((first, second)[path][2])
        return
    for (_, ours, statement), (_, others, _) in ((first, second), (second, first)):
        if not is_any(others):
            state.trace.one_ways += 1
            state.mask = ours
            ev.execute(statement)
            return
    loop, way = state.loops[-1] if state.loops else None, 0
    left_before = (loop.broken, loop.continued) if loop else None
    ends: list[End] = []
    begins, one_ways = [], state.trace.one_ways
    returned = len(state.frame.returns)
    parts_blocks = _parts_blocks(ev, node, is_uniform=condition.is_uniform)
    _fence_if(ev, parts_blocks and not goes_on(ev, node))
    note_condition(ev, condition, (first[0], second[0]), node.cond, node)
    sunk = settled(ev, node)
    for taken, threads, body in (first, second):
        sink_loads(state.trace, sunk, body, threads, hangs_on_data=taken in state.data_conditions)
    for (taken, threads, statement), holds in zip((first, second), (True, False), strict=True):
        state.mask = kept(mask, threads)
        if loop and not loop.is_switch and not condition.is_uniform and _ends_in_break(statement):
            state.data_conditions.add(taken)  # each lane leaves in an iteration of its own
        if loop is not None and left_before is not None:
            loop.broken, loop.continued = left_before
        behind = decided_by(ev, node.cond, holds=holds)
        begins.append(len(state.trace.items))
        with _refined(ev, node.cond, holds=holds):
            end = execute_alternative(ev, taken, [statement], condition, node, behind, way)
        ends.append(end)
        way = way or state.trace.last_way
        _fence_if(ev, parts_blocks)
    begin_once(node, state.trace.items[begins[0] : begins[1]], state.trace.items[begins[1] :])
    state.trace.join(way, one_ways)
    if loop is not None and left_before is not None:
        loop.broken, loop.continued = left_before
    state.mask = mask
    _join_ends(ev, ends, (first[1], second[1]), has_returned=len(state.frame.returns) > returned)
    if all(is_any(end.mask) for end in ends):
        join_writes(ev, ends[0].writes, ends[1].writes, condition, node)


def _join_ends(
    ev: Evaluator, ends: Sequence[End], began: Sequence[Mask], *, has_returned: bool
) -> None:
    """Goes on with the threads that come to the end of a way, and what one way alone wrote."""
    state, mask = ev.state, ev.state.mask
    alive = [end for end in ends if is_any(end.mask)]
    if not alive:
        state.mask = state.none_active()
        return
    if len(alive) == 1:
        state.mask = alive[0].mask
        chosen = [] if any(end.has_ended for end in ends) else [alive[0].taken]
        assume(ev, [*chosen, *alive[0].guards], has_returned)
        state.memory.replay(alive[0].writes.values())
        return
    state.mask = kept(mask, ends[0].mask | ends[1].mask)
    for other, threads, end in zip(ends[::-1], began, ends, strict=True):
        if is_any(mask & threads & ~end.mask & state.mask):  # who left stays on the other way
            assume(ev, [other.taken], has_returned)
            break
    assume(ev, [*ends[0].guards, *ends[1].guards], has_returned)


@contextmanager
def _refined(ev: Evaluator, cond: ir.Node, *, holds: bool) -> Iterator[None]:
    """Takes a number of host code as what it equals on a way: 32 in `if (threads == 32)`."""
    equal = [] if ev.policy.tracks_scev else list(_equalities(ev, cond, holds=holds))
    for value, known in equal:
        ev.policy.refine(value, known)
    try:
        yield
    finally:
        for value, _ in equal:
            ev.policy.refine(value, None)


def _equalities(ev: Evaluator, cond: ir.Node, *, holds: bool) -> Iterator[tuple[Value, Value]]:
    """Yields what a condition that holds, or does not, says to be equal to a constant."""
    match cond:
        case ir.UnaryOp(op="!", expr=expr):
            yield from _equalities(ev, expr, holds=not holds)
        case ir.BinaryOp(op="&&" | "||" as op, left=left, right=right) if (op == "&&") == holds:
            yield from _equalities(ev, left, holds=holds)
            yield from _equalities(ev, right, holds=holds)
        case ir.BinaryOp(op="==" | "!=" as op, left=left, right=right) if (op == "==") == holds:
            if ev.state.node_facts.told(_only_names, cond):
                sides = ev.evaluate(left), ev.evaluate(right)
                for value, known in (sides, sides[::-1]):
                    if isinstance(known, AffineInt) and known.constant is not None:
                        yield value, known


def _only_names(comparison: ir.BinaryOp) -> bool:
    """Returns whether evaluating the operands has no side effects."""
    sides = comparison.left, comparison.right
    return all(isinstance(part, _NAMES) for side in sides for part in side.walk())


def _ends_in_break(node: ir.Node | None) -> bool:
    if isinstance(node, ir.Compound) and node.block_items:
        return _ends_in_break(node.block_items[-1])
    return isinstance(node, ir.Break)


def execute_alternative(
    ev: Evaluator,
    taken: Assumption,
    statements: Sequence[ir.Node | None],
    condition: Unknown,
    node: ir.Node,
    behind: tuple[int, ...] = (),
    first: int = 0,
) -> End:
    """Runs one alternative of an open condition and undoes what it wrote.

    Args:
        ev: the evaluator.
        taken: the assumption that this one is taken.
        statements: what it executes.
        condition: what is known of the condition.
        node: the branch.
        behind: see `decided_by`.
        first: see `Trace.conditional`.
    """
    state = ev.state
    mark, ended = state.sums.mark(), state.ended
    state.memory.begin()
    state.assumptions.append(taken)
    state.frame.open.append((condition, node))
    depth = len(state.assumptions)
    try:
        with state.trace.conditional(behind, first):
            for statement in statements:
                if not is_any(state.mask):
                    break
                ev.execute(statement)
    finally:
        guards = state.assumptions[depth:]
        del state.assumptions[depth - 1 :]
        state.frame.open.pop()
        state.sums.leave(mark)
        writes = state.memory.rollback()
        has_ended, state.ended = state.ended is not ended, ended
    return End(taken, state.mask, writes, guards, has_ended)
