"""Threads that a divergent condition cannot let through: they would leave the array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind

_KINDS = (AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC)


def within_array(event: Event) -> Event:
    """Returns an event without the threads that would leave its array under a divergent condition.

    Of `if (threadIdx.x < count) x = sums[threadIdx.x * BLOCK];` with `sums[BLOCK * 7]` at most
    seven threads are in a program that is right, whatever `count` is. Where no thread stays
    inside, it is the index that was not understood, and the event is left as it is.
    """
    array = event.object.shared if event.object is not None else None
    size = array.bytes if array is not None else None
    offset = event.offset
    if (
        not size
        or not event.may_diverge
        or event.kind not in _KINDS
        or not isinstance(offset, AffineInt)
        or offset.terms
    ):
        return event
    begin = np.asarray(offset.base, np.int64)
    inside = event.mask & (begin >= 0) & (begin <= size - (event.width - event.spare))
    if not inside.any() or np.array_equal(inside, event.mask):
        return event
    return replace(event, mask=inside)
