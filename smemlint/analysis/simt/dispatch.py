"""Which function handles which node: tables that handlers register in, by node type."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeVar

from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

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
            if node in table and table[node].__module__ not in (__name__, handler.__module__):
                raise ValueError(f"{node.__name__} has two handlers")
            table[node] = handler
        return handler

    return register


def _loads(module: str) -> Callable[[Evaluator, Any], None]:
    """Returns a handler that loads the module that registers another in its place, and calls it."""

    def execute(ev: Evaluator, node: ir.Node) -> None:
        import_module(f"smemlint.analysis.simt.{module}")
        STATEMENTS[node.__class__](ev, node)

    return execute


executes(ir.For, ir.RangeFor, ir.While, ir.DoWhile)(_loads("loops.loops"))
executes(ir.MemberInit, ir.OtherMembers)(_loads("calls.member_initializers"))
executes(ir.If)(_loads("interpreter.branches"))
executes(ir.Switch, ir.Case, ir.Default)(_loads("interpreter.switches"))
