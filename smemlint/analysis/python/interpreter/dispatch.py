"""Which function handles which node: tables that handlers register in, by node type."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from smemlint.analysis.python.interpreter.values import Value

ExpressionHandlers: TypeAlias = "Mapping[type[ast.expr], Callable[..., Value]]"
"""Node type -> returns the value of `(interpreter, node, scopes)`."""
StatementHandlers: TypeAlias = Mapping[type[ast.stmt], Callable[..., bool]]
"""Node type -> executes `(interpreter, node, scopes)`; returns whether the end is reached."""
EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {}
STATEMENTS: dict[type[ast.stmt], Callable[..., bool]] = {}
_Expression = TypeVar("_Expression", bound="Callable[..., Value]")
_Statement = TypeVar("_Statement", bound=Callable[..., bool])


def evaluates(*nodes: type[ast.expr]) -> Callable[[_Expression], _Expression]:
    """Registers a function that evaluates expressions of these types."""

    def register(handler: _Expression) -> _Expression:
        EXPRESSIONS.update(dict.fromkeys(nodes, handler))
        return handler

    return register


def executes(*nodes: type[ast.stmt]) -> Callable[[_Statement], _Statement]:
    """Registers a function that executes statements of these types."""

    def register(handler: _Statement) -> _Statement:
        STATEMENTS.update(dict.fromkeys(nodes, handler))
        return handler

    return register
