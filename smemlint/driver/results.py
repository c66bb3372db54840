"""Results of one unit and of a run, before selection and suppression."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.facts import Facts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.guard import NOTHING, Allowance
from smemlint.sources.languages import is_python_path

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from smemlint.analysis.simt.analyze import Project
    from smemlint.facts import Instance, Site, Span
    from smemlint.finding import Finding


@dataclass(frozen=True, slots=True, eq=False)
class UnitResult:
    """Result of one unit, or of all units of a run together.

    Attributes:
        findings: of all rules, before selection and suppression.
        sites: the access sites of its kernel instances.
        crashed: an internal error took something out of it.
        dependencies: what it is valid with.
        facts: everything; empty where nobody will ask.
        is_lost: there was no answer, or not all of it; another run may give one.
        is_joined: what it found is judged together with compiled code, not by itself.
        reached: places in other files that its execution came to.
        interruption: the exit code of a run that was interrupted before it was done; else 0.
    """

    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    crashed: bool = False
    dependencies: Dependencies = field(default_factory=Dependencies)
    facts: Facts = field(default_factory=Facts)
    is_lost: bool = False
    spent: Allowance = NOTHING
    is_joined: bool = False
    reached: tuple[Span, ...] = ()
    interruption: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """Result of a run before selection and suppression.

    Attributes:
        merged: the results of all units as one.
        notices: findings on files that could not be read as they are, and on what only all units
            together show.
        with_pragmas: files that hold pragmas.
    """

    merged: UnitResult
    notices: tuple[Finding, ...]
    with_pragmas: tuple[str, ...]


class ResultStore:
    """Results of earlier runs, on disk or in memory; this class knows of none."""

    def unchanged(self) -> RunResult | None:
        """Returns the last result where nothing changed since, and nothing is left to find."""
        return None

    def valid_results(self, tasks: Sequence[str], program: Project) -> dict[str, UnitResult]:
        """Returns by task the results that no change since bears on, at the places of now."""
        return {}

    def store(self, results: Mapping[str, UnitResult], run: RunResult | None) -> None:
        """Keeps the results by task, and that of the run; None for one that is broken off."""


def merge(results: Sequence[UnitResult]) -> UnitResult:
    """Merges the results of units: of each kernel instance and place the first result decides.

    A kernel in a header can be in several units; the outcome does not depend on which process
    evaluated them, or when. Of a kernel of a Python file the result decides that decides most of
    its file: another one may have executed it without knowing what its own callers pass. Of what
    one did not reach, and another one did, nothing is reported.
    """
    findings: list[Finding] = []
    sites: list[Site] = []
    instances: dict[Hashable, int] = {}
    places: dict[tuple[str, Span], int] = {}
    place = _places(results)
    reached = frozenset(span for result in results for span in result.reached)
    for index, result in enumerate(results):
        for instance in (f.access.instance for f in result.findings if f.access is not None):
            mine = place(index, instance)
            instances[instance.key] = min(mine, instances.get(instance.key, mine))
    for index, result in enumerate(results):
        for finding in result.findings:
            if finding.gaps and all(gap.is_refuted(reached) for gap in finding.gaps):
                continue
            if finding.access is not None:
                instance = finding.access.instance
                is_first = place(index, instance) == instances[instance.key]
            else:
                is_first = places.setdefault((finding.code, finding.span), index) == index
            if is_first:
                findings.append(finding)
        sites += result.sites
    return UnitResult(
        tuple(findings),
        tuple(dict.fromkeys(sites)),
        any(result.crashed for result in results),
        facts=Facts.merged([result.facts for result in results], place),
        is_lost=any(result.is_lost for result in results),
        spent=NOTHING.most(*(result.spent for result in results)),
        reached=tuple(sorted(reached)),
        interruption=max((result.interruption for result in results), default=0),
    )


def _places(results: Sequence[UnitResult]) -> Callable[[int, Instance], int]:
    """Returns what gives the place of a result among those that hold a kernel instance."""
    decided: dict[str, Counter[int]] = {}
    for index, result in enumerate(results):
        for span, _, is_decided in result.sites:
            if is_decided and is_python_path(span.path):
                decided.setdefault(span.path, Counter())[index] += 1
    places = {
        path: {at: place for place, (at, _) in enumerate(sorted(n.items(), key=_most_first))}
        for path, n in decided.items()
    }

    def place(index: int, instance: Instance) -> int:
        of_file = places.get(instance.span.path)
        return index if of_file is None else of_file.get(index, len(of_file) + index)

    return place


def _most_first(item: tuple[int, int]) -> tuple[int, int]:
    index, decided = item
    return -decided, index


def array_files(findings: Sequence[Finding]) -> set[str]:
    """Returns the files of the arrays that findings are about: where fixes are made."""
    accesses = (f.access for f in findings)
    return {a.array.span.path for a in accesses if a is not None and a.array is not None}
