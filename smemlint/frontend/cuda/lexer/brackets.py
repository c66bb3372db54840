"""Bracket pairs of a whole token stream, found so that one lost bracket costs one function."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.frontend.cuda.lexer.tokens import OPENING, Token
from smemlint.frontend.cuda.scanner.definition_tokens import FileTable
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_LOST_BRACKETS

_STARTERS = frozenset(
    ("__global__", "__device__", "__host__", "template", "namespace", "void", "int")
)
_INTERESTING = frozenset((*OPENING, *OPENING.values(), *_STARTERS))


@dataclass(frozen=True, slots=True)
class Brackets:
    """Pairs of brackets.

    Attributes:
        close: index of each opening bracket to the index of its closing one; for one that is
            never closed, the index of the token before which it has to end.
        unclosed: opening brackets that are never closed.
        stray: closing brackets that close nothing.
    """

    close: dict[int, int]
    unclosed: frozenset[int]
    stray: frozenset[int]

    def after(self, opening: int) -> int:
        """Returns the index of the first token behind a bracketed range."""
        close = self.close[opening]
        return close if opening in self.unclosed else close + 1


def find_brackets(tokens: Sequence[Token], files: FileTable) -> Brackets:
    """Pairs the brackets of a token stream.

    A definition that begins at the left margin ends every bracket that is still open inside a
    function; closing brackets end the brackets inside that were not closed.
    """
    close: dict[int, int] = {}
    unclosed: set[int] = set()
    stray: set[int] = set()
    stack: list[int] = []
    braces: list[int] = []  # positions of the `{` in the stack
    scopes: list[int] = []  # sizes of the stack with a namespace or record on top

    def abandon(size: int, before: int) -> None:
        for opening in stack[size:]:
            close[opening] = before
            unclosed.add(opening)
        del stack[size:]
        while braces and braces[-1] >= size:
            braces.pop()

    for i in [i for i, token in enumerate(tokens) if token.text in _INTERESTING]:
        token = tokens[i]
        text = token.text
        if text in OPENING:
            stack.append(i)
            if text == "{":
                braces.append(len(stack) - 1)
                is_outermost = len(stack) - 1 == (scopes[-1] if scopes else 0)
                if is_outermost and _opens_scope(tokens, i):
                    scopes.append(len(stack))
        elif text in _STARTERS:
            size = scopes[-1] if scopes else 0
            if len(stack) > size and _is_at_margin(token, files) and _starts_definition(tokens, i):
                abandon(size, i)
        elif token.kind == "operator":
            if text == "}":
                position = braces[-1] if braces else -1
            else:
                position = _opening_for(text, stack, tokens)
            if position < 0:
                stray.add(i)
                continue
            abandon(position + 1, i)
            close[stack.pop()] = i
            if text == "}":
                braces.pop()
            while scopes and scopes[-1] > len(stack):
                scopes.pop()
    abandon(0, len(tokens))
    return Brackets(close, frozenset(unclosed), frozenset(stray))


def _opening_for(text: str, stack: list[int], tokens: Sequence[Token]) -> int:
    """Returns position in the stack of the bracket that a `)` or `]` closes; -1 for none.

    It may end a few brackets of the other kind, but never a block.
    """
    for position in range(len(stack) - 1, max(len(stack) - 1 - MAX_LOST_BRACKETS, -1), -1):
        opening = tokens[stack[position]].text
        if OPENING[opening] == text:
            return position
        if opening == "{":
            break
    return -1


def _is_at_margin(token: Token, files: FileTable) -> bool:
    if not token.first_on_line or token.macro is not None:
        return False
    return token.start == 0 or files[token.file].text[token.start - 1] in "\r\n"


def _opens_scope(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether the `{` at `i` opens a namespace, an `extern "C"` block or a record."""
    j, end = i - 1, max(i - 60, -1)
    while j > end:
        text = tokens[j].text
        if text in ("namespace", "struct", "class", "union"):
            return not (j and tokens[j - 1].text in ("enum", "<", ","))
        if text in (";", "{", "}"):
            return False
        if tokens[j].kind == "string" and j and tokens[j - 1].text == "extern":
            return True
        if text == ")":
            j = opening_of(tokens, j, end)
            if j < 1 or tokens[j - 1].text not in ("__align__", "alignas", "__attribute__"):
                return False
        j -= 1
    return False


def opening_of(tokens: Sequence[Token], close: int, end: int = -1) -> int:
    """Returns the index of the `(` that a `)` closes; -1 where there is none behind `end`."""
    depth = 0
    for j in range(close, end, -1):
        depth += (tokens[j].text == ")") - (tokens[j].text == "(")
        if not depth:
            return j
    return -1


def _starts_definition(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether a word at the left margin cannot be part of a function's body."""
    word = tokens[i].text
    before = tokens[i - 1].text if i else ""
    following = [token.text for token in tokens[i + 1 : i + 4]]
    if word == "template":
        return following[:1] == ["<"] and before not in ("::", ".", "->", "typename")
    if word == "namespace":
        return before != "using" and "=" not in following
    if word in ("void", "int"):  # `int main(`, with a name that is no declarator or cast
        has_name = len(following) > 1 and following[1] == "("
        return has_name and before in (";", "}", ")") and tokens[i + 1].kind == "identifier"
    return before not in (",", "]", "(", "<") or word == "__global__"
