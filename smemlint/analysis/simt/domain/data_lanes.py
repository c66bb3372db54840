"""Accesses whose addresses are data: what is known of their lanes, and when all data cost the same.

Data conflict where they bring two lanes of a warp to different words of one bank. They cannot in
`counts[digit][threadIdx.x]` (a row is a multiple of all banks: each lane stays in a bank of its
own), in a table of 32 words or less, nor where one lane of a warp is alone. What moves a whole
warp, as in `table[begins[warp] + lane]`, only rotates the banks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.environment import WARP
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import DataRange, Object
from smemlint.facts import AccessKind, DataAddresses
from smemlint.hardware.arch import BANKS, WIDEST_ACCESS, WORD

_ROW = BANKS * WORD


def data_addresses(event: Event) -> DataAddresses | None:
    """Returns what the first warp of an event whose offset is data of a range may access."""
    offset = event.offset
    warps = event.mask.reshape(-1, WARP)
    active = np.flatnonzero(warps.any(axis=1))
    if not isinstance(offset, DataRange) or offset.count is None or not len(active):
        return None
    first = active[0]
    base = _lanes(offset, event).reshape(-1, WARP)[first]
    return DataAddresses(base, warps[first], offset.step, offset.count, event.width)


def lanes_of_any_data(event: Event) -> NDArray[np.int64] | None:
    """Returns addresses of an event that costs the same whatever the data are.

    Returns:
        Bytes, int64 of shape (threads,): one choice of many; None where the cost hangs on data, or
        where that is not known.
    """
    if event.kind not in (AccessKind.LOAD, AccessKind.STORE) or not event.width:
        return None  # the width of a type that is not known is 0
    offset, warps = event.offset, event.mask.reshape(-1, WARP)
    if warps.sum(axis=1).max(initial=0) <= 1 or (event.width <= WORD and _is_small(event.object)):
        return np.zeros(event.mask.shape, np.int64)
    if not isinstance(offset, DataRange):
        return None
    base = _lanes(offset, event)
    if offset.is_one_for_a_warp:
        return base if _moves_warps(event, offset) else None
    return base if _is_free(event, offset) else None


def _moves_warps(event: Event, offset: DataRange) -> bool:
    """Returns whether data move a warp by whole words and accesses, at equal cost.

    Where the compiler sees that two neighbours are aligned, it makes one access of them, which may
    conflict less.
    """
    unit = max(event.width, WORD)
    is_multiple = not offset.step % unit
    may_fuse = offset.step > unit and unit < WIDEST_ACCESS
    return is_multiple and (
        not may_fuse or (event.width <= WORD and _is_free(event, replace(offset, count=1)))
    )


def _is_free(event: Event, offset: DataRange) -> bool:
    """Returns whether no two lanes that a wavefront serves can come to one bank in other words."""
    rows, active = _lanes(offset, event).reshape(-1, WARP), event.mask.reshape(-1, WARP)
    if event.width > WORD:
        return all(map(partial(_keep_their_banks, offset.step, event.width), rows, active))
    return all(
        _meet_no_other_word(row[lanes], offset) for row, lanes in zip(rows, active, strict=True)
    )


def _keep_their_banks(
    step: int, width: int, row: NDArray[np.int64], active: NDArray[np.bool_]
) -> bool:
    """Returns whether lanes of 8 or 16 bytes are all apart, and those of a pass in other banks."""
    if step % _ROW or len(set((row[active] % step).tolist())) < active.sum():
        return False
    size = _ROW // width
    banks = np.where(active, row % _ROW // width, -1 - np.arange(WARP))
    return all(len(set(some)) == size for some in banks.reshape(-1, size).tolist())


def _is_small(obj: Object | None) -> bool:
    """Returns whether every word of an array lies in a bank of its own."""
    size = obj.shared.bytes if obj is not None and obj.shared is not None else None
    return size is not None and 0 < size <= _ROW


def _lanes(offset: DataRange, event: Event) -> NDArray[np.int64]:
    return np.broadcast_to(np.asarray(offset.base, np.int64), event.mask.shape)


def _meet_no_other_word(lanes: NDArray[np.int64], offset: DataRange) -> bool:
    """Returns whether no two lanes of a warp can come to one bank in different words."""
    period = _ROW // gcd(offset.step, _ROW)  # addresses meet their banks again
    count = period + 1 if offset.count is None else offset.count
    is_once_around = count <= period
    tried = np.arange(min(count, period), dtype=np.int64)
    words = (lanes[:, None] + offset.step * tried) // WORD
    banks = words % BANKS
    reached = np.zeros((len(lanes), BANKS), np.int64)
    np.put_along_axis(reached, banks, 1, axis=1)
    is_shared = reached.sum(axis=0) > 1
    if not is_once_around:
        return not bool(is_shared.any())
    least, most = np.full(BANKS, words.max(initial=0)), np.full(BANKS, words.min(initial=0))
    np.minimum.at(least, banks, words)
    np.maximum.at(most, banks, words)
    return not bool((is_shared & (least < most)).any())
