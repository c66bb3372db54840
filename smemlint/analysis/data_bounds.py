"""What an access costs whose addresses hang on data: at best, at worst, for random indexes.

The index range is the array. The best and the worst figure are those of patterns that lie in it:
all lanes on one element, neighbours, and one bank. For indexes that are uniformly random and
independent, the expectation is the mean over 4,096 seeded draws of a full warp, priced by the bank
model. 32 lanes of an atomic over many words: 3.54, where the exact one is 3.533.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from smemlint.facts import AccessKind, Certainty
from smemlint.hardware.arch import BANKS, LANES, WORD

if TYPE_CHECKING:
    from smemlint.facts import Access, SharedArray

_DRAWS = 4096
_SEED = 20
_ROW = BANKS * WORD
_KINDS = (AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC)


class DataBounds(NamedTuple):
    """Wavefronts of one instruction of a full warp.

    Attributes:
        best: the least.
        worst: the most.
        expected: the mean for uniformly random, independent indexes.
    """

    best: int
    worst: int
    expected: float

    def __str__(self) -> str:
        return f"{self.best} to {self.worst} wavefronts, {self.expected:.3g} for random indexes"


def data_bounds(access: Access) -> DataBounds | None:
    """Returns the bounds of an access that hangs on data.

    Args:
        access: of any certainty; it is priced as measured on sm_90.

    Returns:
        None for all others, and where the size of the array or the price is not known.
    """
    array = access.array
    is_open = access.certainty is Certainty.DATA_DEPENDENT and access.kind in _KINDS
    if not is_open or array is None:
        return None
    width = access.width_bytes or array.element_bytes
    size = _bytes(array)
    if not size or width not in (1, 2, 4, 8, 16):
        return None
    operation = access.note if access.kind is AccessKind.ATOMIC else "add.u32"
    try:
        return _bounds(access.kind, width, size // width, operation)
    except ValueError:  # nobody measured it
        return None


def _bytes(array: SharedArray) -> int | None:
    if array.bytes is not None:
        return array.bytes
    size = array.element_bytes
    for extent in array.dims:
        if extent is None:
            return None
        size *= extent
    return size


@lru_cache(maxsize=1024)
def _bounds(kind: AccessKind, width: int, elements: int, operation: str) -> DataBounds | None:
    if not elements:
        return None
    import numpy as np

    from smemlint.hardware import wavefronts

    lane = np.arange(LANES, dtype=np.int64)
    in_bank = max(-(-elements * width // _ROW), 1)
    shaped = np.stack([lane * 0, lane % elements * width, lane % in_bank * _ROW])
    drawn = np.random.default_rng(_SEED).integers(0, elements, (_DRAWS, LANES)) * width
    spent = wavefronts(
        np.concatenate([shaped, drawn]),
        kind=str(kind),
        width=width,
        operation=operation,
    ).wavefronts
    return DataBounds(int(spent.min()), int(spent.max()), float(spent[len(shaped) :].mean()))
