"""SML901: code that was seen and not decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.facts import sites_of, verdicts
from smemlint.finding import Severity
from smemlint.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smemlint.config.settings import Settings
    from smemlint.facts import Facts, KernelFacts, Span
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
        grouped: dict[tuple[Span, str], list[KernelFacts]] = {}
        for kernel in facts.kernels:
            grouped.setdefault((kernel.instance.span, kernel.instance.kernel), []).append(kernel)
        for (span, name), kernels in grouped.items():
            undecided = sum(not decided for decided in verdicts(sites_of(kernels)).values())
            reasons = dict.fromkeys(reason for kernel in kernels for reason in _accesses(kernel))
            lost = dict.fromkeys(reason for kernel in kernels for reason in _statements(kernel))
            if undecided or lost:
                counts = [f"{undecided} undecided"] if undecided else []
                counts += [f"{len(lost)} not followed"] if lost else []
                message = f"not fully analysed: `{name}`, {', '.join(counts)}"
                yield self.finding(message, span, notes=(*reasons, *lost))


def _accesses(kernel: KernelFacts) -> Iterator[str]:
    """Why accesses have no verdict."""
    for access in kernel.accesses:
        if not access.certainty.is_decided:
            yield f"line {access.span.line}: {access.reason}"


def _statements(kernel: KernelFacts) -> Iterator[str]:
    """What was not followed, be it an access or not."""
    for note in kernel.not_analysed:
        yield f"line {note.span.line}: {note.reason}"


RULE = NotAnalysed()
