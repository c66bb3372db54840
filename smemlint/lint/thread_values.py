"""Which lane holds which chunk of which row of a CuTe tensor, for the lanes served together."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import Access, LayoutUse, WarpPattern
from smemlint.hardware.arch import BANKS, WORD
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.passes import passes


@dataclass(frozen=True, slots=True)
class ThreadValues:
    """The chunks that lanes reach in one pass, by their coordinates in the layout.

    Attributes:
        lanes: by row and chunk: the lanes that reach it.
        banks: the first bank that the chunk lies in.
        elements: of a chunk.
        first, last: the lanes of the pass.
    """

    lanes: Mapping[tuple[int, int], tuple[int, ...]]
    banks: Mapping[tuple[int, int], int]
    elements: int
    first: int
    last: int

    @property
    def rows(self) -> list[int]:
        """The rows that are reached."""
        return sorted({row for row, _ in self.lanes})

    @property
    def columns(self) -> range:
        """The chunks of a row from the first to the last that is reached."""
        found = [column for _, column in self.lanes]
        return range(min(found), max(found) + 1)


def thread_values(access: Access, pattern: WarpPattern) -> ThreadValues | None:
    """Returns the picture of the costliest pass; None where the layout has no rows or is not known.

    A row is what all modes but the contiguous one tell apart.
    """
    use, array = access.layout, access.array
    if use is None or array is None or use.base is None or use.family != "cute":
        return None
    offsets = _offsets(pattern.addresses, array.base + use.base, use)
    unit = use.element_bytes if use.units == "bytes" else 1
    if offsets is None or len(use.ranks) < 2 or unit not in use.stride:
        return None
    inner = _mode_of(use.stride.index(unit), use.ranks)
    modes = _coordinates(offsets, use)
    if modes is None:
        return None
    elements = max(pattern.width // max(use.element_bytes, 1), 1)
    others = [k for k in range(len(use.ranks)) if k != inner]
    row, extent = np.zeros_like(offsets), 1
    for k in others:
        row = row + modes[k] * extent
        extent *= _size(use, k)
    crowded = max(passes(access, pattern), key=lambda p: p.turns)
    lanes: dict[tuple[int, int], tuple[int, ...]] = {}
    banks: dict[tuple[int, int], int] = {}
    for lane, _ in crowded.banks:
        place = int(row[lane]), int(modes[inner][lane]) // elements
        lanes[place] = (*lanes.get(place, ()), lane)
        banks[place] = int(pattern.addresses[lane]) // WORD % BANKS
    return ThreadValues(lanes, banks, elements, crowded.first, crowded.last) if lanes else None


def _offsets(addresses: NDArray[np.int64], base: int, use: LayoutUse) -> NDArray[np.int64] | None:
    """Returns the offsets in the layout that begins at a byte, before its swizzle, in its units."""
    swizzle = Swizzle(*use.swizzle) if use.swizzle is not None else None
    if use.units == "bytes":
        return (swizzle(addresses) if swizzle is not None else addresses) - base
    if use.units != "elements" or use.element_bytes < 1:
        return None
    offsets = np.maximum((addresses - base) // use.element_bytes, 0)
    return swizzle(offsets) if swizzle is not None else offsets


def _coordinates(offsets: NDArray[np.int64], use: LayoutUse) -> list[NDArray[np.int64]] | None:
    """Returns the coordinate in each top-level mode; None for an offset outside."""
    rest = offsets.copy()
    found = [np.zeros_like(rest) for _ in use.shape]
    for k in sorted(range(len(use.shape)), key=lambda k: -use.stride[k]):
        if use.stride[k] > 0:
            found[k] = np.clip(rest // use.stride[k], 0, use.shape[k] - 1)
            rest -= found[k] * use.stride[k]
    unit = use.element_bytes if use.units == "bytes" else 1
    if (rest < 0).any() or (rest >= unit).any():
        return None
    modes, at = [], 0
    for rank in use.ranks:
        index, extent = np.zeros_like(rest), 1
        for k in range(at, at + rank):
            index, extent = index + found[k] * extent, extent * use.shape[k]
        modes.append(index)
        at += rank
    return modes


def _mode_of(flat: int, ranks: tuple[int, ...]) -> int:
    ends = np.cumsum(ranks)
    return int(np.searchsorted(ends, flat, side="right"))


def _size(use: LayoutUse, mode: int) -> int:
    first = sum(use.ranks[:mode])
    return prod(use.shape[first : first + use.ranks[mode]])
