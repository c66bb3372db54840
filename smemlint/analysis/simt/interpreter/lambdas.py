"""Lambdas: closures that see the frame that made them."""

from __future__ import annotations

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    OpaqueType,
)
from smemlint.analysis.simt.domain.values import (
    Callable,
    Unknown,
    Value,
)
from smemlint.analysis.simt.interpreter.construction import Construction
from smemlint.analysis.simt.interpreter.inlining import MAX_RECURSION, arguments_of
from smemlint.analysis.simt.state import Frame, Scope


class Lambda:
    """A lambda's parameters and body, with the scopes it sees."""

    __slots__ = ("body", "count", "frame", "scopes")

    def __init__(
        self, count: int, body: c_ast.Compound, scopes: tuple[Scope, ...], frame: Frame
    ) -> None:
        self.count = count
        self.body = body
        self.scopes = scopes
        self.frame = frame


class Lambdas(Construction):
    """Makes and calls lambdas."""

    def _lambda(self, node: c_ast.FuncCall) -> Value:
        items = arguments_of(node)
        count = 0
        body = items[-1] if items else None
        if len(items) == 2 and isinstance(items[0], c_ast.Constant):
            count = int(items[0].value, 0)
        if not isinstance(body, c_ast.Compound):
            return Unknown("a lambda that could not be parsed")
        return Callable("lambda", Lambda(count, body, tuple(self.frame.scopes), self.frame))

    def _call_lambda(self, made: Lambda, node: c_ast.FuncCall) -> Value:
        operands = [self._operand(a) for a in arguments_of(node)]
        items = list(made.body.block_items or ())
        names = [f.name.split(":", 1)[0] for f in self.frames]
        if names.count("lambda") >= MAX_RECURSION:
            return self.not_followed(node, "a lambda calls itself too deeply")
        frame = Frame(
            f"lambda:{node.coord.line if node.coord else 0}",
            [*made.scopes, {}],
            made.frame.this,
            made.frame.record,
        )
        with self._inside(frame, items[: made.count], operands, node):
            self.execute(c_ast.Compound(items[made.count :], made.body.coord))
        return self._returned(frame, OpaqueType("auto"), node)
