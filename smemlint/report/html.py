"""A report to read in a browser: one file, nothing loaded from elsewhere, dark and light."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from smemlint import __version__
from smemlint.facts import Access, Span
from smemlint.finding import BANK_CONFLICT, Finding
from smemlint.report.bankmap import HATCH, bank_map, most_words
from smemlint.report.context import Run
from smemlint.report.diff import changes
from smemlint.report.page import cell, page, plain, table
from smemlint.report.phrases import (
    advice,
    by_cost,
    headline,
    labelled_notes,
    measurement_text,
    run_text,
)
from smemlint.report.thread_picture import picture_of, svg_picture
from smemlint.sources.source import lines_of


def render(run: Run) -> str:
    """Returns the page."""
    title = "smemlint: shared-memory accesses"
    findings = by_cost(run.result.findings)
    return page(
        title,
        (
            HATCH,
            f"<header><h1>{title}</h1>",
            f"<p>{_code(run_text(run.result))}</p>",
            f"<p class='quiet'>smemlint {__version__}, target {escape(run.arch)}</p></header>",
            _contents(findings) if findings else "",
            *(_article(i, f, run) for i, f in enumerate(findings)),
        ),
    )


def _contents(findings: Sequence[Finding]) -> str:
    """Returns one row a finding, which leads to it."""
    rows = []
    for i, finding in enumerate(findings):
        path, line = finding.span.path, finding.span.line
        cells = (
            cell(f"<a href='#f{i}'>{escape(f'{path}:{line}')}</a>", f"{path}:{line:09}"),
            cell(f"{finding.code} {finding.name}"),
            cell(_badge(finding), int(finding.severity)),
            cell(_code(headline(finding))),
            cell(_share(finding)),
            cell(str(finding.certainty or "")),
        )
        rows.append("".join(cells))
    head = ("place", "rule", "severity", "what", "wasted", "certainty")
    return table(head, rows, is_contents=True)


def _share(finding: Finding) -> str:
    """Returns the share of the kernel's wavefronts that a finding wastes."""
    cost = finding.cost
    return f"{cost.share:.0%}" if cost is not None and cost.wasted > 0 else ""


def _article(number: int, finding: Finding, run: Run) -> str:
    span = finding.span
    place = escape(f"{span.path}:{span.line}:{span.column}")
    parts = [
        f"<article id='f{number}'><h2>{_badge(finding)} {_code(headline(finding))}</h2>",
        f"<p class='quiet'>{place} &middot; {finding.code} {finding.name}</p>",
        f"<pre>{_excerpt(finding, run)}</pre>",
        *_maps(finding),
        f"<dl>{''.join(_facts(finding))}</dl>",
        *_diff(finding, run),
        "</article>",
    ]
    return "\n".join(parts)


def _badge(finding: Finding) -> str:
    return f"<span class='badge {finding.severity}'>{finding.severity}</span>"


def _facts(finding: Finding) -> Iterator[str]:
    for label, note in labelled_notes(finding):
        yield _row(label, note)
    for span, message in finding.related:
        if span.path != finding.span.path:
            yield _row("see", f"{message}: {span.path}:{span.line}:{span.column}")
    if finding.certainty is not None:
        yield _row("certainty", str(finding.certainty))
    if finding.measurement is not None:
        yield _row("measured", measurement_text(finding.measurement))
    if advice(finding):
        yield _row("help", advice(finding))
    yield _row("more", f"`smemlint rule {finding.code}`")


def _row(label: str, text: str) -> str:
    return f"<dt>{label}</dt><dd>{_code(text)}</dd>"


def _code(text: str) -> str:
    """Escapes text; what stands in backticks is code."""
    pieces = plain(text).split("`")
    if len(pieces) % 2 == 0:
        return "`".join(pieces)
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))


# ---- source


def _excerpt(finding: Finding, run: Run) -> str:
    """Returns the lines of the finding and of the array's declaration, marked."""
    lines = lines_of(run.text_of(finding.span.path))
    marks = [s for s, _ in finding.related if s.path == finding.span.path]
    shown: list[str] = []
    previous = 0
    for span in sorted((finding.span, *marks)):
        if not 0 < span.line <= len(lines) or span.line <= previous:
            continue
        if previous and span.line > previous + 1:
            shown.append("<span class='quiet'>  ...</span>")
        shown.append(_line(span, lines[span.line - 1], is_finding=span == finding.span))
        previous = span.line
    return "\n".join(shown)


def _line(span: Span, text: str, *, is_finding: bool) -> str:
    end = span.end_column - 1 if span.end_line == span.line else len(text)
    pieces = text[: span.column - 1], text[span.column - 1 : end], text[end:]
    before, marked, after = map(plain, pieces)
    mark = "mark" if is_finding else "u"
    number = f"<span class='quiet'>{span.line:>4} | </span>"
    return f"{number}{before}<{mark}>{marked}</{mark}>{after.rstrip()}"


def _diff(finding: Finding, run: Run) -> Iterator[str]:
    if finding.fix is None:
        return
    rows = []
    for path in dict.fromkeys(e.span.path for e in finding.fix.edits):
        for change in changes(finding.fix.edits, path, run.text_of(path)):
            for tag, sign, lines in (("del", "-", change.before), ("ins", "+", change.after)):
                for number, text in enumerate(lines, change.line):
                    line = plain(text.rstrip())
                    rows.append(f"<{tag}>{number:>4} {sign} {line}</{tag}>")
    yield "<pre>" + "\n".join(rows) + "</pre>"


# ---- banks


def _maps(finding: Finding) -> Iterator[str]:
    """Yields the banks as they are, and beside them as they are with the fix."""
    after = finding.fix.after if finding.fix is not None else None
    if finding.code != BANK_CONFLICT and (after is None or finding.cost is None):
        return
    drawn = [(label, a) for label, a in (("now", finding.access), ("with the fix", after)) if a]
    if any(access.worst is None for _, access in drawn) or not drawn:
        return
    highest = max(most_words(a, a.worst) for _, a in drawn if a.worst is not None)
    yield "<div class='maps'>" + "".join(_figure(s, a, highest) for s, a in drawn) + "</div>"
    values = picture_of(finding.access)
    if values is not None:
        caption = "which lane holds which chunk of which row"
        drawing = svg_picture(values)
        yield f"<figure><figcaption>{caption}</figcaption>{drawing}</figure>"


def _figure(label: str, access: Access, highest: int) -> str:
    worst = access.worst
    assert worst is not None
    ideal = max(worst.ideal, worst.profiler_ideal)
    plural = "s" if worst.wavefronts != 1 else ""
    figure = f"{label}: {worst.wavefronts} wavefront{plural}, {ideal} at best"
    drawing = bank_map(access, worst, highest)
    return f"<figure><figcaption>{figure}</figcaption>{drawing}</figure>"
