"""One analysis of a document: its units evaluated, what is shown of them, what repairs that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from smemlint.analysis.program.memo import Memo
from smemlint.config.settings import Configuration
from smemlint.driver.fixes import find_fixes, spent_on_files, with_fixes
from smemlint.driver.request import Request
from smemlint.driver.results import RunResult, UnitResult, merge
from smemlint.driver.run import Evaluation, conclude, evaluate
from smemlint.driver.schedule import IN_PROCESS
from smemlint.facts import Facts, KernelFacts, sites_of
from smemlint.finding import Finding
from smemlint.lint.baseline import Baseline, apply
from smemlint.lint.check import run_rules
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.incremental import IncrementalMemo
from smemlint.sources.discovery import is_excluded
from smemlint.sources.pragmas import MARK
from smemlint.sources.source import Source

_OF_CELLS = ".ipynb"
"""Its JSON is no text to show anything in: clients open the cells one by one."""


def analyses(
    path: str,
    sources: Sequence[Source],
    configuration: Configuration,
    memory: IncrementalMemo,
    partial: Callable[[Analysis], None] | None = None,
) -> Iterator[Analysis]:
    """Yields what is known of a document: first at once, then with what repairs its findings.

    Args:
        path: of the document.
        sources: it and the files that may launch its kernels.
        configuration: read anew for each analysis, so that a changed file counts.
        memory: of the analyses before.
        partial: called with what is known of some kernels while others are not analysed.

    Raises:
        SmemlintError: the configuration cannot be used.
    """
    if is_excluded(path, configuration.for_file(path)) or path.endswith(_OF_CELLS):
        text_of = {s.path: s for s in sources}
        yield Analysis(path, (), (), Facts(), lambda name: text_of[name].text)
        return
    yield from DocumentRun(path, sources, configuration, memory, partial).analyses()


class DocumentRun:
    """The stages of one analysis of a document.

    Args:
        path: of the document.
        sources: it and the files that may launch its kernels.
        configuration: of each file.
        memory: of the analyses before.
        partial: called with what is known so far, kernel by kernel and unit by unit.
    """

    def __init__(
        self,
        path: str,
        sources: Sequence[Source],
        configuration: Configuration,
        memory: IncrementalMemo,
        partial: Callable[[Analysis], None] | None = None,
    ) -> None:
        self._path = path
        self._settings_of = configuration.for_file
        self._memory = memory
        self._partial = partial
        self._texts = {s.path: s for s in sources}
        self._with_pragmas = tuple(s.path for s in sources if s.path == path and MARK in s.text)
        self._kept = memory.results_of(path)
        self._done: Mapping[str, UnitResult] = {}
        self._shown: tuple[Finding, ...] = ()
        self._misses = memory.misses
        self._request = Request(
            sources,
            configuration,
            IN_PROCESS,
            document=path,
            keep_facts=True,
            memo_of=self._memo,
            on_unit=self._unit_done,
        )

    def analyses(self) -> Iterator[Analysis]:
        """Yields what is known: without repairs, then with them unless that is the same."""
        evaluation = self._evaluated()
        run = RunResult(evaluation.merged, evaluation.notices, evaluation.with_pragmas)
        is_complete = self._kept.is_complete
        yield self._analysis(run, has_fixes=is_complete)
        if is_complete:
            return
        fixed = self._fixed(run, evaluation.results)
        if fixed.merged.findings is not run.merged.findings:  # some were looked for
            yield self._analysis(fixed, has_fixes=True)

    # ---- stages

    def _evaluated(self) -> Evaluation:
        """Returns the results of the units, from before where nothing that matters changed."""
        kept = self._kept
        kept.begin(self._request.sources, self._settings_of)
        known = kept.unchanged_results()
        if known is not None:
            evaluation = Evaluation(known, merge(list(known.values())), (), self._with_pragmas)
        else:
            with self._memory.undisturbed():
                evaluation = evaluate(self._request, kept)
        if evaluation.merged.is_lost:
            self._memory.forget_units()
        kept.keep(evaluation, self._memory.function_names())
        return evaluation

    def _fixed(self, run: RunResult, results: Mapping[str, UnitResult]) -> RunResult:
        """Returns the findings with what repairs them."""
        merged = run.merged
        with self._memory.undisturbed():
            fixes = find_fixes(merged, self._request, spent_on_files(results.values()))
        if fixes.lost:
            self._memory.forget_units()
        fixed = replace(run, merged=replace(merged, findings=fixes.findings))
        self._kept.store(with_fixes(results, merged, fixes), fixed)
        return fixed

    def _memo(self, edited: Sequence[Source]) -> Memo:
        """Returns the memo of a run over the sources, or over sources that a fix edits."""
        memo = self._memory.memo(self._path, edited, self._settings_of(self._path))
        is_own = edited is self._request.sources
        return replace(memo, found=self._kernels_done) if is_own and self._partial else memo

    # ---- what is shown

    def _analysis(self, run: RunResult, *, has_fixes: bool = False) -> Analysis:
        result = conclude(run, self._request)
        shown = self._without_baseline(result.findings, result.hidden)
        facts = run.merged.facts
        accesses = (a for k in facts.kernels for a in k.accesses if a.span.path == self._path)
        return Analysis(self._path, shown, tuple(accesses), facts, self._text_of, has_fixes)

    def _without_baseline(
        self, shown: tuple[Finding, ...], hidden: Sequence[Finding]
    ) -> tuple[Finding, ...]:
        """Returns the findings that the baseline does not know, if there is one."""
        baseline = self._settings_of(self._path).baseline
        if not baseline:
            return shown
        applied = apply(Baseline.read(baseline), shown, hidden, [self._path], self._text_of)
        return applied.shown

    def _text_of(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = Source(name)  # a header from elsewhere
        return self._texts[name].text

    def _unit_done(self, results: Mapping[str, UnitResult], left: int) -> None:
        self._done = dict(results)
        if left:
            self._show_so_far(())

    def _kernels_done(self, kernels: Sequence[KernelFacts]) -> None:
        """Shows the kernels of a unit that is not done beside the units that are."""
        facts = Facts(tuple(kernels))
        findings = tuple(run_rules(facts, self._settings_of))
        self._show_so_far([UnitResult(findings, sites_of(facts.kernels), facts=facts)])

    @cached_property
    def _before(self) -> list[Finding]:
        return self._kept.before_the_edit()

    def _show_so_far(self, under_way: Sequence[UnitResult]) -> None:
        """Calls `partial` where there is more to show than it was called with before.

        Of accesses that no kernel came to yet, what was found before the edit is shown; where no
        kernel was evaluated, the rest is known, too, and all of it is shown in a moment.
        """
        if self._partial is None or self._memory.misses == self._misses:
            return
        self._misses = self._memory.misses
        results = [*self._done.values(), *under_way]
        kernels = [kernel for result in results for kernel in result.facts.kernels]
        reached = {(k.instance.kernel, access.span) for k in kernels for access in k.accesses}
        before = UnitResult(
            tuple(
                finding
                for finding in self._before
                if (access := finding.access) is None
                or (access.instance.kernel, access.span) not in reached
            )
        )
        run = RunResult(merge([*results, before]), (), self._with_pragmas)
        analysis = self._analysis(run)
        if analysis.findings != self._shown:
            self._shown = analysis.findings
            self._partial(analysis)
