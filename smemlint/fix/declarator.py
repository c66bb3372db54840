"""A declared array in the text: where its extents stand and how one of them is made larger."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.facts import SharedArray, Span
from smemlint.finding import Edit
from smemlint.frontend.cuda.lexer.tokens import LineMap, Token, lex
from smemlint.lazy_dataclasses import dataclass

_LOOSER_THAN_PLUS = frozenset(("<<", ">", "<", "&", "|", "^", "?", "&&", "||", "==", "!=", ","))


@dataclass(frozen=True, slots=True)
class Declarator:
    """`tile[TILE][TILE]` as a text spells it, outside of macros.

    Attributes:
        extents: of each extent the tokens between its brackets; offsets count in `text`. The first
            has none where another file declares how large the array is.
        end: offset behind the last bracket.
    """

    text: str
    name: str
    extents: tuple[tuple[Token, ...], ...]
    end: int

    def grown(self, axis: int, extra: int, path: str) -> Edit:
        """Returns the edit that makes one extent larger by `extra`."""
        start, end, replacement = _grown(self.text, self.extents[axis], extra)
        lines = LineMap(self.text)
        return Edit(Span(path, *lines(start), *lines(end)), replacement)

    def spelled(self, axis: int, extra: int) -> str:
        """Returns the declarator with that edit, on one line; as it is with an `extra` of zero."""
        extents = [
            self.text[tokens[0].start : tokens[-1].end] if tokens else "" for tokens in self.extents
        ]
        if extra:
            tokens = self.extents[axis]
            start, end, replacement = _grown(self.text, tokens, extra)
            extents[axis] = (
                self.text[tokens[0].start : start] + replacement + self.text[end : tokens[-1].end]
            )
        return self.name + "".join(f"[{' '.join(extent.split())}]" for extent in extents)


def declarator(text: str, array: SharedArray) -> Declarator | None:
    """Returns the array's declarator; None where the text at its span is no plain one.

    A macro that makes the name, the brackets or all of it leaves something else at the span.
    """
    lines = LineMap(text)
    span = array.span
    if span.end_line > len(lines.starts):
        return None
    start = lines.offset(span.line, span.column)
    end = lines.offset(span.end_line, span.end_column)
    tokens = lex(text[start:end])
    if not tokens or tokens[0].text != array.name:
        return None
    groups = subscripts(tokens, 1)
    used = 1 + sum(len(group) + 2 for group in groups)
    if used != len(tokens) or len(groups) != len(array.dims) or not all(groups[1:]):
        return None
    for token in tokens:
        token.start, token.end = token.start + start, token.end + start
    return Declarator(text, array.name, tuple(groups), tokens[-1].end)


def subscripts(tokens: Sequence[Token], at: int) -> list[tuple[Token, ...]]:
    """Returns what stands in each of the square brackets that follow each other from a token on."""
    groups: list[tuple[Token, ...]] = []
    while at < len(tokens) and tokens[at].text == "[":
        depth, end = 0, at
        while end < len(tokens):
            depth += (tokens[end].text in "([{") - (tokens[end].text in ")]}")
            if not depth:
                break
            end += 1
        else:
            return groups
        groups.append(tuple(tokens[at + 1 : end]))
        at = end + 1
    return groups


def _grown(text: str, tokens: Sequence[Token], extra: int) -> tuple[int, int, str]:
    """Returns range and replacement: `32` -> `33`, `N` -> `N + 1`, `N + 1` -> `N + 2`."""
    last = tokens[-1]
    value = decimal(last.text)
    if value is not None and (len(tokens) == 1 or is_added(tokens)):
        return last.start, last.end, str(value + extra)
    if _operators(tokens) & _LOOSER_THAN_PLUS:
        start = tokens[0].start
        return start, last.end, f"({text[start : last.end]}) + {extra}"
    return last.end, last.end, f" + {extra}"


def is_added(tokens: Sequence[Token]) -> bool:
    """Returns whether the last of an extent's tokens is added to the others."""
    is_behind_plus = len(tokens) > 2 and tokens[-2].text == "+"
    return is_behind_plus and not _operators(tokens) & _LOOSER_THAN_PLUS


def _operators(tokens: Sequence[Token]) -> frozenset[str]:
    """Returns operators outside of brackets."""
    depth, found = 0, set()
    for token in tokens:
        if token.kind != "operator":
            continue
        depth -= token.text in ")]}"
        if not depth:
            found.add(token.text)
        depth += token.text in "([{"
    return frozenset(found)


def decimal(text: str) -> int | None:
    """Returns the value of a decimal number without a suffix; None for any other text."""
    is_plain = text.isdecimal() and text.isascii()
    return int(text) if is_plain and (text == "0" or text[0] != "0") else None
