"""Joins what the analysis says of a line with what the machine code does there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.oracle.compiled.analysis import LineFigures, Lines, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        same = {way for way in ("load", "store") if _same_in_all(ours, lines, way)}
        for key in sorted({*lines, *ours}):
            mine, theirs = ours.get(key), lines.get(key)
            verdict = _verdict(mine, theirs)
            if verdict in WRONG and key[2] in same:
                verdict = Verdict.OTHER_LINES
            yield Difference(instance, *key, verdict, mine, theirs)


def _same_in_all(ours: Lines, theirs: Lines, way: str) -> bool:
    """Whether both count the same over all lines that both decide, or over all that either does.

    Where ptxas merges blocks, an instruction takes the line of one of them, or of a declaration.
    """
    mine, real = (
        {key: line.wavefronts for key, line in lines.items() if key[2] == way and line.is_decided}
        for lines in (ours, theirs)
    )
    both = mine.keys() & real.keys()
    return _are_near(mine.values(), real.values()) or _are_near(
        [mine[key] for key in both], [real[key] for key in both]
    )


def _are_near(mine: Iterable[float], real: Iterable[float]) -> bool:
    total = sum(real)
    return abs(sum(mine) - total) <= TOLERANCE * total


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
