"""Free elements after every few elements: what helps where lanes read several elements in a row.

A swizzle would keep the compiler from making one instruction of neighbouring elements, and no
padding of rows moves the lanes of one row. `x + x / 32 * 4 + j` does both, if `x` is the first
element that a lane reads: nvcc 13.0.88 keeps its LDS.128 then, and makes eight LDS of
`(x + j) + (x + j) / 32 * 4`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import SharedArray
from smemlint.fix.padding import ROW_BYTES, Group, Usage, batches, is_worth, priced
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SPACING_RUN


@dataclass(frozen=True, slots=True)
class Spacing:
    """Elements left free behind every run of elements.

    Attributes:
        run: elements that stay together.
        extra: elements that are free behind them.
    """

    run: int
    extra: int

    def moved(self, offsets: NDArray[np.int64], array: SharedArray) -> NDArray[np.int64]:
        """Returns where what lies at these byte offsets in the array lies then."""
        runs = offsets // (self.run * array.element_bytes)
        moved: NDArray[np.int64] = offsets + runs * (self.extra * array.element_bytes)
        return moved

    def extent(self, elements: int) -> int:
        """Returns how many elements take the place of so many."""
        return elements // self.run * (self.run + self.extra)


def best_spacing(usage: Usage) -> Spacing | None:
    """Returns the smallest spacing that frees all accesses of an array; None where none does.

    Runs divide rows and hold the widest vector, which stays aligned.
    """
    if not (usage.is_decided and usage.is_complete) or usage.takes_pitch:
        return None
    groups = batches(usage)
    if len({g.array.element_bytes for g in groups}) != 1:
        return None
    array = min((g.array for g in groups), key=lambda a: a.bytes or 0)  # of all instances
    element, size = array.element_bytes or 0, array.bytes or 0
    if not element or not size or not all(all(g.array.dims) for g in groups):
        return None
    rows = gcd(*(g.array.dims[-1] or 0 for g in groups))
    widest = max(usage.widest_copy, *(g.width for g in groups))
    candidates = list(_candidates(rows, element, widest, _lane_bytes(groups) // element))
    if not candidates:
        return None
    plain, *scores = priced(groups, [Spacing(1, 0), *candidates])
    elements = size // element
    found = [
        (candidate.extent(elements), -candidate.run, candidate)
        for candidate, score in zip(candidates, scores, strict=True)
        if score.is_free
        and is_worth((candidate.extent(elements) - elements) * element, array, score, plain)
    ]
    return min(found, key=lambda item: item[:2])[2] if found else None


def _lane_bytes(groups: Sequence[Group]) -> int:
    """Returns how far apart lanes begin where each reads or writes several elements in a row."""
    apart = [
        int(np.gcd.reduce(np.diff(group.offsets[k][active])))
        for group in groups
        if group.width > (group.array.element_bytes or 0)
        for k, active in enumerate(group.active)
    ]
    return max(apart, default=0)


def _candidates(row: int, element: int, widest: int, lane: int) -> Iterator[Spacing]:
    step = max(widest // element, 1)
    run = max(step, lane)
    while run < row and run <= MAX_SPACING_RUN:
        if row % run == 0 and run % step == 0:
            for extra in range(step, ROW_BYTES // element + 1, step):
                yield Spacing(run, extra)
        run *= 2
