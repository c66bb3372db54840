"""Calls of `constexpr` functions with constants: what the first one gave, all that are alike give.

Kernels ask tables of tuning parameters at every step: `config(128, 64).nbatch`. Such a call is run
once. What is remembered was seen to change nothing: no access, fence, unknown or note was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.environment import CTYPES, Mask, Scope, Variable
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt, Aggregate, Space, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.state import ConstantCall, Frame, State
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
    if not ev.policy.tracks_scev or "constexpr" not in function.specifiers:
        return None
    if frame.this is not None or frame.returns_reference:
        return None
    own = _key_of_scope(frame.scopes[-1], [param.name for param in params])
    template = _key_of_scope(frame.scopes[-2], frame.scopes[-2])
    if own is None or template is None:
        return None
    return function, id(frame.record), template, own, id(ev.state.mask)


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


class Watch:
    """Sees whether a call changes anything but its own variables."""

    def __init__(self, state: State, frame: Frame) -> None:
        self._state, self._frame = state, frame
        self._mask: Mask = state.mask
        self._steps = state.budget.steps
        self._can_see = not state.trace.is_muted and not state.trace.ends_in_fence
        self._before = self._marks()

    def remember(self, key: Key, value: Value) -> None:
        """Keeps the value of the call that was run meanwhile, if nothing else came of it."""
        if self._can_see and _is_constant(value) and self._marks() == self._before:
            held = self._mask, self._frame.record, self._frame.scopes[-2]
            steps = self._state.budget.steps - self._steps
            self._state.constant_calls[key] = ConstantCall(value, steps, held)

    def _marks(self) -> tuple[object, ...]:
        state = self._state
        trace = state.trace
        numbers = len(trace.items), tuple(trace.splits), state.sequence, state.sums.mark()
        noted = len(state.unfollowed), len(state.assumptions), len(state.split_requests)
        return *numbers, *noted
