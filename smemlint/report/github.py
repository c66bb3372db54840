"""Workflow commands that GitHub Actions shows as annotations.

Ten of a kind are shown beside the code in a step; the log has them all. The escapes are those of
`actions/toolkit`, `command.ts`.
"""

from __future__ import annotations

from smemlint.finding import Finding, Severity
from smemlint.report.context import Run
from smemlint.report.phrases import advice, headline, labelled_notes, measurement_text
from smemlint.visible import visible

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render(run: Run) -> str:
    """Returns one command a finding."""
    return "\n".join(_annotation(f, run) for f in run.result.findings)


def _annotation(finding: Finding, run: Run) -> str:
    span = finding.span
    properties = {"file": run.relative(span.path), "line": str(span.line)}
    if span.end_line == span.line:  # GitHub takes columns for one line only
        properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    properties["endLine"] = str(span.end_line)
    properties["title"] = f"{finding.code} {finding.name}"
    shown = ",".join(f"{key}={_property(visible(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {shown}::{_data(_message(finding))}"


def _message(finding: Finding) -> str:
    lines = [headline(finding), *(text for _, text in labelled_notes(finding))]
    if finding.certainty is not None:
        lines.append(f"certainty: {finding.certainty}")
    if finding.measurement is not None:
        lines.append(f"measured: {measurement_text(finding.measurement)}")
    if advice(finding):
        lines.append(f"help: {advice(finding)}")
    return "\n".join(map(visible, lines))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
