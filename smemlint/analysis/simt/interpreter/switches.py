"""Switches: threads enter at their cases; a value that is not known enters at all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from smemlint.analysis.simt.codegen.sinking import sink_loads
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.environment import Mask, is_any, kept
from smemlint.analysis.simt.domain.intervals import lower, upper
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Loop
from smemlint.analysis.simt.interpreter.branches import End, execute_alternative
from smemlint.analysis.simt.interpreter.joins import join_writes, merge_writes
from smemlint.analysis.simt.interpreter.jumps import assume, join_at_target, pending_jumps
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """A case label, the default label, or a statement of a switch.

    The statement of a label is the label itself.
    """

    statement: ir.Node
    label: ir.Expression | None = None
    is_default: bool = False


@executes(ir.Switch)
def execute_switch(ev: Evaluator, node: ir.Switch) -> None:
    """Executes the cases that the value picks, or all of them."""
    state = ev.state
    value = ev.evaluate(node.cond)
    items = state.node_facts.told(_items_of, node)
    outer, mask = state.loops, state.mask
    none = state.none_active()
    loop = Loop(none, none, breaks=pending_jumps(ev), is_switch=True)
    if outer:
        loop.continues = outer[-1].continues
    state.loops = [*state.loops, loop]
    state.frame.enter_scope()
    try:
        if isinstance(value, AffineInt) and value.constant is not None:
            _execute_known_case(ev, items, value.constant)
        elif isinstance(value, AffineInt) and value.is_concrete:
            _execute_cases_by_thread(ev, items, value, node)
        else:
            _execute_unknown_case(ev, items, value, node)
    finally:
        state.frame.leave_scope()
        state.loops = outer
    if outer:
        outer[-1].continued = outer[-1].continued | loop.continued
    state.mask = kept(mask, state.mask | (loop.broken & mask))
    join_at_target(ev, loop.breaks)


def _execute_known_case(ev: Evaluator, items: list[_Item], value: int) -> None:
    """Executes what follows the case of a number, or the default."""
    start = None
    for i, item in enumerate(items):
        if item.label is not None:
            known = ev.evaluate(item.label)
            if isinstance(known, AffineInt) and known.constant == value:
                start = i
                break
        elif item.is_default and start is None:
            start = i
    for item in items[start:] if start is not None else ():
        if not isinstance(item.statement, ir.Case | ir.Default):
            ev.execute(item.statement)


@executes(ir.Case, ir.Default)
def execute_label(ev: Evaluator, node: ir.Case | ir.Default) -> None:
    """Begins a block: threads come to it from above, and from the head of the switch."""
    ev.state.trace.fence("block")


def _execute_cases_by_thread(
    ev: Evaluator, items: list[_Item], value: AffineInt, node: ir.Switch
) -> None:
    """Lets every thread enter at its own case and fall through to what follows."""
    state = ev.state
    sink_loads(state.trace, state.sunk_at(node), node, state.none_active())
    waiting = state.mask
    entering: dict[int, Mask] = {}
    for i, item in enumerate(items):
        if item.label is None:
            continue
        known = ev.evaluate(item.label)
        if not isinstance(known, AffineInt) or known.constant is None:
            _execute_unknown_case(ev, items, value, node)
            return
        entering[i] = waiting & (value.base == known.constant)
        waiting = waiting & ~entering[i]
    for i, item in enumerate(items):
        if item.is_default:
            entering[i], waiting = waiting, state.none_active()
    state.mask = state.none_active()
    for i, item in enumerate(items):
        if i in entering:
            state.mask = state.mask | entering[i]
        if is_any(state.mask):
            mark = state.sums.mark()
            with state.trace.conditional():
                ev.execute(item.statement)
            state.sums.leave(mark)
    state.trace.fence("block")
    state.mask = state.mask | waiting


def _execute_unknown_case(ev: Evaluator, items: list[_Item], value: Value, node: ir.Switch) -> None:
    """Executes every case from the same state; only what all agree on survives."""
    state = ev.state
    mask, loop = state.mask, state.loops[-1]
    subject = state.source_text(node.cond)
    entries = [
        i
        for i, item in enumerate(items)
        if item.is_default or (item.label is not None and _may_be(ev, value, item.label))
    ]
    cases = [_taken(ev, items[i], subject) for i in entries]
    if not any(item.is_default for item in items):
        entries, cases = [*entries, len(items)], [*cases, _in_no_case(subject)]
    path = ev.policy.path_through(ev, node, cases)
    if path is not None:
        for item in items[entries[path] :]:
            ev.execute(item.statement)
        return
    loop.breaks.around += 1
    condition = _case_not_known(value)
    if not condition.is_uniform:
        state.divergent_conditions.update(cases)
        state.confining_conditions.update(cases)
        labelled = zip(entries, cases, strict=True)
        state.data_conditions.update(
            taken for i, taken in labelled if i < len(items) and items[i].label is not None
        )
    written: UndoLog | None = None
    ends: list[End] = []
    met: dict[Hashable, int] = {}
    returned = len(state.frame.returns)
    for i, taken in zip(entries, cases, strict=True):
        if i == len(items):
            ends.insert(0, End(taken, mask, {}, []))
            continue
        label = items[i].label
        known = ev.evaluate(label) if label is not None else None
        state.mask, begin = mask, len(state.trace.items)
        loop.broken = state.none_active()
        ev.policy.refine(value, known)
        try:
            statements = [following.statement for following in items[i:]]
            end = execute_alternative(ev, taken, statements, condition, node)
        finally:
            ev.policy.refine(value, None)
        _issue_once(state.trace.items[begin:], i, met)
        end = replace(end, mask=end.mask | loop.broken)
        ends.append(end)
        if is_any(end.mask):
            written = (
                end.writes
                if written is None
                else merge_writes(ev, written, end.writes, condition, node)
            )
    loop.broken = state.none_active()
    _join_masks(ev, mask, ends, len(state.frame.returns) > returned)
    if written is not None:
        join_writes(ev, written, {}, condition, node)


def _case_not_known(value: Value) -> Unknown:
    """Returns the condition that each case is entered under."""
    if isinstance(value, Unknown):
        return value
    is_uniform = isinstance(value, AffineInt) and value.is_uniform
    reason = Reason(ReasonCode.UNKNOWN_CONDITION, "the case is not known")
    return Unknown(reason, is_uniform=is_uniform)


def _issue_once(items: Iterable[Event | Fence], entry: int, met: dict[Hashable, int]) -> None:
    """Takes back accesses that threads of a case above come to as well, who fall through."""
    for event in items:
        if isinstance(event, Event):
            at = event.offset.identity() if isinstance(event.offset, AffineInt) else event.offset
            key = (event.node, event.kind, event.width, event.object, at, event.callers)
            if met.setdefault(key, entry) != entry:
                event.issued = 0


def _may_be(ev: Evaluator, value: Value, label: ir.Expression) -> bool:
    """Returns whether an unknown number may be that of a case."""
    known = ev.evaluate(label)
    if not isinstance(value, AffineInt) or not isinstance(known, AffineInt):
        return True
    return known.constant is None or lower(value) <= known.constant <= upper(value)


def _taken(ev: Evaluator, item: _Item, subject: str) -> Assumption:
    if item.label is None:
        return _in_no_case(subject)
    text = f"`{subject}` is {ev.state.source_text(item.label)}"
    return Assumption(Topic.CONDITION, text, subject)


def _in_no_case(subject: str) -> Assumption:
    return Assumption(Topic.CONDITION, f"`{subject}` is no case", subject)


def _join_masks(ev: Evaluator, mask: Mask, ends: Sequence[End], has_returned: bool) -> None:
    """Goes on with the threads that any case leaves; where others lose some, that is assumed."""
    staying = ev.state.none_active()
    for end in ends:
        staying = staying | end.mask
    ev.state.mask = kept(mask, staying)
    if any(is_any(staying & ~end.mask) for end in ends):
        whole = [end.taken for end in ends if not is_any(staying & ~end.mask)]
        assume(ev, [whole[0] if whole else ends[0].taken], has_returned)
    assume(ev, [a for end in ends if is_any(end.mask) for a in end.guards], has_returned)


def _items_of(node: ir.Switch) -> list[_Item]:
    """Returns the labels and statements of a switch in program order."""
    body = node.stmt
    return list(_items(body.block_items or () if isinstance(body, ir.Compound) else (body,)))


def _items(statements: Iterable[ir.Node]) -> Iterator[_Item]:
    """Yields labels and statements in program order, so that cases fall through."""
    for statement in statements:
        if isinstance(statement, ir.Case | ir.Default):
            label = statement.expr if isinstance(statement, ir.Case) else None
            yield _Item(statement, label, is_default=label is None)
            yield from _items(statement.stmts)
        else:
            yield _Item(statement)
