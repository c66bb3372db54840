"""One run: sources to facts to findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smemlint.facts import Facts, NotAnalysed, Span
from smemlint.finding import Finding, Severity

if TYPE_CHECKING:
    from smemlint.config import Settings
    from smemlint.source import Source

_MARKS = ("__shared__", "ldmatrix", ".shared", "__cvta_generic_to_shared")


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a run found.

    Attributes:
        findings: in order of place.
        hidden: findings that a pragma covers, each with its `suppression`.
        facts: everything, for reports.
        files: how many files were looked at.
        crashed: an internal error took something out of the analysis.
    """

    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...]
    facts: Facts
    files: int
    crashed: bool = False

    def count(self, severity: Severity) -> int:
        """Findings of a severity."""
        return sum(f.severity is severity for f in self.findings)

    @property
    def suppressed(self) -> int:
        """Findings that are not shown."""
        return len(self.hidden)

    @property
    def decided(self) -> int:
        """Access sites with a figure or verdict, instances taken together."""
        return self._sites()[0]

    @property
    def undecided(self) -> int:
        """Access sites without."""
        return self._sites()[1]

    def _sites(self) -> tuple[int, int]:
        sites: dict[object, bool] = {}
        for kernel in self.facts.kernels:
            for access in kernel.accesses:
                key = (access.span, access.kind)
                sites[key] = sites.get(key, True) and access.certainty.is_decided
        decided = sum(sites.values())
        return decided, len(sites) - decided


def analyze(sources: Sequence[Source], settings: Settings) -> tuple[Facts, bool]:
    """The facts of the sources, and whether an internal error cost some of them.

    Nothing is imported for sources without shared memory.
    """
    if not any(mark in source.text for source in sources for mark in _MARKS):
        return Facts(not_analysed=tuple(_problems(sources))), False
    from smemlint.evaluate.project import evaluate_project

    crashes: list[NotAnalysed] = []
    facts = evaluate_project(sources, settings, crashes.append)
    notes = (*_problems(sources), *facts.not_analysed, *crashes)
    return replace(facts, not_analysed=notes), bool(crashes)


def check(sources: Sequence[Source], settings: Settings) -> Result:
    """Runs the selected rules on the sources."""
    from smemlint.registry import selected
    from smemlint.suppress import suppress

    facts, crashed = analyze(sources, settings)
    found: list[Finding] = []
    if facts.kernels or facts.not_analysed or settings.select or settings.ignore:
        rules = selected(settings.select, settings.ignore, settings.extend_select)
        found = [f for rule in rules for f in rule.check(facts, settings)]
    texts = {s.path: s for s in sources}
    paths = [s.path for s in sources if "smemlint:" in s.text]
    kept = suppress(_merged(found), paths, lambda path: texts[path].text)
    order = sorted(kept.findings, key=lambda f: (f.span, f.code))
    return Result(tuple(order), kept.hidden, facts, len(sources), crashed)


def _problems(sources: Sequence[Source]) -> list[NotAnalysed]:
    found = []
    for source in sources:
        source.text  # noqa: B018 - reading finds the problem
        if source.problem and source.problem != "binary":
            found.append(NotAnalysed(Span(source.path, 1, 1, 1, 1), "", source.problem))
    return found


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """One finding a rule and place: the heaviest kernel instance, the others counted."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        array = finding.access.array if finding.access is not None else None
        what = array.name if array is not None else finding.message
        groups.setdefault((finding.code, finding.span, what), []).append(finding)
    merged = []
    for group in groups.values():
        heaviest = max(group, key=lambda f: f.weight)
        others = len(group) - 1
        if others and heaviest.access is not None:
            title = heaviest.access.instance.title
            more = f"in `{title}`, the worst of {len(group)} findings here (instances or kinds)"
            heaviest = replace(heaviest, notes=(*heaviest.notes, more))
        merged.append(heaviest)
    return merged
