"""Loads that may be fused with those of the iterations after, in loops that run time ends.

nvcc 13.0.88 (-O3, sm_90) puts four cheap iterations of such a loop together (`unroll`) and fuses
the loads `s[t][k]` to `s[t][k + 3]` where their place lets it: to LDS.64 for rows of 24, 32 and 34
floats, to LDS.128 where another load has the same base, to none for rows of 33. How wide depends on
the induction variables that loop strength reduction chooses, which is not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.codegen.unroll import unrolled
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTHS = (2, 4, 8)


def mark_open_fusions(
    items: Sequence[Event | Fence], trip: AffineInt, cost: int, pragma: str
) -> None:
    """Marks the loads of one iteration that the compiler may fuse with those of the next.

    Args:
        items: the accesses and fences of the iteration.
        trip: the number of the iteration, an unknown.
        cost: of the iteration, see `unrolled`.
        pragma: before the loop.
    """
    if unrolled(1, cost, pragma, is_constant=False) == 1:
        return
    if any(isinstance(item, Fence) for item in items):
        return  # iterations of other loops, branches or barriers: no basic block
    for event in items:
        if isinstance(event, Event) and _moves_by_its_width(event, trip):
            event.may_fuse = True


def _moves_by_its_width(event: Event, trip: AffineInt) -> bool:
    """Returns whether the next iteration loads the neighbour, in a slot that may be aligned."""
    offset = event.offset
    if event.kind is not AccessKind.LOAD or event.volatile or event.width not in _WIDTHS:
        return False
    if not isinstance(offset, AffineInt) or len(trip.terms) != 1:
        return False
    ((symbol, each),) = trip.terms
    factors = {unknown.key: factor for unknown, factor in offset.terms}
    moved, pair = factors.get(symbol.key), 2 * event.width
    if not isinstance(moved, int) or abs(moved) != event.width * abs(int(each)):
        return False
    others = [
        np.asarray(factor) * unknown.multiple
        for unknown, factor in offset.terms
        if unknown.key != symbol.key
    ]
    if any(np.any(other % pair) for other in others):
        return False
    places = np.asarray(offset.base) % pair
    return bool(np.all(places == places.flat[0]))
