"""Builds pycparser trees whose nodes know the Python code that they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast
from pycparser.c_parser import Coord

from smemlint.frontend.python.python_source import text_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from smemlint.facts import Span
    from smemlint.frontend.python.python_source import PythonText


class Builder:
    """Makes nodes; a node's `coord.line` is its number in a table of Python nodes."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._origins: list[ast.AST] = [text.tree]

    def span(self, node: c_ast.Node) -> Span:
        """Returns where the Python code of a node stands."""
        number = node.coord.line if node.coord is not None else 0
        return self.tree_span(self._origins[number])

    def tree_span(self, origin: ast.AST) -> Span:
        """Returns where a Python node stands."""
        return text_of(origin, self._text).span(origin)

    def spelling(self, origin: ast.AST) -> str:
        """Returns Python code on one line, for messages."""
        text = text_of(origin, self._text).spelling(origin)
        return text if len(text) <= 60 else text[:57] + "..."

    def mark(self, node: c_ast.Node, origin: ast.AST) -> c_ast.Node:
        """Gives a node its place; each gets a number of its own, which names it."""
        self._origins.append(origin)
        node.coord = Coord(self._text.path, len(self._origins) - 1)
        return node

    # ---- expressions

    def name(self, text: str, at: ast.AST) -> c_ast.Node:
        """Returns an identifier."""
        return self.mark(c_ast.ID(text), at)

    def integer(self, value: int, at: ast.AST, *, wide: bool) -> c_ast.Node:
        """Returns an integer constant; wide ones are 64-bit."""
        if value < 0:
            return self.unary("-", self.integer(-value, at, wide=wide), at)
        is_long = wide or value >= 1 << 31
        return self.mark(c_ast.Constant("int", f"{value}LL" if is_long else str(value)), at)

    def floating(self, at: ast.AST) -> c_ast.Node:
        """Returns a floating-point constant; its value is never needed."""
        return self.mark(c_ast.Constant("double", "0.0"), at)

    def unary(self, op: str, operand: c_ast.Node, at: ast.AST) -> c_ast.Node:
        """Returns `op operand`."""
        return self.mark(c_ast.UnaryOp(op, operand), at)

    def binary(self, op: str, a: c_ast.Node, b: c_ast.Node, at: ast.AST) -> c_ast.Node:
        """Returns `a op b`."""
        return self.mark(c_ast.BinaryOp(op, a, b), at)

    def call(self, function: str, arguments: Sequence[c_ast.Node], at: ast.AST) -> c_ast.Node:
        """Returns a call of a name."""
        return self.call_of(self.name(function, at), arguments, at)

    def call_of(
        self, callee: c_ast.Node, arguments: Sequence[c_ast.Node], at: ast.AST
    ) -> c_ast.Node:
        """Returns a call of what an expression gives."""
        return self.mark(c_ast.FuncCall(callee, c_ast.ExprList(list(arguments))), at)

    def coordinate(self, name: str, axis: str, at: ast.AST, *, wide: bool) -> c_ast.Node:
        """Returns `threadIdx.x` and its like; wide ones are signed 64-bit numbers."""
        found = self.mark(c_ast.StructRef(c_ast.ID(name), ".", c_ast.ID(axis)), at)
        return self.cast("int64_t", found, at) if wide else found

    def cast(self, word: str, operand: c_ast.Node, at: ast.AST) -> c_ast.Node:
        """Returns `(word) operand`."""
        return self.mark(c_ast.Cast(c_ast.Typename(None, [], None, type_of(word)), operand), at)

    def element(self, base: c_ast.Node, index: c_ast.Node, at: ast.AST) -> c_ast.Node:
        """Returns `base[index]`."""
        return self.mark(c_ast.ArrayRef(base, index), at)

    # ---- statements

    def assign(
        self, target: c_ast.Node, value: c_ast.Node, at: ast.AST, op: str = "="
    ) -> c_ast.Node:
        """Returns `target op value`."""
        return self.mark(c_ast.Assignment(op, target, value), at)

    def block(self, items: Sequence[c_ast.Node], at: ast.AST) -> c_ast.Node:
        """Returns `{ items }`."""
        return self.mark(c_ast.Compound(list(items)), at)

    def declare(
        self,
        name: str,
        type: c_ast.Node,
        at: ast.AST,
        init: c_ast.Node | None = None,
        *,
        storage: Sequence[str] = (),
        quals: Sequence[str] = (),
    ) -> c_ast.Decl:
        """Returns a declaration of a variable."""
        node = c_ast.Decl(name, list(quals), [], list(storage), [], type, init, None)
        self.mark(node, at)
        return node

    def function(
        self,
        name: str,
        result: str,
        params: Sequence[c_ast.Node],
        body: c_ast.Node,
        at: ast.AST,
    ) -> c_ast.FuncDef:
        """Returns a function definition."""
        arguments = c_ast.ParamList(list(params)) if params else None
        head = c_ast.FuncDecl(arguments, type_of(result, name))
        decl = c_ast.Decl(name, [], [], [], [], head, None, None)
        node = c_ast.FuncDef(decl, None, body)
        self.mark(node, at)
        return node


def type_of(word: str, name: str | None = None) -> c_ast.Node:
    """Returns the type that a word names."""
    return c_ast.TypeDecl(name, [], None, c_ast.IdentifierType([word]))


def pointer_to(word: str, depth: int = 1) -> c_ast.Node:
    """Returns `word *` with as many stars as `depth`."""
    node = type_of(word)
    for _ in range(depth):
        node = c_ast.PtrDecl([], node)
    return node


def array_of(word: str, extents: Sequence[c_ast.Node | None]) -> c_ast.Node:
    """Returns `word [n][m]`; None is an extent left open."""
    node = type_of(word)
    for extent in reversed(extents):
        node = c_ast.ArrayDecl(node, extent, [])
    return node
