"""Places as editors count them: from 0, columns in units of the agreed encoding."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from smemlint.facts import Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.source import lines_of

_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def units(text: str, encoding: str) -> int:
    """Returns how many code units `text` has in `utf-8`, `utf-16` or `utf-32`."""
    if text.isascii():
        return len(text)
    suffix = "" if encoding == "utf-8" else "-le"  # without a byte order mark
    return len(text.encode(encoding + suffix, "surrogatepass")) // _BYTES[encoding]


def code_points(text: str, count: int, encoding: str) -> int:
    """Returns how many characters the first `count` code units hold; halves do not count."""
    if text.isascii():
        return min(count, len(text))
    for index, character in enumerate(text):
        count -= units(character, encoding)
        if count < 0:
            return index
    return len(text)


@dataclass(frozen=True, slots=True)
class Places:
    """Spans and the editor's places.

    Attributes:
        encoding: `utf-8`, `utf-16` or `utf-32`.
        text_of: the text of a file of the analysis.
    """

    encoding: str
    text_of: Callable[[str], str]
    uri_of: Callable[[str], str]

    def position(self, path: str, line: int, column: int) -> types.Position:
        """Returns the position of a line and a column from 1, in code points."""
        lines = lines_of(self.text_of(path))
        row = lines[line - 1] if line <= len(lines) else ""
        return types.Position(line - 1, units(row[: column - 1], self.encoding))

    def range(self, span: Span) -> types.Range:
        """Returns the range of a span."""
        return types.Range(
            self.position(span.path, span.line, span.column),
            self.position(span.path, span.end_line, span.end_column),
        )

    def location(self, span: Span) -> types.Location:
        """Returns a span with its file."""
        return types.Location(self.uri_of(span.path), self.range(span))

    def place(self, path: str, position: types.Position) -> tuple[int, int]:
        """Returns the line and column from 1, in code points."""
        lines = lines_of(self.text_of(path))
        row = lines[position.line] if position.line < len(lines) else ""
        return position.line + 1, code_points(row, position.character, self.encoding) + 1
