"""Numbers of all threads: one int where they agree, else an int64 array with an entry a thread."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.digests import blake2b

Array: TypeAlias = NDArray[np.int64]
Lanes: TypeAlias = int | Array


def digest(data: bytes) -> str:
    """Returns a short text that is equal only for equal bytes, in every process."""
    return blake2b(data, digest_size=16).hexdigest()


def identity(lanes: Lanes) -> str:
    """Returns a text that is equal only for equal lanes."""
    return str(lanes) if isinstance(lanes, int) else f"#{digest(lanes.tobytes())}"


def is_zero(lanes: Lanes) -> bool:
    """Returns whether all entries are 0."""
    return lanes == 0 if isinstance(lanes, int) else not np.count_nonzero(lanes)


def varies_in_a_warp(lanes: Lanes) -> bool:
    """Returns whether threads of one warp hold different numbers."""
    if isinstance(lanes, int):
        return False
    rows = lanes.reshape(-1, 32)
    return bool((rows != rows[:, :1]).any())


def elected(active: NDArray[np.bool_]) -> Array:
    """Returns 1 in one active lane of each warp; which one the hardware takes costs the same."""
    rows = active.reshape(-1, 32)
    first: NDArray[np.bool_] = rows & (rows.cumsum(axis=1) == 1)
    return first.reshape(-1).astype(np.int64)


def settled(lanes: Lanes) -> Lanes:
    """Returns the same lanes, as one int where all agree."""
    if not isinstance(lanes, np.ndarray):
        return int(lanes)
    first = lanes.item(0)
    if lanes.item(-1) != first:  # as most that differ do
        return lanes
    return lanes if np.count_nonzero(lanes != first) else first


def smallest(a: Lanes) -> int:
    """Returns the smallest of all threads."""
    return a if isinstance(a, int) else int(a.min())


def largest(a: Lanes) -> int:
    """Returns the largest of all threads."""
    return a if isinstance(a, int) else int(a.max())


def plain(value: object) -> Lanes:
    """Returns a number or array of any integer type, or of truth values, as lanes."""
    return value.astype(np.int64, copy=False) if isinstance(value, np.ndarray) else int(value)  # type: ignore[call-overload]
