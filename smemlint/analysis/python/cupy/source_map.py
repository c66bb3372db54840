"""Source maps: texts that know where each of their characters stands in a source file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.sizes import require_pieces, require_text, spend_on_text

_TOKEN = re.compile(r"""(?P<prefix>[A-Za-z]{0,2})(?P<quote>'''|\"\"\"|'|")|\#[^\n]*|[\s()+\\]+""")
_ESCAPES = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip
_NUMBERED = {"x": 2, "u": 4, "U": 8}


@dataclass(frozen=True, slots=True)
class Position:
    """One character of a file: line and column from 1, in code points."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class MappedRun:
    """Neighbouring characters of a text.

    Attributes:
        start: the place of the first; None where they have none.
        is_copied: they stand behind each other in the file, too; else all stand at `start`.
    """

    length: int
    start: Position | None
    is_copied: bool


class MappedText(str):
    """A string with the place of every character; None where it has none.

    Slicing, concatenation and the methods here keep places; everything else gives a plain string.
    """

    runs: tuple[MappedRun, ...]

    @staticmethod
    def of(text: str, runs: Sequence[MappedRun]) -> MappedText:
        """Returns a text whose runs are as long as it is."""
        mapped = MappedText(text)
        mapped.runs = tuple(runs)
        return mapped

    @staticmethod
    def at(text: str, place: Position | None) -> MappedText:
        """Returns a text whose characters all stand at one place: they were computed there."""
        return MappedText.of(text, (MappedRun(len(text), place, is_copied=False),) if text else ())

    @staticmethod
    def copied(text: str, start: Position) -> MappedText:
        """Returns a text that stands in a file as it is."""
        return MappedText.of(text, (MappedRun(len(text), start, is_copied=True),) if text else ())

    @staticmethod
    def in_file(text: str, path: str) -> MappedText:
        """Returns the complete text of a file."""
        return MappedText.copied(text, Position(path, 1, 1))

    def __add__(self, other: str) -> MappedText:
        return joined((self, other))

    def __radd__(self, other: str) -> MappedText:
        return joined((other, self))

    @property
    def paths(self) -> set[str]:
        """Returns the files that characters of it stand in."""
        return {run.start.path for run in self.runs if run.start is not None}

    def place(self, index: int) -> Position | None:
        """Returns the place of a character; None outside of the text, too."""
        first = 0
        for run in self.runs:
            if first <= index < first + run.length:
                if run.start is None or not run.is_copied:
                    return run.start
                return behind(run.start, str(self)[first:index])
            first += run.length
        return None

    def covers(self, place: Position) -> bool:
        """Returns whether one of its characters stands there."""
        first = 0
        for run in self.runs:
            if run.start == place:
                return True
            if run.start is not None and run.is_copied and run.start.path == place.path:
                copied = str(self)[first : first + run.length]
                row = place.line - run.start.line
                lines = copied.split("\n")
                if 0 <= row < len(lines):
                    begin = run.start.column if row == 0 else 1
                    if begin <= place.column < begin + len(lines[row]):
                        return True
            first += run.length
        return False

    def part(self, start: int, end: int) -> MappedText:
        """Returns the characters from `start` to `end`, exclusive."""
        spend_on_text(len(self) + len(self.runs))
        text, runs, first = str(self), [], 0
        for run in self.runs:
            low, high = max(start, first), min(end, first + run.length)
            if low < high:
                place = run.start
                if place is not None and run.is_copied and low > first:
                    place = behind(place, text[first:low])
                runs.append(MappedRun(high - low, place, run.is_copied))
            first += run.length
        return MappedText.of(text[start:end], runs)

    def replaced(self, pattern: re.Pattern[str], values: dict[str, str]) -> MappedText:
        """Returns each match replaced by the value of its first group; unknown ones stay."""
        pieces, at = [], 0
        require_pieces(2 * sum(1 for _ in pattern.finditer(str(self))))
        for match in pattern.finditer(str(self)):
            name = next((g for g in match.groups() if g is not None), match[0])
            if name not in values:
                continue
            pieces += [self.part(at, match.start()), values[name]]
            at = match.end()
        return joined([*pieces, self.part(at, len(self))])


def behind(place: Position, text: str) -> Position:
    """Returns the place of what follows a text that begins at a place."""
    lines = text.count("\n")
    if not lines:
        return Position(place.path, place.line, place.column + len(text))
    return Position(place.path, place.line + lines, len(text) - text.rfind("\n"))


def joined(pieces: Sequence[str]) -> MappedText:
    """Returns the pieces one after the other; the characters of plain strings have no place."""
    require_text(map(len, pieces))
    runs: list[MappedRun] = []
    for piece in pieces:
        runs += (piece if isinstance(piece, MappedText) else MappedText.at(piece, None)).runs
        require_pieces(len(runs))
    return MappedText.of("".join(map(str, pieces)), runs)


def literal(segment: str, start: Position, values: Sequence[str] = ()) -> MappedText | None:
    """Returns the text of string literals as they are written, implicit concatenation included.

    Args:
        segment: the literals' source.
        start: where the segment begins.
        values: what stands for each `{..}` of f-strings, in order.

    Returns:
        None where the segment is written in a way that is not read here.
    """
    reader = _Literals(segment, start, iter(values))
    return reader.read()


_PLAIN = re.compile(r"[^\\{}'\"]+")


class _Literals:
    def __init__(self, segment: str, start: Position, values: Iterator[str]) -> None:
        self._text = segment
        self._known = (0, start)
        self._values = values
        self._pieces: list[MappedText] = []

    def read(self) -> MappedText | None:
        at = 0
        while at < len(self._text):
            token = _TOKEN.match(self._text, at)
            if token is None:
                return None
            at = token.end()
            if token["quote"]:
                found = self._body(at, token["quote"], token["prefix"].lower())
                if found is None:
                    return None
                at = found
        return joined(self._pieces)

    def _body(self, at: int, quote: str, prefix: str) -> int | None:
        is_raw, is_format = "r" in prefix, "f" in prefix
        while at < len(self._text):
            if self._text.startswith(quote, at):
                return at + len(quote)
            c = self._text[at]
            plain = _PLAIN.match(self._text, at)
            if plain is not None:
                at = self._copied(at, plain.end())
            elif c == "\\" and not is_raw:
                length, character = _escape(self._text, at)
                if length == 0:
                    return None
                at = self._computed(at, at + length, character)
            elif is_format and c in "{}" and self._text[at + 1 : at + 2] == c:
                at = self._computed(at, at + 2, c)
            elif is_format and c == "{":
                value = next(self._values, None)
                end = _closing(self._text, at)
                if value is None or end is None:
                    return None
                at = self._computed(at, end, value)
            else:
                is_pair = c == "\\" and at + 1 < len(self._text)
                at = self._copied(at, at + 1 + is_pair)
        return None

    def _copied(self, at: int, end: int) -> int:
        """Adds the characters of a range to the text; returns its end."""
        self._pieces.append(MappedText.copied(self._text[at:end], self._place(at)))
        return end

    def _computed(self, at: int, end: int, text: str) -> int:
        """Adds a text that the characters of a range stand for; returns the end of the range."""
        if not isinstance(text, MappedText):
            text = MappedText.at(text, self._place(at))
        self._pieces.append(text)
        return end

    def _place(self, at: int) -> Position:
        before, place = self._known
        place = behind(place, self._text[before:at])
        self._known = (at, place)
        return place


def _escape(text: str, at: int) -> tuple[int, str]:
    """Returns length and value of an escape sequence; length 0 where it is not supported."""
    c = text[at + 1 : at + 2]
    if c == "\n":
        return 2, ""
    if c in _ESCAPES:
        return 2, _ESCAPES[c]
    if c in _NUMBERED:
        digits = text[at + 2 : at + 2 + _NUMBERED[c]]
        try:
            return 2 + _NUMBERED[c], chr(int(digits, 16))
        except ValueError:
            return 0, ""
    octal = re.match(r"[0-7]{1,3}", text[at + 1 : at + 4])
    if octal is not None:
        return 1 + len(octal[0]), chr(int(octal[0], 8))
    return (0, "") if c in ("", "N") else (2, "\\" + c)


def _closing(text: str, at: int) -> int | None:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i + 1
    return None
