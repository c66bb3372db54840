"""Which calls and accesses are of our texts for CUTLASS and CUB, and the user's calls of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from smemlint.analysis.simt.domain.trace import Event
from smemlint.frontend import ir
from smemlint.frontend.cuda.preprocessor.cub_headers import is_cub_header
from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_cutlass_header
from smemlint.frontend.program import Unit


def is_of_library(unit: Unit, node: ir.Node) -> bool:
    """Returns whether a node stands in a text of our own."""
    path = unit.span(node).path
    return is_cutlass_header(path) or is_cub_header(path)


def users_call(unit: Unit, calls: Iterable[ir.Node]) -> tuple[int, ir.Node] | None:
    """Returns the first of some calls that stands in no text of our own, and its number from 0."""
    return next((found for found in enumerate(calls) if not is_of_library(unit, found[1])), None)


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
