"""The tasks of a run, which do not depend on one another: units, and files with fixes to find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.analyze import Analyzer
from smemlint.analysis.program.dependencies import Dependencies
from smemlint.driver.results import UnitResult, array_files
from smemlint.facts import Facts, NotAnalysed, Span, sites_of
from smemlint.limits.budgets import MAX_FIX_STEPS
from smemlint.limits.errors import LimitReached, OutOfSteps, stop_reason
from smemlint.limits.guard import NOTHING, Allowance, limited
from smemlint.lint.check import run_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from smemlint.analysis.program.memo import Memo
    from smemlint.config.settings import Configuration
    from smemlint.finding import Finding
    from smemlint.sources.source import Source


class UnitTask:
    """Analyses a unit and runs the rules on its facts; lives in every process of a run.

    Args:
        sources: the files of the run.
        configuration: the settings of each; a unit is analysed under those of its main file.
        keep_facts: results bring their facts along.
        memo: remembered steps of earlier analyses.
        document: the only file of interest; empty for all.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        configuration: Configuration,
        *,
        keep_facts: bool = False,
        memo: Memo | None = None,
        document: str = "",
    ) -> None:
        self._sources = sources
        self._configuration = configuration
        self._keep_facts = keep_facts
        self._crashes: list[NotAnalysed] = []
        self.analyzer = Analyzer(
            sources, configuration.for_file, self._crashes.append, memo, document
        )

    def __call__(self, path: str) -> UnitResult:
        """Returns the result of one main file; bounded in time, and errors are part of it."""
        settings_of = self._configuration.for_file
        self._crashes.clear()
        facts, dependencies = Facts(), Dependencies()
        findings: list[Finding] = []
        allowance = Allowance.of(settings_of(path).time_limit)
        is_stopped = False
        try:
            with limited(allowance) as meter:
                facts, dependencies = self.analyzer.analyze(path)
                findings = run_rules(facts, settings_of, self._crashes.append)
            is_lost, spent = meter.clock.has_struck, meter.spent
        except (LimitReached, MemoryError) as stopped:
            is_stopped, is_lost, spent = True, not isinstance(stopped, OutOfSteps), allowance
            note = NotAnalysed(Span(path, 1, 1, 1, 1), "", stop_reason(stopped))
            facts = Facts(not_analysed=(*facts.not_analysed, note))
            dependencies = Dependencies(dict.fromkeys(s.path for s in self._sources))
            findings = run_rules(facts, settings_of, self._crashes.append)
        self.analyzer.discard_unfinished(path, is_stopped=is_stopped)
        if self._crashes:
            notes = Facts(not_analysed=tuple(self._crashes))
            findings += run_rules(notes, settings_of)
            facts = replace(facts, not_analysed=(*facts.not_analysed, *notes.not_analysed))
        kept = facts if self._is_asked_for(facts, findings, path) else Facts()
        sites, has_crashed = sites_of(facts.kernels), bool(self._crashes)
        return UnitResult(
            tuple(findings),
            sites,
            has_crashed,
            dependencies,
            kept,
            is_lost,
            spent,
            reached=facts.reached,
        )

    def _is_asked_for(self, facts: Facts, findings: Sequence[Finding], path: str) -> bool:
        """Returns whether fixes may be looked for: those of headers, in all of their units."""
        return (
            self._keep_facts
            or any(f.access is not None for f in findings)
            or any(k.instance.span.path != path for k in facts.kernels)
        )


class FixTask:
    """Looks for the fixes of findings of one file, by their indices in the merged result.

    A fix must suit all instances of the kernels concerned, so it is verified in all units.

    Args:
        merged: the results of all units.
        sources: the files of the run.
        configuration: their settings.
        is_fixing: fixes are asked for, however long finding them takes.
        memo_of: remembered steps of earlier analyses, for edited sources.
        spent: what evaluating the kernels of each file took.
    """

    def __init__(
        self,
        merged: UnitResult,
        sources: Sequence[Source],
        configuration: Configuration,
        *,
        is_fixing: bool = False,
        memo_of: Callable[[Sequence[Source]], Memo] | None = None,
        spent: Mapping[str, Allowance] | None = None,
    ) -> None:
        self._merged = merged
        self._sources = tuple(sources)
        self._configuration = configuration
        self._is_fixing = is_fixing
        self._memo_of = memo_of
        self._spent = spent or {}

    def __call__(self, indices: Sequence[int]) -> list[Finding]:
        """Returns the findings, with what repairs them as far as the file's limits allow.

        Raises:
            OutOfTime: what was found by then depends on the machine, and none of it is given.
            MemoryError: likewise.
        """
        from smemlint.fix.propose import THOROUGH, with_fixes
        from smemlint.fix.verify_by_analysis import Run

        most = THOROUGH if self._is_fixing else MAX_FIX_STEPS
        findings = [self._merged.findings[index] for index in indices]
        settings = self._configuration.for_file(findings[0].span.path)
        spent = [self._spent.get(path, NOTHING) for path in array_files(findings)]
        left = Allowance.of(settings.time_limit).after(*spent)
        run = Run(self._sources, settings, self._configuration.for_file, self._memo_of)
        with limited(left):
            return with_fixes(findings, self._merged.facts, run, steps_of_a_file=most)
