"""Loops without known bounds: one iteration stands for all.

What every iteration adds becomes a multiple of an unknown iteration number, what changes otherwise
becomes unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from math import gcd

from smemlint.analysis.simt.codegen.branches.branch_shapes import statements
from smemlint.analysis.simt.codegen.induction import mark_induction_pointers, mark_run_time_pointers
from smemlint.analysis.simt.codegen.next_iterations import mark_open_fusions
from smemlint.analysis.simt.codegen.unroll import is_left_by_llvm
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.environment import Mask, content_of, is_any, kept
from smemlint.analysis.simt.domain.integer_scev import alignment_of, scev_of
from smemlint.analysis.simt.domain.linear_forms import content_of as divisor_of
from smemlint.analysis.simt.domain.linear_forms import with_form
from smemlint.analysis.simt.domain.masking import masked_update, same, under_mask
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.scev import atom, power_of_two
from smemlint.analysis.simt.domain.trace import Event, Fence, LoopEntry
from smemlint.analysis.simt.domain.unknown_offset import either_of, forget_offset, one_or_other
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Cute,
    FloatValue,
    Object,
    PartialValue,
    Pointer,
    Space,
    Unknown,
    Value,
    hangs_on_launch,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Loop
from smemlint.analysis.simt.interpreter.jumps import assume, join_at_target
from smemlint.analysis.simt.loops.heads import (
    LoopParts,
    is_countable,
    is_uncountable,
    tests_indices,
)
from smemlint.analysis.simt.state import Forms
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_WIDENINGS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic, outcome

_MISSES = 2
"""Executions that changed more than those before; then none is taken to change the same."""
_OPEN_TRIPS = Reason(ReasonCode.LOOP, "how often the loop runs is not known")


@dataclass(slots=True, eq=False)
class _TrialRun:
    """What an iteration comes to that is run to learn what it changes.

    Attributes:
        gone: threads that do not come to its end.
        returns, jumps: that it takes out of the function.
        ends: the values at its end of what it writes.
        begun: the forms of numbers that it gives to what had none.
        has_changed: variables have more general values at its begin than they had.
    """

    gone: Mask
    returns: list[tuple[Mask, Value, Unknown | None]] = field(default_factory=list)
    jumps: list[tuple[UndoLog, Unknown, ir.Node]] = field(default_factory=list)
    ends: UndoLog = field(default_factory=dict)
    begun: Forms = field(default_factory=dict)
    has_changed: bool = False


def execute_iteration(ev: Evaluator, name: str, parts: LoopParts, loop: Loop) -> None:
    """Runs body and step once; the counter's value is kept for messages."""
    state = ev.state
    shown = content_of(state.lookup(name)) if name else None
    pushed = isinstance(shown, AffineInt) and shown.constant is not None
    if pushed:
        state.loop_values.append((name, shown.constant))  # type: ignore[union-attr, arg-type]
    before = state.mask
    for pending in (loop.breaks, loop.continues):
        pending.depth, pending.around = state.memory.depth, len(state.frame.open)
    try:
        ev.execute(parts.body)
    finally:
        if pushed:
            state.loop_values.pop()
    join_at_target(ev, loop.continues)
    if is_any(loop.continued):
        state.mask = kept(before, state.mask | loop.continued)
        loop.continued = state.none_active()
    if parts.step is not None and is_any(state.mask):
        ev.evaluate(parts.step)


@contextmanager
def _entered(ev: Evaluator, parts: LoopParts, *, is_uniform: bool) -> Iterator[None]:
    """Takes a loop to run at least once; writes inside are one change, and sums its own."""
    state, assumed = ev.state, len(ev.state.assumptions)
    if parts.cond is not None:
        text = state.source_text(parts.cond)
        taken = Assumption(Topic.CONDITION, f"the loop on `{text}` is entered", text)
        state.assumptions.append(taken)
        if is_uniform:
            state.loop_conditions.add(taken)
        else:
            state.divergent_conditions.add(taken)
            state.confining_conditions.add(taken)
    state.frame.open.append((Unknown(_OPEN_TRIPS, is_uniform=is_uniform), parts.node))
    state.open_loops += 1
    mark = state.sums.mark()
    state.memory.begin()
    try:
        yield
    finally:
        state.open_loops -= 1
        state.sums.leave(mark)
        state.frame.open.pop()
        state.memory.commit()
        if parts.cond is not None:
            del state.assumptions[assumed]


def execute_widened(ev: Evaluator, parts: LoopParts, *, is_uniform: bool) -> None:
    """Executes one iteration that stands for all: see the module's docstring.

    Args:
        ev: the evaluator.
        parts: of the loop.
        is_uniform: the condition keeps the threads of a block together. Where it does not,
            what the loop changes is one number inside, and another for each thread behind it.
    """
    state, node, cond = ev.state, parts.node, parts.cond
    loop, mask = state.loops[-1], state.mask
    trip = state.domain.symbol(
        state.key(node, "iteration"), "the iteration", I32, nonnegative=True, is_iteration=True
    )
    is_inner = state.open_loops > 0 or len(state.loops) > 1
    before, misses = state.widened.get(node, (None, 0)) if is_inner else (None, 0)
    forms = _forms_of_before(ev, before or {}, trip)
    is_kept = not ev.policy.tracks_scev and not state.trace.is_muted  # a run that changes nothing
    is_tried = before is not None and misses < _MISSES and is_kept
    is_tentative = state.tried_loops > 0 and not ev.policy.tracks_scev  # it is run again, and kept
    broken, gone = len(loop.breaks.jumps), state.none_active()
    with _entered(ev, parts, is_uniform=is_uniform):
        entry = state.loop_entry()  # before anything is assumed in the loop
        for attempt in range(MAX_WIDENINGS):
            del loop.breaks.jumps[broken:]
            is_dry = not (is_kept if attempt else is_tried)
            run = _find_changes(ev, forms, trip, parts, mask, is_dry=is_dry)
            if not run.has_changed or is_tentative:
                break
        state.memory.replay(forms.values())
        if not ev.policy.tracks_scev:
            state.widened[node] = run.begun | forms, misses + (is_tried and attempt > 0)
        is_enough = not run.has_changed or is_tentative
        if is_enough and (state.trace.is_muted or not is_dry):  # it stands for all
            for obj, offset, end in () if is_dry else run.ends.values():
                state.memory.set_cell(obj, offset, end)
            state.frame.returns += run.returns
            state.frame.pending.jumps += run.jumps
            gone = run.gone
        elif not state.trace.is_muted or run.returns:
            state.mask = mask
            del loop.breaks.jumps[broken:]
            moves_pointers = any(isinstance(value, Pointer) for _, _, value in forms.values())
            _note_counter(loop, forms, trip)
            _execute_general(ev, parts, trip, entry, moves_pointers=moves_pointers)
            gone = mask & ~(state.mask | loop.broken)
        state.memory.replay(forms.values())
    if not (is_uniform and loop.breaks.is_uniform):
        _forget_numbers(ev, forms)
    loop.broken = state.none_active()
    state.mask = mask
    if is_any(gone) and cond is not None:  # the loop may as well not be entered
        assume(ev, [outcome(state.source_text(cond), False)], has_returned=True)


def _note_counter(loop: Loop, forms: Forms, trip: AffineInt) -> None:
    """Notes what the number of the iteration, as a name in sums, makes of the loop's counter."""
    for obj, _, value in forms.values():
        if obj.name == loop.counter and isinstance(value, AffineInt):
            loop.heads[trip.terms[0][0].key] = value


def _execute_general(
    ev: Evaluator, parts: LoopParts, trip: AffineInt, entry: LoopEntry, *, moves_pointers: bool
) -> None:
    """Records the accesses of the iteration that stands for all, as a block of its own."""
    state, loop = ev.state, ev.state.loops[-1]
    state.trace.fence("loop", entry, state.open_loops)
    begin, before = len(state.trace.items), loop.cost
    execute_iteration(ev, "", parts, loop)
    cost = loop.cost - before
    head = state.trace.items[begin - 1] if begin else None
    if isinstance(head, Fence):
        head.has_effects |= state.keeps_stores(entry)
    if not loop.is_left_openly:
        items = _in_one_block(ev, parts.body, state.trace.items[begin:])
        is_rolled = tests_indices(parts.node) or not is_countable(ev, parts)
        pragma = "unroll 1" if is_rolled else parts.node.pragma
        mark_open_fusions(items, trip, cost, pragma, state.trace.scope)
        if not moves_pointers and not is_uncountable(parts):
            atoms = {symbol.key for symbol, _ in trip.terms}
            mark_induction_pointers(items, atoms, pragma, is_left=is_left_by_llvm(1, cost))
            is_second = isinstance(parts.node, ir.DoWhile)
            mark_run_time_pointers(items, trip, cost, pragma, is_second=is_second)
    state.trace.fence("iteration", depth=state.open_loops)


def _in_one_block(
    ev: Evaluator, body: ir.Node, items: Sequence[Event | Fence]
) -> Sequence[Event | Fence]:
    """Returns what an iteration issues; as one block if it consists of a branch that all take."""
    known = ev.state.node_facts
    is_kept = any(item in known.kept for item in known.without_jumps.get(body, statements(body)))
    if not is_kept or any(isinstance(item, Fence) and item.kind != "block" for item in items):
        return items
    return [item for item in items if isinstance(item, Event)]


def _forms_of_before(ev: Evaluator, known: Forms, trip: AffineInt) -> Forms:
    """Returns those forms of an earlier execution of a host loop that take any value.

    Inside of another loop, each run of that one executes it. Were it to find anew what it changes,
    which takes two runs, a nest of n loops would run its innermost body 2^n times. What the numbers
    were that a run gave first, the next one begins with.
    """
    found: Forms = {}
    for key, (obj, offset, value) in known.items():
        begin = obj.cells.get(offset)
        if not isinstance(begin, AffineInt) or not begin.is_uniform:
            continue
        if begin.constant is not None and not ev.state.open_loops:
            continue  # what is launched may hang on the number that this iteration begins with
        if isinstance(value, AffineInt):
            any_number = _any_number(ev, begin, obj, trip, floor=_is_nonnegative(begin))
            is_any = value.type == begin.type and same(value, any_number)
        else:
            is_any = isinstance(value, Unknown)
        if is_any:
            found[key] = obj, offset, value
    return found


def _forget_numbers(ev: Evaluator, forms: Forms) -> None:
    """Forgets what a loop changed, where each thread may leave it in another iteration."""
    for obj, offset, value in forms.values():
        text = f"threads leave a loop with different values of `{obj.name}`"
        why = Unknown.because(ReasonCode.UNKNOWN_CONDITION, text)
        if isinstance(value, Pointer):
            ev.state.memory.set_cell(obj, offset, forget_offset(value, why))
        elif isinstance(value, AffineInt):
            ev.state.memory.set_cell(obj, offset, why)


def _moved_to_and_fro(
    ev: Evaluator, begin: AffineInt, end: AffineInt, trip: AffineInt, obj: Object, *, floor: bool
) -> AffineInt:
    """Returns what `at = size - at` or `p += direction * size` is in any iteration.

    It is aligned as both are. How LLVM parts the iterations of what hangs on arguments or on the
    block is open: of `at = 4 * n - at` it makes LDS.128, LDS.64 and LDS.
    """
    unit = gcd(divisor_of(begin, begin.type), divisor_of(end, end.type)) or 1
    found = _any_number(ev, begin, obj, trip, unit, floor=floor)
    if unit == 1 or len(found.terms) != 1:
        return found
    keys = (*(s.key for s, _ in end.terms), *(key for key, _ in scev_of(end).terms))
    if any(map(hangs_on_launch, keys)):
        return with_form(found, replace(atom(found.terms[0][0].key), is_open=True))
    known = min(power_of_two(unit), alignment_of(begin), alignment_of(end))
    return with_form(found, atom(found.terms[0][0].key, known))


def _moved_together(
    ev: Evaluator, begin: AffineInt, delta: AffineInt, obj: Object, trip: AffineInt
) -> AffineInt | None:
    """Returns what all threads move by the same unknown; None where `begin` says so already."""
    key = f"steps:{obj.key}:{trip.terms[0][0].key if trip.terms else ''}"
    steps = [int(delta.base), *(int(c) * s.multiple for s, c in delta.terms)]
    moved = ev.state.domain.symbol(key, f"steps of {obj.name}", begin.type, multiple=gcd(*steps))
    if {s.key for s, _ in moved.terms} & {s.key for s, _ in begin.terms}:
        return None
    return ev.state.domain.add(begin, moved)


def _find_changes(
    ev: Evaluator,
    forms: Forms,
    trip: AffineInt,
    parts: LoopParts,
    mask: Mask,
    *,
    is_dry: bool,
) -> _TrialRun:
    """Updates the general forms by running one iteration, which is undone."""
    state, loop = ev.state, ev.state.loops[-1]
    starts = set(forms)
    state.memory.replay(forms.values())
    if is_dry:
        state.trace.mute()
        state.tried_loops += 1
    state.memory.begin()
    state.mask = mask
    notes, declared = dict(state.unfollowed), len(state.locals)
    returns, jumps = state.frame.returns, state.frame.pending.jumps
    returned, left = len(returns), len(jumps)
    run = _TrialRun(mask)
    try:
        execute_iteration(ev, "", parts, loop)
        run.gone = mask & ~(state.mask | loop.broken)
    finally:
        if is_dry:
            state.trace.unmute()
            state.tried_loops -= 1
        ends = state.memory.rollback()
        state.mask = mask
        state.unfollowed = notes
        run.returns, run.jumps, run.ends = returns[returned:], jumps[left:], ends
        del returns[returned:], jumps[left:]
        loop.continues.jumps.clear()
        loop.broken = state.none_active()
        loop.continued = state.none_active()
    is_host, own = not ev.policy.tracks_scev, frozenset(map(id, state.locals[declared:]))
    for key, (obj, offset, end) in ends.items():
        begin = obj.cells.get(offset)
        if begin is None and isinstance(end, AffineInt) and is_host and id(obj) not in own:
            any_number = _any_number(ev, end, obj, trip, floor=_is_nonnegative(end))
            run.begun[key] = obj, offset, any_number
        if begin is None or end is None or same(begin, end):
            continue
        inside, then = under_mask(mask, begin), under_mask(mask, end)
        if begin is inside and isinstance(begin, Unknown):  # and so it is behind the loop
            forms.setdefault(key, (obj, offset, begin))
            continue
        general = widen(ev, inside, then, trip, obj, key in starts)
        is_of_some = inside is not begin or then is not end or isinstance(begin, PartialValue)
        if general is not None and is_of_some:  # what other threads hold stays
            general = masked_update(mask, general, begin)
        if general is not None and not (key in forms and same(forms[key][2], general)):
            forms[key] = (obj, offset, general)
            run.has_changed = True
    return run


def widen(
    ev: Evaluator, begin: Value, end: Value, trip: AffineInt, obj: Object, seen: bool
) -> Value | None:
    """Returns the value at the start of any iteration; None when the form that is set holds.

    Args:
        ev: the evaluator.
        begin: the value at the start of an iteration.
        end: the value at its end.
        trip: the number of the iteration.
        obj: the variable.
        seen: whether an earlier dry run gave it a form.
    """
    if isinstance(begin, FloatValue) and isinstance(end, FloatValue):
        return None
    if isinstance(begin, AffineInt) and isinstance(end, AffineInt):
        return _widen_integer(ev, begin, end, trip, obj, seen)
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        offset = widen(ev, begin.offset, end.offset, trip, obj, seen)
        if offset is None:
            return None
        if isinstance(offset, AffineInt):
            return Pointer(begin.object, offset, begin.target, begin.is_volatile)
        return forget_offset(begin, offset) if isinstance(offset, Unknown) else None
    if isinstance(begin, Cute) and isinstance(end, Cute):
        from smemlint.analysis.simt.cute.alternatives import places_of, tensor_at

        places = places_of(begin, end)
        if places is not None:
            place = widen(ev, *places, trip, obj, seen)
            return None if place is None else tensor_at(begin, place, ev.state.domain)
    if isinstance(begin, Unknown):
        return begin
    if _points_somewhere(begin):
        return None
    if _points_somewhere(end):
        return end
    if isinstance(end, Unknown):
        return one_or_other(begin, end, end)
    if isinstance(begin, Pointer) and isinstance(end, Pointer):
        either = either_of(begin, end, obj.key)
        if either is not None:
            return either
        shared = next((p for p in (begin, end) if p.object.space is Space.SHARED), None)
        return None if shared is None else forget_offset(shared, _not_followed(obj), is_sure=False)
    return one_or_other(begin, end, _not_followed(obj))


def _widen_integer(
    ev: Evaluator, begin: AffineInt, end: AffineInt, trip: AffineInt, obj: Object, seen: bool
) -> Value | None:
    domain = ev.state.domain
    delta = domain.add(end, begin, -1)
    if not delta.terms:
        if not seen:
            advance = domain.multiply(AffineInt(delta.base, begin.type), trip)
            if isinstance(advance, AffineInt):
                general = domain.add(begin, advance)
                return AffineInt(general.base, begin.type, general.terms, general.form)
        elif any(s.key == t.key for s, _ in begin.terms for t, _ in trip.terms):
            return None  # begin + delta * trip became begin + delta * (trip + 1)
    if begin.is_uniform and end.is_uniform:
        floor = _is_nonnegative(begin) and _is_nonnegative(end)
        return _moved_to_and_fro(ev, begin, end, trip, obj, floor=floor)
    if delta.is_uniform:
        return _moved_together(ev, begin, delta, obj, trip)
    return _not_followed(obj)


def _any_number(
    ev: Evaluator, begin: AffineInt, obj: Object, trip: AffineInt, unit: int = 1, *, floor: bool
) -> AffineInt:
    """Returns the number that a variable has in an iteration, a multiple of some unit."""
    key = f"loop:{obj.key}:{trip.terms[0][0].key if trip.terms else ''}"
    key += f":{unit}" if unit > 1 else ""
    return ev.state.domain.symbol(key, obj.name, begin.type, multiple=unit, nonnegative=floor)


def _not_followed(obj: Object) -> Unknown:
    text = f"`{obj.name}` changes in a loop in a way that is not followed"
    return Unknown.because(ReasonCode.LOOP, text)


def _points_somewhere(value: Value) -> bool:
    """Returns whether it points into a shared array at an offset that is not known."""
    if not isinstance(value, Pointer) or value.object.space is not Space.SHARED:
        return False
    return isinstance(value.object.default, Unknown)


def _is_nonnegative(value: AffineInt) -> bool:
    base = value.base if isinstance(value.base, int) else int(value.base.min())
    return base >= 0 and all(
        s.nonnegative and (c >= 0 if isinstance(c, int) else c.min() >= 0) for s, c in value.terms
    )
