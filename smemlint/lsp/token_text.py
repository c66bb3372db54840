"""A text as its compiler sees it: a sequence of tokens, of which comments and blanks are no part.

Two texts of one sequence mean the same, and what is known of a token of the one is known of the
token of its number in the other.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from smemlint.digests import blake2b
from smemlint.facts import Span
from smemlint.frontend.cuda.lexer.tokens import LineMap, lex_file
from smemlint.frontend.line_searches import LAUNCH
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.pragmas import MARK

_ALONE = frozenset("()[]{},;?~")
"""Operators that make no other with the one in front of them or behind."""
_WORD = re.compile(rf"\w+|{LAUNCH}|#")


class CannotMove(Exception):
    """A place is no place of a token that both texts have."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenPlaces:
    """Where the tokens of a text stand: what is kept of a text that was edited since.

    Attributes:
        starts, stops: offsets of each token.
    """

    path: str
    lines: LineMap
    starts: array[int]
    stops: array[int]


class TokenText:
    """The tokens of a text.

    Attributes:
        marks: spelling of each token, with what counts of what is in front of it: whether it begins
            a line, comments that are read, and blanks in directives and between operators.
    """

    def __init__(self, path: str, text: str) -> None:
        self.places = TokenPlaces(path, LineMap(text), array("q"), array("q"))
        self.marks: list[str] = []
        comments: list[str] = []
        lexed = lex_file(text)
        at, is_directive, after_operator = 0, False, True
        for token in lexed.tokens:
            gap = text[at : token.start]
            is_operator = token.kind == "operator" and token.text not in _ALONE
            if token.first_on_line:
                is_directive = token.text == "#"
            begins = 2 * token.first_on_line + (not at or "\n" in gap or "\r" in gap)
            counts = is_directive or (is_operator and after_operator)
            is_apart = bool(gap) and counts and not token.first_on_line
            mark = f"{begins}{is_apart:d}{token.text}"
            if "/" in gap:
                comments.append(gap)
                mark += gap if MARK in gap else ""
            self.marks.append(mark)
            self.places.starts.append(token.start)
            self.places.stops.append(token.end)
            at, after_operator = token.end, is_operator
        comments.append(text[at:])
        if lexed.skipped or lexed.unterminated is not None or lexed.truncated is not None:
            comments.append(text)
            self.marks.append(text)  # equal to itself only
        elif MARK in comments[-1]:
            self.marks.append(comments[-1])
        self._comments = comments

    @cached_property
    def comment_words(self) -> frozenset[str]:
        """What comments say: some searches look for words in whole texts."""
        return frozenset(_WORD.findall("\n".join(self._comments)))

    def index(self, offset: int) -> int:
        """Returns the number of the first token that ends behind an offset."""
        return bisect_right(self.places.stops, offset)


@dataclass(frozen=True, slots=True, eq=False)
class VisibleText:
    """Those tokens of a text that an evaluation may see.

    Attributes:
        places: of all tokens of the text.
        pieces: the ranges of token numbers that are seen, in order.
        digest: equal only for sequences that are the same.
    """

    places: TokenPlaces
    pieces: tuple[tuple[int, int], ...]
    digest: bytes

    @staticmethod
    def of(text: TokenText, pieces: Sequence[tuple[int, int]]) -> VisibleText:
        """Returns what is seen of a text."""
        digest = blake2b(digest_size=32)
        for start, stop in pieces:
            data = "\0".join(text.marks[start:stop]).encode("utf-8", "surrogatepass")
            digest.update(b"%d " % len(data))
            digest.update(data)
        return VisibleText(text.places, tuple(pieces), digest.digest())

    @staticmethod
    def all_of(text: TokenText) -> VisibleText:
        """Returns all of a text."""
        return VisibleText.of(text, [(0, len(text.marks))])


def around_the_edit(before: TokenPlaces, old: str, now: TokenPlaces, new: str) -> Movement:
    """Returns where the tokens are that stand in front of what was edited, and those behind it."""
    was, become = _spelled(before, old), _spelled(now, new)
    shorter = min(len(was), len(become))
    front = next((i for i in range(shorter) if was[i] != become[i]), shorter)
    rest = shorter - front
    back = next((i for i in range(rest) if was[-1 - i] != become[-1 - i]), rest)

    def ends(places: TokenPlaces) -> VisibleText:
        count = len(places.starts)
        return VisibleText(places, ((0, front), (count - back, count)), b"")

    return Movement(ends(before), ends(now))


def _spelled(places: TokenPlaces, text: str) -> list[str]:
    return [text[start:stop] for start, stop in zip(places.starts, places.stops, strict=True)]


class Movement:
    """From places of a text to those of the same tokens in another.

    Args:
        before, now: texts of one digest.
    """

    def __init__(self, before: VisibleText, now: VisibleText) -> None:
        self._before = before
        self._now = now
        self._is_still = before.places is now.places

    def span(self, span: Span) -> Span:
        """Returns the new place of an old one, that of its token; in other files nothing moves.

        Raises:
            CannotMove: it does not begin and end in tokens that are seen.
        """
        covers_file = (span.line, span.column, span.end_line, span.end_column) == (1, 1, 1, 1)
        if self._is_still or covers_file or span.path != self._before.places.path:
            return span
        lines = self._before.places.lines
        stop = self._stop(lines.offset(span.end_line, span.end_column))
        is_empty = (span.line, span.column) == (span.end_line, span.end_column)
        start = stop if is_empty else self._start(lines.offset(span.line, span.column))
        line, column = self._now.places.lines(start)
        end_line, end_column = self._now.places.lines(stop)
        return replace(span, line=line, column=column, end_line=end_line, end_column=end_column)

    def line(self, path: str, line: int) -> int:
        """Returns the new number of a line.

        Raises:
            CannotMove: no token that is seen stands in it.
        """
        before, now = self._before.places, self._now.places
        if self._is_still or path != before.path:
            return line
        starts = before.lines.starts
        if not 1 <= line <= len(starts):
            raise CannotMove
        stop = starts[line] if line < len(starts) else before.stops[-1] + 1
        tokens = range(
            bisect_left(before.starts, starts[line - 1]), bisect_left(before.starts, stop)
        )
        for token in tokens:
            other = self._other(token)
            if other is not None:
                return now.lines(now.starts[other])[0]
        raise CannotMove

    def _start(self, offset: int) -> int:
        """Returns the new offset of what begins at one."""
        text = self._before.places
        token = bisect_right(text.starts, offset) - 1
        return self._inside(token, offset, is_inside=token >= 0 and offset < text.stops[token])

    def _stop(self, offset: int) -> int:
        """Returns the new offset of what ends at one."""
        text = self._before.places
        token = bisect_left(text.starts, offset) - 1
        return self._inside(token, offset, is_inside=token >= 0 and offset <= text.stops[token])

    def _inside(self, token: int, offset: int, *, is_inside: bool) -> int:
        other = self._other(token) if is_inside else None
        if other is None:
            raise CannotMove
        return self._now.places.starts[other] + offset - self._before.places.starts[token]

    def _other(self, token: int) -> int | None:
        """Returns the number that a token has in the other text; None for one that is not seen."""
        for (start, stop), (other, _) in zip(self._before.pieces, self._now.pieces, strict=True):
            if start <= token < stop:
                return other + token - start
        return None
