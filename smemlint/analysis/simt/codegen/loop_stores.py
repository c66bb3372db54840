"""What registers hold of the places that a loop stores to.

LLVM promotes memory to registers before it unrolls anything: a place that is the same in all
iterations, and that nothing else in the loop may touch, is loaded in front of the loop, if an
iteration begins with a load of it, and stored behind it, once, if each iteration stores it for
sure. nvcc 13.5.37, -O3, sm_90, loops that stay ones:

    for (int j = 0; j < n; j++) s[t] += in[j];  // LDS, loop, STS
    for (int j = 0; j < n; j++) { m[0] += m[1]; m[1] ^= m[2]; }  // LDS.64 and LDS, loop, STS.64
    for (int j = 0; j < n; j++) if (in[j]) s[t] += 3;  // a STS each time that the condition holds

Not where it has a barrier, or what the compiler moves no store across: shuffles, `asm volatile`,
nor inline assembly that perhaps does not end, as operators and conversions of half are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeGuard

import numpy as np

from smemlint.analysis.simt.codegen.held_values import is_in_each_iteration, place_key
from smemlint.analysis.simt.codegen.slots import may_meet, root_of
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.limits.budgets import MAX_FORWARDED, MAX_STORES_OF_LOOP
from smemlint.limits.steps import spend

_PLAIN = (AccessKind.LOAD, AccessKind.STORE)


def promoted(items: Iterable[Event | Fence]) -> list[Event | Fence]:
    """Returns the same items with loads in front of their loops and stores behind them."""
    out: list[Event | Fence] = []
    heads: list[int] = []  # where loops around begin
    for item in items:
        out.append(item)
        if not isinstance(item, Fence):
            continue
        if item.begins or item.kind == "loop":
            heads.append(len(out) - 1)
        around = [at for at in heads if _ends(item, out[at])]
        if around:
            del heads[heads.index(around[-1]) :]
            out[around[-1] :] = _promoted_of(out[around[-1] :])
    return out


def _ends(fence: Fence, head: Event | Fence) -> bool:
    """Returns whether the loop that begins with `head` ends."""
    assert isinstance(head, Fence)
    if head.kind == "loop":
        return fence.kind == "iteration" and fence.depth == head.depth
    return fence.parts_loop and not fence.begins and fence.entry is head.entry


def _promoted_of(loop: list[Event | Fence]) -> list[Event | Fence]:
    """Returns one loop, from its first fence to its last, and what moves out of it."""
    head, body = loop[0], loop[1:-1]
    assert isinstance(head, Fence)
    if head.entry is None or head.has_effects:
        return loop
    if any(isinstance(item, Fence) and item.kind == "barrier" for item in body):
        return loop
    first: list[Event | Fence] = []
    last: list[Event | Fence] = []
    for indexes in _places(head, body):
        events = [event for at in indexes if isinstance(event := body[at], Event)]
        outside = [_outside(event, head) for event in events]
        if events[0].kind is AccessKind.LOAD:
            first.append(outside[0])
        last.append([event for event in outside if event.kind is AccessKind.STORE][-1])
        for at, event in zip(indexes, outside, strict=True):
            body[at] = replace(event, issued=0)
    if not last:
        return loop
    guard = [Fence("block")] if head.kind == "loop" else []  # it may not run at all
    return [*guard, *first, head, *body, loop[-1], *last, *guard]


def _outside(event: Event, head: Fence) -> Event:
    """Returns an access of a loop as what stands outside of it."""
    return replace(
        event,
        repeats=event.repeats and head.depth != 1,
        joined=0 if head.kind == "loop" else event.joined,
        may_fuse=0,
        may_stagger=False,
        may_thin=False,
    )


def _places(head: Fence, body: Sequence[Event | Fence]) -> list[list[int]]:
    """Returns the indexes of the accesses of each place that registers hold in a loop."""
    accesses = {at: item for at, item in enumerate(body) if isinstance(item, Event) and item.issued}
    if any(event.object is None for event in accesses.values()):
        return []
    keys = {at: _place_of(item) for at, item in enumerate(body) if isinstance(item, Event)}
    groups: dict[object, list[int]] = defaultdict(list)
    places: dict[object, set[object]] = defaultdict(set)
    for at, event in accesses.items():
        groups[keys[at]].append(at)
        places[event.node].add(keys[at])
    stored = {keys[at] for at, event in accesses.items() if event.kind is AccessKind.STORE}
    if len(stored) > MAX_FORWARDED:
        return []
    found = []
    has_loops = any(item.entry is not head.entry for item in body if _is_of_loop(item))
    for key, indexes in groups.items():
        if key is None or key not in stored or not _is_stored(head, body, keys, key):
            continue
        is_one = all(len(places[accesses[at].node]) == 1 for at in indexes)
        if has_loops and not is_one:  # other ones in each iteration of a loop inside
            continue
        spend(len(accesses))
        first = accesses[indexes[0]]
        if not any(may_meet(event, first) for at, event in accesses.items() if keys[at] != key):
            found.append(indexes)
    return found


def _is_of_loop(item: Event | Fence) -> TypeGuard[Fence]:
    """Returns whether an iteration of a loop that stays one begins or ends."""
    return isinstance(item, Fence) and (item.kind in ("loop", "iteration") or item.begins)


def _place_of(event: Event) -> object:
    """Returns what is equal for accesses of one place that all iterations have; None elsewhere."""
    offset = event.offset
    if event.kind not in _PLAIN or event.volatile or event.is_assembly or event.depends_on_data:
        return None
    if event.object is None or event.object.may_be_another or not isinstance(offset, AffineInt):
        return None
    if any(symbol.is_iteration or symbol.is_of_iteration for symbol, _ in offset.terms):
        return None
    return place_key(event, offset) if event.width and not event.spare else None


def _is_stored(
    head: Fence, body: Sequence[Event | Fence], keys: Mapping[int, object], key: object
) -> bool:
    """Returns whether each iteration stores to a place whatever else holds."""
    assert head.entry is not None
    is_stored = False
    for at, item in enumerate(body):
        if isinstance(item, Event):
            is_place = item.kind is AccessKind.STORE and keys[at] == key
            is_stored |= is_place and is_in_each_iteration(item, head.entry)
        elif item.kind == "iteration" and item.entry is head.entry:
            if not is_stored:
                return False
            is_stored = False
    return is_stored


def stores_of_loop(
    items: Sequence[Event | Fence], begin: int, roots: Container[int]
) -> list[Event] | None:
    """Returns what a loop stores, by atomics, too; None for more than is compared, for barriers.

    Args:
        items: of a kernel.
        begin: where the fence is that the loop begins with.
        roots: of the arrays that registers hold something of; stores to others are left out.
    """
    head, stores = items[begin], list[Event]()
    assert isinstance(head, Fence)
    for item in islice(items, begin + 1, None):
        if isinstance(item, Fence):
            if item.kind == "barrier":
                return None
            if 0 < item.depth <= head.depth or (head.begins and _ends(item, head)):
                break
        elif item.kind is not AccessKind.LOAD:
            obj = item.object
            if obj is None or item.kind not in (AccessKind.STORE, AccessKind.ATOMIC):
                return None
            if not obj.may_be_another and root_of(obj) not in roots:
                continue
            if len(stores) == MAX_STORES_OF_LOOP:
                return None
            stores.append(item)
    return stores


def is_carried(load: Event, store: Event | None) -> bool:
    """Returns whether an earlier iteration's store left all active threads their bytes."""
    if store is None or load.node is not store.node or load.width != store.width:
        return False
    if load.volatile or load.is_assembly:
        return False
    a, b = load.offset, store.offset
    if (
        not isinstance(a, AffineInt)
        or not isinstance(b, AffineInt)
        or not (store.mask | ~load.mask).all()
    ):
        return False
    return np.array_equal(a.base, b.base) and (not a.terms or a.identity() == b.identity())
