"""Calls of functions with constants: what the first one gave, all that are alike give.

Kernels ask tables of tuning parameters at every step: `config(128, 64).nbatch`, and where the
element of a fragment lies: `get_i(l)`. Such a call is run once. What is remembered was seen to
change nothing: no access, fence, unknown or note was made, and no form was asked for that hangs on
sums that were computed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.environment import CTYPES, Mask, Scope, Variable
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.state import ConstantCall, State
from smemlint.frontend import ir
from smemlint.frontend.program import Function

Key: TypeAlias = tuple[object, ...]


def key_of_call(
    ev: Evaluator, function: Function, params: Sequence[ir.Decl], frame: Frame
) -> Key | None:
    """Returns what the result of a call rests on; None where that is more than constants.

    Args:
        ev: the evaluator.
        function: what is called.
        params: its parameters, which are bound in the frame.
        frame: of the call, its scopes of the class, if there is one, the template and the body.
    """
    if not ev.policy.tracks_scev and "constexpr" not in function.specifiers:
        return None  # host code: what others do is not seen
    if frame.this is not None or frame.returns_reference:
        return None
    own = _key_of_scope(frame.scopes[-1], [param.name for param in params])
    template = _key_of_scope(frame.scopes[-2], frame.scopes[-2])
    if own is None or template is None:
        return None
    return function, id(frame.record), template, own, id(ev.state.mask)


def value_known(ev: Evaluator, key: Key) -> Value | None:
    """Returns what an equal call gave, and counts its statements; None where it has to be run.

    A call that the budget ends in is run, so that it ends there. A dry run gives threads' numbers
    no forms, and is not given those of others.
    """
    state = ev.state
    known = state.constant_calls.get(key)
    if known is None or known.place not in (None, _place_of_forms(state)):
        return None
    if not (state.budget.holds(known.steps) and ev.policy.holds(ev, known.steps)):
        return None
    state.budget.steps += known.steps
    if known.moved is not None:
        state.sums.moved(*known.moved)
    return known.value


def _place_of_forms(state: State) -> tuple[bool, bool]:
    """Returns what of a place forms hang on, beside what was computed before."""
    return state.trace.is_muted, state.open_loops > 0


def _key_of_scope(scope: Scope, names: Iterable[str]) -> Key | None:
    """Returns the constants and types that names are bound to; None where one is another."""
    found: list[object] = []
    for name in names:
        bound = scope.get(name)
        if isinstance(bound, Variable):
            if not isinstance(bound.type, IntType) or bound.object.space is not Space.LOCAL:
                return None
            bound = bound.object.cells.get(0)
        if isinstance(bound, AffineInt):
            if not _is_constant(bound):
                return None
            found.append((name, bound.base, bound.type))
        elif isinstance(bound, CTYPES):
            found.append((name, id(bound)))
        else:
            return None
    return tuple(found)


def _is_constant(value: Value) -> bool:
    """Returns whether the compiler knows a number, or all numbers of a record."""
    if isinstance(value, Aggregate):
        return bool(value.cells) and all(map(_is_constant, value.cells.values()))
    is_number = isinstance(value, AffineInt) and value.constant is not None
    return is_number and not scev_of(value).terms  # type: ignore[arg-type]


def _is_known_by_thread(value: Value) -> bool:
    """Returns whether each thread knows a number, or all numbers of a record."""
    if isinstance(value, Aggregate):
        return bool(value.cells) and all(map(_is_known_by_thread, value.cells.values()))
    return isinstance(value, AffineInt) and not value.terms


class Watch:
    """Sees whether a call changes anything but its own variables."""

    def __init__(self, ev: Evaluator, frame: Frame) -> None:
        self._ev, self._state, self._frame = ev, ev.state, frame
        self._mask: Mask = ev.state.mask
        self._steps = ev.state.budget.steps
        trace = ev.state.trace  # of accesses, of which host code makes none
        is_host = not ev.policy.tracks_scev
        self._can_see = is_host or not (trace.is_muted or trace.ends_in_fence)
        self._before, self._asked_before = self._marks(), self._asked()
        self._moved: tuple[Scev, int] | None = None
        ev.state.sums.awaiting.append(self._take_move)

    def remember(self, key: Key, value: Value) -> None:
        """Keeps the value of the call that was run meanwhile, if nothing else came of it."""
        state = self._state
        if self._moved is None and self._take_move in state.sums.awaiting:
            state.sums.awaiting.remove(self._take_move)
        if not self._can_see or self._marks() != self._before:
            return
        place = None if _is_constant(value) else _place_of_forms(state)
        if place is None or (
            _is_known_by_thread(value)
            and self._ev.policy.tracks_scev
            and self._asked() == self._asked_before
        ):
            held = self._mask, self._frame.record, self._frame.scopes[-2]
            steps = state.budget.steps - self._steps
            state.constant_calls[key] = ConstantCall(value, steps, held, place, self._moved)

    def _take_move(self, form: Scev, by: int) -> None:
        self._moved = form, by

    def _marks(self) -> tuple[object, ...]:
        state = self._state
        numbers: tuple[object, ...] = (state.sequence,)
        if self._ev.policy.tracks_scev:
            trace = state.trace
            numbers = len(trace.items), tuple(trace.splits), *numbers, state.sums.mark()
        noted = len(state.unfollowed), len(state.assumptions), len(state.split_requests)
        return *numbers, *noted, *self._ev.policy.marks()

    def _asked(self) -> tuple[int, int]:
        sums = self._state.sums
        return sums.questions, len(sums.rows)
