"""The edits that mend ignore pragmas: what does nothing goes, what is misspelled is spelled right.

Taking out what hides nothing is safe. What makes a pragma begin to hide findings is not: somebody
has to agree that it was meant so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from smemlint.facts import Span
from smemlint.finding import Edit, Fix
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.pragmas import MARK, Pragma

_WHY = "the pragma begins to hide findings"


@dataclass(frozen=True, slots=True)
class Mender:
    """Mends the pragmas of one file."""

    path: str
    lines: Sequence[str]

    def without(self, pragma: Pragma, words: Sequence[str]) -> Fix | None:
        """Takes words out of a pragma, or the pragma out of the file where none is left."""
        if pragma.name in ("ignore-begin", "ignore-end"):
            return None  # its partner would have to go, too
        left = [word for word in pragma.arguments if word not in words]
        return self._saying(pragma, left) if left else self.without_it(pragma)

    def without_it(self, pragma: Pragma) -> Fix:
        """Takes a pragma out of the file, with its line if it stands alone."""
        if pragma.stands_alone and pragma.end_line < len(self.lines):
            span = Span(self.path, pragma.line, 1, pragma.end_line + 1, 1)
        else:
            start = len(self.lines[pragma.line - 1][: pragma.column - 1].rstrip())
            span = Span(self.path, pragma.line, start + 1, pragma.end_line, pragma.end_column)
        return Fix("remove the pragma", (Edit(span, ""),), is_safe=True)

    def renamed(self, pragma: Pragma, old: str, new: str) -> Fix | None:
        """Spells a word of a pragma right."""
        start = self._behind_mark(pragma)
        found = re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-])").search(
            self.lines[pragma.line - 1], start
        )
        if start <= 0 or found is None:
            return None
        span = Span(self.path, pragma.line, found.start() + 1, pragma.line, found.end() + 1)
        return Fix(f"write `{new}`", (Edit(span, new),), why_unsafe=_WHY)

    def naming(self, pragma: Pragma, names: Sequence[str]) -> Fix | None:
        """Names the rules of an `ignore` that names none."""
        start = self._behind_mark(pragma)
        found = re.compile(r"\s*ignore(\s*\[\s*\])?").match(self.lines[pragma.line - 1], start)
        if start <= 0 or found is None:
            return None
        rules = f"ignore[{', '.join(names)}]"
        span = Span(self.path, pragma.line, start + 1, pragma.line, found.end() + 1)
        return Fix(f"write `{rules}`", (Edit(span, f" {rules}"),), why_unsafe=_WHY)

    def _saying(self, pragma: Pragma, words: Sequence[str]) -> Fix | None:
        row = self.lines[pragma.line - 1]
        at, end = row.find("[", pragma.column - 1), row.find("]", pragma.column - 1)
        if not 0 <= at < end:
            return None
        span = Span(self.path, pragma.line, at + 2, pragma.line, end + 1)
        return Fix("remove what suppresses nothing", (Edit(span, ", ".join(words)),), is_safe=True)

    def _behind_mark(self, pragma: Pragma) -> int:
        """Returns the index behind `smemlint:` in the line of a pragma; 0 where it is not there."""
        at = self.lines[pragma.line - 1].find(MARK, pragma.column - 1)
        return at + len(MARK) if at >= 0 else 0
