"""Why the lanes of a conflicting pattern meet, where their addresses are linear over the lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.hardware.arch import LANES
from smemlint.layout.linear import ROW_BYTES, collision

if TYPE_CHECKING:
    from smemlint.facts import Access, WarpPattern


def explanation(access: Access, pattern: WarpPattern, ways: float) -> str:
    """The lane bits that do not reach the bank, in words; empty where that does not tell `ways`."""
    active = access.addressing(pattern)
    size = min(LANES, ROW_BYTES // pattern.width)
    for first in range(0, LANES, size):
        if active[first : first + size].all():
            lanes = pattern.addresses[first : first + size].tolist()
            found = collision(lanes, pattern.width)
            if found is not None and found.ways == ways:
                return str(found)
    return ""
