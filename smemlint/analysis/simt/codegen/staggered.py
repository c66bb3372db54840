"""Threads of a warp that run a loop differently often, where it is unrolled by four at run time.

A loop that runs m times makes its m % 4 iterations in front of the others, or behind them if a
counter begins at a constant; ptxas unrolls those by 4, 2 and 1 again. Threads that differ in m
meet in other iterations than in the source. SASS of nvcc 13.0.88, sm_90, -O3, four warps; SASS is
in step with the source where the step is no constant, under `#pragma unroll` 1 to 3 and with a
`break`; that of 4 and 8 is as none:

| loop, `a += s[..]` | as written | SASS |
| --- | --- | --- |
| `for (i = 0; i <= lane; i++)`, `33 * i + lane` | 128 LDS, 128 wavefronts | 188, 248 |
| `for (i = 0; i < lane; i++)`, `4 * i + 64 * lane % 512` | 124, 880 | 124, 1032 |
| `for (i = lane; i < 20 + lane % 2; i++)`, `4 * i` | 80, 144 | 120, 136 |
| `for (i = 0; i < lane % 4; i++)`, `33 * i + lane` | 12, 12 | 12, 16 |
| the same of `lane % 3`; of `lane % 5` | 8, 8; 16, 16 | the same |
| `for (i = t; i < 1300; i += 128)`, `i` | 41, 41 | 41, 41 |
| the same of 2000; of 3000 | 63, 63; 94, 94 | 78, 78; 101, 101 |
| the same of 1000, which may be fully unrolled | 32, 32 | 32, 32 or 39, 39 |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.codegen.unroll import RUN_TIME
from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.frontend import ir

_LINE = 128
"""Bytes of all banks."""


def mark_staggered(events: Sequence[Event], *, begins_at_constant: bool) -> None:
    """Marks accesses that threads of a warp may make in other iterations than in the source.

    Args:
        events: of the iterations of a loop, in their order.
        begins_at_constant: its counter does, so that its end is what threads differ in.
    """
    places: dict[tuple[ir.Node, object], list[Event]] = defaultdict(list)
    for event in events:
        places[event.node, event.object].append(event)
    iterations = [_one_an_iteration(place) for place in places.values()]
    most = max((int(_trips(place).max()) for place in iterations), default=0)
    is_short = most <= RUN_TIME if begins_at_constant else most < RUN_TIME
    if is_short and not any(map(_is_masked, iterations)):
        return
    if all(_is_in_step(place) for place in iterations):
        return
    for event in events:
        event.may_stagger = True


def mark_thinned(items: Sequence[Event | Fence], *, may_stagger: bool) -> None:
    """Marks accesses of a loop that each thread runs as often as its data say.

    Args:
        items: of the iteration that stands for all.
        may_stagger: the loop may be unrolled at run time.
    """
    for event in items:
        if isinstance(event, Event) and isinstance(event.offset, AffineInt):
            event.may_thin = True
            moved = [by for symbol, by in event.offset.terms if symbol.is_iteration]
            event.may_stagger |= may_stagger and any(np.any(by % _LINE) for by in moved)


def _one_an_iteration(place: Sequence[Event]) -> Sequence[Event]:
    """Returns one access for each time that a place is reached, where an object takes several."""
    return place[:: max(1, place[0].whole // place[0].width)]


def _is_masked(place: Sequence[Event]) -> bool:
    """Returns whether threads run a loop as often as a mask of two bits tells."""
    trips = _trips(place)
    return len(np.unique(trips)) == RUN_TIME == int(np.ptp(trips)) + 1


def _is_in_step(place: Sequence[Event]) -> bool:
    """Returns whether as many instructions access the same banks in whatever iteration."""
    offsets = [event.offset for event in place if isinstance(event.offset, AffineInt)]
    if len(offsets) < len(place):
        return False
    bases = (np.broadcast_to(np.asarray(o.base), place[0].mask.shape) for o in offsets)
    if any(((b - a) % _LINE).any() for a, b in pairwise(bases)):
        return False
    return all(_instructions(warp) == warp.max() for warp in _trips(place).reshape(-1, WARP))


def _trips(place: Sequence[Event]) -> NDArray[np.int64]:
    """Returns how often each thread makes an access."""
    trips: NDArray[np.int64] = np.sum([event.mask for event in place], axis=0)
    return trips


def _instructions(trips: NDArray[np.int64]) -> int:
    """Returns how often a warp makes an access whose threads run the loop so often."""
    blocks = trips[trips > 0] // RUN_TIME
    if not blocks.size:
        return 0
    deep = RUN_TIME * (4 * (blocks // 4).max() + 2 * (blocks % 4 > 1).any() + (blocks % 2).any())
    return int(deep + (trips % RUN_TIME).max())
