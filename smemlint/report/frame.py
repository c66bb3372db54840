"""Source lines with what they say underlined, as compilers show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from smemlint.facts import Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.report.terminal import Terminal

_MOST_LINES = 6
_MOST_COLUMNS = 200
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Mark:
    """One underlined place.

    Attributes:
        span: in the file that the frame is of.
        label: what stands behind the underline.
        sign: the character of the underline.
    """

    span: Span
    label: str
    sign: str
    style: str


def frame(
    marks: Sequence[Mark], lines: Sequence[str], numbers: int, term: Terminal
) -> Iterator[str]:
    """Yields the lines of the marks in order of place, each underlined."""
    bar, gap = term.paint("|", "blue"), " " * numbers
    limit = (term.width - numbers - 3) if term.width else _MOST_COLUMNS
    previous = 0
    for mark in sorted(marks, key=lambda m: m.span):
        first = mark.span.line
        if previous and first > previous + 1:
            yield gap + term.paint(_CUT, "blue")
        shown = _one_line if mark.span.end_line == first else _several_lines
        for number, row in shown(mark, lines, limit, term):
            if number is None:
                yield f"{gap} {bar} {row}"
            elif number > previous:
                yield f"{term.paint(f'{number:>{numbers}}', 'blue')} {bar} {row}".rstrip()
                previous = number


_Row = tuple[int | None, str]
"""A line of a frame: its number in the source, or None of one that marks it."""


def _one_line(mark: Mark, lines: Sequence[str], limit: int, term: Terminal) -> Iterator[_Row]:
    """Yields a line and what underlines a part of it."""
    span = mark.span
    if not 0 < span.line <= len(lines):
        return
    text = lines[span.line - 1].rstrip()
    end = max(span.end_column, span.column + 1)
    shown, first, end = _window(text, span.column, end, limit)
    yield span.line, term.visible(shown)
    message = term.visible(mark.label)
    blank = _blank(shown[: first - 1])
    under = mark.sign * columns(shown[first - 1 : end - 1] or " ")
    if message and len(f"{blank}{under} {message}") > limit:  # beneath, as far left as it must
        yield None, f"{blank}{term.paint(under, mark.style)}"
        blank = blank[: max(limit - len(message), 0)]
        yield None, f"{blank}{term.paint(message, mark.style)}"
        return
    beside = f"{under} {message}" if message else under
    yield None, f"{blank}{term.paint(beside, mark.style)}"


def _several_lines(mark: Mark, lines: Sequence[str], limit: int, term: Terminal) -> Iterator[_Row]:
    """Yields lines with a bracket on their left that ends under the last column."""
    span = mark.span
    last = min(span.end_line, span.line + _MOST_LINES - 1)
    sign, width = "/", 1
    for number in range(span.line, last + 1):
        if not 0 < number <= len(lines):
            continue
        text = lines[number - 1].rstrip()
        end = span.end_column if number == span.end_line else len(text) + 1
        shown, _, end = _window(text, 1, max(end, 2), limit - 2)
        yield number, f"{term.paint(sign, mark.style)} {term.visible(shown)}"
        sign, width = "|", columns(shown[: end - 2])
    message = f" {term.visible(mark.label)}" if mark.label else ""
    yield None, term.paint(f"|{'_' * (width + 1)}{mark.sign}{message}", mark.style)


def columns(text: str) -> int:
    """Returns how many columns a terminal gives the text: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _blank(text: str) -> str:
    """Blanks as wide as the text; tabs stay, so that they reach the same stops."""
    return "\t".join(" " * columns(part) for part in text.split("\t"))


def _window(text: str, first: int, end: int, limit: int) -> tuple[str, int, int]:
    """Returns the part of a long line around columns `first` to `end`, and where they are in it."""
    if len(text) <= limit:
        return text, first, end
    start = max(min(end - 1 + len(_CUT) - limit, first - 1 - len(_CUT)), 0)
    part = text[start : start + limit]
    if start:
        part = _CUT + part[len(_CUT) :]
    if start + limit < len(text):
        part = part[: -len(_CUT)] + _CUT
    return part, max(first - start, 1), min(end - start, limit + 1)
