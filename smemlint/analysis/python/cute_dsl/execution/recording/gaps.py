"""Loads between which LLVM fills gaps, as no element of less than a word is loaded by itself then.

nvidia-cutlass-dsl 4.8.1, sm_90a, rows of halves that begin at multiples of 16 bytes: of s[0] and
s[2] an LDS.64 is made, of s[0], s[2], s[4], s[6] an LDS.128, of s[0], s[3], s[6], s[9] an LDS.64
and two LDS.U16, of s[1] and s[3] two LDS.U16; and so of bytes. Of words, ptxas loads those that are
read. How far a chain goes is not modelled, and the figure open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from smemlint.analysis.simt.codegen.slots import run_and_position
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WIDEST_ACCESS, WORD

_FILLED = (2, 3)
"""Elements from a load to the next one of a vector, with a gap between them."""


def mark_gaps(items: Iterable[Event | Fence]) -> None:
    """Marks loads of a basic block that lie in a vector which lacks elements behind its first."""
    slots: dict[object, dict[int, Event]] = {}
    for item in items:
        if isinstance(item, Fence):
            slots = {}
        elif item.kind is AccessKind.LOAD and isinstance(item.offset, AffineInt):
            _add(item, item.offset, slots)


def _add(load: Event, offset: AffineInt, slots: dict[object, dict[int, Event]]) -> None:
    run, position = run_and_position(load, offset)
    size = gcd(run[2].alignment, WIDEST_ACCESS)
    if load.width >= WORD or size < 4 * load.width:
        return
    slot = slots.setdefault((*run, position // size), {})
    slot[position % size // load.width] = load
    if any(at % 4 == 0 and at + 1 not in slot and _follows(slot, at) for at in slot):
        for event in slot.values():
            event.may_fuse = WIDEST_ACCESS


def _follows(slot: Mapping[int, Event], at: int) -> bool:
    return any(at + gap in slot for gap in _FILLED)
