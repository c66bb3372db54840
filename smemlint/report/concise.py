"""One line a finding: `path:line:column: CODE severity: message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.finding import Finding
    from smemlint.report.run import Run


def render(run: Run) -> str:
    """All findings."""
    return "\n".join(run.terminal.visible(concise(f)) for f in run.result.findings)


def concise(finding: Finding) -> str:
    """A finding that editors and logs can jump to."""
    span = finding.span
    sure = f" [{finding.certainty}]" if finding.certainty is not None else ""
    place = f"{span.path}:{span.line}:{span.column}"
    return f"{place}: {finding.code} {finding.severity}: {finding.message}{sure}"
