"""The shared-memory bank model: how many wavefronts a warp instruction takes.

Measured on an H200 (sm_90) with the profiler's per-launch wavefront counters. A wavefront is one
pass of the data stage, 32 banks of 4 bytes. An access touches every 4-byte word that it covers;
lanes on one word of a bank share it, lanes on different words of a bank take turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smemlint.hardware.arch import require_bank_model
from smemlint.hardware.atomics import Serialization, serialization

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LANES = 32
BANKS = 32
WORD = 4

_WIDTHS = {
    "load": (1, 2, 4, 8, 16),
    "store": (1, 2, 4, 8, 16),
    "ldmatrix": (16,),
    "stmatrix": (16,),
}
_WORD_BITS = 26
"""Bits of a sort key that hold the word; the bank stands above them."""
_FEW_ROWS = 256
_CHUNK = 4096
"""Patterns at a time, so that what they need stays in the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """Integer arrays of one shape: what the instructions take, and would without conflicts."""

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]


def wavefronts(
    addresses: ArrayLike,
    *,
    kind: str,
    width: int,
    active: ArrayLike | None = None,
    matrices: int = 4,
    arch: str = "sm_90",
    operation: str = "add.u32",
) -> Cost:
    """Wavefronts of warp instructions.

    Args:
        addresses: byte addresses of shape (..., 32), one a lane.
        kind: `load`, `store`, `ldmatrix`, `stmatrix` or `atomic`.
        width: bytes that a lane moves: 1, 2, 4, 8 or 16; 16 for matrices, 4 for atomics.
        active: which lanes take part, of the same shape; all by default. Matrix instructions are
            warp-wide: lanes from `8 * matrices` on are ignored and `active` has no effect.
        matrices: 1, 2 or 4, for `ldmatrix` and `stmatrix`.
        arch: the target, e.g. `sm_90`.
        operation: of an atomic, e.g. `add.u32`.

    Returns:
        Wavefronts and ideal wavefronts, integer arrays of shape (...).

    Raises:
        ValueError: an active lane's address is not a multiple of the width, or nobody measured the
            combination.
    """
    require_bank_model(arch)
    lanes = np.asarray(addresses, dtype=np.int64)
    if lanes.shape[-1:] != (LANES,):
        raise ValueError(f"addresses have shape {lanes.shape}: the last axis holds 32 lanes")
    shape = lanes.shape[:-1]
    rows = lanes.reshape(-1, LANES)
    mask = np.ones(rows.shape, dtype=np.bool_)
    if active is not None:
        mask = np.broadcast_to(np.asarray(active, dtype=np.bool_), lanes.shape).reshape(-1, LANES)
    if kind in ("ldmatrix", "stmatrix"):
        if matrices not in (1, 2, 4):
            raise ValueError(f"{kind}.x{matrices} does not exist: x1, x2 and x4 do")
        mask = np.broadcast_to(np.arange(LANES) < 8 * matrices, rows.shape)
    _check(rows, mask, kind, width)
    rule = serialization(operation) if kind == "atomic" else None
    parts = [
        _cost(rows[i : i + _CHUNK], mask[i : i + _CHUNK], kind, width, rule)
        for i in range(0, len(rows), _CHUNK)
    ] or [_cost(rows, mask, kind, width, rule)]
    return Cost(
        np.concatenate([p.wavefronts for p in parts]).reshape(shape),
        np.concatenate([p.ideal for p in parts]).reshape(shape),
    )


def _cost(
    rows: NDArray[np.int64],
    mask: NDArray[np.bool_],
    kind: str,
    width: int,
    rule: Serialization | None,
) -> Cost:
    if rule is not None:
        return _atomic(rows, mask, rule)
    if kind in ("ldmatrix", "stmatrix") or (kind == "store" and width == 16):
        return _passes(rows, mask, width, 8)
    if width <= 4:
        return _passes(rows, mask, width, 32)
    return _passes(rows, mask, width, 16) if kind == "store" else _wide_load(rows, mask, width)


def words_per_bank(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], width: int
) -> NDArray[np.int64]:
    """Distinct words that the active lanes of one warp touch in each of the 32 banks.

    Args:
        addresses: byte addresses of shape (32,).
        active: of shape (32,).
        width: bytes that a lane moves.
    """
    first = addresses[active] // WORD
    words = np.unique(first[:, None] + np.arange(max(width // WORD, 1)))
    return np.bincount(words % BANKS, minlength=BANKS)


def _check(rows: NDArray[np.int64], mask: NDArray[np.bool_], kind: str, width: int) -> None:
    if kind == "atomic":
        if width != 4:
            raise ValueError(f"atomics of {width} bytes were not measured")
    elif kind not in _WIDTHS:
        known = ", ".join([*_WIDTHS, "atomic"])
        raise ValueError(f"unknown kind {kind!r}: one of {known}")
    elif width not in _WIDTHS[kind]:
        raise ValueError(f"a {kind} of {width} bytes a lane does not exist")
    if width > 1 and ((rows & (width - 1)).astype(np.bool_) & mask).any():
        raise ValueError(f"misaligned: an address is not a multiple of {width} bytes")


def _degree(words: NDArray[np.int32], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The most distinct words in one bank, of shape (n,); words of shape (n, k) under a mask."""
    used = mask.any(axis=1)
    if not mask.all():
        # A lane that takes no part repeats the word of one that does, which costs nothing.
        some = np.take_along_axis(words, mask.argmax(axis=1)[:, None], axis=1)
        words = np.where(mask, words, some)
    keys = words | ((words & (BANKS - 1)) << _WORD_BITS)
    keys.sort(axis=1)
    runs = _longest_runs if len(keys) > _FEW_ROWS else _longest_runs_of_few
    fresh = keys[:, 1:] != keys[:, :-1]
    same = keys[:, 1:] >> _WORD_BITS == keys[:, :-1] >> _WORD_BITS
    return np.where(used, runs(fresh, same), 0)


def _longest_runs(fresh: NDArray[np.bool_], same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Most distinct keys in one bank, column by column: fast for many rows.

    Args:
        fresh: whether a sorted key differs from the one before it, of shape (n, k - 1).
        same: whether it lies in the same bank as the one before it.
    """
    count = np.ones(len(fresh), dtype=np.int32)
    best = count.copy()
    for new, stay in zip(np.ascontiguousarray(fresh.T), np.ascontiguousarray(same.T), strict=True):
        count += new
        count = np.where(stay, count, np.int32(1))
        np.maximum(best, count, out=best)
    return best.astype(np.int64)


def _longest_runs_of_few(fresh: NDArray[np.bool_], same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The same in a fixed number of array operations: fast for few rows."""
    seen = np.cumsum(fresh, axis=1)
    before = np.maximum.accumulate(np.where(same, 0, seen), axis=1)
    return 1 + (seen - before).max(axis=1, initial=0)


def _words(rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Word numbers, moved together by whole rows of banks so that they fit a sort key."""
    first = int(rows.min(initial=np.iinfo(np.int64).max)) if rows.size else 0
    words = (rows - (first & -(BANKS * WORD))) >> 2
    return words.astype(np.int32)


def _group_degrees(
    rows: NDArray[np.int64], mask: NDArray[np.bool_], width: int, size: int
) -> NDArray[np.int64]:
    """Degree of every group of `size` neighbouring lanes, of shape (n, 32 // size)."""
    n = len(rows)
    per_lane = max(width // WORD, 1)
    words = _words(rows)[:, :, None] + np.arange(per_lane, dtype=np.int32)
    lanes = np.broadcast_to(mask[:, :, None], words.shape)
    groups = n * (LANES // size)
    return _degree(
        words.reshape(groups, size * per_lane), lanes.reshape(groups, size * per_lane)
    ).reshape(n, LANES // size)


def _passes(rows: NDArray[np.int64], mask: NDArray[np.bool_], width: int, size: int) -> Cost:
    """One pass for every `size` lanes; a group without an active lane costs nothing."""
    degrees = _group_degrees(rows, mask, width, size)
    used = mask.reshape(len(rows), LANES // size, size).any(axis=2)
    return Cost(degrees.sum(axis=1), used.sum(axis=1).astype(np.int64))


def _wide_load(rows: NDArray[np.int64], mask: NDArray[np.bool_], width: int) -> Cost:
    """8- and 16-byte loads: lanes that pair up over the whole warp halve the passes."""
    size = 128 // width
    single = _passes(rows, mask, width, size)
    paired = _pairs_up(rows, mask)
    if not paired.any():
        return single
    double = _passes(rows[paired], mask[paired], width, 2 * size)
    single.wavefronts[paired] = double.wavefronts
    single.ideal[paired] = double.ideal
    return single


def _pairs_up(rows: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each lane's address equals that of lane l^1 (or each that of l^2)."""
    found = np.zeros(len(rows), dtype=np.bool_)
    lanes = np.arange(LANES)
    for bit in (1, 2):
        other = lanes ^ bit
        equal = (rows == rows[:, other]) | ~mask | ~mask[:, other]
        found |= equal.all(axis=1)
    return found


def _atomic(rows: NDArray[np.int64], mask: NDArray[np.bool_], rule: Serialization) -> Cost:
    used = mask.any(axis=1).astype(np.int64)
    if rule is Serialization.BY_WORD:
        return Cost(_group_degrees(rows, mask, 4, LANES).reshape(len(rows)), used)
    bank = rows // WORD % BANKS
    index = np.arange(len(rows))[:, None] * BANKS + bank
    counts = np.bincount(index[mask], minlength=len(rows) * BANKS)
    return Cost(counts.reshape(len(rows), BANKS).max(axis=1, initial=0), used)
