"""The shared-memory bank model: how many wavefronts a warp instruction takes.

Measured on an H200 (sm_90) with the profiler's per-launch wavefront counters. A wavefront is one
pass of the data stage, 32 banks of 4 bytes. Lanes on one word of a bank share it, lanes on
different words of a bank take turns.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemlint.hardware.arch import BANKS, LANES, WORD, assumption
from smemlint.hardware.atomics import (
    LOOPS,
    Serialization,
    attempt,
    attempts,
    executed,
    serialization,
)
from smemlint.lazy_dataclasses import dataclass

_WIDTHS = {
    "load": (1, 2, 4, 8, 16),
    "store": (1, 2, 4, 8, 16),
    "ldmatrix": (16,),
    "stmatrix": (16,),
    "atomic": (4,),
}
_MEASURED_MATRICES = {"ldmatrix": (1, 2, 4), "stmatrix": (1, 2, 4)}
_ROW_BYTES = BANKS * WORD
_FEW_ROWS = 256
_CHUNK = 4096
"""Patterns at a time, so that what they need stays in the cache."""


_Figures: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"
"""Wavefronts, passes, and what the profiler counts for a line."""


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """Integer arrays of one shape.

    Attributes:
        wavefronts: what the instructions take.
        ideal: what they would without conflicts: passes with an active lane, after pairing.
        profiler_ideal: what `wavefronts` divided by the profiler's ratio gives, rounded up. Its
            own ideal is the active lanes' bytes in wavefronts of 128, never more than it counts
            (270 of 270 rows of fixtures/gpu/predicates.json); it differs where the lanes of a wide
            access are spread thinly over its passes. Its counter of lines merges lanes that pair up
            only where that is free of conflicts, unlike the hardware (240 of 240 rows of
            fixtures/gpu/paired_lanes.json, both).
        assumed: what the figures take for granted of the architecture; see `arch.assumption`.
    """

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    profiler_ideal: NDArray[np.int64]
    assumed: str = ""


def lane_addresses(addresses: ArrayLike) -> NDArray[np.int64]:
    """Returns the addresses of warps as integers.

    Raises:
        ValueError: they are none, or not of shape (..., 32).
    """
    lanes = np.asarray(addresses)
    if lanes.shape[-1:] != (LANES,) or lanes.dtype.kind not in "iu":
        raise ValueError(
            f"addresses are {lanes.dtype} of shape {lanes.shape}, not integers of shape (..., 32)"
        )
    return lanes.astype(np.int64, copy=False)


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
    """Returns the wavefronts of warp instructions.

    Args:
        addresses: byte addresses of shape (..., 32), one a lane.
        kind: `load`, `store`, `ldmatrix`, `stmatrix` or `atomic`.
        width: bytes that a lane moves: 1, 2, 4, 8 or 16; 16 for matrices, 4 for atomics.
        active: which lanes take part, of the same shape; all by default. Matrix instructions are
            warp-wide: lanes from `8 * matrices` on are ignored and `active` has no effect.
        matrices: 1, 2 or 4, for `ldmatrix` and `stmatrix`.
        arch: the target, e.g. `sm_90`.
        operation: of an atomic, a key of `atomics.MEASURED`.

    Returns:
        Wavefronts and ideal wavefronts, integer arrays of shape (...).

    Raises:
        ValueError: an active lane's address is not a multiple of the width, nobody measured the
            combination, or the architecture has no such instruction.
    """
    lanes = lane_addresses(addresses)
    operation = executed(operation, arch)
    is_loop = kind == "atomic" and LOOPS.get(operation) == width
    if not is_loop:
        _require_measured(kind, width, matrices)
    assumed = assumption(arch, kind, width)
    if is_loop and assumed:
        raise ValueError(f"atomic `{operation}` is a loop that was not measured on {arch}")
    rule = serialization(operation) if kind == "atomic" and not is_loop else None
    if not lanes.size:
        none = np.zeros(lanes.shape[:-1], np.int64)
        return Cost(none, none, none, assumed)
    shape = lanes.shape[:-1]
    rows = lanes.reshape(-1, LANES)
    mask = _participants(lanes.shape, kind, matrices, active)
    if width > 1 and (rows & (width - 1) != 0).any(where=True if mask is None else mask):
        raise ValueError(f"misaligned: an address is not a multiple of {width} bytes")
    if is_loop:
        turns = attempt(rows, np.ones_like(rows, bool) if mask is None else mask, operation)
        spent, counted = (turn.reshape(shape) for turn in turns)
        return Cost(spent, spent, counted)
    spent, passes, of_lines = _costs(rows, mask, kind, width, rule)
    factor = attempts(operation) if kind == "atomic" else 1
    spent, passes = spent * factor, passes * factor
    is_plain = kind in ("load", "store")
    counted = _profiler_ideal(spent, of_lines, mask, width) if is_plain else passes
    return Cost(spent.reshape(shape), passes.reshape(shape), counted.reshape(shape), assumed)


def _profiler_ideal(
    spent: NDArray[np.int64],
    of_lines: NDArray[np.int64],
    mask: NDArray[np.bool_] | None,
    width: int,
) -> NDArray[np.int64]:
    lanes = LANES if mask is None else mask.sum(axis=1)
    ideal = np.minimum(of_lines, -(-lanes * width // _ROW_BYTES))
    return np.asarray(-(-spent * ideal // np.maximum(of_lines, 1)))


def bank_words(
    addresses: NDArray[np.int64], width: int, active: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Returns distinct words that active lanes touch in each of the 32 banks, of shape (32,)."""
    lanes = np.asarray(addresses) if active is None else np.asarray(addresses)[active]
    words = np.sort(lanes[:, None] // WORD + np.arange(max(width // WORD, 1)), axis=None)
    is_first = np.ones(len(words), dtype=bool)  # np.unique would import numpy.ma, for 10 ms
    is_first[1:] = words[1:] != words[:-1]
    return np.bincount(words[is_first] % BANKS, minlength=BANKS)


def _require_measured(kind: str, width: int, matrices: int) -> None:
    widths = _WIDTHS.get(kind)
    if widths is None:
        raise ValueError(f"unknown kind {kind!r}: one of {', '.join(_WIDTHS)}")
    if width not in widths:
        known = ", ".join(map(str, widths))
        raise ValueError(f"{kind} of {width} bytes a lane was not measured: {known} were")
    if kind in _MEASURED_MATRICES and matrices not in _MEASURED_MATRICES[kind]:
        known = ", ".join(f"x{n}" for n in _MEASURED_MATRICES[kind])
        raise ValueError(f"{kind}.x{matrices} was not measured: {known} were")


def _participants(
    shape: tuple[int, ...], kind: str, matrices: int, active: ArrayLike | None
) -> NDArray[np.bool_] | None:
    """Returns the lanes that take part, of shape (n, 32); None for all."""
    if kind in _MEASURED_MATRICES:
        if matrices == 4:
            return None
        return np.broadcast_to(np.arange(LANES) < 8 * matrices, shape).reshape(-1, LANES)
    if active is None:
        return None
    mask = np.broadcast_to(np.asarray(active, dtype=np.bool_), shape).reshape(-1, LANES)
    return None if mask.all() else mask


def _costs(
    rows: NDArray[np.int64],
    mask: NDArray[np.bool_] | None,
    kind: str,
    width: int,
    rule: Serialization | None,
) -> _Figures:
    """Prices rows of lanes, so many at once that what lies between fits into the cache."""
    chunks = [slice(i, i + _CHUNK) for i in range(0, len(rows), _CHUNK)]
    parts = [_cost(rows[c], None if mask is None else mask[c], kind, width, rule) for c in chunks]
    if len(parts) == 1:
        return parts[0]
    spent, passes, of_lines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return spent, passes, of_lines


def _cost(
    rows: NDArray[np.int64],
    mask: NDArray[np.bool_] | None,
    kind: str,
    width: int,
    rule: Serialization | None,
) -> _Figures:
    if rule is Serialization.BY_LANE:
        spent, passes = _lanes_per_bank(rows, mask)
        return spent, passes, spent
    if kind == "load" and width > WORD:
        return _wide_load(rows, mask, width)
    spent, passes = _summed(_passes(rows, mask, width, min(LANES, _ROW_BYTES // width)), mask)
    return spent, passes, spent


def _wide_load(rows: NDArray[np.int64], mask: NDArray[np.bool_] | None, width: int) -> _Figures:
    """Prices 8- and 16-byte loads: lanes that pair up over the whole warp halve the passes.

    Lanes that pair up only thanks to lanes that are off, in both ways, do so only where the halved
    passes are free of conflicts.
    """
    size = _ROW_BYTES // width
    paired, doubtful = _pairs_up(rows, mask)
    if not paired.any():
        spent, passes = _summed(_passes(rows, mask, width, size), mask)
        return spent, passes, spent
    merged_degrees = _passes(rows, mask, width, 2 * size)
    merged, halved = _summed(merged_degrees, mask)
    if paired.all() and not doubtful.any() and int(merged_degrees.max()) <= 1:
        return merged, halved, merged
    degrees = _passes(rows, mask, width, size)
    spent, passes = _summed(degrees, mask)
    halves = paired & (~doubtful | (merged == halved))
    unmerged = degrees.reshape(*merged_degrees.shape, 2).sum(axis=2)
    of_lines = np.where(merged_degrees > 1, unmerged, merged_degrees).sum(axis=1)
    return (
        np.where(halves, merged, spent),
        np.where(halves, halved, passes),
        np.where(halves, of_lines, spent),
    )


def _pairs_up(
    rows: NDArray[np.int64], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns whether every lane's address equals that of lane l^1, or every lane's that of l^2.

    An inactive lane matches anything. The second array says where both hold and yet some active
    lane differs from the active lane l^3.
    """
    first, second, third = (_equal_lanes(rows, mask, bits) for bits in (1, 2, 3))
    return first | second, first & second & ~third


def _equal_lanes(
    rows: NDArray[np.int64], mask: NDArray[np.bool_] | None, bits: int
) -> NDArray[np.bool_]:
    partner = np.arange(LANES) ^ bits
    equal = rows == rows[:, partner]
    if mask is not None:
        equal |= ~(mask & mask[:, partner])
    return np.asarray(equal.all(axis=1))


def _summed(
    degrees: NDArray[np.int64], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns wavefronts and passes of instructions, from the degrees of their passes."""
    if mask is None:
        return degrees.sum(axis=1), np.full(len(degrees), degrees.shape[1], dtype=np.int64)
    return degrees.sum(axis=1), (degrees > 0).sum(axis=1)


def _passes(
    rows: NDArray[np.int64], mask: NDArray[np.bool_] | None, width: int, size: int
) -> NDArray[np.int64]:
    """Computes degrees of passes, one for `size` neighbouring lanes; 0 without active ones.

    Aligned vectors of 8 or 16 bytes either coincide or share no word, and cover whole groups of
    banks: a pass sees 128 / width wide banks, each of which serves one vector at a time.
    """
    groups = (len(rows), LANES // size)
    unit = max(width, WORD)
    if mask is None:
        keys, bank_shift = _bank_keys(rows, unit)
        return _degrees(keys.reshape(-1, size), bank_shift).reshape(groups)
    grouped = mask.reshape(-1, size)
    some = np.take_along_axis(rows.reshape(-1, size), grouped.argmax(axis=1)[:, None], axis=1)
    used = grouped.any(axis=1)
    some[~used] = rows.flat[mask.argmax()]
    # A lane that takes no part repeats the address of one that does, which costs nothing.
    keys, bank_shift = _bank_keys(np.where(grouped, rows.reshape(-1, size), some), unit)
    return np.where(used, _degrees(keys, bank_shift), 0).reshape(groups)


def _bank_keys(
    rows: NDArray[np.int64], unit: int
) -> tuple[NDArray[np.int32] | NDArray[np.int64], int]:
    """Returns sort keys, equal for one unit of `unit` bytes, the bank above its row.

    Returns:
        The keys, in a fresh array, and how far to shift one right for its bank.
    """
    offsets = rows - (int(rows.min()) & -_ROW_BYTES)
    wide_banks = _ROW_BYTES // unit
    units = offsets >> _log2(unit)
    bank_shift = 57
    if int(offsets.max()) < 1 << 31:  # half as wide to sort
        units, bank_shift = units.astype(np.int32), 26
    return (units & (wide_banks - 1)) << bank_shift | units >> _log2(wide_banks), bank_shift


def _log2(power: int) -> int:
    return power.bit_length() - 1


def _degrees(keys: NDArray[np.int32] | NDArray[np.int64], bank_shift: int) -> NDArray[np.int64]:
    """Returns the most distinct keys in one bank, of shape (n,) for keys of shape (n, lanes)."""
    keys.sort(axis=1)
    fresh = keys[:, 1:] != keys[:, :-1]
    banks = keys >> bank_shift
    same = banks[:, 1:] == banks[:, :-1]
    if len(keys) <= _FEW_ROWS:
        return _longest_runs_of_few(fresh, same)
    return _longest_runs(fresh, same)


def _longest_runs(fresh: NDArray[np.bool_], same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Counts the most distinct keys in one bank, column by column: fast for many rows.

    Args:
        fresh: whether a sorted key differs from the one before it, of shape (n, lanes - 1).
        same: whether it lies in the same bank as the one before it.
    """
    count = np.ones(len(fresh), dtype=np.uint8)
    best = count.copy()
    for new, stay in zip(
        np.ascontiguousarray(fresh.T).view(np.uint8),
        np.ascontiguousarray(same.T).view(np.uint8),
        strict=True,
    ):
        # In another bank the key is fresh, so (count * 0) + 1 starts its run.
        count *= stay
        count += new
        np.maximum(best, count, out=best)
    return best.astype(np.int64)


def _longest_runs_of_few(fresh: NDArray[np.bool_], same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the same in a fixed number of array operations: fast for few rows."""
    seen = np.cumsum(fresh, axis=1, dtype=np.int64)
    before = np.maximum.accumulate(seen * ~same, axis=1)
    longest: NDArray[np.int64] = (seen - before).max(axis=1, initial=0)
    return 1 + longest


def _lanes_per_bank(
    rows: NDArray[np.int64], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts lanes of a bank: every one takes a turn, those on one word too."""
    slots = np.arange(len(rows))[:, None] * BANKS + (rows // WORD & (BANKS - 1))
    used: NDArray[np.int64] = np.ones(len(rows), dtype=np.int64)
    if mask is not None:
        slots, used = slots[mask], np.asarray(mask.any(axis=1), dtype=np.int64)
    counts = np.bincount(slots.ravel(), minlength=len(rows) * BANKS)
    return (counts.reshape(len(rows), BANKS).max(axis=1, initial=0), used)
