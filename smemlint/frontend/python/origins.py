"""Text that knows where each of its characters stands in a source file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<prefix>[A-Za-z]{0,2})(?P<quote>'''|\"\"\"|'|")|\#[^\n]*|[\s()+\\]+""",
)
_ESCAPES = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip
_NUMBERED = {"x": 2, "u": 4, "U": 8}


@dataclass(frozen=True, slots=True)
class Place:
    """One character of a file: line and column from 1, in code points."""

    path: str
    line: int
    column: int


class Text(str):
    """A string with the place of every character; None where it has none.

    Slicing, concatenation and the methods here keep places; everything else gives a plain string.
    """

    places: tuple[Place | None, ...]

    @staticmethod
    def of(text: str, places: Sequence[Place | None]) -> Text:
        """A text; as many places as characters."""
        made = Text(text)
        made.places = tuple(places)
        return made

    @staticmethod
    def at(text: str, place: Place | None) -> Text:
        """A text whose characters all stand at one place: they were computed there."""
        return Text.of(text, (place,) * len(text))

    @staticmethod
    def in_file(text: str, path: str) -> Text:
        """The whole text of a file."""
        places, line, column = [], 1, 1
        for c in text:
            places.append(Place(path, line, column))
            line, column = (line + 1, 1) if c == "\n" else (line, column + 1)
        return Text.of(text, places)

    def __add__(self, other: str) -> Text:
        return Text.of(str(self) + str(other), (*self.places, *places_of(other)))

    def __radd__(self, other: str) -> Text:
        return Text.of(str(other) + str(self), (*places_of(other), *self.places))

    def part(self, start: int, end: int) -> Text:
        """The characters from `start` to `end`, exclusive."""
        return Text.of(str(self)[start:end], self.places[start:end])

    def replaced(self, pattern: re.Pattern[str], values: dict[str, str]) -> Text:
        """Each match replaced by the value of its first group; unknown ones stay."""
        pieces, at = [], 0
        for match in pattern.finditer(str(self)):
            name = next((g for g in match.groups() if g is not None), match[0])
            if name not in values:
                continue
            pieces += [self.part(at, match.start()), values[name]]
            at = match.end()
        return joined([*pieces, self.part(at, len(self))])


def places_of(text: str) -> tuple[Place | None, ...]:
    """The places of a string's characters; None for a plain string's."""
    return text.places if isinstance(text, Text) else (None,) * len(text)


def joined(pieces: Sequence[str]) -> Text:
    """The pieces one after the other."""
    places = [place for piece in pieces for place in places_of(piece)]
    return Text.of("".join(map(str, pieces)), places)


def literal(segment: str, start: Place, values: Sequence[str] = ()) -> Text | None:
    """The text of string literals as they are written, implicit concatenation included.

    Args:
        segment: the literals' source.
        start: where the segment begins.
        values: what stands for each `{..}` of f-strings, in order.

    Returns:
        None where the segment is written in a way that is not read here.
    """
    reader = _Literals(segment, start, iter(values))
    return reader.read()


class _Literals:
    def __init__(self, segment: str, start: Place, values: Iterator[str]) -> None:
        self._text = segment
        self._places = _places_in(segment, start)
        self._values = values
        self._pieces: list[str] = []

    def read(self) -> Text | None:
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
            c, place = self._text[at], self._places[at]
            if c == "\\" and not is_raw:
                length, made = _escape(self._text, at)
                if length == 0:
                    return None
                self._pieces.append(Text.at(made, place))
                at += length
            elif is_format and c in "{}" and self._text[at + 1 : at + 2] == c:
                self._pieces.append(Text.at(c, place))
                at += 2
            elif is_format and c == "{":
                value = next(self._values, None)
                end = _closing(self._text, at)
                if value is None or end is None:
                    return None
                self._pieces.append(Text.at(value, place))
                at = end
            elif c == "\\" and is_raw and at + 1 < len(self._text):
                self._pieces += [
                    Text.at(c, place), Text.at(self._text[at + 1], self._places[at + 1]),
                ]  # fmt: skip
                at += 2
            else:
                self._pieces.append(Text.at(c, place))
                at += 1
        return None


def _escape(text: str, at: int) -> tuple[int, str]:
    """Length and value of an escape sequence; length 0 where it is not read here."""
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


def _places_in(segment: str, start: Place) -> list[Place]:
    places, line, column = [], start.line, start.column
    for c in segment:
        places.append(Place(start.path, line, column))
        line, column = (line + 1, 1) if c == "\n" else (line, column + 1)
    return places
