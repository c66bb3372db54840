"""What an asynchronous copy from global to shared memory costs: `cp.async`, LDGSTS in SASS.

Measured on an H100 (sm_90) with Nsight Compute's counters per instruction,
`memory_l1_wavefronts_shared` and its ideal: every recorded pattern follows the two rules below, see
fixtures/gpu/async_copies.json. NVIDIA documents neither. The cost hangs on the global addresses as
much as on the shared ones.

`.ca` (through L1): lanes go 128 / width at a time. Two lanes conflict if they write one shared bank
or read one global bank (the same bytes of a 128-byte line, or the same word); a group costs the
most lanes that any lane conflicts with, itself included.

`.cg` (past L1): of the lanes that write one 16-byte chunk the first counts. A wavefront moves
chunks of one 128-byte global line to one 128-byte shared row. It takes all four 32-byte sectors if
their order is rotated, mirrored or both, and if all of them move the same halves the same way.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemlint.hardware.arch import LANES
from smemlint.hardware.banks import lane_addresses

_LINE = 128
"""Bytes of a global line, and of a shared row across the banks."""
_WIDTHS = {"cg": (16,), "ca": (4, 8, 16)}
_ROWS_AT_A_TIME = 512
"""Patterns at a time, so that what they need stays in the cache."""
_SECTORS = 4


class AsyncCost(NamedTuple):
    """Integer arrays of one shape.

    Attributes:
        wavefronts: what the profiler counts for the copies.
        ideal: what it calls so: the bytes written in wavefronts of 128, never more than were taken.
    """

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]


def async_wavefronts(
    shared: ArrayLike,
    global_: ArrayLike,
    *,
    form: str,
    width: int,
    active: ArrayLike | None = None,
    zero_filled: ArrayLike | None = None,
) -> AsyncCost:
    """Computes the wavefronts of asynchronous copies, one a row.

    Args:
        shared: byte addresses that the lanes write, of shape (..., 32); offsets count from a
            multiple of 128 bytes.
        global_: byte addresses that they read, likewise.
        form: `cg` (cached in L2 only) or `ca` (cached at all levels).
        width: bytes that a lane copies: 16 for `cg`; 4, 8 or 16 for `ca`.
        active: which lanes take part, of the same shape; all by default.
        zero_filled: which lanes read nothing, since their source size is 0; None for copies
            without a source size. The profiler counts a `cg` copy that has one (`ZFILL` in SASS)
            twice, by the rule of either form; by that of `cg`, lanes that are filled move nothing.

    Returns:
        Wavefronts and ideal wavefronts, of shape (...).

    Raises:
        ValueError: the copy does not exist, or an active lane's address is not a multiple of its
            width.
    """
    if width not in _WIDTHS.get(form, ()):
        raise ValueError(f"no cp.async.{form} copies {width} bytes")
    to, source = np.broadcast_arrays(lane_addresses(shared), lane_addresses(global_))
    mask = np.broadcast_to(True if active is None else np.asarray(active, bool), to.shape)
    empty = mask & (False if zero_filled is None else np.asarray(zero_filled, bool))
    if ((to | source) & (width - 1) != 0).any(where=mask):
        raise ValueError(f"misaligned: an address is not a multiple of {width} bytes")
    rules = [_through_l1] if form == "ca" else [_past_l1]
    if form == "cg" and zero_filled is not None:
        rules.append(_through_l1)
    units = [(a // width).reshape(-1, LANES) for a in (to, source)]
    flags = [a.reshape(-1, LANES) for a in (mask, empty)]
    total = np.zeros((2, len(units[0])), np.int64)
    for start in range(0, len(units[0]), _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        for rule in rules:
            total[:, part] += rule(
                units[0][part], units[1][part], width, flags[0][part], flags[1][part]
            )
    return AsyncCost(*total.reshape(2, *to.shape[:-1]))


def _through_l1(
    to: NDArray[np.int64],
    source: NDArray[np.int64],
    width: int,
    active: NDArray[np.bool_],
    empty: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the rule of `.ca` on units of `width` bytes: wavefronts and ideal, of shape (n,)."""
    size = _LINE // width
    grouped = (len(to), LANES // size, size)
    writes, reads = (a.reshape(grouped) % size for a in (to, source))
    takes_part, reads_any = active.reshape(grouped), (active & ~empty).reshape(grouped)
    conflict = _equal(writes) & _both(takes_part) | _equal(reads) & _both(reads_any)
    spent = np.count_nonzero(conflict, axis=3).max(axis=2).sum(axis=1)
    moved = np.count_nonzero(active, axis=1) * width
    return spent, np.minimum(spent, -(-moved // _LINE))


def _past_l1(
    to: NDArray[np.int64],
    source: NDArray[np.int64],
    width: int,
    active: NDArray[np.bool_],
    empty: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the rule of `.cg` on chunks of 16 bytes: wavefronts and ideal, of shape (n,)."""
    later = np.triu(np.ones((LANES, LANES), bool), 1)
    first = active & ~empty & ~(_equal(to) & active[:, :, None] & later).any(axis=1)
    pairs = _both(first)
    line, row = source >> 3, to >> 3
    same_row = _equal(row)
    # A chunk that goes to several chunks of one parity in a row takes as many passes, last first.
    repeated = _equal(source) & _equal(to & 1) & same_row & pairs
    nth_pass = np.count_nonzero(repeated & later, axis=2)
    together = _equal(line) & same_row & _equal(nth_pass) & pairs
    sector = (source >> 1 & 3) * _SECTORS + (to >> 1 & 3)
    half = (source & 1) * 2 + (to & 1)
    # Both halves of a sector move at once unless one of them is copied to both places.
    partner = _equal(sector) & ~_equal(source & 1) & together
    half = np.where(partner.any(axis=2), 4 + (half >> 1 ^ half & 1), half)
    together &= _equal(half)
    leads = first & ~(together & later).any(axis=1)
    sectors = np.bitwise_or.reduce(np.where(together, 1 << sector[:, None, :], 0), axis=2)
    spent = np.where(leads, _fewest_maps()[sectors], 0).sum(axis=1, dtype=np.int64)
    moved = np.count_nonzero(first, axis=1) * width
    return spent, np.minimum(spent, -(-moved // _LINE))


@cache
def _fewest_maps() -> NDArray[np.uint8]:
    """Computes wavefronts of sets of moves, bit `4 * global + shared`: a table of 2^16.

    The fewest maps `+-x + c (mod 4)` of global to shared sectors that contain them all.
    """
    maps = [
        sum(1 << (_SECTORS * x + (sign * x + c) % _SECTORS) for x in range(_SECTORS))
        for sign in (1, -1)
        for c in range(_SECTORS)
    ]
    fewest = np.full(1 << _SECTORS**2, len(maps), np.uint8)
    for chosen in range(1 << len(maps)):
        union = 0
        for k, moves in enumerate(maps):
            union |= moves if chosen >> k & 1 else 0
        fewest[union] = min(fewest[union], chosen.bit_count())
    every = np.arange(len(fewest))
    for bit in range(_SECTORS**2):  # a set needs no more than one that contains it
        fewest = np.minimum(fewest, fewest[every | 1 << bit])
    return fewest


def _equal(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns whether two lanes of a group have one value, of shape (..., lanes, lanes)."""
    equal: NDArray[np.bool_] = values[..., :, None] == values[..., None, :]
    return equal


def _both(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns whether two lanes of a group both have a flag, of shape (..., lanes, lanes)."""
    return flags[..., :, None] & flags[..., None, :]
