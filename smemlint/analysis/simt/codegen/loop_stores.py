"""What the stores of loops tell of the loads that registers may answer."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import islice

import numpy as np

from smemlint.analysis.simt.codegen.slots import root_of
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.limits.budgets import MAX_STORES_OF_LOOP


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
            if 0 < item.depth <= head.depth or _ends(item, head):
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


def _ends(fence: Fence, head: Fence) -> bool:
    """Returns whether a loop whose iterations follow each other ends, which began with `head`."""
    return fence.parts_loop and not fence.begins and fence.entry is head.entry


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
