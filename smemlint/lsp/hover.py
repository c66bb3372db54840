"""What an access costs, where it stands: the hover under the cursor and the hints in the line."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from smemlint.facts import Access, Span
from smemlint.finding import Finding
from smemlint.lint.places import assumption_notes
from smemlint.lsp.analysis import Analysis
from smemlint.lsp.positions import Places
from smemlint.report.diff import changes
from smemlint.report.phrases import headline, labelled_notes
from smemlint.report.strip import bank_strip
from smemlint.report.terminal import Terminal

_TERMINAL = Terminal()


def hover(
    analysis: Analysis, places: Places, position: types.Position, *, is_markdown: bool
) -> types.Hover | None:
    """Returns the costliest instance of the innermost access under the cursor, with its banks."""
    place = places.place(analysis.path, position)
    spans = [a.span for a in analysis.accesses] + [f.span for f in analysis.findings]
    under = [span for span in spans if _holds(span, place)]
    if not under:
        return None
    innermost = min(under, key=_size)
    here = [a for a in analysis.accesses if a.span == innermost]
    lines = list(_described(max(here, key=lambda a: a.ways), len(here))) if here else []
    for finding in analysis.findings:
        if finding.span == innermost:
            lines += _explained(finding)
    text = "\n".join((*lines, *_repaired(analysis, innermost)))
    value, kind = text, types.MarkupKind.PlainText
    if is_markdown:
        fence = "`" * max(3, text.count("`") + 1)  # linted text must not end the block
        value, kind = f"{fence}text\n{text}\n{fence}", types.MarkupKind.Markdown
    return types.Hover(types.MarkupContent(kind, value), places.range(innermost))


def hints(analysis: Analysis, places: Places, requested: types.Range) -> list[types.InlayHint]:
    """Returns `32-way` behind every access of the range that takes more wavefronts than it must."""
    costliest: dict[Span, float] = {}
    for access in analysis.accesses:
        if access.certainty.is_decided and access.ways > 1:
            costliest[access.span] = max(access.ways, costliest.get(access.span, 0.0))
    return [
        types.InlayHint(
            places.position(span.path, span.end_line, span.end_column),
            f"{ways:.3g}-way",
            padding_left=True,
        )
        for span, ways in sorted(costliest.items())
        if requested.start.line <= span.end_line - 1 <= requested.end.line
    ]


def _described(access: Access, instances: int) -> Iterator[str]:
    kind = str(access.kind).replace("_", " ")
    name = f" of {access.array.shown}" if access.array is not None else ""
    worst = access.worst
    if worst is None or access.wavefronts is None:
        yield f"{kind}{name}: {access.certainty}"
    else:
        ideal = max(worst.ideal, worst.profiler_ideal)
        spent = f"{worst.wavefronts} wavefront{'s' if worst.wavefronts != 1 else ''}"
        yield f"{kind}{name}: {spent}, {ideal} at best ({access.ways:.3g}-way), {access.certainty}"
        yield bank_strip(access, _TERMINAL)
    yield _TERMINAL.visible(f"in `{access.instance.title}`")
    if instances > 1:
        yield f"the costliest of {instances} evaluations"
    if access.reason is not None:
        yield _TERMINAL.visible(access.reason.text)
    for assumption in access.assumptions:
        yield _TERMINAL.visible(f"assumed: {assumption.text}")


def _explained(finding: Finding) -> Iterator[str]:
    """Yields what a diagnostic of one line leaves out; assumptions stand with the access."""
    yield _TERMINAL.visible(f"{finding.code} {headline(finding)}")
    known = assumption_notes(finding.access) if finding.access is not None else ()
    for label, note in labelled_notes(finding):
        if note not in known:
            yield _TERMINAL.visible(f"{label}: {note}")
    if finding.help and finding.fix is None:
        yield _TERMINAL.visible(f"help: {finding.help}")


def _repaired(analysis: Analysis, span: Span) -> Iterator[str]:
    """Yields the fix of a finding there, as the lines that it changes."""
    for finding in analysis.findings:
        if finding.span != span or finding.fix is None:
            continue
        yield _TERMINAL.visible(f"fix: {finding.fix.title}")
        for path in dict.fromkeys(edit.span.path for edit in finding.fix.edits):
            for change in changes(finding.fix.edits, path, analysis.text_of(path)):
                yield from (_TERMINAL.visible(f"-{line}") for line in change.before)
                yield from (_TERMINAL.visible(f"+{line}") for line in change.after)
        return


def _holds(span: Span, place: tuple[int, int]) -> bool:
    return (span.line, span.column) <= place < (span.end_line, span.end_column)


def _size(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column
