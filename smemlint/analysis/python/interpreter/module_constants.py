"""Constants of a module, as expressions that other modules can use."""

from __future__ import annotations

import ast
from contextlib import suppress

from smemlint.analysis.python.interpreter import Interpreter, LibraryModel, OverBudget
from smemlint.analysis.python.interpreter.values import UNKNOWN, Scope, Symbol, Value
from smemlint.frontend.python.python_source import PythonText, belong


def module_constants(text: PythonText) -> dict[str, ast.expr]:
    """Returns the names that a module assigns once, each with an expression of its value."""
    scope: Scope = {}
    with suppress(OverBudget, RecursionError):
        Interpreter(LibraryModel()).run(text.tree.body, (scope,))
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.setdefault(node.id, []).append(node)
    found: dict[str, ast.expr] = {}
    for name, targets in assigned.items():
        expression = _expression_of(scope.get(name, UNKNOWN))
        if len(targets) == 1 and expression is not None:
            for node in ast.walk(expression):
                ast.copy_location(node, targets[0])
                belong(text, node)
            found[name] = expression
    return found


def _expression_of(value: Value) -> ast.expr | None:
    """Returns an expression of a value; None for one that is not known."""
    match value:
        case bool() | int() | float() | str():
            return ast.Constant(value)
        case tuple() | list():
            parts = [_expression_of(v) for v in value]
            known = [p for p in parts if p is not None]
            return ast.Tuple(known, ast.Load()) if len(known) == len(parts) else None
        case Symbol() if not value.path.startswith("."):
            return ast.parse(value.path, mode="eval").body
    return None
