"""Repeated blocks: of a rolled loop the first, one for those between, and the last are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.environment import is_any, kept
from smemlint.analysis.simt.domain.masking import same, seen_by
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    CallableValue,
    FloatValue,
    Object,
    Symbol,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.analysis.simt.loops.heads import LoopParts
from smemlint.analysis.simt.loops.known_trips import Iterations, execute_iterations
from smemlint.analysis.simt.loops.translation import at_block, moved, put_in, repeats, step_between
from smemlint.analysis.simt.state import State

REPEATED = 4
"""Blocks of a loop from which on they are not run one by one."""


def execute_blocks(ev: Evaluator, asked: Iterations) -> None:
    """Runs a loop; of many blocks that repeat each other only the first, one more and the last."""
    state, entry, together = ev.state, ev.state.loop_entry(), asked.together or 1
    asked = replace(asked, around=entry)
    begin, is_general = len(state.trace.items), False
    for size in (together, 2 * together):
        blocks = ((asked.foreseen or 0) - asked.done) // size
        if blocks < REPEATED:
            break
        if asked.done:
            state.trace.fence("iteration", entry)
        costs, start = state.costs(), len(state.trace.items)
        state.memory.begin()
        is_general = execute_iterations(ev, replace(asked, most=size)).is_general
        changes = state.memory.commit()
        asked = replace(asked, done=asked.done + size)
        if is_general:
            break
        first = state.trace.items[start:]
        if _execute_representative(ev, replace(asked, most=size), changes, first, blocks):
            asked = replace(asked, done=asked.done + size * (blocks - 2))
            state.count(blocks - 1, costs)
            break
    done = asked.done
    if not is_general:
        if done:
            state.trace.fence("iteration", entry)
        done += execute_iterations(ev, asked).count
    if done > together:  # a loop that stays one is in blocks of its own
        state.trace.enclose(begin, entry, has_effects=state.keeps_stores(entry))


def _execute_representative(
    ev: Evaluator, asked: Iterations, changes: UndoLog, first: list[Event | Fence], blocks: int
) -> bool:
    """Runs a block for all between the first and the last; False, and undone, if it is not."""
    state, entry = ev.state, asked.around
    steps = _steps_of_block(ev, changes)
    if steps is None:
        return False
    state.trace.fence("iteration", entry)
    start, events, mask = len(state.trace.items), state.trace.events, state.mask
    costs = state.costs()
    splits, notes = dict(state.split_requests), dict(state.unfollowed)
    block = Symbol(state.key(asked.parts.node, "block"), "the iteration", 1, True, blocks - 3)
    state.memory.begin()
    begins = _enter_block(state, changes, steps, block)
    execute_iterations(ev, replace(asked, foreseen=None, is_certain=True))
    general = state.trace.items[start:]
    is_one = (
        state.split_requests == splits
        and kept(mask, state.mask) is mask
        and all(step_between(b, o.cells[at], state.domain) == by for o, at, b, by in begins)
        and (state.trace.is_muted or repeats(first, general, block))
    )
    state.count(0, costs)
    state.trace.cut(start, events)
    state.mask = mask
    ends = state.memory.rollback()
    known = {(id(o), at) for o, at, _, _ in begins}
    is_one = is_one and all(
        key in known or _is_settled(o.cells.get(at), end) for key, (o, at, end) in ends.items()
    )
    last = blocks - 3
    state.memory.begin()
    for obj, at, end in ends.values() if is_one else ():
        value = put_in(end, block, last) if end is not None else None
        state.memory.set_cell(obj, at, seen_by(None, value))
    if not is_one or _is_left_by_some(ev, asked.parts):
        state.memory.rollback()
        state.split_requests, state.unfollowed = splits, notes
        return False
    state.memory.commit()
    between = at_block(first, general, block, 0, 1)
    for item in (*between, Fence("iteration", entry), *at_block(first, general, block, last, last)):
        state.trace.put(item)
    return True


def _is_left_by_some(ev: Evaluator, parts: LoopParts) -> bool:
    """Returns whether the header tells that some threads leave the loop, or have left it."""
    if parts.cond is None:
        return False
    with ev.state.dry():
        value = to_condition(ev.evaluate(parts.cond))
    if not isinstance(value, AffineInt) or value.terms:
        return False
    return is_any(ev.state.mask & (np.asarray(value.base) == 0))


def _enter_block(
    state: State, changes: UndoLog, steps: Sequence[tuple[Object, int, int]], block: Symbol
) -> list[tuple[Object, int, Value, int]]:
    """Sets each cell that a block changes to what it is at the beginning of any block."""
    begins = []
    for obj, at, by in steps:
        begin = moved(obj.cells[at], block, by)
        begins.append((obj, at, begin, by))
        state.memory.set_cell(obj, at, begin)
    for obj, at, _ in changes.values():  # what some threads hold, they need not hold later
        state.memory.set_cell(obj, at, seen_by(None, obj.cells.get(at)))
    return begins


def _steps_of_block(ev: Evaluator, changes: UndoLog) -> list[tuple[Object, int, int]] | None:
    """Returns what a block adds to each cell that it changes; None where that is not followed."""
    steps = []
    for obj, at, old in changes.values():
        now = obj.cells.get(at)
        if old is None or now is None or same(old, now) or not _is_followed(now):
            continue
        by = step_between(old, now, ev.state.domain)
        if by is None:
            return None
        steps.append((obj, at, by))
    return steps


def _is_settled(old: Value | None, end: Value | None) -> bool:
    """Returns whether a cell of a block needs no step: new, unchanged, or not followed."""
    return old is None or end is None or same(old, end) or not _is_followed(end)


def _is_followed(value: Value) -> bool:
    """Returns whether it is more than some floating-point or unknown value."""
    return not isinstance(value, FloatValue | Unknown | CallableValue)
