"""Addresses of warp instructions as priced patterns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import WarpPattern
from smemlint.hardware.banks import wavefronts
from smemlint.limits.steps import spend
from smemlint.reasons import Reason

_LANES_A_STEP = 32


class Undecided(Exception):
    """Accesses without a figure, for a reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def patterns_of(
    addresses: NDArray[np.int64], *, kind: str, width: int, arch: str, matrices: int = 0
) -> list[WarpPattern]:
    """Returns the distinct patterns of instructions of one width; faulting ones have no price.

    Args:
        addresses: byte offsets of shape (instructions of a warp, warps, 32).
        kind: of `hardware.wavefronts`.
        width: bytes that a lane moves.
        arch: the target.
        matrices: of a matrix instruction; 0 otherwise.

    Raises:
        ValueError: nobody measured such an access on the target.
    """
    spend(addresses.size // _LANES_A_STEP)
    warps = addresses.shape[1]
    issued = addresses.reshape(-1, addresses.shape[-1])
    alike: dict[bytes, list[int]] = {}  # np.unique(axis=0) makes a TypeError of a time limit's end
    for number, row in enumerate(issued):
        alike.setdefault(row.tobytes(), []).append(number)
    rows = issued[[numbers[0] for numbers in alike.values()]]
    lanes = np.arange(rows.shape[1]) < (8 * matrices or rows.shape[1])
    aligned = ~((rows % width != 0) & lanes).any(axis=1)
    prices = np.zeros((3, len(rows)), dtype=np.int64)
    cost = wavefronts(rows[aligned], kind=kind, width=width, matrices=matrices or 4, arch=arch)
    prices[:, aligned] = cost.wavefronts, cost.ideal, cost.profiler_ideal
    return [
        WarpPattern(
            rows[i],
            np.ones(rows.shape[1], dtype=np.bool_),
            numbers[0] % warps,
            len(numbers),
            int(prices[0, i]),
            int(prices[1, i]),
            int(prices[2, i]),
            width,
        )
        for i, numbers in enumerate(alike.values())
    ]
