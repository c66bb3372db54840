"""From nodes back to the source: every served token has a number, which is its node's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.facts import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.frontend.cuda.pieces import FileTable
    from smemlint.frontend.cuda.tokens import Token

_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


class SpanTable:
    """The raw tokens of everything that was parsed, numbered through the unit.

    A node's `coord.line` is 1 + the number of its token. Tokens of one piece (a function, a
    declaration) stand together, so the end of a node is found by matching brackets between them.
    """

    def __init__(self, files: FileTable) -> None:
        self._files = files
        self._tokens: list[Token] = []
        self._piece_ends: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._spans: dict[int, tuple[c_ast.Node, Span]] = {}  # holds the node: its id is the key

    def extend(self, tokens: Sequence[Token]) -> int:
        """Numbers the tokens of one piece; returns the first number."""
        first = len(self._tokens)
        self._tokens.extend(tokens)
        return first

    def widen(self, first: int, last: int) -> None:
        """Notes that the tokens from `first` to `last` were served as one."""
        if last != first:
            self._last[first] = last

    def token(self, node: c_ast.Node) -> Token | None:
        """The token a node begins with."""
        number = _number(node)
        return None if number is None else self._tokens[number]

    def tokens(self, first: int, last: int) -> list[Token]:
        """The raw tokens from one number to another."""
        return self._tokens[first : last + 1]

    def span_of(self, first: int, last: int) -> Span:
        """The source range of the tokens from one number to another."""
        return self._between(first, last)

    def span(self, node: c_ast.Node) -> Span:
        """The exact source range; the call site of a macro for what a macro made."""
        if id(node) not in self._spans:
            self._spans[id(node)] = node, self._find(node)
        return self._spans[id(node)][1]

    def last_line(self, node: c_ast.Node) -> int:
        """Line of the last operand: `nvcc -lineinfo` attributes `s[i\n + 1]` to that of the 1."""
        numbers = [n for n in _numbers(node) if n < len(self._tokens)]
        if not numbers:
            return 1
        token = self._tokens[max(numbers)]
        return self._files[token.file].lines(token.start)[0]

    def _find(self, node: c_ast.Node) -> Span:
        numbers = [n for n in _numbers(node) if n < len(self._tokens)]
        if not numbers:
            path = next((f.path for f in self._files.values()), "")
            return Span(path, 1, 1, 1, 1)
        first, last = min(numbers), max(numbers)
        last = self._last.get(last, last)
        first, last = self._balanced(first, last)
        if isinstance(node, c_ast.FuncCall) and node.args is None:
            last = self._through_call(last)
        return self._between(first, last)

    def _balanced(self, first: int, last: int) -> tuple[int, int]:
        """Extends a range until its brackets match."""
        depth = lowest = 0
        for token in self._tokens[first : last + 1]:
            if token.kind == "operator":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
                lowest = min(lowest, depth)
        while lowest < 0 and first > 0:
            first -= 1
            token = self._tokens[first]
            if token.kind == "operator":
                lowest += (token.text in _OPENING) - (token.text in _CLOSING)
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
        while depth > 0 and last + 1 < len(self._tokens):
            last += 1
            token = self._tokens[last]
            if token.kind == "operator":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
        return first, last

    def _through_call(self, last: int) -> int:
        if last + 1 < len(self._tokens) and self._tokens[last + 1].text == "(":
            return self._balanced(last + 1, last + 1)[1]
        return last

    def _between(self, first: int, last: int) -> Span:
        head = self._tokens[first]
        start, end = head.start, head.end
        for token in self._tokens[first : last + 1]:
            if token.file == head.file:
                start, end = min(start, token.start), max(end, token.end)
        return self._files[head.file].span(start, end)


def _number(node: c_ast.Node) -> int | None:
    if isinstance(node, c_ast.Decl | c_ast.Typedef):
        inner = node.type
        while inner is not None and not isinstance(inner, c_ast.TypeDecl):
            inner = getattr(inner, "type", None)
        if inner is not None and inner.coord is not None:
            return int(inner.coord.line) - 1
    coord = node.coord
    return int(coord.line) - 1 if coord is not None else None


def _numbers(node: c_ast.Node) -> Iterator[int]:
    """Numbers of the tokens of a node and of what is below it."""
    if isinstance(node, c_ast.Decl):  # a declaration is shown by its name and extents
        number = _number(node)
        if number is not None:
            yield number
        inner = node.type
        while isinstance(inner, c_ast.ArrayDecl | c_ast.PtrDecl):
            if isinstance(inner, c_ast.ArrayDecl) and inner.dim is not None:
                yield from _numbers(inner.dim)
            inner = inner.type
        return
    work = [node]
    while work:
        current = work.pop()
        if current.coord is not None:
            yield int(current.coord.line) - 1
        work.extend(child for _, child in current.children())
