"""Branches: conditions known thread by thread split the mask, unknown ones are taken both ways.

Each way is run, rolled back, and the two are joined; accesses under it say what was assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.environment import Mask, is_any, kept
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Unknown,
    Value,
    truth_bounds,
)
from smemlint.analysis.simt.interpreter.conditional import note_data_condition
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.interpreter.joins import join_writes, merge_writes
from smemlint.analysis.simt.interpreter.jumps import assume, join_at_target, pending_jumps
from smemlint.analysis.simt.interpreter.operands import is_call
from smemlint.analysis.simt.state import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.domain.memory import UndoLog
    from smemlint.analysis.simt.evaluator import Evaluator


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """What one alternative of an open condition leaves.

    Attributes:
        text: that it was taken, in words.
        mask: the threads that reach its end.
        journal: what it wrote.
        guards: what was assumed inside for them to reach it.
    """

    text: str
    mask: Mask
    journal: UndoLog
    guards: Sequence[str]


@executes(c_ast.If)
def execute_if(ev: Evaluator, node: c_ast.If) -> None:
    """Executes the branch that the condition picks, or both."""
    state = ev.state
    condition = _condition_of(node.cond)
    value = to_condition(ev, ev.evaluate(condition))
    mask = state.mask
    if isinstance(value, AffineInt) and not value.terms:
        if isinstance(value.base, int):
            ev.execute(node.iftrue if value.base else node.iffalse)
            return
        taken = mask & (value.base != 0)
        rest = mask & ~taken
        if not is_any(rest):
            ev.execute(node.iftrue)
            return
        if not is_any(taken):
            ev.execute(node.iffalse)
            return
        state.trace.fence("block")
        state.mask = taken
        ev.execute(node.iftrue)
        alive = state.mask
        state.trace.fence("block")
        state.mask = rest
        ev.execute(node.iffalse)
        state.trace.fence("block")
        state.mask = kept(mask, alive | state.mask)
        return
    assert isinstance(value, Unknown) or value.terms
    unknown = value if isinstance(value, Unknown) else Unknown("the condition is not known")
    text = state.source_text(node.cond)
    may_hold, holds = truth_bounds(unknown)
    execute_both_ways(
        ev,
        (f"`{text}` holds", mask & may_hold, node.iftrue),
        (f"`{text}` does not hold", mask & ~holds, node.iffalse),
        unknown,
        node,
    )


def execute_both_ways(
    ev: Evaluator,
    first: tuple[str, Mask, c_ast.Node | None],
    second: tuple[str, Mask, c_ast.Node | None],
    condition: Unknown,
    node: c_ast.Node,
) -> None:
    """Runs two alternatives of an unknown condition and joins what they leave.

    Each alternative is a text, the threads that may take it, and a statement.
    """
    state = ev.state
    mask = state.mask
    for (_, ours, statement), (_, others, _) in ((first, second), (second, first)):
        if not is_any(others):
            state.mask = ours
            ev.execute(statement)
            return
    loop = state.loops[-1] if state.loops else None
    left_before = (loop.broken, loop.continued) if loop else None
    ends: list[End] = []
    returned = len(state.frame.returns)
    state.trace.fence("block")
    note_data_condition(ev, condition, first[0], node.cond)
    for text, threads, statement in (first, second):
        state.mask = kept(mask, threads)
        if loop is not None and left_before is not None:
            loop.broken, loop.continued = left_before
        ends.append(_execute_alternative(ev, text, [statement], condition, node))
        state.trace.fence("block")
    if loop is not None and left_before is not None:
        loop.broken, loop.continued = left_before
    alive = [end for end in ends if is_any(end.mask)]
    if not alive:
        state.mask = state.none_active()
        return
    has_returned = len(state.frame.returns) > returned
    if len(alive) == 1:
        state.mask = alive[0].mask
        assume(ev, [alive[0].text, *alive[0].guards], has_returned)
        _replay(ev, alive[0].journal)
        return
    state.mask = kept(mask, ends[0].mask | ends[1].mask)
    for other, (_, began, _), end in zip(ends[::-1], (first, second), ends, strict=True):
        if is_any(mask & began & ~end.mask & state.mask):  # who left stays on the other way
            assume(ev, [other.text], has_returned)
            break
    assume(ev, [*ends[0].guards, *ends[1].guards], has_returned)
    join_writes(ev, ends[0].journal, ends[1].journal, condition, node)


def _execute_alternative(
    ev: Evaluator,
    text: str,
    statements: Sequence[c_ast.Node | None],
    condition: Unknown,
    node: c_ast.Node,
) -> End:
    """Runs one alternative of an open condition and undoes what it wrote."""
    state = ev.state
    state.memory.begin()
    state.assumptions.append(text)
    state.frame.open.append((condition, node))
    depth = len(state.assumptions)
    try:
        for statement in statements:
            if not is_any(state.mask):
                break
            ev.execute(statement)
    finally:
        guards = state.assumptions[depth:]
        del state.assumptions[depth - 1 :]
        state.frame.open.pop()
        journal = state.memory.rollback()
    return End(text, state.mask, journal, guards)


def _replay(ev: Evaluator, journal: UndoLog) -> None:
    for obj, offset, value in journal.values():
        ev.state.memory.set_cell(obj, offset, value)


@executes(c_ast.Switch)
def execute_switch(ev: Evaluator, node: c_ast.Switch) -> None:
    """Executes the cases that the value picks, or all of them."""
    state = ev.state
    value = ev.evaluate(node.cond)
    items = (
        list(node.stmt.block_items or ()) if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    )
    flat = _flat_cases(items)
    outer, mask = state.loops, state.mask
    loop = Loop(state.none_active(), state.none_active(), breaks=pending_jumps(ev))
    if outer:
        loop.continues = outer[-1].continues
    state.loops = [*state.loops, loop]
    state.frame.scopes.append({})
    try:
        if isinstance(value, AffineInt) and value.constant is not None:
            _execute_known_case(ev, flat, value.constant)
        elif isinstance(value, AffineInt) and value.is_concrete:
            _execute_cases_by_thread(ev, flat, value, node)
        else:
            _execute_unknown_case(ev, flat, value, node)
    finally:
        state.frame.scopes.pop()
        state.loops = outer
    if outer:
        outer[-1].continued = outer[-1].continued | loop.continued
    state.mask = kept(mask, state.mask | (loop.broken & mask))
    join_at_target(ev, loop.breaks)


def _execute_known_case(
    ev: Evaluator, flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]], value: int
) -> None:
    start = None
    for i, (label, is_default, _) in enumerate(flat):
        if label is not None:
            known = ev.evaluate(label)
            if isinstance(known, AffineInt) and known.constant == value:
                start = i
                break
        elif is_default and start is None:
            start = i
    for _, _, statement in flat[start:] if start is not None else ():
        ev.execute(statement)


def _execute_cases_by_thread(
    ev: Evaluator,
    flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
    value: AffineInt,
    node: c_ast.Switch,
) -> None:
    """Every thread enters at its own case and falls through to what follows."""
    state = ev.state
    waiting = state.mask
    entering: dict[int, Mask] = {}
    for i, (label, _, _) in enumerate(flat):
        known = ev.evaluate(label) if label is not None else None
        if label is not None and not (isinstance(known, AffineInt) and known.constant is not None):
            _execute_unknown_case(ev, flat, value, node)
            return
        if isinstance(known, AffineInt):
            entering[i] = waiting & (value.base == known.constant)
            waiting = waiting & ~entering[i]
    for i, (_, is_default, _) in enumerate(flat):
        if is_default:
            entering[i], waiting = waiting, state.none_active()
    state.mask = state.none_active()
    for i, (_, _, statement) in enumerate(flat):
        if i in entering:
            state.trace.fence("block")
            state.mask = state.mask | entering[i]
        if is_any(state.mask):
            ev.execute(statement)
    state.trace.fence("block")
    state.mask = state.mask | waiting


def _execute_unknown_case(
    ev: Evaluator,
    flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
    value: Value,
    node: c_ast.Switch,
) -> None:
    """Every case is run from the same state; only what all agree on survives."""
    mask = ev.state.mask
    loop = ev.state.loops[-1]
    loop.breaks.around += 1
    condition = (
        value if isinstance(value, Unknown) else Unknown("the case is not known", is_uniform=True)
    )
    state: UndoLog | None = None
    subject = ev.state.source_text(node.cond)
    ends: list[End] = []
    returned = len(ev.state.frame.returns)
    for i, (label, is_default, _) in enumerate(flat):
        if label is None and not is_default:
            continue
        known = ev.evaluate(label) if label is not None else None
        text = (
            f"`{subject}` is {ev.state.source_text(label)}"
            if label is not None
            else f"`{subject}` is no case"
        )
        ev.state.mask = mask
        loop.broken = ev.state.none_active()
        ev.policy.refine(value, known)
        try:
            end = _execute_alternative(ev, text, [s for _, _, s in flat[i:]], condition, node)
        finally:
            ev.policy.refine(value, None)
        end = replace(end, mask=end.mask | loop.broken)
        ends.append(end)
        if is_any(end.mask):
            written = end.journal
            state = written if state is None else merge_writes(ev, state, written, condition, node)
    if not any(is_default for _, is_default, _ in flat):
        ends.insert(0, End(f"`{subject}` is no case", mask, {}, []))
    loop.broken = ev.state.none_active()
    _join_masks(ev, mask, ends, len(ev.state.frame.returns) > returned)
    if state is not None:
        join_writes(ev, state, {}, condition, node)


def _join_masks(ev: Evaluator, mask: Mask, ends: Sequence[End], has_returned: bool) -> None:
    """The threads that any case leaves behind it; where others lose some, it is assumed."""
    staying = ev.state.none_active()
    for end in ends:
        staying = staying | end.mask
    ev.state.mask = kept(mask, staying)
    if any(is_any(staying & ~end.mask) for end in ends):
        whole = [end.text for end in ends if not is_any(staying & ~end.mask)]
        assume(ev, [whole[0] if whole else ends[0].text], has_returned)
    assume(ev, [text for end in ends if is_any(end.mask) for text in end.guards], has_returned)


# ---- jumps


def _condition_of(cond: c_ast.Node) -> c_ast.Node:
    """Returns the condition of an `if`, without the mark of `if constexpr`."""
    if isinstance(cond, c_ast.FuncCall) and is_call(cond, "__constexpr"):
        return cond.args.exprs[0]
    return cond


def _flat_cases(
    items: list[c_ast.Node],
) -> list[tuple[c_ast.Node | None, bool, c_ast.Node | None]]:
    """(label, is default, statement) in program order, so that cases fall through."""
    flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]] = []
    for item in items:
        if isinstance(item, c_ast.Case):
            flat.append((item.expr, False, None))
            flat += _flat_cases(list(item.stmts or ()))
        elif isinstance(item, c_ast.Default):
            flat.append((None, True, None))
            flat += _flat_cases(list(item.stmts or ()))
        else:
            flat.append((None, False, item))
    return flat
