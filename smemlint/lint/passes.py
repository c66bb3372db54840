"""Which lanes of a warp the hardware serves together, and what they need of each bank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import Access, AccessKind, WarpPattern
from smemlint.hardware.banks import bank_words
from smemlint.lazy_dataclasses import dataclass

_LANES, _BANKS, _WORD, _ROW_BYTES = 32, 32, 4, 128


@dataclass(frozen=True, slots=True)
class Pass:
    """Neighbouring lanes that are served together.

    Attributes:
        first, last: the lanes, both included.
        banks: of each active lane, the banks that it reaches: (lane, banks).
        words: distinct words in each of the 32 banks.
    """

    first: int
    last: int
    banks: tuple[tuple[int, tuple[int, ...]], ...]
    words: tuple[int, ...]

    @property
    def turns(self) -> int:
        """Wavefronts that it takes: the words in the most crowded bank."""
        return max(self.words)


def passes(access: Access, pattern: WarpPattern) -> tuple[Pass, ...]:
    """Returns the passes of a warp instruction; all lanes as one where the split explains nothing.

    A pass moves at most 128 bytes; lanes that pair up double it. Of both splits that one is taken
    whose turns add up to the recorded wavefronts.
    """
    active = pattern.active
    if access.kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
        active = np.arange(_LANES) < 8 * (access.matrices or 4)
    size = min(_LANES, _ROW_BYTES // max(pattern.width, _WORD))
    for lanes in (size, min(2 * size, _LANES)):
        split = [_pass(pattern, active, first, lanes) for first in range(0, _LANES, lanes)]
        if sum(p.turns for p in split) == pattern.wavefronts:
            return tuple(p for p in split if p.banks)
    return (_pass(pattern, active, 0, _LANES),)


def _pass(pattern: WarpPattern, active: NDArray[np.bool_], first: int, lanes: int) -> Pass:
    inside = (np.arange(_LANES) // lanes == first // lanes) & active
    words = bank_words(pattern.addresses, pattern.width, inside)
    reach = range(max(pattern.width // _WORD, 1))
    banks = tuple(
        (int(lane), tuple((int(pattern.addresses[lane]) // _WORD + k) % _BANKS for k in reach))
        for lane in np.flatnonzero(inside)
    )
    return Pass(first, first + lanes - 1, banks, tuple(words.tolist()))
