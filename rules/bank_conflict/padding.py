"""Which padding of an array's rows frees the banks, checked on every access of the array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.facts import AccessKind
from smemlint.hardware import wavefronts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.facts import Access, KernelFacts, SharedArray, WarpPattern

_MOST_PATTERNS = 64  # of an access are kept: a full list may lack some
_PRICED = frozenset((AccessKind.LOAD, AccessKind.STORE, AccessKind.LDMATRIX, AccessKind.STMATRIX))


def padded_pitch(access: Access, kernel: KernelFacts) -> str:
    """The smallest padding that frees all accesses of the array, in words; empty when none does.

    Every recorded pattern of every access of the array is moved to the new pitch and priced again,
    reads and writes together; a padding that misaligns one of them is no candidate.
    """
    array = access.array
    if array is None or len(array.dims) < 2 or None in array.dims or not array.element_bytes:
        return ""
    users = [a for a in kernel.accesses if a.array is array]
    if any(not _is_movable(a) for a in users):
        return ""
    dims = [d for d in array.dims if d is not None]
    widest = max(p.width for a in users for p in a.patterns)
    step = max(widest // array.element_bytes, 1)
    for extra in range(step, 8 * step + 1, step):
        if all(_is_free(a, array, dims[-1], extra) for a in users):
            rows = int(np.prod(dims[:-1]))
            shape = "".join(f"[{d}]" for d in (*dims[:-1], dims[-1] + extra))
            others = len(users) - 1
            also = (
                f", with {others} other access{'es' if others != 1 else ''} of it" if others else ""
            )
            return (
                f"pad the rows: `{array.name}{shape}` makes this access conflict-free{also} "
                f"(+{rows * extra * array.element_bytes} bytes)"
            )
    return ""


def _is_movable(access: Access) -> bool:
    complete = len(access.patterns) < _MOST_PATTERNS
    return access.certainty.is_decided and complete and access.kind in _PRICED


def _is_free(access: Access, array: SharedArray, pitch: int, extra: int) -> bool:
    return all(_ways(p, access, array, pitch, extra) == 1 for p in access.patterns)


def _ways(
    pattern: WarpPattern, access: Access, array: SharedArray, pitch: int, extra: int
) -> float:
    """Wavefronts over ideal at the padded pitch; infinite where it would be misaligned."""
    moved = _moved(pattern.addresses - array.base, array.element_bytes, pitch, extra)
    try:
        cost = wavefronts(
            moved,
            kind=str(access.kind),
            width=pattern.width,
            active=pattern.active,
            matrices=access.matrices or 4,
        )
    except ValueError:
        return float("inf")
    best = max(int(cost.ideal), int(cost.profiler_ideal))
    return int(cost.wavefronts) / best if best else 1


def _moved(
    offsets: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    element: int,
    pitch: int,
    extra: int,
) -> Sequence[int]:
    rows = offsets // (pitch * element)
    return offsets + rows * extra * element  # type: ignore[no-any-return]
