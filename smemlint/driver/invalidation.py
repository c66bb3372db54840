"""Validity of earlier results: whether a file that changed since bears on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from smemlint.analysis.program.dependencies import Dependencies
from smemlint.analysis.simt.analyze import Project
from smemlint.driver.results import ResultStore, RunResult, UnitResult, array_files
from smemlint.facts import Facts
from smemlint.finding import Finding
from smemlint.reasons import ReasonCode
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source


def is_valid(dependencies: Dependencies, changed: Collection[str], program: Project) -> bool:
    """Returns whether an evaluation would get the answers that its result depends on."""
    if not dependencies.reads.keys().isdisjoint(changed):
        return False
    from smemlint.analysis.program.units import mention_of

    is_of_python = any(map(is_python_path, dependencies.reads))
    for words, found in dependencies.searches.items() if changed else ():
        if not set(changed).isdisjoint(found):
            return False
        pattern = mention_of(words)
        texts = {path: program.index.read(path) for path in changed}
        if any(pattern.search(text or "") for text in texts.values()):
            return False
        if is_of_python and any(is_python_path(p) for p, text in texts.items() if text is None):
            return False  # the index does not hold it: it may import what was looked for
    if any(program.index.home(*asked) != answer for asked, answer in dependencies.homes.items()):
        return False
    return all(
        program.main_files.place_of(root, path) == place
        for (path, root), place in dependencies.units.items()
    )


def with_valid_fixes(
    known: Mapping[str, UnitResult], tasks: Sequence[str], program: Project
) -> dict[str, UnitResult]:
    """Returns the known results whose fixes stand: a fix must suit all units of its array."""
    left = dict(known)
    fresh = [path for path in tasks if path not in left]
    while left and fresh:
        files = {file for path in fresh for file in program.index.unit(path).files}
        fresh = [
            path
            for path, result in left.items()
            if not files.isdisjoint(array_files(result.findings))
        ]
        for path in fresh:
            del left[path]
    return left


def _lacks_a_fix(finding: Finding) -> bool:
    """Returns whether a run that fixes may find a fix that others do not look for."""
    return finding.no_fix is not None and finding.no_fix.code is ReasonCode.DEFERRED


class FixRounds(ResultStore):
    """What is known from one round of fixes to the next; to begin with, what a cache knows.

    Args:
        cache: of runs without fixes; None for none.
    """

    def __init__(self, cache: ResultStore | None) -> None:
        self._cache = cache
        self._sources: dict[str, Source] = {}
        self._now: dict[str, Source] = {}
        self._results: dict[str, UnitResult] = {}

    def begin(self, sources: Sequence[Source]) -> None:
        """Begins the next round, over these sources: an edited one is another object."""
        self._sources, self._now = self._now, {s.path: s for s in sources}

    def valid_results(self, tasks: Sequence[str], program: Project) -> dict[str, UnitResult]:
        """Returns the results of the last round that its edits do not bear on, by main file."""
        if not self._sources:
            known = self._cache.valid_results(tasks, program) if self._cache is not None else {}
            known = {
                path: result
                for path, result in known.items()
                if not any(_lacks_a_fix(f) for f in result.findings)
            }
        else:
            before, now = self._sources, self._now
            changed = {p for p in before.keys() | now.keys() if before.get(p) is not now.get(p)}
            known = {
                path: result
                for path, result in self._results.items()
                if path in tasks and is_valid(result.dependencies, changed, program)
            }
        return with_valid_fixes(known, tasks, program)

    def store(self, results: Mapping[str, UnitResult], run: RunResult | None) -> None:
        """Keeps the results; without facts, in which fixes would be looked for again."""
        self._results = {
            path: replace(result, facts=Facts())
            for path, result in results.items()
            if not (result.crashed or result.is_lost or result.is_joined)
        }
