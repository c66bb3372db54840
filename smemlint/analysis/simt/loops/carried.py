"""What iterations of a loop add to its variables, as a trial of it shows."""

from __future__ import annotations

from math import gcd

import numpy as np

from smemlint.analysis.simt.domain.environment import Mask
from smemlint.analysis.simt.domain.masking import same, seen_by
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Value
from smemlint.analysis.simt.loops.known_trips import Carried, Trips


def carried_by(ends: UndoLog, trial: Trips, mask: Mask) -> Carried:
    """Returns what iterations add, for those threads, to the cells that a trial changed.

    A change that alternates counts by the power of two that it has: of `at ^= 4096` as of
    `at = 4096 - at` the compiler knows that four elements at a multiple of four are aligned.
    """
    found: Carried = {}
    for key, (obj, at, end) in ends.items():
        begin, end = seen_by(mask, obj.cells.get(at)), seen_by(mask, end)
        step = _advance(begin, end, trial.count)
        if key in trial.first and trial.count > 1:
            between = seen_by(mask, trial.first[key][2])
            first, rest = _advance(begin, between, 1), _advance(between, end, trial.count - 1)
            step = gcd(first, rest) if first and rest and first != rest else step
        if step is not None:
            found[key] = obj, at, step
    return found


def _advance(begin: Value | None, end: Value | None, trips: int) -> int | None:
    """Returns a cell's constant change by iteration; 0 if not constant, None if no number."""
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        begin, end = begin.offset, end.offset
    if not isinstance(begin, AffineInt) or not isinstance(end, AffineInt):
        return None
    if not isinstance(begin.base, int) or not isinstance(end.base, int):
        change = np.unique(np.asarray(end.base) - np.asarray(begin.base))
        if len(change) != 1 or not same(
            AffineInt(0, terms=begin.terms), AffineInt(0, terms=end.terms)
        ):
            return 0
        total = int(change[0])
    else:
        total = end.base - begin.base
    return total // trips if total % trips == 0 else 0
