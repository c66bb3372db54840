"""The CUDA C++ lexer: text to tokens that know where they stand, and bracket matching on tokens."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, cast

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_ANGLES, MAX_COMPARISONS, MAX_TOKENS

Kind = Literal["identifier", "number", "string", "character", "operator", "pragma"]


@dataclass(slots=True)
class Token:
    """One preprocessing token.

    Lexed tokens are shared between the units that include a file: treat them as read-only.

    Attributes:
        kind: a `pragma` token holds the text of the whole directive after the word `pragma`.
        start, end: code-point offsets in its file's text, the end exclusive. A token that a macro
            made has the range of the whole call; an argument of a macro keeps its own place.
        file: key of its file in the unit's file table.
        first_on_line: whether only blanks and comments precede it on its line.
        macro: outermost macro whose expansion made it.
        hidden: macro names that must not be expanded in it any more.
        assumed: assumed `#if` conditions around the definition of the macro that made it.
    """

    kind: Kind
    text: str
    start: int
    end: int
    file: int = 0
    first_on_line: bool = False
    macro: str | None = None
    hidden: frozenset[str] = frozenset()
    assumed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.text} {self.start}>"


@dataclass(frozen=True, slots=True)
class Lexed:
    """The tokens of one file and what the lexer had to pass over.

    Attributes:
        skipped: how many characters belong to no token.
        first_skipped: offset of the first of them.
        unterminated: offset of a comment or raw string that runs to the end of the file.
        truncated: offset from which on the file was not read because it has too many tokens.
    """

    tokens: list[Token]
    skipped: int = 0
    first_skipped: int = 0
    unterminated: int | None = None
    truncated: int | None = None


# Every alternative consumes at least one character and none can be re-tried at another length, so
# the scan is linear: a string ends at its line's end, an open comment at the end of the file.
# `>>` is never one token: the reader of the tokens knows whether it closes two template lists.
_MASTER = re.compile(
    r"""
 (?P<blank>(?:[ \t\f\v\ufeff]|\\[ \t]*+(?:\r\n?|\n))++)
|(?P<identifier>[^\W\d][\w$]*+(?!["']))
|(?P<newline>(?:\r\n?|\n)[ \t\r\n]*+)
|(?P<comment>//(?:[^\n\r\\]|\\(?:\r\n|.)?)*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?)
|(?P<launch>(?<!operator)(?<!operator[ ])<<[ \t]++<(?![<=]))
|(?P<operator><<<|<<=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=
    |\^=|\#\#|[-+*/%<>=!&|^~?:;,(){}\[\]\#]|\.(?!\d))
|(?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z]|[0-9a-zA-Z_.])*+)
|(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?s:.*?\)(?P=delimiter)"|.*))
|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n\r]|\\(?:\r\n|[\s\S])?)*+"?)
|(?P<character>(?:u8|[uUL])?'(?:[^'\\\n\r]|\\(?:\r\n|[\s\S])?)*+'?)
|(?P<word>[^\W\d][\w$]*+|\$[\w$]*+)
|(?P<bad>[\0-\x08\x0e-\x1f\x7f-\x9f\ufffd]++|.)""",
    re.VERBOSE | re.DOTALL,
)


def lex(text: str, file: int = 0) -> list[Token]:
    """Returns the tokens of a text; characters that belong to none are passed over."""
    return lex_file(text, file).tokens


def lex_file(text: str, file: int = 0, limit: int = MAX_TOKENS) -> Lexed:
    """Returns the tokens of a text with an account of what was passed over.

    `<<<` is one token, and so is `<< <`: Visual Studio formats launches so, and nvcc reads them.
    `>>` and `>>=` are not: they come as adjacent `>` and `>=`.
    """
    tokens: list[Token] = []
    add = tokens.append
    spellings: dict[str, str] = {}  # one string object per spelling
    share = spellings.setdefault
    skipped = first_skipped = 0
    unterminated: int | None = None
    truncated: int | None = None
    first = True
    for match in _MASTER.finditer(text):
        kind = match.lastgroup
        if kind == "blank":
            continue
        if kind == "newline":
            first = True
            continue
        start, end = match.span()
        if kind == "comment":
            if end == len(text) and text.startswith("/*", start) and not _is_closed(text, start):
                unterminated = start
            continue
        if kind == "bad":
            first_skipped = first_skipped if skipped else start
            skipped += end - start
            continue
        spelling = match.group()
        if kind == "word":
            kind = "identifier"
        elif kind == "launch":
            kind, spelling = "operator", "<<<"
        elif kind == "raw":
            kind = "string"
            if end == len(text) and not spelling.endswith(f'){match["delimiter"]}"'):
                unterminated = start
        add(Token(cast("Kind", kind), share(spelling, spelling), start, end, file, first))
        first = False
        if len(tokens) >= limit:
            truncated = end
            break
    return Lexed(tokens, skipped, first_skipped, unterminated, truncated)


def _is_closed(text: str, start: int) -> bool:
    return len(text) >= start + 4 and text.endswith("*/")


def words(text: str) -> frozenset[str]:
    """Returns the blank-separated words of a table."""
    return frozenset(text.split())


OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())


def nesting(token: Token) -> int:
    """Returns 1 for a bracket that opens, -1 for one that closes, 0 for all else."""
    if token.kind != "operator":
        return 0
    return (token.text in OPENING) - (token.text in CLOSING)


def matching(tokens: Sequence[Token], i: int) -> int:
    """Returns the index of the bracket that closes `tokens[i]`, else the last index."""
    depth = 0
    for j in range(i, len(tokens)):
        text = tokens[j].text
        if text in OPENING and tokens[j].kind == "operator":
            depth += 1
        elif text in CLOSING and tokens[j].kind == "operator":
            depth -= 1
            if depth == 0:
                return j
    return len(tokens) - 1


def without_attributes(tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns tokens without attributes like `[[nodiscard]]`."""
    opening = [i for i, token in enumerate(tokens) if token.text == "["]
    begins = [i for i, after in pairwise(opening) if i + 1 == after]
    if not begins:
        return tokens
    out: list[Token] = []
    end = 0
    for begin in begins:
        if begin < end:
            continue
        close = matching(tokens, begin + 1) + 1
        if close == len(tokens):
            break
        if tokens[close].text == "]":
            out += tokens[end:begin]
            end = close + 1
    return [*out, *tokens[end:]]


_CHOOSING = frozenset(("?", "&&", "||"))
# No template argument contains these outside brackets.
_NEVER_IN_ANGLES = frozenset((";", ")", "]", "}", "+=", "-=", "*=", "/=", "%=", "<<=", "<<<"))


def angle_end(tokens: Sequence[Token], i: int, stop: int | None = None) -> int:
    """Returns the index of the `>` that closes the template bracket `tokens[i] == '<'`.

    Returns:
        -1 when the `<` cannot be a template bracket: nothing closes it before `stop`, before the
        enclosing bracket ends or before something that no template argument contains.
    """
    stop = min(len(tokens) if stop is None else stop, i + MAX_ANGLES)
    depth = 0
    closers: list[str] = []
    j = i
    while j < stop:
        token = tokens[j]
        if token.kind == "operator":
            text = token.text
            if text in OPENING:
                closers.append(OPENING[text])
            elif closers:
                if text in CLOSING and text != closers.pop():
                    return -1
            elif text == "<":
                depth += not compares(tokens, j)
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return j
            elif text in _NEVER_IN_ANGLES:
                return -1
        j += 1
    return -1


def compares(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether `tokens[i] == '<'` compares: `sizeof(T) < 4`, `n < 32 ? n : 32`.

    It does behind a number or a bracket, and before a number that a choice hangs on.
    """
    after = tokens[i + 1 : i + 3]
    if len(after) == 2 and after[0].kind == "number" and after[1].text in _CHOOSING:
        return True
    if i < 1 or tokens[i - 1].kind == "number":
        return i > 0
    if tokens[i - 1].text == ")":
        return i < 3 or tokens[i - 3].text != "operator"
    return False


def split_commas(tokens: Sequence[Token]) -> list[list[Token]]:
    """Splits at the commas outside of `()`, `[]`, `{}` and template brackets; [] for no tokens."""
    parts: list[list[Token]] = []
    part: list[Token] = []
    depth = 0
    tries = MAX_COMPARISONS
    angle_stop = -1  # commas up to here are inside template brackets
    for i, token in enumerate(tokens):
        if token.kind == "operator":
            text = token.text
            if text in OPENING:
                depth += 1
            elif text in CLOSING:
                depth -= 1
            elif depth == 0 and i > angle_stop:
                if text == "<" and i and tokens[i - 1].kind == "identifier" and tries > 0:
                    angle_stop = max(angle_stop, angle_end(tokens, i))
                    tries -= angle_stop < i
                elif text == ",":
                    parts.append(part)
                    part = []
                    continue
        part.append(token)
    if part or parts:
        parts.append(part)
    return parts


def spelling_of(tokens: Sequence[Token]) -> str:
    """Returns the tokens as text, with blanks between words, behind commas and in `a<b> == c`.

    Without a blank there, two operators would be read as others: `>=` and `=`.
    """
    out: list[str] = []
    previous = ""
    for token in tokens:
        text = token.text
        if previous and (
            previous == ","
            or previous[-1] + text[0] in _FUSING
            or ((previous[-1].isalnum() or previous[-1] in '_"') and _is_word(text))
        ):
            out.append(" ")
        out.append(text)
        previous = text
    return "".join(out)


_FUSING = frozenset((">=", "++", "--"))
"""Ends and beginnings of operators that would be one; brackets of templates close as `>>`, too."""


def _is_word(text: str) -> bool:
    return text[0].isalnum() or text[0] in "_$\"'"


_LINE_END = re.compile(r"\r\n?|\n")


class LineMap:
    """Offsets of a text to lines and columns; lines end with LF, CR LF or CR."""

    __slots__ = ("starts",)

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def __call__(self, offset: int) -> tuple[int, int]:
        """Returns line and column, both from 1, columns in code points."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Returns the offset at a line and column."""
        return self.starts[line - 1] + column - 1
