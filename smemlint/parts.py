"""A run is evaluated in parts, one translation unit each, which do not depend on one another.

A kernel in a header can be in several parts; putting them together keeps the first of each
instance, so that the outcome is that of one part after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smemlint.engine import judged, sites_of
from smemlint.evaluate.journal import Journal
from smemlint.facts import Facts, NotAnalysed, Span

if TYPE_CHECKING:
    from smemlint.config import Configuration
    from smemlint.engine import Site
    from smemlint.evaluate.project import Project
    from smemlint.facts import Instance
    from smemlint.finding import Finding
    from smemlint.source import Source

InstanceKey = tuple[Span, object, object]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one unit gave.

    Attributes:
        findings: of all rules, before selection and suppression.
        sites: the access sites of its kernel instances.
        crashed: an internal error took something out of it.
        journal: what it rests on.
        facts: everything; empty unless asked for.
        is_lost: there was no answer; another run may give one.
    """

    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    crashed: bool = False
    journal: Journal = field(default_factory=Journal)
    facts: Facts = field(default_factory=Facts)
    is_lost: bool = False


class Evaluator:
    """Evaluates units by their roots; lives in every process of a run.

    Args:
        sources: the files of the run.
        configuration: the settings of each; a unit is evaluated under those of its root.
        keep_facts: parts bring their facts along.
    """

    def __init__(
        self, sources: Sequence[Source], configuration: Configuration, *, keep_facts: bool = False
    ) -> None:
        self._sources = sources
        self._configuration = configuration
        self._keep_facts = keep_facts
        self._projects: dict[int, Project] = {}
        self._crashes: list[NotAnalysed] = []

    def __call__(self, root: str) -> Part:
        """The part of one root; bounded in time, and errors are part of the outcome."""
        from smemlint.evaluate.limits import OutOfTime, time_limit

        settings = self._configuration.for_file(root)
        project = self._project(root)
        self._crashes.clear()
        facts, journal = Facts(), Journal()
        findings: list[Finding] = []
        try:
            with time_limit(settings.time_limit):
                facts, journal = project.alone(root)
                findings = judged(facts, self._configuration.for_file, self._crashes.append)
        except OutOfTime as spent:
            note = NotAnalysed(Span(root, 1, 1, 1, 1), "", str(spent))
            facts = Facts(not_analysed=(*facts.not_analysed, note))
            journal = project.journal
            findings = judged(facts, self._configuration.for_file, self._crashes.append)
        if self._crashes:
            notes = Facts(not_analysed=tuple(self._crashes))
            findings += judged(notes, self._configuration.for_file)
            facts = Facts(facts.kernels, (*facts.not_analysed, *notes.not_analysed), facts.layouts)
        kept = facts if self._keep_facts else Facts()
        return Part(tuple(findings), sites_of(facts), bool(self._crashes), journal, kept)

    def _project(self, root: str) -> Project:
        from smemlint.evaluate.project import Project

        settings = self._configuration.for_file(root)
        if id(settings) not in self._projects:
            made = Project(self._sources, settings, self._crashes.append)
            self._projects[id(settings)] = made
        return self._projects[id(settings)]


def together(parts: Sequence[Part]) -> Part:
    """All parts as one: of each kernel instance and place, what the first part says."""
    findings: list[Finding] = []
    sites: list[Site] = []
    instances: dict[InstanceKey, int] = {}
    places: dict[tuple[str, Span], int] = {}
    for index, part in enumerate(parts):
        for finding in part.findings:
            if finding.access is not None:
                first = instances.setdefault(_key(finding.access.instance), index)
            else:
                first = places.setdefault((finding.code, finding.span), index)
            if first == index:
                findings.append(finding)
        sites += part.sites
    return Part(
        tuple(findings),
        tuple(dict.fromkeys(sites)),
        any(part.crashed for part in parts),
        facts=_facts_together(parts),
    )


def _facts_together(parts: Sequence[Part]) -> Facts:
    instances: set[InstanceKey] = set()
    kernels = []
    for part in parts:
        fresh = [k for k in part.facts.kernels if _key(k.instance) not in instances]
        instances.update(_key(k.instance) for k in fresh)
        kernels += fresh
    notes = dict.fromkeys(n for part in parts for n in part.facts.not_analysed)
    layouts = {u.span: u for part in reversed(parts) for u in part.facts.layouts}
    return Facts(tuple(kernels), tuple(notes), tuple(layouts.values()))


def _key(instance: Instance) -> InstanceKey:
    return instance.span, instance.template, instance.block
