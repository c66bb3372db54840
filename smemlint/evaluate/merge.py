"""The compiler's merging of neighbouring scalar accesses into 8- and 16-byte instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.evaluate.trace import Event

if TYPE_CHECKING:
    from smemlint.evaluate.trace import Trace


def merged(trace: Trace) -> list[Event]:
    """The instructions that the trace's accesses become."""
    return [item for item in trace.items if isinstance(item, Event)]
