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

Accesses of one iteration may fuse in some of the four only: of `s[33 * i + 2 * t]` and the word
behind it, loaded or stored from i = 0 on, every other pair is a LDS.64 or STS.64, of four words
behind `s[34 * i + 4 * t]` every other one a LDS.128, the rest two LDS.64. From `i = m` or 1 on, of
a pointer that moves by 33, and in loops that are not unrolled all stay apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.codegen.slots import (
    SLOT,
    fused_widths,
    run_and_position,
    with_open_form,
)
from smemlint.analysis.simt.codegen.unroll import is_left_by_ptxas, stays_a_loop, unrolled
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import power_of_two
from smemlint.analysis.simt.domain.trace import Event, Fence, holds_loops
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir

_PAIR = 2
_SLACK = 4, 3
"""What an iteration may cost of what it is taken to cost."""


def mark_open_fusions(
    items: Sequence[Event | Fence], trip: AffineInt, cost: int, pragma: str, scope: tuple[int, ...]
) -> None:
    """Marks the accesses of one iteration that the compiler may fuse with those of the next.

    Args:
        items: the accesses and fences of the iteration, which no `break` ends.
        trip: the number of the iteration, an unknown.
        cost: of the iteration, see `unrolled`.
        pragma: before the loop.
        scope: of what every iteration does.
    """
    together = unrolled(1, cost, pragma, is_constant=False)
    if together == 1 and (stays_a_loop(pragma) or is_left_by_ptxas(1, cost)):
        return
    if holds_loops(items):
        return
    most, least = _SLACK
    alone = [item for item in items if isinstance(item, Event)]
    factors = together, unrolled(1, cost * most // least, pragma, is_constant=False)
    if len(alone) == len(items) and _PAIR in factors:
        _mark_left_over(alone, trip)
    for is_block, block in groupby(items, lambda item: isinstance(item, Event)):
        if is_block:
            _mark_open_slots([e for e in block if isinstance(e, Event)], trip, together)
    events = [item for item in items if isinstance(item, Event)]
    fusible = AccessKind.LOAD
    if any(isinstance(item, Fence) for item in items):
        if not all(_is_load_or_branch(item) for item in items):
            return
        events = [event for event in events if event.scope == scope]
    elif all(event.kind is AccessKind.STORE for event in events):
        fusible = AccessKind.STORE
    for neighbours in _runs(events).values():
        for event in chain.from_iterable(neighbours.values()):
            if event.kind is fusible and _moves_past(event, trip, len(neighbours)):
                event.may_fuse = SLOT[event.width]
                if len(neighbours) > 1 and isinstance(event.offset, AffineInt):
                    event.offset = with_open_form(event.offset)


def neighbours_of_iterations(
    items: Sequence[Event | Fence], trips: int, cost: int
) -> Mapping[ir.Node, int]:
    """Returns the accesses of a loop that take the neighbour each time, in one basic block.

    With each come the bytes of the slot that they may share, as far as nvcc knows it to be aligned.

    How many iterations of a loop of known length nvcc unrolls is settled by their cost, which is
    not modelled where a loop inside is unrolled first. Of 32 iterations

        for (j..) { e = p[32 * t + j]; for (d = 0; d < H; ++d) o[d] += e * v[H * j + d]; }

    nvcc 13.0.88 (-O3, sm_90) puts 32, 8, 8 and 1 together for H = 8, 24, 32 and 48, and 4 for
    H = 8 and `e = __expf(p[32 * t + j] - m)`: four loads of p become one LDS.128.
    """
    fences = [item.kind for item in items if isinstance(item, Fence) and not item.guard]
    if trips < _PAIR or len(fences) >= trips or any(kind != "iteration" for kind in fences):
        return {}
    places: dict[ir.Node, list[Event]] = defaultdict(list)
    for item in items:
        if isinstance(item, Event) and item.width in SLOT and not item.volatile:
            places[item.node].append(item)
    most = 1 if is_left_by_ptxas(trips, cost) else len(items)
    slots = {node: _shared_slot(events, trips, most) for node, events in places.items()}
    return {node: slot for node, slot in slots.items() if slot}


def neighbours_if_unrolled(items: Iterable[Event | Fence]) -> Mapping[ir.Node, int]:
    """Returns the accesses that may have neighbours if all loops around them are unrolled.

    With each come the bytes of the slot that they may share, as far as threads lie apart by it.
    """
    slots: dict[ir.Node, int] = {}
    for item in items:
        if isinstance(item, Event) and item.width in SLOT and isinstance(item.offset, AffineInt):
            lanes = np.asarray(item.offset.base)
            apart = int(np.bitwise_or.reduce((lanes - lanes.flat[0]).ravel()))
            slot = min(SLOT[item.width], power_of_two(apart))
            if slot > item.width and apart:
                slots[item.node] = slot
    return slots


def _shared_slot(events: Sequence[Event], trips: int, most: int) -> int:
    """Returns the bytes that one instruction may take of neighbours, 0 where these are none."""
    offsets = [event.offset for event in events if isinstance(event.offset, AffineInt)]
    each, rest = divmod(len(events), trips)
    width = events[0].width
    if rest or each > most or len(offsets) != len(events):
        return 0
    ascend = all(
        one.is_beside(next_one) and np.all(next_one.base - one.base == width)
        for first in range(each)
        for one, next_one in pairwise(offsets[first::each])
    )
    slot = min(SLOT[width], scev_of(offsets[0]).alignment)
    return slot if ascend and slot > width else 0


def mark_open_blocks(
    items: Sequence[Event | Fence], slots: Mapping[ir.Node, int], *, may_part: bool
) -> None:
    """Marks accesses that may be fused with those of other iterations than the block's own."""
    for event in items:
        if isinstance(event, Event) and event.node in slots and isinstance(event.offset, AffineInt):
            event.may_fuse, event.offset = slots[event.node], with_open_form(event.offset)
            event.may_part |= may_part


def _is_load_or_branch(item: Event | Fence) -> bool:
    return item.kind == "block" if isinstance(item, Fence) else item.kind is AccessKind.LOAD


def _mark_open_slots(block: Sequence[Event], trip: AffineInt, together: int) -> None:
    """Marks neighbours that are aligned otherwise in the iterations that are put together."""
    for neighbours in _runs(block).values():
        some = next(iter(neighbours.values()))[0]
        moved = _moved(some, trip)
        if len(neighbours) < 2 or not moved:
            continue
        size = _slot_of_values(some, trip, moved)
        widest = _slot_of_values(some, trip, together * moved)
        if size == widest:
            continue
        widths = fused_widths(neighbours, size)
        ways = [{at + i * moved: e for at, e in neighbours.items()} for i in range(together)]
        whole = {at: events for way in ways for at, events in way.items()}
        if fused_widths(whole, widest) != sorted(widths * together):
            for event in chain.from_iterable(neighbours.values()):
                assert isinstance(event.offset, AffineInt)
                event.may_fuse, event.offset = widest, with_open_form(event.offset)


def _mark_left_over(events: Sequence[Event], trip: AffineInt) -> None:
    """Marks neighbours that a loop has in registers: the iteration left over of two has them alone.

    Of `s[6 * t + i] += in[i]` for six floats in each of n iterations, three LDS.64 stand in front
    of the loop and three STS.64 behind it, six LDS and six STS in what is left over (nvcc 13.5.37).
    """
    runs = _runs([event for event in events if not _moved(event, trip)])
    stored = [run for (kind, run) in runs if kind is AccessKind.STORE]
    for (_, run), neighbours in runs.items():
        if run not in stored:
            continue
        some = next(iter(neighbours.values()))[0]
        assert isinstance(some.offset, AffineInt)
        slot = max(min(SLOT[some.width], scev_of(some.offset).alignment), some.width)
        if max(fused_widths(neighbours, slot), default=0) > some.width:
            for event in chain.from_iterable(neighbours.values()):
                event.may_part = True


def _runs(block: Sequence[Event]) -> Mapping[tuple[AccessKind, object], dict[int, list[Event]]]:
    """Returns accesses that may fuse by their run and place."""
    runs: dict[tuple[AccessKind, object], dict[int, list[Event]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for event in block:
        if isinstance(event.offset, AffineInt) and event.width in SLOT and not event.stays_alone:
            run, position = run_and_position(event, event.offset)
            runs[event.kind, run][position].append(event)
    return runs


def _slot_of_values(event: Event, trip: AffineInt, moved: int) -> int:
    """Returns the bytes of the slot that the access's addresses allow if an iteration moves so."""
    assert isinstance(event.offset, AffineInt)
    lanes = np.asarray(event.offset.base)
    apart = np.bitwise_or.reduce((lanes - lanes.flat[0]).ravel())
    others = [np.bitwise_or.reduce(o.ravel()) for o in _other_terms(event.offset, trip)]
    divisor = min(power_of_two(int(bits)) for bits in (apart, moved, *others))
    return max(min(SLOT[event.width], divisor), event.width)


def _other_terms(offset: AffineInt, trip: AffineInt) -> list[NDArray[np.int64]]:
    """Returns what every unknown but the iteration's number multiplies, each an array of lanes."""
    key = trip.terms[0][0].key
    return [np.asarray(f) * s.multiple for s, f in offset.terms if s.key != key]


def _moved(event: Event, trip: AffineInt) -> int:
    """Returns the bytes from one iteration to the next; 0 where that is not one known number."""
    offset = event.offset
    if not isinstance(offset, AffineInt) or len(trip.terms) != 1:
        return 0
    ((symbol, each),) = trip.terms
    factor = next((f for s, f in offset.terms if s.key == symbol.key), 0)
    return factor // int(each) if isinstance(factor, int) else 0


def _moves_past(event: Event, trip: AffineInt, count: int) -> bool:
    """Returns whether the next iteration takes what is behind so many neighbours, in one slot."""
    moved = _moved(event, trip)
    pair = 2 * abs(moved)
    is_dense = bool(moved) and not moved % event.width and pair <= 2 * count * event.width
    if not is_dense or pair > SLOT[event.width]:
        return False
    if event.kind is AccessKind.STORE and moved < 0:
        return False
    assert isinstance(event.offset, AffineInt)
    if any(np.any(other % pair) for other in _other_terms(event.offset, trip)):
        return False
    places = np.asarray(event.offset.base) % pair
    return bool(np.all(places == places.flat[0]))
