"""The full report: a code frame, the banks, proof, assumptions and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from smemlint.finding import BANK_CONFLICT, NOT_ANALYSED, Finding, Severity
from smemlint.report.context import Run
from smemlint.report.diff import Change, changes
from smemlint.report.frame import Mark, frame
from smemlint.report.phrases import advice, by_cost, headline, labelled_notes, measurement_text
from smemlint.report.strip import bank_strip
from smemlint.report.summary import kernels_summary
from smemlint.report.terminal import SEVERITY_COLOURS, Terminal
from smemlint.report.thread_picture import picture_of, text_picture
from smemlint.sources.source import lines_of

_MOST_NOTES = 6
_INDENT = "    "
"""Of lines that go on."""


_WORD = re.compile(r"\|[^|]*\||\S+")


def render(run: Run) -> str:
    """Returns all findings, with an empty line between them, and which kernels waste most."""
    findings = by_cost(run.result.findings)
    rows = [run.terminal.visible(row) for row in kernels_summary(findings)]
    texts = [full(f, run.text_of, run.terminal) for f in findings]
    return "\n\n".join([*texts, *(["\n".join(rows)] if rows else [])])


def full(finding: Finding, text_of: Callable[[str], str], term: Terminal) -> str:
    """Returns one finding as a frame."""
    style = SEVERITY_COLOURS[str(finding.severity)]
    marks = [Mark(finding.span, "", "^", style)]
    marks += [Mark(span, "", "^", style) for span in finding.places]
    marks += [Mark(span, message, "-", "blue") for span, message in finding.related]
    changed = _changes(finding, text_of)
    numbers = [m.span.end_line for m in marks] + [c.line + len(c.before) for c in changed]
    width = len(str(max(numbers)))
    gap, bar = " " * width, term.paint("|", "blue")
    lines = _head(finding, style, term)
    for path in dict.fromkeys(m.span.path for m in marks):
        inside = [m for m in marks if m.span.path == path]
        first = inside[0].span
        arrow = term.paint("-->" if path == finding.span.path else ":::", "blue")
        lines.append(f"{gap}{arrow} {term.visible(f'{path}:{first.line}:{first.column}')}")
        lines.append(f"{gap} {bar}")
        lines += frame(inside, lines_of(text_of(path)), width, term)
        lines.append(f"{gap} {bar}")
    for label, text in _footer(finding, term):
        lines += _row(label, text, gap, term)
        if label == "banks":
            lines += _picture(finding, gap, term)
    lines += _diff(changed, finding.span.path, width, term)
    if finding.code == NOT_ANALYSED or not finding.is_notice:
        lines += _row("more", f"smemlint rule {finding.code}", gap, term)
    return "\n".join(lines)


def _head(finding: Finding, style: str, term: Terminal) -> list[str]:
    """Returns the rule and what it says, wrapped at the width of the window."""
    is_minor = finding.cost is not None and finding.severity is Severity.NOTE
    rule = f"{finding.code} {finding.name}{' (note)' if is_minor else ''}:"
    text = f"{rule} {term.visible(headline(finding))}"
    first, *rest = _wrapped(text, term.width - len(_INDENT))
    message = term.paint(first.removeprefix(rule).lstrip(), "bold")
    rows = [f"{_INDENT}{term.paint(row, 'bold')}" for row in rest]
    return [f"{term.paint(rule[:-1], 'bold', style)}: {message}", *rows]


def _changes(finding: Finding, text_of: Callable[[str], str]) -> list[Change]:
    if finding.fix is None:
        return []
    edits = finding.fix.edits
    paths = dict.fromkeys(e.span.path for e in edits)
    return [c for path in paths for c in changes(edits, path, text_of(path))]


def _footer(finding: Finding, term: Terminal) -> Iterator[tuple[str, str]]:
    strip = bank_strip(finding.access, term) if finding.code == BANK_CONFLICT else ""
    if strip:
        yield "banks", strip
    rows = labelled_notes(finding)
    notes = [row for row in rows if row[0] == "note"]
    yield from (row for row in rows if row[0] != "note")
    yield from notes[:_MOST_NOTES]
    if len(notes) > _MOST_NOTES:
        yield "note", f"and {len(notes) - _MOST_NOTES} more"
    if finding.certainty is not None:
        yield "certainty", str(finding.certainty)
    if finding.measurement is not None:
        yield "measured", measurement_text(finding.measurement)
        if finding.is_refuted and finding.measurement.command:
            yield "report", f"what this prints: {finding.measurement.command}"
    if advice(finding):
        yield "help", advice(finding)


def _picture(finding: Finding, gap: str, term: Terminal) -> Iterator[str]:
    """Yields which lane holds which chunk of which row of a CuTe tensor."""
    values = picture_of(finding.access)
    if values is not None:
        heading, *rows = text_picture(values)
        yield from _row("lanes", heading, gap, term)
        yield from (f"{gap}          {row}" for row in rows)


def _row(label: str, text: str, gap: str, term: Terminal) -> list[str]:
    """Renders `= label: text`, wrapped at the width of the window."""
    first, *rest = _wrapped(term.visible(text), term.width - len(gap) - len(label) - 5)
    head = f"{gap} {term.paint('=', 'blue')} {term.paint(label + ':', 'bold')} {first}"
    return [head, *(f"{gap}   {' ' * len(label)}  {line}" for line in rest)]


def _wrapped(text: str, width: int) -> list[str]:
    """Returns lines of at most `width` columns, in which text between bars is one word."""
    if width < 20:
        return [text]
    lines = [""]
    for word in _WORD.findall(text):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _diff(changed: Sequence[Change], path: str, width: int, term: Terminal) -> Iterator[str]:
    for change in changed:
        if change.path != path:
            yield f"{' ' * width}{term.paint('-->', 'blue')} {term.visible(change.path)}"
        for sign, style, lines in (("-", "red", change.before), ("+", "green", change.after)):
            for number, text in enumerate(lines, change.line):
                label = term.paint(f"{number:>{width}}", "blue")
                yield f"{label} {term.paint(f'{sign} {term.visible(text.rstrip())}', style)}"
