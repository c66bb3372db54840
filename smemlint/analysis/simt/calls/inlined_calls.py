"""The calls that an access is reached through, and which of them the line table names for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.frontend import ir

if TYPE_CHECKING:
    from smemlint.analysis.simt.state import State


def opened_call(state: State, node: ir.Node, offset: AffineInt | Unknown) -> ir.Node | None:
    """Returns the outermost call that an access is the first thing of; see `Event.call`.

    Of the copies that unrolling makes of a call, only the first and those that compute an
    address of their own, on its line, name it.
    """
    is_new = isinstance(offset, AffineInt) and _is_first(state, scev_of(offset).terms)
    line, found = state.unit.line(node), None
    for depth, frame in reversed(list(enumerate(state.frames))):
        if frame.call is None or not frame.opens_with(line, state.trace):
            break
        chain = tuple(f.call for f in state.frames[: depth + 1])
        is_first = _is_first(state, (line, *chain)) or not frame.is_copy
        if is_first or (is_new and _has_argument_on_its_line(state, frame.call)):
            found = frame.call
    return found


def callers_of(state: State) -> tuple[tuple[str, ir.Node], ...]:
    """Returns the calls under way, innermost first; see `Event.callers`."""
    frames = state.frames
    return tuple(
        (frames[k - 1].function, frame.call)
        for k, frame in reversed(list(enumerate(frames)))
        if frame.call is not None
    )


def _has_argument_on_its_line(state: State, call: ir.Node) -> bool:
    """Returns whether an argument of a call begins on the call's first line."""
    unit = state.unit
    line = unit.span(call).line
    arguments = call.args if isinstance(call, ir.FuncCall | ir.Construct) else ()
    return any(unit.span(argument).line == line for argument in arguments)


def _is_first(state: State, key: object) -> bool:
    """Returns whether no access before this one had such a key."""
    events = state.trace.events
    if state.first_events.setdefault(key, events) < events:
        return False
    state.first_events[key] = events  # what was rolled back does not count
    return True
