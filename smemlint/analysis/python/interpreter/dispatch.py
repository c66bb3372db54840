"""Which function handles which node: tables that handlers register in, by node type."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from smemlint.analysis.python.interpreter.values import Value
from smemlint.registration import registers

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
    return registers(EXPRESSIONS, nodes)


def executes(*nodes: type[ast.stmt]) -> Callable[[_Statement], _Statement]:
    """Registers a function that executes statements of these types."""
    return registers(STATEMENTS, nodes)
