"""The full report: a code frame, the banks, proof, assumptions and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from smemlint.finding import Finding, Severity
from smemlint.report.strip import bank_strip

if TYPE_CHECKING:
    from smemlint.facts import Span
    from smemlint.report.terminal import Terminal

_STYLES = {Severity.NOTE: "cyan", Severity.WARNING: "yellow", Severity.ERROR: "red"}


def full(finding: Finding, text_of: Callable[[str], str], term: Terminal) -> str:
    """One finding as a frame."""
    style = _STYLES[finding.severity]
    head = f"{finding.code} {finding.name}"
    lines = [f"{term.paint(head, 'bold', style)}: {term.paint(finding.message, 'bold')}"]
    span = finding.span
    shown = [(span, "", "^")]
    shown += [(s, said, "-") for s, said in finding.related if s.path == span.path]
    shown.sort(key=lambda item: item[0])
    width = max(len(str(s.line)) for s, _, _ in shown)
    margin = " " * (width + 1)
    lines.append(f"{margin[:-1]}{term.paint('-->', 'blue')} {span.path}:{span.line}:{span.column}")
    lines.append(f"{margin}{term.paint('|', 'blue')}")
    source = text_of(span.path).splitlines()
    previous = 0
    for place, said, mark in shown:
        if previous and place.line > previous + 1:
            lines.append(f"{margin[:-1]}{term.paint('...', 'blue')}")
        lines += _frame(place, said, mark, source, width, term, style)
        previous = place.line
    lines.append(f"{margin}{term.paint('|', 'blue')}")
    strip = bank_strip(finding.access, term) if finding.code == "SML101" else ""
    for label, text in _footer(finding, strip):
        lines.append(f"{margin}{term.paint('=', 'blue')} {term.paint(label + ':', 'bold')} {text}")
    return "\n".join(lines)


def _frame(
    place: Span,
    said: str,
    mark: str,
    source: list[str],
    width: int,
    term: Terminal,
    style: str,
) -> list[str]:
    if not 0 < place.line <= len(source):
        return []
    text = source[place.line - 1]
    end = place.end_column if place.end_line == place.line else len(text.rstrip()) + 1
    lead = "".join(c if c == "\t" else " " for c in text[: place.column - 1])
    bar = term.paint("|", "blue")
    number = term.paint(f"{place.line:>{width}}", "blue")
    under = mark * max(end - place.column, 1)
    colour = style if mark == "^" else "blue"
    tail = f" {said}" if said else ""
    return [
        f"{number} {bar} {text.rstrip()}",
        f"{' ' * width} {bar} {lead}{term.paint(under + tail, colour)}",
    ]


def _footer(finding: Finding, strip: str) -> list[tuple[str, str]]:
    rows = []
    if strip:
        rows.append(("banks", strip))
    for i, note in enumerate(finding.notes[:6]):
        rows.append(("proof" if i == 0 and finding.access is not None else "note", note))
    if len(finding.notes) > 6:
        rows.append(("note", f"and {len(finding.notes) - 6} more"))
    if finding.certainty is not None:
        rows.append(("certainty", str(finding.certainty)))
    if finding.help:
        rows.append(("help", finding.help))
    if finding.access is not None:
        rows.append(("more", f"smemlint rule {finding.code}"))
    return rows
