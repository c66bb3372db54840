"""A run: units analysed, fixes looked for, findings selected and suppressed.

The command line, the editor and `--verify-gpu` come this way. The stages are `evaluate`, which
gives what the rules find in every unit, `find_fixes`, and `conclude`, which gives what is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.analyze import needs_analysis, unreadable_sources, without_compiled
from smemlint.analysis.compiled.files import is_compiled
from smemlint.analysis.compiled.launch import source_launches
from smemlint.config.settings import Configuration
from smemlint.driver.failures import Failure
from smemlint.driver.fixes import (
    FixesInterrupted,
    awaits_fixes,
    find_fixes,
    spent_on_files,
    with_fixes,
)
from smemlint.driver.request import Request
from smemlint.driver.results import RunResult, UnitResult, merge
from smemlint.driver.schedule import IN_PROCESS, run_tasks
from smemlint.errors import code_of_interruption
from smemlint.facts import Facts, NotAnalysed, Span, sites_of
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.check import run_rules, select_and_suppress
from smemlint.lint.result import Result
from smemlint.reasons import Reason, ReasonCode
from smemlint.sources.languages import CUBIN_SUFFIX
from smemlint.sources.pragmas import MARK
from smemlint.visible import print_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from smemlint.config.settings import Settings
    from smemlint.driver.cache import Cache
    from smemlint.driver.invalidation import FixRounds
    from smemlint.driver.results import ResultStore
    from smemlint.driver.tasks import UnitTask
    from smemlint.finding import Finding
    from smemlint.sources.source import Source


def check_run(
    sources: Sequence[Source],
    configuration: Configuration,
    settings: Settings,
    *,
    name: str = "",
    rounds: FixRounds | None = None,
) -> Result:
    """Runs the rules on the sources, over processes and with the cache that the settings name.

    Args:
        sources: the files of the run.
        configuration: the settings of each file.
        settings: those of the run.
        name: what the cache knows the run by, e.g. the paths that were asked for.
        rounds: of fixes, which are looked for however long that takes; the result holds the facts
            of what was evaluated anew.
    """
    store: ResultStore | None = rounds
    if rounds is not None:
        rounds.begin(sources)
    else:
        store = open_cache(sources, configuration, settings, name)
    is_fixing = rounds is not None
    request = Request(
        sources,
        configuration,
        settings.jobs,
        keep_facts=is_fixing,
        is_fixing=is_fixing,
        keeps_interrupted=not is_fixing,
    )
    return conclude(find(request, store), request)


def check(
    sources: Sequence[Source], settings: Settings, configuration: Configuration | None = None
) -> Result:
    """Runs the rules in this process and without a cache: accesses keep their addresses."""
    configuration = configuration or Configuration.uniform(settings)
    request = Request(sources, configuration, IN_PROCESS, keep_facts=True)
    return conclude(find(request), request)


def analyze_run(
    sources: Sequence[Source], configuration: Configuration, settings: Settings
) -> UnitResult:
    """Returns what all units together show, and notes on what could not be read."""
    request = Request(
        sources, configuration, settings.jobs, keep_facts=True, keeps_interrupted=True
    )
    merged = evaluate(request).merged
    notes = (*unreadable_sources(sources), *merged.facts.not_analysed)
    return replace(merged, facts=replace(merged.facts, not_analysed=notes))


def open_cache(
    sources: Sequence[Source], configuration: Configuration, settings: Settings, name: str
) -> Cache | None:
    """Returns the cache of a run; None where the settings name none, or sources are no files.

    What a cubin holds is read by a program of the system, which may come, go and change.
    """
    is_kept = all(s.given is None and not s.path.endswith(CUBIN_SUFFIX) for s in sources)
    if settings.no_cache or not is_kept:
        return None
    from smemlint.driver.cache import Cache

    cache = Cache(name, sources, configuration, settings)
    if cache.refused:
        message = f"{settings.cache_dir}: no results are kept: {cache.refused}"
        print_lines(f"smemlint: warning: {message}")
        return None
    return cache


def find(request: Request, store: ResultStore | None = None) -> RunResult:
    """Runs all stages before selection, unless the store knows their result."""
    known = store.unchanged() if store is not None else None
    if known is not None:
        return known
    evaluation = evaluate(request, store)
    merged, results = evaluation.merged, evaluation.results
    if merged.interruption:
        return RunResult(merged, evaluation.notices, evaluation.with_pragmas)
    try:
        fixes = find_fixes(merged, request, spent_on_files(results.values()))
    except FixesInterrupted as stop:
        if store is not None:
            store.store(with_fixes(results, merged, stop.fixes), None)
        if not request.keeps_interrupted:
            raise
        code = code_of_interruption(stop)
        merged = replace(merged, findings=stop.fixes.findings, interruption=code)
        return RunResult(merged, evaluation.notices, evaluation.with_pragmas)
    notes = run_rules(Facts(not_analysed=fixes.notes), request.configuration.for_file)
    run = RunResult(
        replace(merged, findings=fixes.findings, crashed=merged.crashed or fixes.crashed),
        (*evaluation.notices, *notes),
        evaluation.with_pragmas,
    )
    if store is not None and results:
        store.store(with_fixes(results, merged, fixes), run)
    return run


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Result of the first stage.

    Attributes:
        results: by main file, in the order of the run.
        merged, notices, with_pragmas: see `RunResult`.
    """

    results: Mapping[str, UnitResult]
    merged: UnitResult
    notices: tuple[Finding, ...]
    with_pragmas: tuple[str, ...]


def evaluate(request: Request, store: ResultStore | None = None) -> Evaluation:
    """Runs the first stage: analyses the units that no valid result is known of."""
    settings_of = request.configuration.for_file
    sources = [s for s in request.sources if request.document in ("", s.path)]
    with_pragmas = tuple(s.path for s in sources if MARK in s.text)
    notices = run_rules(Facts(not_analysed=tuple(unreadable_sources(sources))), settings_of)
    if not any(map(needs_analysis, sources)):
        return Evaluation({}, UnitResult(), tuple(notices), with_pragmas)
    from smemlint.driver.tasks import UnitTask

    has_compiled = any(map(is_compiled, request.sources))
    task = UnitTask(
        request.sources,
        request.configuration,
        keep_facts=request.keep_facts or has_compiled,
        memo=request.memo_of(request.sources) if request.memo_of is not None else None,
        document=request.document,
    )
    results = _unit_results(task, request, store)
    dependencies = [result.dependencies for result in results.values()]
    files = without_compiled(results, dependencies)
    merged = merge([results[path] for path in files])
    if not merged.interruption:
        unused = tuple(task.analyzer.unused_swizzle_pragmas(dependencies))
        notices += run_rules(Facts(not_analysed=unused), settings_of)
    if has_compiled:
        joined = merge([results[path] for path in files if results[path].is_joined])
        apart = merge([results[path] for path in files if not results[path].is_joined])
        merged = _with_compiled(merged, joined, apart, request.configuration)
    return Evaluation(results, merged, tuple(notices), with_pragmas)


def _unit_results(
    task: UnitTask, request: Request, store: ResultStore | None
) -> dict[str, UnitResult]:
    """Returns the results of all units, or of those that hold the document, by main file."""
    analyzer, configuration = task.analyzer, request.configuration
    files = analyzer.files_for(request.document) if request.document else analyzer.files()
    known: Mapping[str, UnitResult] = {}
    compiled = {s.path for s in request.sources if is_compiled(s)}.intersection(files)
    is_kept = not (compiled and request.document)
    if store is not None and is_kept and (analyzer.needs_units or len(files) > 1):
        known = store.valid_results(files, analyzer.program())
    results = {path: known[path] for path in files if path in known}
    fresh = [path for path in files if path not in known]
    limit = max((configuration.for_file(path).time_limit for path in fresh), default=1.0)
    try:
        for stage in ([p for p in fresh if p not in compiled], [p for p in fresh if p in compiled]):
            # How kernels are launched, only sources say.
            kernels = (kernel for result in results.values() for kernel in result.facts.kernels)
            analyzer.launches = source_launches(kernels)
            for path, answer in run_tasks(
                stage, task, request.jobs, limit, size_of=analyzer.characters
            ):
                if not isinstance(answer, UnitResult):
                    answer = _lost(path, answer, configuration)
                results[path] = answer
                if request.on_unit is not None:
                    request.on_unit(results, len(files) - len(results))
    except KeyboardInterrupt as stop:
        if store is not None:
            done = {p: result for p, result in results.items() if not awaits_fixes(result)}
            store.store(_marked(done, request.sources), None)
        if not request.keeps_interrupted:
            raise
        lost = Failure(Reason(ReasonCode.TIME_LIMIT, "interrupted before this was analysed"))
        code = code_of_interruption(stop)
        for path in files:
            if path not in results:
                results[path] = replace(_lost(path, lost, configuration), interruption=code)
    return _marked({path: results[path] for path in files}, request.sources)


def _with_compiled(
    merged: UnitResult, joined: UnitResult, apart: UnitResult, configuration: Configuration
) -> UnitResult:
    """Returns what sources and compiled code show together, judged anew."""
    from smemlint.analysis.compiled.agreement import joined_with_compiled

    facts = joined_with_compiled(merged.facts)
    if facts is merged.facts:
        return merged
    concerned = {kernel.instance.key for kernel in joined.facts.kernels}
    kernels = tuple(k for k in facts.kernels if k.instance.key in concerned)
    findings = run_rules(replace(joined.facts, kernels=kernels), configuration.for_file)
    both = merge([UnitResult(tuple(findings), sites_of(kernels)), apart])
    return replace(merged, findings=both.findings, facts=facts, sites=both.sites)


def _marked(results: Mapping[str, UnitResult], sources: Sequence[Source]) -> dict[str, UnitResult]:
    """Returns the results, those marked that are judged together with compiled code."""
    texts = {s.path: s.text for s in sources if is_compiled(s)}

    def is_joined(path: str, result: UnitResult) -> bool:
        names = {k.instance.kernel.rpartition("::")[2] for k in result.facts.kernels}
        return path in texts or any(name in text for name in names for text in texts.values())

    return {
        path: replace(result, is_joined=is_joined(path, result)) if texts else result
        for path, result in results.items()
    }


def _lost(path: str, failure: Failure, configuration: Configuration) -> UnitResult:
    facts = Facts(not_analysed=(NotAnalysed(Span(path, 1, 1, 1, 1), "", failure.reason),))
    findings = tuple(run_rules(facts, configuration.for_file))
    return UnitResult(findings, crashed=failure.is_crash, is_lost=True, facts=facts)


def conclude(run: RunResult, request: Request) -> Result:
    """Runs the last stage: what is shown of the findings, and what pragmas suppress."""
    merged = run.merged
    found = [f for f in (*run.notices, *merged.findings) if request.document in ("", f.span.path)]
    shown, hidden = select_and_suppress(
        found, run.with_pragmas, request.sources, request.configuration.for_file, merged.sites
    )
    return Result(
        shown,
        hidden,
        merged.facts,
        len(request.sources),
        merged.crashed,
        merged.sites,
        merged.interruption,
    )
