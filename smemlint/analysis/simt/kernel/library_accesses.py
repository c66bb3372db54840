"""Accesses that CUB's collectives make, at the calls in the user's code."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.library_calls import users_call
from smemlint.frontend import ir
from smemlint.frontend.cuda.preprocessor.cub_headers import is_cub_header
from smemlint.frontend.program import Unit


def is_of_cub(unit: Unit, node: ir.Node) -> bool:
    """Returns whether what accesses stands in the text that stands for CUB's headers."""
    return is_cub_header(unit.span(node).path)


def at_users_call(unit: Unit, event: Event) -> Event:
    """Returns an access of CUB's at the innermost call that CUB does not make."""
    found = users_call(unit, (call for _, call in event.callers))
    if found is None:
        return event
    number, call = found
    parts = tuple(at_users_call(unit, part) for part in event.fused if part is not event)
    callers = event.callers[number + 1 :]
    return replace(event, node=call, line_node=None, call=None, callers=callers, fused=parts)
