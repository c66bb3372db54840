"""Accesses that may be fused with those of the iterations after, in loops that run time ends.

nvcc 13.0.88 (-O3, sm_90) puts four cheap iterations of such a loop together (`unroll`) and fuses
the loads `s[t][k]` to `s[t][k + 3]` where their place lets it: to LDS.64 for rows of 24, 32 and 34
floats, to LDS.128 where another load has the same base, to none for rows of 33. How wide depends on
the induction variables that loop strength reduction chooses, which is not modelled. Stores
`s[t][k] = x[k]` of a row of 4 or 6 elements become STS.64 (float) and STS.128 (double); they stay
alone where they descend, where the loop begins at an unknown `k`, and between loads of shared
memory, of another array, too.

Loads fuse across the branches of the iterations, too: of `x = s[32 * t + i]; if (x > v) ..` with a
load or a store of global memory, a load of shared memory or `v = x` behind the condition, they are
LDS.64; with a store to shared memory there, or a `break`, they stay LDS, as do loads behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemlint.analysis.simt.codegen.unroll import unrolled
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind

_WIDTHS = (2, 4, 8)


def mark_open_fusions(
    items: Sequence[Event | Fence],
    trip: AffineInt,
    cost: int,
    pragma: str,
    scope: tuple[int, ...],
) -> None:
    """Marks the accesses of one iteration that the compiler may fuse with those of the next.

    Args:
        items: the accesses and fences of the iteration, which no `break` ends.
        trip: the number of the iteration, an unknown.
        cost: of the iteration, see `unrolled`.
        pragma: before the loop.
        scope: of what every iteration does.
    """
    if unrolled(1, cost, pragma, is_constant=False) == 1:
        return
    events = [item for item in items if isinstance(item, Event)]
    fusible = AccessKind.LOAD
    if any(isinstance(item, Fence) for item in items):
        if not all(_is_load_or_branch(item) for item in items):
            return  # iterations of other loops, stores or barriers
        events = [event for event in events if event.scope == scope]
    elif all(event.kind is AccessKind.STORE for event in events):
        fusible = AccessKind.STORE
    for event in events:
        if event.kind is fusible and _moves_by_its_width(event, trip):
            event.may_fuse = True


def _is_load_or_branch(item: Event | Fence) -> bool:
    return item.kind == "block" if isinstance(item, Fence) else item.kind is AccessKind.LOAD


def _moves_by_its_width(event: Event, trip: AffineInt) -> bool:
    """Returns whether the next iteration takes the neighbour, in a slot that may be aligned."""
    offset = event.offset
    if event.volatile or event.width not in _WIDTHS:
        return False
    if not isinstance(offset, AffineInt) or len(trip.terms) != 1:
        return False
    ((symbol, each),) = trip.terms
    factors = {unknown.key: factor for unknown, factor in offset.terms}
    moved, pair = factors.get(symbol.key), 2 * event.width
    if not isinstance(moved, int) or abs(moved) != event.width * abs(int(each)):
        return False
    if event.kind is AccessKind.STORE and moved * int(each) < 0:
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
