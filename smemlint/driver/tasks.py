"""A run is evaluated in shares, one translation unit each, that do not depend on one another.

A kernel in a header can be in several shares; putting them together keeps the first of each
instance, so that the outcome is that of one share after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.files import compiled_facts, is_compiled
from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.python.dialects import is_python, python_facts
from smemlint.facts import Facts, NotAnalysed, Span, sites_of
from smemlint.limits.errors import LimitReached, OutOfSteps, reason_of
from smemlint.limits.guard import NOTHING, Allowance, limited
from smemlint.lint.check import judged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.analysis.program.memo import Work
    from smemlint.analysis.simt.analyze import Project
    from smemlint.config.settings import Configuration
    from smemlint.facts import Instance, Site
    from smemlint.finding import Finding
    from smemlint.sources.source import Source

InstanceKey = tuple[Span, object, object]


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one unit gave.

    Attributes:
        findings: of all rules, before selection and suppression.
        sites: the access sites of its kernel instances.
        crashed: an internal error took something out of it.
        journal: what it rests on.
        facts: everything; empty where nobody will ask.
        is_lost: there was no answer, or not all of it; another run may give one.
        spent: what it took.
    """

    findings: tuple[Finding, ...] = ()
    sites: tuple[Site, ...] = ()
    crashed: bool = False
    journal: Dependencies = field(default_factory=Dependencies)
    facts: Facts = field(default_factory=Facts)
    is_lost: bool = False
    spent: Allowance = NOTHING


class Evaluator:
    """Evaluates units by their roots; lives in every process of a run.

    Args:
        sources: the files of the run.
        configuration: the settings of each; a unit is evaluated under those of its root.
        keep_facts: shares bring their facts along.
        work: what is known from before; everything is done anew without it.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        configuration: Configuration,
        *,
        keep_facts: bool = False,
        work: Work | None = None,
    ) -> None:
        self._sources = sources
        self._cuda = [s for s in sources if not is_python(s) and not is_compiled(s)]
        self._compiled = {s.path: s for s in sources if is_compiled(s)}
        self._python = {s.path: s for s in sources if is_python(s)}
        self._configuration = configuration
        self._keep_facts = keep_facts
        self._work = work
        self._projects: dict[int, Project] = {}
        self._crashes: list[NotAnalysed] = []

    def __call__(self, root: str) -> Share:
        """The share of one root; bounded in time, and errors are part of the outcome."""
        settings = self._configuration.for_file(root)
        if root in self._python:
            work: Callable[[str], tuple[Facts, Dependencies]] = self._of_python
        elif root in self._compiled:
            work = self._of_compiled
        else:
            work = self.project(root).alone
        self._crashes.clear()
        facts, journal = Facts(), Dependencies()
        findings: list[Finding] = []
        allowance = Allowance.of(settings.time_limit)
        try:
            with limited(allowance) as meter:
                facts, journal = work(root)
                findings = judged(facts, self._configuration.for_file, self._crashes.append)
            is_lost, spent = meter.clock.has_struck, meter.spent
        except (LimitReached, MemoryError) as stopped:
            is_lost, spent = not isinstance(stopped, OutOfSteps), allowance
            if id(settings) in self._projects:
                self._projects[id(settings)].guard.has_run_out = True
            note = NotAnalysed(Span(root, 1, 1, 1, 1), "", reason_of(stopped))
            facts = Facts(not_analysed=(*facts.not_analysed, note))
            journal = Dependencies(dict.fromkeys(s.path for s in self._sources))
            findings = judged(facts, self._configuration.for_file, self._crashes.append)
        project = self._projects.get(id(settings))
        if project is not None and project.guard.has_run_out:
            project.renew()
        if self._crashes:
            notes = Facts(not_analysed=tuple(self._crashes))
            findings += judged(notes, self._configuration.for_file)
            facts = replace(facts, not_analysed=(*facts.not_analysed, *notes.not_analysed))
        kept = facts if self._is_asked_for(facts, findings, root) else Facts()
        sites, has_crashed = sites_of(facts.kernels), bool(self._crashes)
        return Share(tuple(findings), sites, has_crashed, journal, kept, is_lost, spent)

    def _of_python(self, path: str) -> tuple[Facts, Dependencies]:
        """The facts of a Python file, and what other files they rest on."""
        source = self._python[path]
        parts = python_facts([source], self._configuration.for_file(path), self._crashes.append)
        facts = Facts.together(parts)
        along = source.read_along
        compiled = (path for path, is_kernel in along.items() if is_kernel)
        return facts, Dependencies(dict.fromkeys((path, *along)), compiled=dict.fromkeys(compiled))

    def _of_compiled(self, path: str) -> tuple[Facts, Dependencies]:
        """The facts of a file of compiled code."""
        settings, paths = self._configuration.for_file(path), [s.path for s in self._sources]
        facts = compiled_facts(self._compiled[path], settings, paths, self._crashes.append)
        return facts, Dependencies({path: None})

    def project(self, root: str) -> Project:
        """The project that a unit is evaluated in."""
        from smemlint.analysis.simt.analyze import Project

        settings = self._configuration.for_file(root)
        if id(settings) not in self._projects:
            made = Project(self._cuda, settings, self._crashes.append, work=self._work)
            self._projects[id(settings)] = made
        return self._projects[id(settings)]

    def _is_asked_for(self, facts: Facts, findings: Sequence[Finding], root: str) -> bool:
        """Whether fixes may be looked for in the facts: those of headers, in all of their units."""
        return (
            self._keep_facts
            or any(f.access is not None for f in findings)
            or any(k.instance.span.path != root for k in facts.kernels)
        )


class Fixer:
    """Looks for the fixes of findings of one file, by their indices in the whole.

    A fix must suit all instances of the kernels concerned, so it is looked for in all shares.
    """

    def __init__(
        self,
        whole: Share,
        sources: Sequence[Source],
        configuration: Configuration,
        *,
        is_fixing: bool = False,
        work: Callable[[Sequence[Source]], Work] | None = None,
        spent: Mapping[str, Allowance] | None = None,
    ) -> None:
        self._spent = spent or {}
        self._whole = whole
        self._work = work
        self._is_fixing = is_fixing
        self._sources = tuple(sources)
        self._configuration = configuration

    def __call__(self, indices: Sequence[int]) -> list[Finding]:
        """The findings, with what repairs them as far as the file's limits allow.

        Raises:
            OutOfTime: what was found by then depends on the machine, and none of it is given.
            MemoryError: likewise.
        """
        from smemlint.fix.propose import STEPS_OF_A_FILE, THOROUGH, with_fixes
        from smemlint.fix.verify_by_analysis import Run

        most = THOROUGH if self._is_fixing else STEPS_OF_A_FILE
        findings = [self._whole.findings[index] for index in indices]
        settings = self._configuration.for_file(findings[0].span.path)
        spent = [self._spent.get(path, NOTHING) for path in fixed_files(findings)]
        left = Allowance.of(settings.time_limit).after(*spent)
        run = Run(self._sources, settings, self._configuration.for_file, self._work)
        with limited(left):
            return with_fixes(findings, self._whole.facts, run, steps_of_a_file=most)


def fixed_files(findings: Sequence[Finding]) -> set[str]:
    """Files of the arrays that findings are about: where fixes are made."""
    accesses = (f.access for f in findings)
    return {a.array.span.path for a in accesses if a is not None and a.array is not None}


def together(shares: Sequence[Share]) -> Share:
    """All shares as one: of each kernel instance and place, what the first share says."""
    findings: list[Finding] = []
    sites: list[Site] = []
    instances: dict[InstanceKey, int] = {}
    places: dict[tuple[str, Span], int] = {}
    for index, share in enumerate(shares):
        for finding in share.findings:
            if finding.access is not None:
                first = instances.setdefault(_key(finding.access.instance), index)
            else:
                first = places.setdefault((finding.code, finding.span), index)
            if first == index:
                findings.append(finding)
        sites += share.sites
    return Share(
        tuple(findings),
        tuple(dict.fromkeys(sites)),
        any(share.crashed for share in shares),
        facts=_facts_together(shares),
        is_lost=any(share.is_lost for share in shares),
        spent=NOTHING.most(*(share.spent for share in shares)),
    )


def _facts_together(shares: Sequence[Share]) -> Facts:
    instances: set[InstanceKey] = set()
    kernels = []
    for share in shares:
        fresh = [k for k in share.facts.kernels if _key(k.instance) not in instances]
        instances.update(_key(k.instance) for k in fresh)
        kernels += fresh
    notes = dict.fromkeys(n for share in shares for n in share.facts.not_analysed)
    layouts = {u.span: u for share in reversed(shares) for u in share.facts.layouts}
    dots = {d.span: d for share in reversed(shares) for d in share.facts.dots}
    return Facts(tuple(kernels), tuple(notes), tuple(layouts.values()), tuple(dots.values()))


def _key(instance: Instance) -> InstanceKey:
    return instance.span, instance.template, instance.block
