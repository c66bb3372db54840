"""The lines that a fix changes, before and after."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.finding import Edit
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.source import lines_of


@dataclass(frozen=True, slots=True)
class Change:
    """Neighbouring lines of one file that edits replace.

    Attributes:
        line: number of the first line, from 1.
        before, after: the lines; their numbers may differ.
    """

    path: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def changes(edits: Sequence[Edit], path: str, text: str) -> list[Change]:
    """Returns what edits of one file do to its lines, in order; those that share a line as one."""
    lines = lines_of(text)
    groups: list[list[Edit]] = []
    for edit in sorted((e for e in edits if e.span.path == path), key=lambda e: e.span):
        if groups and edit.span.line <= groups[-1][-1].span.end_line:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [_change(group, path, lines) for group in groups]


def _change(group: Sequence[Edit], path: str, lines: Sequence[str]) -> Change:
    first, last = group[0].span.line, group[-1].span.end_line
    before = lines[first - 1 : last]
    pieces, line, column = [], first, 1
    for edit in group:
        pieces += [_between(lines, line, column, edit.span.line, edit.span.column), edit.text]
        line, column = edit.span.end_line, edit.span.end_column
    pieces.append(lines[line - 1][column - 1 :] if line <= len(lines) else "")
    after = lines_of("".join(pieces))
    while before and after and before[-1] == after[-1]:  # whole lines are inserted or removed
        before, after = before[:-1], after[:-1]
    while before and after and before[0] == after[0]:
        before, after, first = before[1:], after[1:], first + 1
    return Change(path, first, tuple(before), tuple(after))


def _between(lines: Sequence[str], line: int, column: int, end_line: int, end_column: int) -> str:
    """Returns the source from one place up to another."""
    if line == end_line:
        return lines[line - 1][column - 1 : end_column - 1]
    middle = lines[line : end_line - 1]
    return "\n".join(
        (lines[line - 1][column - 1 :], *middle, lines[end_line - 1][: end_column - 1])
    )
