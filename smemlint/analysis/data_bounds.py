"""What an access costs whose addresses hang on data: at best, at worst, for random indexes.

The index range is what the code leaves open (`(word & 63) * 64 + lane`), or else the array. The
best and the worst figure are those of patterns that lie in it: all lanes on one element,
neighbours, and each bank in turn. For indexes that are uniformly random and independent, the
expectation is the mean over 4,096 seeded draws, priced by the bank model. 32 lanes of an atomic
over many words: 3.54, where the exact one is 3.533. For random bytes the two histograms of
cuda-samples take 3.153 and 2.000 wavefronts where this says 3.17 and 2.0 (H100,
fixtures/gpu/histograms.json).
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from smemlint.facts import AccessKind, Certainty
from smemlint.hardware.arch import BANKS, LANES, WORD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smemlint.facts import Access, DataAddresses, SharedArray

_DRAWS = 4096
_SEED = 20
_ROW = BANKS * WORD
_KINDS = (AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC)


class DataBounds(NamedTuple):
    """Wavefronts of one instruction: of the first warp, or of a full one.

    Attributes:
        expected: the mean for uniformly random, independent indexes.
    """

    best: int
    worst: int
    expected: float

    def __str__(self) -> str:
        return f"{self.best} to {self.worst} wavefronts, {self.expected:.3g} for random indexes"


def data_bounds(access: Access) -> DataBounds | None:
    """Returns the bounds of an access that hangs on data, priced as on sm_90; else None."""
    array = access.array
    is_open = access.certainty is Certainty.DATA_DEPENDENT and access.kind in _KINDS
    if is_open and access.data is not None:
        return _bounds_of_range(access, access.data)
    if not is_open or array is None:
        return None
    width = access.width_bytes or array.element_bytes
    size = _bytes(array)
    if not size or width not in (1, 2, 4, 8, 16):
        return None
    try:
        return _bounds(access.kind, width, size // width, _operation(access))
    except ValueError:  # nobody measured it
        return None


def _operation(access: Access) -> str:
    return access.note if access.kind is AccessKind.ATOMIC else "add.u32"


def _bounds_of_range(access: Access, data: DataAddresses) -> DataBounds | None:
    """Bounds of a warp of which each lane's address lies in a range of its own."""
    import numpy as np

    from smemlint.hardware.banks import wavefronts

    lane = np.arange(LANES, dtype=np.int64)
    shaped = np.stack([lane * 0, lane % data.count, *_in_one_bank(data)])
    drawn = np.random.default_rng(_SEED).integers(0, data.count, (_DRAWS, LANES))
    try:
        spent = wavefronts(
            data.base + data.step * np.concatenate([shaped, drawn]),
            kind=str(access.kind),
            width=data.width,
            active=np.broadcast_to(data.active, (len(shaped) + _DRAWS, LANES)),
            operation=_operation(access),
        ).wavefronts
    except ValueError:  # nobody measured it, or it is misaligned
        return None
    return DataBounds(int(spent.min()), int(spent.max()), float(spent[len(shaped) :].mean()))


def _in_one_bank(data: DataAddresses) -> NDArray[np.int64]:
    """Returns which `k` brings a lane to a bank, each another word; of shape (32, 32).

    A lane that does not come to a bank stays at its first address.
    """
    import numpy as np

    period = _ROW // gcd(data.step, _ROW)  # addresses meet their banks again
    tried = np.arange(min(period, data.count), dtype=np.int64)
    banks = (data.base[:, None] + data.step * tried) // WORD % BANKS
    hits = banks[None] == np.arange(BANKS)[:, None, None]
    first = hits.argmax(axis=2)
    rounds = (data.count - 1 - first) // period + 1
    return np.where(hits.any(axis=2), first + period * (np.arange(LANES) % rounds), 0)


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

    from smemlint.hardware.banks import wavefronts

    lane = np.arange(LANES, dtype=np.int64)
    in_bank = max(-(-elements * width // _ROW), 1)
    shaped = np.stack([lane * 0, lane % elements * width, lane % in_bank * _ROW])
    drawn = np.random.default_rng(_SEED).integers(0, elements, (_DRAWS, LANES)) * width
    spent = wavefronts(
        np.concatenate([shaped, drawn]), kind=str(kind), width=width, operation=operation
    ).wavefronts
    return DataBounds(int(spent.min()), int(spent.max()), float(spent[len(shaped) :].mean()))
