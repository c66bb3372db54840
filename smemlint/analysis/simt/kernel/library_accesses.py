"""Accesses that CUB's collectives make, at the calls in the user's code."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.domain.trace import Event
from smemlint.frontend.cuda.preprocessor.cub_headers import is_cub_header
from smemlint.frontend.program import Unit


def is_of_cub(unit: Unit, event: Event) -> bool:
    """Returns whether an access is made by the text that stands for CUB's headers."""
    return is_cub_header(unit.span(event.node).path)


def at_users_call(unit: Unit, event: Event) -> Event:
    """Returns an access of CUB's at the innermost call that CUB does not make."""
    for number, (_, call) in enumerate(event.callers, 1):
        if not is_cub_header(unit.span(call).path):
            parts = tuple(at_users_call(unit, part) for part in event.fused if part is not event)
            callers = event.callers[number:]
            return replace(
                event, node=call, line_node=None, call=None, callers=callers, fused=parts
            )
    return event
