"""One line a finding, to jump to: `path:line:column: CODE severity: message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.report.phrases import headline
from smemlint.report.terminal import SEVERITY_COLOURS

if TYPE_CHECKING:
    from smemlint.finding import Finding
    from smemlint.report.context import Run
    from smemlint.report.terminal import Terminal


def render(run: Run) -> str:
    """Returns all findings."""
    return "\n".join(concise(f, run.terminal) for f in run.result.findings)


def concise(finding: Finding, terminal: Terminal) -> str:
    """Returns the line of one finding."""
    span, severity = finding.span, str(finding.severity)
    path = terminal.paint(terminal.visible(span.path), "bold")
    what = terminal.paint(f"{finding.code} {severity}", "bold", SEVERITY_COLOURS[severity])
    sure = f" [{finding.certainty}]" if finding.certainty is not None else ""
    message = terminal.visible(headline(finding))
    return f"{path}:{span.line}:{span.column}: {what}: {message}{sure}"
