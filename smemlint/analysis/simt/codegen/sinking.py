"""Leaves loads to the threads that go where LLVM sinks them, see sunk_loads.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from smemlint.analysis.simt.codegen.slots import run_and_position, slot_size
from smemlint.analysis.simt.codegen.sunk_loads import Sunk
from smemlint.analysis.simt.domain.environment import Mask, is_any
from smemlint.analysis.simt.domain.trace import Event, Fence, Trace
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir


def sink_loads(
    trace: Trace,
    sunk: Sequence[Sunk],
    way: ir.Node | None,
    threads: Mask,
    *,
    hangs_on_data: bool = False,
) -> None:
    """Leaves a load to the threads that go where it is sunk to.

    Args:
        trace: up to the branch; the masks of events change.
        sunk: the loads that sink at the branch.
        way: where the threads go.
        threads: those that do.
        hangs_on_data: which of these do is a matter of data.
    """
    if not sunk:
        return
    going = [each for each in sunk if not each.is_in_front]
    found = [(each, event) for each in going for event in _latest(trace, each)]
    sinking = {id(event) for _, event in found}
    for each, event in found:
        if each.way is not way or _is_held(trace.items, event, sinking):
            continue
        if each.is_open or event.sequence < trace.last_effect:
            event.may_sink |= hangs_on_data or is_any(event.mask & ~threads)
            continue
        if event.before_sinking is None:
            event.before_sinking = event.mask
        event.mask = event.mask & threads
        event.depends_on_data |= hangs_on_data
        if not is_any(event.mask):
            event.issued = 0


def leave_out_loads(trace: Trace, sunk: Sequence[Sunk], way: ir.Node | None) -> None:
    """Leaves out the loads that only one way of a branch reads, which the compiler deletes."""
    for each in sunk:
        if each.is_sole and each.way is way:
            for event in _latest(trace, each):
                event.mask, event.issued = np.zeros_like(event.mask), 0


def is_near(trace: Trace, sunk: Sunk) -> bool:
    """Returns whether a load was made, and nothing keeps it in front of what follows."""
    return any(True for _ in _latest(trace, sunk))


def _latest(trace: Trace, sunk: Sunk) -> Iterator[Event]:
    """Yields the last event of a load, or those of a loop that fills an array.

    None where something keeps it in front of what follows.
    """
    start = trace.loop_starts.get(sunk.loop) if sunk.loop is not None else None
    stores: list[Event] = []
    for item in reversed(trace.items):
        if isinstance(item, Fence):
            if item.kind != "block":
                return
        elif start is not None and item.sequence < start:
            return
        elif item.node is sunk.load and item.kind is AccessKind.LOAD:
            is_kept = any(store.object in (item.object, None) for store in stores)
            if not (is_kept or item.volatile) and item.issued:
                yield item
            if start is None:
                return
        elif item.kind is not AccessKind.LOAD:
            stores.append(item)


def _is_held(items: Sequence[Event | Fence], event: Event, sinking: set[int]) -> bool:
    """Returns whether a load of the same aligned 16 bytes does not sink: ptxas takes both there."""
    if not isinstance(event.offset, AffineInt):
        return False
    size = slot_size(event.width, event.offset, 0)
    run, position = run_and_position(event, event.offset)
    for item in reversed(items):
        if isinstance(item, Fence):
            if item.kind != "block":
                return False
        elif (
            item.kind is AccessKind.LOAD
            and item.object is event.object
            and id(item) not in sinking
            and isinstance(item.offset, AffineInt)
        ):
            other, at = run_and_position(item, item.offset)
            if other == run and at // size == position // size:
                return True
    return False
