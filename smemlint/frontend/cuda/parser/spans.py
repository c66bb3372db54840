"""From nodes back to the source: every served token has a number, which is its node's line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.cuda.lexer.tokens import Token, nesting
from smemlint.frontend.cuda.scanner.definition_tokens import FileTable
from smemlint.limits.budgets import MAX_TOKENS_BEFORE


class SpanTable:
    """The raw tokens of everything that was parsed, numbered through the unit.

    A node's `at` is 1 + the number of its token. Tokens of one piece (a function, a
    declaration) stand together, so the end of a node is found by matching brackets between them.
    """

    def __init__(self, files: FileTable) -> None:
        self._files = files
        self._tokens: list[Token] = []
        self._last: dict[int, int] = {}
        self._spans: dict[ir.Node, Span] = {}
        self._extents: dict[ir.Node, tuple[int, int] | None] = {}
        self._last_lines: dict[ir.Node, int] = {}

    def extend(self, tokens: Sequence[Token]) -> int:
        """Numbers the tokens of one piece; returns the first number."""
        first = len(self._tokens)
        self._tokens.extend(tokens)
        return first

    def name(self, token: Token) -> ir.ID:
        """Returns a node that stands for one token."""
        return ir.ID(token.text, at=self.extend([token]) + 1)

    def widen(self, first: int, last: int) -> None:
        """Notes that the tokens from `first` to `last` were served as one."""
        if last != first:
            self._last[first] = last

    def token(self, node: ir.Node) -> Token | None:
        """Returns the token a node begins with."""
        return self._tokens[node.at - 1] if node.at else None

    def tokens(self, first: int, last: int) -> list[Token]:
        """Returns the raw tokens from one number to another."""
        return self._tokens[first : last + 1]

    def span_of(self, first: int, last: int) -> Span:
        """Returns the source range of the tokens from one number to another."""
        return self._between(first, last)

    def span(self, node: ir.Node) -> Span:
        """Returns the exact source range; the call site of a macro for what a macro made."""
        if node not in self._spans:
            self._spans[node] = self._find(node)
        return self._spans[node]

    def last_line(self, node: ir.Node) -> int:
        r"""Returns the last operand's line: `nvcc -lineinfo` gives `s[i\n + 1]` that of the 1.

        All that a macro is replaced by, its arguments too, stands on the line of its call, and what
        a header's function inlines on that of the function's name (nvcc 13.0.88: atomics,
        `load_matrix_sync`, `store_matrix_sync`, `__pipeline_memcpy_async`).
        """
        if node not in self._last_lines:  # every execution of an access asks for it
            self._last_lines[node] = self._find_last_line(node)
        return self._last_lines[node]

    def _find_last_line(self, node: ir.Node) -> int:
        named = node.name if isinstance(node, ir.FuncCall) else node
        numbers = [n for n in _operands(named) if n < len(self._tokens)]
        if not numbers:
            return 1
        last = max(numbers)
        token = self._tokens[last]
        return self._files[token.file].lines(self._call_of(last).start)[0]

    def _call_of(self, number: int) -> Token:
        """Returns the token before a macro's argument with the range of the call; else itself."""
        token = self._tokens[number]
        for before in reversed(self._tokens[max(number - MAX_TOKENS_BEFORE, 0) : number]):
            is_around = before.start <= token.start and token.end <= before.end
            if before.macro is not None and before.file == token.file and is_around:
                return before
        return token

    def _find(self, node: ir.Node) -> Span:
        extent = self._extent(node)
        if extent is None:
            path = next((f.path for f in self._files.values()), "")
            return Span(path, 1, 1, 1, 1)
        return self._between(*extent)

    def _extent(self, node: ir.Node) -> tuple[int, int] | None:
        """Numbers of the first and the last token of a node; None for one that has none."""
        if node not in self._extents:  # every operator asks for that of its operand
            self._extents[node] = self._measured(node)
        return self._extents[node]

    def _measured(self, node: ir.Node) -> tuple[int, int] | None:
        numbers = [n for n in self._numbers(node) if n < len(self._tokens)]
        if not numbers:
            return None
        last = max(numbers)
        return self._balanced(min(numbers), self._last.get(last, last))

    def _numbers(self, node: ir.Node) -> Iterator[int]:
        """Numbers of the operands, and of the operators around them that have no node."""
        yield from _operands(node)
        if isinstance(node, ir.Decl):
            return
        worklist = [node]
        while worklist:
            current = worklist.pop()
            if isinstance(current, ir.FuncCall) and not current.args:
                behind = self._behind(current.name)
                if behind is not None and self._tokens[behind].text == "(":
                    yield self._balanced(behind, behind)[1]
            elif isinstance(current, ir.UnaryOp):
                operator = self._operator(current)
                if operator is not None:
                    yield operator
            worklist += current.children()

    def _operator(self, node: ir.UnaryOp) -> int | None:
        """Returns the number of the operator of `*p` or `p++`, whose node is at its operand."""
        extent = self._extent(node.expr)
        if extent is None:
            return None
        if node.op in ("p++", "p--"):
            text, at = node.op[1:], min(extent[1] + 1, len(self._tokens) - 1)
        else:
            text, at = node.op, extent[0] - 1
            while at >= 0 and self._tokens[at].text == "(":
                at -= 1
        return at if at >= 0 and self._tokens[at].text == text else None

    def _behind(self, node: ir.Node) -> int | None:
        """Returns the number of the token behind a node; None at the end."""
        extent = self._extent(node)
        if extent is None or extent[1] + 1 >= len(self._tokens):
            return None
        return extent[1] + 1

    def _balanced(self, first: int, last: int) -> tuple[int, int]:
        """Extends a range until its brackets match."""
        depth = lowest = 0
        for token in self._tokens[first : last + 1]:
            depth += nesting(token)
            lowest = min(lowest, depth)
        while lowest < 0 and first > 0:
            first -= 1
            change = nesting(self._tokens[first])
            lowest, depth = lowest + change, depth + change
        while depth > 0 and last + 1 < len(self._tokens):
            last += 1
            depth += nesting(self._tokens[last])
        return first, last

    def _between(self, first: int, last: int) -> Span:
        head = self._tokens[first]
        start, end = head.start, head.end
        for token in self._tokens[first : last + 1]:
            if token.file == head.file:
                start, end = min(start, token.start), max(end, token.end)
        return self._files[head.file].span(start, end)


def _operands(node: ir.Node) -> Iterator[int]:
    """Numbers of the tokens of a node and of what is below it."""
    if isinstance(node, ir.Decl):  # a declaration is shown by its name and extents
        if node.at:
            yield node.at - 1
        inner = node.type
        while isinstance(inner, ir.ArrayDecl | ir.PtrDecl):
            if isinstance(inner, ir.ArrayDecl) and inner.dim is not None:
                yield from _operands(inner.dim)
            inner = inner.type
        return
    worklist = [node]
    while worklist:
        current = worklist.pop()
        if current.at:
            yield current.at - 1
        worklist += current.children()
