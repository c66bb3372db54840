"""Joins what the analysis says of a line with what the machine code does there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tests.oracle.compiled.analysis import Key, LineFigures, Lines, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.oracle.compiled.instances import Instance

TOLERANCE = 0.05
CONFLICT = 1.05


class Verdict(StrEnum):
    """How the two differ on one line of one instance in one direction."""

    AGREES = "agrees"
    FALSE_ALARM = "false alarm"
    MISSED = "missed conflict"
    WRONG_FIGURE = "wrong figure"
    OTHER_LINES = "same instructions on other lines"
    UNDECIDED = "undecided by the analysis"
    UNDECIDED_BOTH = "undecided by both"
    UNKNOWN_TO_ORACLE = "undecided by the oracle"
    NOT_SEEN = "not seen by the analysis"
    ELIMINATED = "no such instruction"


WRONG = (Verdict.FALSE_ALARM, Verdict.MISSED, Verdict.WRONG_FIGURE)
_MAY_MOVE = (*WRONG, Verdict.NOT_SEEN, Verdict.ELIMINATED)


@dataclass(frozen=True, slots=True)
class Difference:
    """One line of one instance in one direction, as both see it."""

    instance: Instance
    file: str
    line: int
    direction: str
    verdict: Verdict
    analysis: LineFigures | None
    oracle: LineFigures | None

    @property
    def cause(self) -> str:
        """What the figures alone tell of the reason, a first grouping."""
        ours, theirs = self.analysis, self.oracle
        if ours is None or theirs is None or self.verdict not in WRONG:
            return "; ".join(sorted(_class_of(r) for r in ours.reasons)) if ours else ""
        if theirs.widths != ours.widths:
            if not ours.widths or not theirs.widths:
                return "no figure"
            if max(theirs.widths) > max(ours.widths):
                return "the compiler fuses, the analysis does not"
            if max(theirs.widths) < max(ours.widths):
                return "the analysis fuses, the compiler does not"
            return "widths are mixed otherwise"
        if theirs.instructions != ours.instructions:
            return "same widths, other number of instructions"
        return "same instructions, other addresses"


def differences(analysis: Rows, oracle: Rows) -> Iterator[Difference]:
    """Yields every line that either side has a row for, of the instances that the oracle ran.

    Args:
        analysis: what smemlint says.
        oracle: what the machine code does, for the same instances.
    """
    for instance, lines in oracle.items():
        ours = analysis.get(instance, {})
        moved = {key for way in ("load", "store") for key in _moved(ours, lines, way)}
        for key in sorted({*lines, *ours}):
            mine, theirs = ours.get(key), lines.get(key)
            verdict = _verdict(mine, theirs)
            if verdict in _MAY_MOVE and key in moved:
                verdict = Verdict.OTHER_LINES
            yield Difference(instance, *key, verdict, mine, theirs)


def _moved(ours: Lines, theirs: Lines, way: str) -> set[Key]:
    """Returns the lines whose instructions both see, but on other lines.

    Where ptxas merges blocks or moves a load out of a loop, an instruction takes the line of another
    one, or of a declaration. So all that both sides decide is the same, over all lines or over those
    that both have; or one side has on one line what the other has on another one, and no more.
    """
    lines = [{k: line for k, line in side.items() if k[2] == way} for side in (ours, theirs)]
    keys = {*lines[0], *lines[1]}
    decided = {k for k in keys if all(k not in side or side[k].is_decided for side in lines)}
    apart = {k: _figures(lines[0].get(k)) - _figures(lines[1].get(k)) for k in decided}
    for same in (decided, lines[0].keys() & lines[1].keys() & decided):
        total = sum((_figures(lines[1].get(k)) for k in same), start=np.zeros(3))
        if _are_near(sum((apart[k] for k in same), start=np.zeros(3)), total):
            return same
    found: set[Key] = set()
    for one, other in combinations(sorted(k for k in decided if apart[k].any()), 2):
        if found.isdisjoint((one, other)) and _are_near(apart[one] + apart[other], apart[one]):
            found |= {one, other}
    return found


def _figures(line: LineFigures | None) -> NDArray[np.float64]:
    """Returns what is compared of a line: its wavefronts, their ideal and its instructions."""
    return np.array((line.wavefronts, line.ideal, line.instructions) if line else (0, 0, 0), float)


def _are_near(difference: NDArray[np.float64], real: NDArray[np.float64]) -> bool:
    return bool((np.abs(difference) <= TOLERANCE * np.abs(real)).all())


def _verdict(ours: LineFigures | None, theirs: LineFigures | None) -> Verdict:
    if theirs is None:
        return Verdict.ELIMINATED
    if ours is None:
        return Verdict.NOT_SEEN
    if not theirs.is_decided:
        return Verdict.UNKNOWN_TO_ORACLE if ours.is_decided else Verdict.UNDECIDED_BOTH
    if not ours.is_decided:
        return Verdict.UNDECIDED
    mine, real = ours.excess or 0.0, theirs.excess or 0.0
    if abs(mine - real) <= TOLERANCE * real:
        return Verdict.AGREES
    if theirs.is_supposed:  # other sizes than those that the analysis knows
        return Verdict.UNKNOWN_TO_ORACLE
    if mine > CONFLICT >= real:
        return Verdict.FALSE_ALARM
    return Verdict.MISSED if real > CONFLICT >= mine else Verdict.WRONG_FIGURE


def _class_of(reason: str) -> str:
    """A reason without its names and numbers."""
    return reason.split("`")[0].strip()[:60]
