"""Builds nodes that know the Python code that they came from."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from smemlint.facts import Span
from smemlint.frontend import ir
from smemlint.frontend.python.python_source import PythonText, text_of


class Builder:
    """Makes nodes; a node's `at` is its number in a table of Python nodes."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._origins: list[ast.AST] = [text.tree]

    def span(self, node: ir.Node) -> Span:
        """Returns where the Python code of a node stands."""
        return self.tree_span(self._origins[node.at])

    def tree_span(self, origin: ast.AST) -> Span:
        """Returns where a Python node stands."""
        return text_of(origin, self._text).span(origin)

    def spelling(self, origin: ast.AST) -> str:
        """Returns Python code on one line, for messages."""
        text = text_of(origin, self._text).spelling(origin)
        return text if len(text) <= 60 else text[:57] + "..."

    def place(self, origin: ast.AST) -> int:
        """Returns the place of a new node: a number of its own, which names it."""
        self._origins.append(origin)
        return len(self._origins) - 1

    # ---- expressions

    def name(self, text: str, at: ast.AST) -> ir.Expression:
        """Returns an identifier."""
        return ir.ID(text, at=self.place(at))

    def integer(self, value: int, at: ast.AST, *, wide: bool) -> ir.Expression:
        """Returns an integer constant; wide ones are 64-bit."""
        if value < 0:
            return self.unary("-", self.integer(-value, at, wide=wide), at)
        is_long = wide or value >= 1 << 31
        return ir.Constant("int", f"{value}LL" if is_long else str(value), at=self.place(at))

    def floating(self, at: ast.AST) -> ir.Expression:
        """Returns a floating-point constant; its value is never needed."""
        return ir.Constant("double", "0.0", at=self.place(at))

    def unary(self, op: str, operand: ir.Expression, at: ast.AST) -> ir.Expression:
        """Returns `op operand`."""
        return ir.UnaryOp(op, operand, at=self.place(at))

    def binary(self, op: str, a: ir.Expression, b: ir.Expression, at: ast.AST) -> ir.Expression:
        """Returns `a op b`."""
        return ir.BinaryOp(op, a, b, at=self.place(at))

    def call(self, function: str, arguments: Sequence[ir.Expression], at: ast.AST) -> ir.Expression:
        """Returns a call of a name."""
        return self.call_of(self.name(function, at), arguments, at)

    def call_of(
        self, callee: ir.Expression, arguments: Sequence[ir.Expression], at: ast.AST
    ) -> ir.Expression:
        """Returns a call of what an expression gives."""
        return ir.FuncCall(callee, tuple(arguments), at=self.place(at))

    def construct(
        self, word: str, arguments: Sequence[ir.Expression], at: ast.AST
    ) -> ir.Expression:
        """Returns `word(arguments)` of a type."""
        return ir.Construct(ir.IdentifierType((word,)), tuple(arguments), at=self.place(at))

    def coordinate(self, name: str, axis: str, at: ast.AST, *, wide: bool) -> ir.Expression:
        """Returns `threadIdx.x` and its like; wide ones are signed 64-bit numbers."""
        found = ir.StructRef(ir.ID(name), ".", ir.ID(axis), at=self.place(at))
        return self.cast("int64_t", found, at) if wide else found

    def cast(self, word: str, operand: ir.Expression, at: ast.AST) -> ir.Expression:
        """Returns `(word) operand`."""
        return ir.Cast(ir.Typename(type_of(word)), operand, at=self.place(at))

    def element(self, base: ir.Expression, index: ir.Expression, at: ast.AST) -> ir.Expression:
        """Returns `base[index]`."""
        return ir.ArrayRef(base, index, at=self.place(at))

    # ---- statements

    def assign(
        self, target: ir.Expression, value: ir.Expression, at: ast.AST, op: str = "="
    ) -> ir.Expression:
        """Returns `target op value`."""
        return ir.Assignment(op, target, value, at=self.place(at))

    def block(self, items: Sequence[ir.BlockItem], at: ast.AST) -> ir.Compound:
        """Returns `{ items }`."""
        return ir.Compound(tuple(items), at=self.place(at))

    def declare(
        self,
        name: str,
        type: ir.Type,
        at: ast.AST,
        init: ir.Expression | None = None,
        *,
        storage: Sequence[str] = (),
        quals: Sequence[str] = (),
        align: Sequence[ir.Expression] = (),
    ) -> ir.Decl:
        """Returns a declaration of a variable.

        Args:
            name: of the variable.
            type: what it is declared as.
            at: where.
            init: its value.
            storage: words as `static`.
            quals: words as `const`.
            align: operands of `alignas`.
        """
        return ir.Decl(
            name,
            type,
            init,
            quals=tuple(quals),
            storage=tuple(storage),
            align=tuple(align),
            at=self.place(at),
        )

    def function(
        self, name: str, result: str, params: Sequence[ir.Decl], body: ir.Compound, at: ast.AST
    ) -> ir.FuncDef:
        """Returns a function definition.

        Args:
            name: of the function.
            result: the spelling of its type.
            params: its parameters.
            body: its statements.
            at: the node of Python.
        """
        head = ir.FuncDecl(tuple(params), type_of(result))
        return ir.FuncDef(name, head, body, at=self.place(at))


def type_of(word: str) -> ir.Type:
    """Returns the type that a word names."""
    return ir.TypeDecl(ir.IdentifierType((word,)))


def pointer_to(word: str, depth: int = 1) -> ir.Type:
    """Returns `word *` with as many stars as `depth`."""
    node = type_of(word)
    for _ in range(depth):
        node = ir.PtrDecl(node)
    return node


def array_of(word: str, extents: Sequence[ir.Expression | None]) -> ir.Type:
    """Returns `word [n][m]`; None is an extent left open."""
    node = type_of(word)
    for extent in reversed(extents):
        node = ir.ArrayDecl(node, extent)
    return node
