"""Suppressions: which findings pragmas cover, and which pragmas cover nothing.

`ignore[..]` speaks of its line, or standing alone of the code that follows; `ignore-begin[..]` and
`ignore-end[..]` of the lines between them; `ignore-file[..]` of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace

from smemlint.finding import Finding, Fix, Severity, Suppression
from smemlint.lazy_dataclasses import dataclass
from smemlint.lint.pragma_fixes import Mender
from smemlint.lint.registry import is_prefix
from smemlint.sources.languages import CommentStyle
from smemlint.sources.pragmas import IGNORES, KNOWN, Pragma, nearest_pragma, pragmas_in
from smemlint.sources.source import lines_of

UNUSED = ("SML902", "unused-ignore")
MALFORMED = ("SML903", "malformed-pragma")

Reports = Callable[[str, str, str], bool]
"""(code, name, path) -> whether findings of a rule are shown in a file."""
IsCovered = Callable[[str, int, int], bool]
"""(path, first line, last line) -> whether all that these lines hold was decided."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Findings after suppression.

    Attributes:
        findings: those that are shown, with notes on unused and malformed pragmas.
        hidden: those that are not, each with its `suppression`.
    """

    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...] = field(default=())


@dataclass(frozen=True, slots=True, eq=False)
class Ignore:
    """An ignore pragma and the lines that it speaks of, both inclusive."""

    pragma: Pragma
    first: int
    last: int

    def covers(self, finding: Finding, word: str) -> bool:
        """Returns whether a word of it hides a finding."""
        span = finding.span
        end = max(span.line, span.end_line)
        is_named = word in (finding.code, finding.name) or is_prefix(word, finding.code)
        return is_named and span.line <= self.last and end >= self.first


def suppress(
    findings: Sequence[Finding],
    paths: Iterable[str],
    text_of: Callable[[str], str],
    *,
    elsewhere: Iterable[str] = (),
    is_covered: IsCovered = lambda path, first, last: True,
    require_reason: Callable[[str], bool] = lambda path: False,
    reports: Reports = lambda code, name, path: True,
) -> Kept:
    """Drops what ignore pragmas cover; says which cover nothing or cannot be read.

    Args:
        findings: of all files.
        paths: of the files of the run that hold pragmas.
        text_of: the text of a file.
        elsewhere: of files that the run includes: their pragmas count and are not judged.
        is_covered: whether the run decided what some lines hold: elsewhere no pragma is unused.
        require_reason: whether a file's pragmas must give one.
        reports: rules that it denies cannot make a pragma useful, nor is one unused for them.
    """
    shown: list[Finding] = []
    hidden: list[Finding] = []
    used: set[tuple[int, str]] = set()
    judged = dict.fromkeys(paths)
    files = {path: _File(path, text_of(path)) for path in (*judged, *elsewhere)}
    for finding in findings:
        file = files.get(finding.span.path)
        covering = file.covering(finding) if file is not None else []
        if covering:
            suppression = Suppression("inSource", covering[0][0].pragma.reason)
            hidden.append(replace(finding, suppression=suppression))
            used.update((id(ignore), word) for ignore, word in covering)
        else:
            shown.append(finding)
    for path in judged:
        needs_reason = require_reason(path)
        own = [finding for finding in shown if finding.span.path == path]
        shown += files[path].complaints(used, reports, is_covered, own, needs_reason=needs_reason)
    return Kept(tuple(shown), tuple(hidden))


class _File:
    """The pragmas of one file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.mender = Mender(path, lines_of(text))
        self.pragmas = pragmas_in(text, CommentStyle.of(path))
        self.unpaired: list[tuple[Pragma, str]] = []
        self.ignores = list(self._ignores())

    def _ignores(self) -> Iterator[Ignore]:
        """Yields the ignores with their lines; what has no partner is noted in `unpaired`."""
        last = len(self.mender.lines)
        opened: list[Pragma] = []
        for pragma in self.pragmas:
            if pragma.problem:
                continue
            if pragma.name == "ignore" and pragma.target:
                yield Ignore(pragma, pragma.target, pragma.target)
            elif pragma.name == "ignore":
                yield Ignore(pragma, last + 1, last + 1)
            elif pragma.name == "ignore-file":
                yield Ignore(pragma, 1, last)
            elif pragma.name == "ignore-begin":
                opened.append(pragma)
            elif pragma.name == "ignore-end":
                begun = _last_begun(opened, pragma)
                if begun is None:
                    self.unpaired.append((pragma, "`ignore-end` ends nothing"))
                    continue
                opened.remove(begun)
                yield Ignore(begun, begun.line, pragma.line)
        for pragma in opened:
            self.unpaired.append((pragma, "`ignore-begin` without an `ignore-end`: ignored"))

    def covering(self, finding: Finding) -> list[tuple[Ignore, str]]:
        """Returns the ignores that hide a finding, each with the word that does."""
        return [(i, w) for i in self.ignores for w in i.pragma.arguments if i.covers(finding, w)]

    def complaints(
        self,
        used: set[tuple[int, str]],
        reports: Reports,
        is_covered: IsCovered,
        shown: Sequence[Finding],
        *,
        needs_reason: bool,
    ) -> Iterator[Finding]:
        """Notes on what is wrong with the pragmas of the file, whose findings are `shown`."""
        from smemlint.lint.registry import rules_of

        for pragma in self.pragmas:
            if pragma.problem:
                yield self._note(
                    MALFORMED, pragma, pragma.problem, self._mended(pragma, shown, is_covered)
                )
            elif pragma.name in IGNORES:
                yield from self._unknown_words(pragma)
                if needs_reason and not pragma.reason and pragma.name != "ignore-end":
                    yield self._note(MALFORMED, pragma, f"`{pragma.name}` gives no reason")
        for pragma, message in self.unpaired:
            is_end = pragma.name == "ignore-end"
            fix = self.mender.without_it(pragma) if is_end else None
            yield self._note(MALFORMED, pragma, message, fix)
        for ignore in self.ignores:
            words = ignore.pragma.arguments
            unused = [
                w
                for w in words
                if (id(ignore), w) not in used
                and any(reports(*rule, self.path) for rule in rules_of(w))
            ]
            if unused and is_covered(self.path, ignore.first, ignore.last):
                message = f"`{ignore.pragma.name}[{', '.join(unused)}]` suppresses nothing"
                yield self._note(
                    UNUSED, ignore.pragma, message, self.mender.without(ignore.pragma, unused)
                )

    def _unknown_words(self, pragma: Pragma) -> Iterator[Finding]:
        from smemlint.lint.registry import nearest_name, nearest_rule, rules_of

        for word in (w for w in pragma.arguments if not rules_of(w)):
            near = nearest_name(word)
            fix = (
                self.mender.renamed(pragma, word, near)
                if near
                else self.mender.without(pragma, [word])
            )
            yield self._note(
                MALFORMED, pragma, f"`{word}` is not a rule: {nearest_rule(word)}", fix
            )

    def _mended(
        self, pragma: Pragma, shown: Sequence[Finding], is_covered: IsCovered
    ) -> Fix | None:
        """Returns what to write instead of a pragma that cannot be read."""
        near = nearest_pragma(pragma.name) if pragma.name not in KNOWN else ""
        if near:
            return self.mender.renamed(pragma, pragma.name, near)
        if pragma.name != "ignore" or not pragma.problem.startswith("`ignore` names no rule"):
            return None
        line = Ignore(pragma, pragma.target, pragma.target)
        names = {f.name: None for f in shown if line.covers(f, f.name)}
        if names:
            return self.mender.naming(pragma, [*names])
        hides_nothing = is_covered(self.path, line.first, line.last)
        return self.mender.without_it(pragma) if hides_nothing else None

    def _note(
        self, rule: tuple[str, str], pragma: Pragma, message: str, fix: Fix | None = None
    ) -> Finding:
        return Finding(*rule, Severity.NOTE, message, pragma.span(self.path), fix=fix)


def _last_begun(opened: Sequence[Pragma], end: Pragma) -> Pragma | None:
    """Returns what an `ignore-end` ends: the last one begun with the same rules, or at all."""
    for begun in reversed(opened):
        if not end.arguments or set(end.arguments) == set(begun.arguments):
            return begun
    return None
