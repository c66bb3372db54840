"""What the last analysis of a document found, for the next one: a comment makes nothing old.

A unit's result is valid while the tokens of the files that it read are the same, and nothing that
changed bears on what it searched for. Where the tokens of the document only moved, so do the facts,
and the rules are run on them again; fixes move along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from smemlint.analysis.simt.analyze import Project
from smemlint.config.settings import Settings
from smemlint.driver.invalidation import is_valid
from smemlint.driver.results import ResultStore, RunResult, UnitResult, merge
from smemlint.driver.run import Evaluation
from smemlint.facts import Facts, sites_of
from smemlint.finding import Finding
from smemlint.frontend.text_heuristics import may_matter_in_a_comment
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.check import run_rules
from smemlint.lsp.relocate import Relocation
from smemlint.lsp.token_text import CannotMove, Movement, TokenText, VisibleText, around_the_edit
from smemlint.sources.languages import CUBIN_SUFFIX, PTX_SUFFIX, is_python_path
from smemlint.sources.source import Source

_COMPILED = (PTX_SUFFIX, CUBIN_SUFFIX)


class KeptResults(ResultStore):
    """The results of the last analysis of a document.

    Attributes:
        is_complete: the analysis that began last got all results from here, fixes included.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._tokens: tuple[str, TokenText] | None = None
        self._now: dict[str, Source] = {}
        self._is_of_tokens = not (is_python_path(path) or path.endswith(_COMPILED))
        self._settings_of: Callable[[str], Settings] = lambda path: Settings()
        self._kept: _Kept | None = None
        self.is_complete = False

    def tokens_of(self, text: str) -> TokenText:
        """Returns the tokens of the document's newest text."""
        if self._tokens is None or self._tokens[0] != text:
            self._tokens = text, TokenText(self._path, text)
        return self._tokens[1]

    def begin(self, sources: Sequence[Source], settings_of: Callable[[str], Settings]) -> None:
        """Begins the next analysis, over these sources."""
        self._now = {s.path: s for s in sources}
        self._settings_of = settings_of
        self.is_complete = False

    def files_changed(self) -> None:
        """Sees that files may have come or gone: what was found is looked over once more."""
        if self._kept is not None:
            self._kept.is_certain = False

    def unchanged_results(self) -> dict[str, UnitResult] | None:
        """Returns all results at their present places, if only comments of the document changed."""
        kept = self._kept
        if kept is None or not kept.is_certain or not self._is_under_same_settings(kept):
            return None
        text = self._text()
        if self._changed(kept, text) or kept.outside != _states(kept.outside):
            return None
        found = self._moved(kept, text, kept.results)
        if len(found) < len(kept.results):
            return None
        self.is_complete = kept.has_fixes
        return found

    def valid_results(self, tasks: Sequence[str], program: Project) -> dict[str, UnitResult]:
        """Returns the results that no change since bears on, by main file, at the places of now."""
        kept = self._kept
        if kept is None or not self._is_under_same_settings(kept):
            return {}
        text = self._text()
        changed = self._changed(kept, text)
        if kept.outside != _states(kept.outside):
            return {}
        valid = [
            path
            for path, result in kept.results.items()
            if path in tasks and is_valid(result.dependencies, changed, program)
        ]
        found = self._moved(kept, text, valid)
        self.is_complete = kept.has_fixes and all(path in found for path in tasks)
        return found

    def before_the_edit(self) -> list[Finding]:
        """Returns what was found before the document was edited, but what the edit touched.

        What was not analysed is left out, which may be now: half typed text has open brackets.
        """
        kept = self._kept
        if kept is None or self._path not in kept.sources:
            return []
        old, new = kept.sources[self._path].text, self._now[self._path].text
        movement = around_the_edit(kept.text.places, old, self.tokens_of(new).places, new)
        relocation, kernels = Relocation(movement), []
        for kernel in merge(list(kept.results.values())).facts.kernels:
            with suppress(CannotMove):
                kernels.append(relocation.moved(kernel))
        found = run_rules(Facts(tuple(kernels)), self._settings_of)
        return [finding for finding in found if not finding.gaps]

    def _text(self) -> VisibleText:
        return VisibleText.all_of(self.tokens_of(self._now[self._path].text))

    def _is_under_same_settings(self, kept: _Kept) -> bool:
        return kept.settings == repr(self._settings_of(self._path))

    def _moved(self, kept: _Kept, text: VisibleText, paths: Iterable[str]) -> dict[str, UnitResult]:
        mover = _Mover(Movement(kept.text, text), self._settings_of)
        moved = {path: mover.moved(kept.results[path], kept.fixed.get(path)) for path in paths}
        return {path: result for path, result in moved.items() if result is not None}

    def _changed(self, kept: _Kept, text: VisibleText) -> set[str]:
        """Returns files of then or now that differ, but for comments of the document."""
        before, now = kept.sources, self._now
        changed = {
            path
            for path in before.keys() | now.keys()
            if path not in before or path not in now or before[path].text != now[path].text
        }
        if self._path in changed and self._is_of_tokens and text.digest == kept.text.digest:
            words = self.tokens_of(now[self._path].text).comment_words
            differing = words ^ kept.comment_words
            if not kept.may_matter(differing):
                changed.discard(self._path)
        return changed

    def keep(self, found: Evaluation, functions: frozenset[str]) -> None:
        """Keeps results without fixes, or with those that they have from before."""
        results = found.results
        before = self._kept
        complete = {
            path: result
            for path, result in results.items()
            if not (result.crashed or result.is_lost or result.dependencies.swizzles)
        }
        reads = {p for r in complete.values() for p in r.dependencies.reads if p not in self._now}
        self._kept = _Kept(
            dict(self._now),
            self._text(),
            self.tokens_of(self._now[self._path].text).comment_words,
            repr(self._settings_of(self._path)),
            complete,
            _states(reads),
            functions | (before.functions if before is not None else frozenset()),
        )
        self._kept.is_certain = len(complete) == len(results) > 0 and not found.notices
        if self.is_complete:
            self._keep_fixes(complete)

    def store(self, results: Mapping[str, UnitResult], run: RunResult | None) -> None:
        """Keeps the fixes of results that were kept without."""
        if (
            self._kept is not None
            and run is not None
            and not any(result.is_lost for result in results.values())
        ):
            self._keep_fixes(results)

    def _keep_fixes(self, results: Mapping[str, UnitResult]) -> None:
        assert self._kept is not None
        self._kept.fixed = {path: result.findings for path, result in results.items()}
        self._kept.has_fixes = True


@dataclass(slots=True, eq=False)
class _Kept:
    """What one analysis found, and what it was an analysis of.

    Attributes:
        comment_words: of the document.
        settings: of the document, as text.
        results: of the units, by main file.
        outside: states of the files on disk that were read.
        functions: names of those in the units that were read.
        is_certain: no result was lost, and no files came or went since.
        fixed: findings with what repairs them, by main file.
        has_fixes: they were looked for.
    """

    sources: Mapping[str, Source]
    text: VisibleText
    comment_words: frozenset[str]
    settings: str
    results: Mapping[str, UnitResult]
    outside: Mapping[str, tuple[int, int] | None]
    functions: frozenset[str]
    is_certain: bool = False
    fixed: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    has_fixes: bool = False

    def may_matter(self, words: frozenset[str]) -> bool:
        """Returns whether files were searched for one of some words, comments included."""
        searched = {w for r in self.results.values() for s in r.dependencies.searches for w in s}
        return any(
            word in searched or word in self.functions or may_matter_in_a_comment(word)
            for word in words
        )


class _Mover:
    """Moves results of units."""

    def __init__(self, movement: Movement, settings_of: Callable[[str], Settings]) -> None:
        self._relocation = Relocation(movement)
        self._settings_of = settings_of

    def moved(self, result: UnitResult, fixed: Sequence[Finding] | None) -> UnitResult | None:
        """Returns a result at its new place; None where something of it is no place of a token."""
        try:
            facts = self._relocation.moved(result.facts)
            findings = tuple(run_rules(facts, self._settings_of))
            if fixed is not None and len(fixed) == len(findings):
                findings = tuple(map(self._with_fix, findings, fixed))
        except CannotMove:
            return None
        return replace(result, facts=facts, findings=findings, sites=sites_of(facts.kernels))

    def _with_fix(self, finding: Finding, fixed: Finding) -> Finding:
        fix = fixed.fix
        if fix is not None:  # what it makes of the access stands in no text that there is
            fix = replace(fix, edits=self._relocation.moved(fix.edits))
        return replace(finding, fix=fix, help=fixed.help, no_fix=fixed.no_fix)


def _states(paths: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    """Returns what tells whether files on disk changed."""
    return {path: _state(path) for path in paths}


def _state(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
