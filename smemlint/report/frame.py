"""Source lines with what they say underlined, as compilers show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.facts import Span
    from smemlint.report.terminal import Terminal

_MOST_LINES = 6
_MOST_COLUMNS = 200
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Mark:
    """One underlined place.

    Attributes:
        span: in the file that the frame is of.
        said: what stands behind the underline.
        sign: the character of the underline.
        style: its colour.
    """

    span: Span
    said: str
    sign: str
    style: str


def frame(
    marks: Sequence[Mark], lines: Sequence[str], numbers: int, term: Terminal
) -> Iterator[str]:
    """The lines of the marks in order of place, each underlined.

    Args:
        marks: of one file.
        lines: of the file.
        numbers: columns that line numbers take.
        term: where it is printed.
    """
    bar, gap = term.paint("|", "blue"), " " * numbers
    limit = (term.width - numbers - 3) if term.width else _MOST_COLUMNS
    previous = 0
    for mark in sorted(marks, key=lambda m: m.span):
        span = mark.span
        last = min(span.end_line, span.line + _MOST_LINES - 1)
        for number in range(span.line, last + 1):
            if not 0 < number <= len(lines):
                continue
            text = lines[number - 1].rstrip()
            first = span.column if number == span.line else len(text) - len(text.lstrip()) + 1
            end = span.end_column if number == span.end_line else len(text) + 1
            shown, first, end = _window(text, first, max(end, first + 1), limit)
            if previous and number > previous + 1:
                yield gap + term.paint(_CUT, "blue")
            if number != previous:
                label = term.paint(f"{number:>{numbers}}", "blue")
                yield f"{label} {bar} {term.visible(shown)}".rstrip()
            previous = number
            said = f" {term.visible(mark.said)}" if mark.said and number == last else ""
            under = mark.sign * columns(shown[first - 1 : end - 1] or " ")
            yield f"{gap} {bar} {_blank(shown[: first - 1])}{term.paint(under + said, mark.style)}"


def columns(text: str) -> int:
    """How many columns a terminal gives the text: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _blank(text: str) -> str:
    """Blanks as wide as the text; tabs stay, so that they reach the same stops."""
    return "\t".join(" " * columns(part) for part in text.split("\t"))


def _window(text: str, first: int, end: int, limit: int) -> tuple[str, int, int]:
    """The part of a long line around columns `first` to `end`, and where they are in it."""
    if len(text) <= limit:
        return text, first, end
    start = max(min(end - 1 + len(_CUT) - limit, first - 1 - len(_CUT)), 0)
    part = text[start : start + limit]
    if start:
        part = _CUT + part[len(_CUT) :]
    if start + limit < len(text):
        part = part[: -len(_CUT)] + _CUT
    return part, max(first - start, 1), min(end - start, limit + 1)
