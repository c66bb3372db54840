"""What is known of one open document, seen together with the files of its folder."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.facts import Facts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_NEIGHBOURS
from smemlint.sources.discovery import SUFFIXES, is_excluded
from smemlint.sources.pragmas import MARK
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from smemlint.analysis.program.memo import Memo
    from smemlint.config.settings import Configuration
    from smemlint.facts import Access
    from smemlint.finding import Finding
    from smemlint.lsp.incremental import IncrementalMemo

_SUFFIXES = tuple(SUFFIXES)


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What was found in one document.

    Attributes:
        path: of the document.
        findings: that are shown, in order of place.
        accesses: to shared memory, of all kernel instances.
        facts: everything that was evaluated for it.
        text_of: the text of a file that spans lie in.
        has_fixes: fixes were looked for.
        refines: something of the same version was shown before.
    """

    path: str
    findings: tuple[Finding, ...]
    accesses: tuple[Access, ...]
    facts: Facts
    text_of: Callable[[str], str]
    has_fixes: bool = False
    refines: bool = False


class Folders:
    """The files beside documents, read again only when they changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Source]] = {}

    def sources(self, path: str, opened: Mapping[str, Source]) -> list[Source]:
        """The document and the files of its folder in order; open ones as the editor has them."""
        folder = path.rpartition("/")[0]
        found = {path: opened[path]}
        try:
            with os.scandir(folder or ".") as entries:
                files = [e for e in entries if e.name.endswith(_SUFFIXES)]
        except OSError:
            files = []  # a document that was never saved
        for entry in sorted(files, key=lambda e: e.name)[:MAX_NEIGHBOURS]:
            beside = f"{folder.rstrip('/')}/{entry.name}" if folder else entry.name
            source = opened.get(beside) or self._read(beside, entry)
            if source is not None:
                found[beside] = source
        return [found[name] for name in sorted(found)]

    def _read(self, path: str, entry: os.DirEntry[str]) -> Source | None:
        try:
            if not entry.is_file():
                return None
            status = entry.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = (stamp, Source(path))
        return known[1]


def analyses(
    path: str,
    sources: Sequence[Source],
    configuration: Configuration,
    memory: IncrementalMemo,
    partial: Callable[[Analysis], None] | None = None,
) -> Iterator[Analysis]:
    """What is known of a document: first at once, then with what repairs its findings.

    Args:
        path: of the document.
        sources: it and the files that may launch its kernels.
        configuration: read anew for each analysis, so that a changed file counts.
        memory: of the analyses before.
        partial: called with what is known when the first units are analysed, and others are not.

    Raises:
        SmemlintError: the configuration cannot be used.
    """
    from smemlint.driver.fixes import find_fixes, spent_on_files, with_fixes
    from smemlint.driver.request import Request
    from smemlint.driver.results import RunResult, UnitResult, merge
    from smemlint.driver.run import Evaluation, conclude, evaluate
    from smemlint.driver.schedule import IN_PROCESS

    texts = {s.path: s for s in sources}

    def text_of(name: str) -> str:
        if name not in texts:
            texts[name] = Source(name)  # a header from elsewhere
        return texts[name].text

    settings = configuration.for_file(path)
    is_left_out = is_excluded(path, settings)
    if is_left_out or path.endswith(".ipynb"):  # its JSON; clients open the cells one by one
        yield Analysis(path, (), (), Facts(), text_of)
        return

    def memo_of(edited: Sequence[Source]) -> Memo:
        return memory.memo(path, edited, settings)

    def analysis(run: RunResult, *, has_fixes: bool = False) -> Analysis:
        result = conclude(run, request)
        shown = _new(result.findings, result.hidden, path, settings.baseline, text_of)
        facts = run.merged.facts
        accesses = (a for k in facts.kernels for a in k.accesses if a.span.path == path)
        return Analysis(path, shown, tuple(accesses), facts, text_of, has_fixes)

    def on_unit(results: Mapping[str, UnitResult], left: int) -> None:
        if partial is not None and left:
            run = RunResult(merge(list(results.values())), (), with_pragmas)
            partial(analysis(run))

    with_pragmas = tuple(s.path for s in sources if s.path == path and MARK in s.text)
    request = Request(
        sources,
        configuration,
        IN_PROCESS,
        document=path,
        keep_facts=True,
        memo_of=memo_of,
        on_unit=on_unit,
    )
    kept = memory.results_of(path)
    kept.begin(sources, configuration.for_file)
    known = kept.unchanged_results()
    if known is not None:
        evaluation = Evaluation(known, merge(list(known.values())), (), with_pragmas)
    else:
        with memory.undisturbed():
            evaluation = evaluate(request, kept)
    merged, results = evaluation.merged, evaluation.results
    if merged.is_lost:
        memory.forget_units()
    kept.keep(evaluation, memory.function_names())
    run = RunResult(merged, evaluation.notices, evaluation.with_pragmas)
    yield analysis(run, has_fixes=kept.is_complete)
    if kept.is_complete:
        return
    with memory.undisturbed():
        fixes = find_fixes(merged, request, spent_on_files(results.values()))
    if fixes.lost:
        memory.forget_units()
    fixed = replace(run, merged=replace(merged, findings=fixes.findings))
    kept.store(with_fixes(results, merged, fixes), fixed)
    if fixes.findings is not merged.findings:  # some were looked for
        yield analysis(fixed, has_fixes=True)


def _new(
    shown: tuple[Finding, ...],
    hidden: Sequence[Finding],
    path: str,
    baseline: str,
    text_of: Callable[[str], str],
) -> tuple[Finding, ...]:
    """The findings that the baseline does not know, if there is one."""
    if not baseline:
        return shown
    from smemlint.lint.baseline import Baseline, apply

    applied = apply(Baseline.read(baseline), shown, hidden, [path], text_of)
    return applied.shown
