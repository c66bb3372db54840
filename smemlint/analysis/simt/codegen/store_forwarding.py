"""Loads that the compiler answers from the register of a store before them.

A thread that accumulates into an element in a loop, as `s[t][i] -= s[t][j] * s[j][i]` does over j,
loads the element once and stores it each time. A store to another place of the array, an atomic or
a barrier between the two ends that (read off the SASS of rodinia's lud).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from smemlint.analysis.simt.domain.trace import Fence


def forwarded(items: Iterable[Event | Fence]) -> Iterator[Event | Fence]:
    """The same items; loads that need no instruction are issued 0 times."""
    stores: dict[int, Event] = {}
    for item in items:
        if not isinstance(item, Event):
            if item.kind == "barrier":
                stores.clear()
        elif item.kind is AccessKind.STORE and not item.volatile:
            stores[id(item.object)] = item
        elif item.kind is not AccessKind.LOAD:
            stores.pop(id(item.object), None)
        elif _is_answered(item, stores.get(id(item.object))):
            yield replace(item, issued=0)
            continue
        yield item


def _is_answered(load: Event, store: Event | None) -> bool:
    """Whether the store, of an earlier iteration, left each active thread the bytes it loads."""
    if store is None or load.node is not store.node or load.volatile or load.width != store.width:
        return False
    a, b = load.offset, store.offset
    if (
        not isinstance(a, AffineInt)
        or not isinstance(b, AffineInt)
        or not (store.mask | ~load.mask).all()
    ):
        return False
    return np.array_equal(a.base, b.base) and (not a.terms or a.identity() == b.identity())
