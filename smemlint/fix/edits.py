"""Edits on a text: applied from the back, chosen so that none overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smemlint.finding import Edit, Finding, Fix
from smemlint.frontend.cuda.lexer.tokens import LineMap


class CannotEdit(ValueError):
    """A source that cannot be edited, or an edit that does not fit into it."""


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Returns the text with edits of its file; an edit that is given twice is made once.

    Raises:
        CannotEdit: two edits overlap.
    """
    lines = LineMap(text)
    ranges = sorted(
        (lines.offset(s.line, s.column), lines.offset(s.end_line, s.end_column), replacement)
        for s, replacement in {(e.span, e.text) for e in edits}
    )
    pieces, at = [], 0
    for start, end, replacement in ranges:
        if start < at:
            raise CannotEdit(f"two edits of one range overlap at offset {start}")
        pieces += [text[at:start], replacement]
        at = end
    return "".join((*pieces, text[at:]))


def compatible(findings: Sequence[Finding], *, with_unsafe: bool) -> list[Fix]:
    """Returns fixes that can be applied together, each once, in order of the findings.

    A fix whose edits touch those of an earlier one waits for the next round.
    """
    chosen: dict[tuple[Edit, ...], Fix] = {}
    for finding in findings:
        fix = finding.fix
        if fix is None or not (fix.is_safe or with_unsafe) or fix.edits in chosen:
            continue
        if not any(_touch(a, b) for a in fix.edits for done in chosen for b in done):
            chosen[fix.edits] = fix
    return list(chosen.values())


def _touch(a: Edit, b: Edit) -> bool:
    """Returns whether two edits overlap or meet."""
    if a.span.path != b.span.path:
        return False
    first, second = sorted((a.span, b.span))
    end = (first.end_line, first.end_column)
    return (second.line, second.column) <= end
