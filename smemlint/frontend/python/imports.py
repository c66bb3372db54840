"""Which library a name in a Python module comes from."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from smemlint.frontend.python.syntax_walk import walk
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Imports:
    """What a module imports, wherever in it; `targets` maps names, or `a.*`, to dotted ones."""

    targets: Mapping[str, str]

    @staticmethod
    def of(module: ast.Module) -> Imports:
        """Returns the imports of a module; relative ones begin with their dots."""
        targets: dict[str, str] = {}
        for node in walk(module, into=lambda n: not isinstance(n, ast.expr)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    head = alias.name.split(".", 1)[0]
                    targets[alias.asname or head] = alias.name if alias.asname else head
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (f"{node.module}." if node.module else "")
                for alias in node.names:
                    every = base if alias.name == "*" else ""
                    targets[every + (alias.asname or alias.name)] = base + alias.name
        return Imports(targets)

    def resolve(self, node: ast.expr) -> str:
        """Returns the dotted name of an expression, e.g. `numba.cuda.grid`; empty for others."""
        name = dotted(node)
        if name is None:
            return ""
        head, dot, rest = name.partition(".")
        return self.targets.get(head, head) + dot + rest


def dotted(node: ast.AST | None) -> str | None:
    """Returns `a.b.c` as a text; None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def is_none(node: ast.AST | None) -> bool:
    """Returns whether an expression is the word `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def last_name(node: ast.AST) -> str:
    """Returns a name, or the last part of a dotted one; empty for others."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
