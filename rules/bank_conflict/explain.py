"""Why the lanes of a conflicting pattern meet, where their addresses are linear over the lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.facts import AccessKind
from smemlint.hardware.arch import LANES
from smemlint.layout.linear import ROW_BYTES, collision

if TYPE_CHECKING:
    from smemlint.facts import Access, WarpPattern


def explanation(access: Access, pattern: WarpPattern, ways: float) -> str:
    """The lane bits that do not reach the bank, in words; empty where that does not tell `ways`."""
    active = pattern.active
    if access.kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
        active = np.arange(LANES) < 8 * (access.matrices or 4)
    size = min(LANES, ROW_BYTES // pattern.width)
    for first in range(0, LANES, size):
        if active[first : first + size].all():
            lanes = pattern.addresses[first : first + size].tolist()
            found = collision(lanes, pattern.width)
            if found is not None and found.ways == ways:
                return str(found)
    return ""
