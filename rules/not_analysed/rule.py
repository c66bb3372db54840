"""SML901: code that was seen and not decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.finding import Severity
from smemlint.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.config.settings import Settings
    from smemlint.facts import Facts, Span
    from smemlint.finding import Finding


class NotAnalysed(Rule):
    """Says what was not analysed: one note for a kernel, with its reasons."""

    code = "SML901"
    name = "not-analysed"
    summary = "code that was seen and not decided"
    severity = Severity.NOTE

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """One note for each kernel and file with something undecided."""
        for note in facts.not_analysed:
            yield self.finding(f"not analysed: {note.reason}", note.span)
        grouped: dict[tuple[Span, str], dict[str, int]] = {}
        for kernel in facts.kernels:
            key = (kernel.instance.span, kernel.instance.kernel)
            reasons = grouped.setdefault(key, {})
            for access in kernel.accesses:
                if not access.certainty.is_decided:
                    where = f"line {access.span.line}: {access.reason}"
                    reasons[where] = reasons.get(where, 0) + 1
            for note in kernel.not_analysed:
                reasons[f"line {note.span.line}: {note.reason}"] = 1
        for (span, name), reasons in grouped.items():
            if reasons:
                message = f"not fully analysed: `{name}`, {len(reasons)} undecided"
                yield self.finding(message, span, notes=tuple(reasons))


RULE = NotAnalysed()
