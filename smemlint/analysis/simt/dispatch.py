"""Which function handles which node: tables that handlers register in, by node type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator

Handler = TypeVar("Handler", bound=Callable[..., Any])
Table: TypeAlias = dict[type, Callable[..., Any]]

EXPRESSIONS: dict[type, Callable[[Evaluator, Any], Value]] = {}
"""Node type -> returns the value of an expression."""
LVALUES: dict[type, Callable[[Evaluator, Any], LValue | Unknown]] = {}
"""Node type -> returns the place that an expression names."""
REFERENCES: dict[type, Callable[[Evaluator, Any], Value]] = {}
"""Node type -> returns the value of an expression that may give a reference, which is not read."""
STATEMENTS: dict[type, Callable[[Evaluator, Any], None]] = {}
"""Node type -> executes a statement."""


class Registration(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, handler: Handler, /) -> Handler:
        """Registers a function, and returns it."""


def evaluates(*nodes: type) -> Registration:
    """Registers a function that evaluates expressions of these types."""
    return _registers(EXPRESSIONS, nodes)


def refers(*nodes: type) -> Registration:
    """Registers a function that evaluates expressions of these types, references left unread."""
    return _registers(REFERENCES, nodes)


def locates(*nodes: type) -> Registration:
    """Registers a function that finds the lvalue of expressions of these types."""
    return _registers(LVALUES, nodes)


def executes(*nodes: type) -> Registration:
    """Registers a function that executes statements of these types."""
    return _registers(STATEMENTS, nodes)


def _registers(table: Table, nodes: tuple[type, ...]) -> Registration:
    def register(handler: Handler) -> Handler:
        for node in nodes:
            if node in table:
                raise ValueError(f"{node.__name__} has two handlers")
            table[node] = handler
        return handler

    return register
