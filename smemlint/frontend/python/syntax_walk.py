"""Ways through Python syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence


def walk(node: ast.AST, *, into: Callable[[ast.AST], bool] | None = None) -> Iterator[ast.AST]:
    """Yields a node and all below it in source order; `into` says whose children are visited."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if into is None or current is node or into(current):
            stack.extend(reversed(list(ast.iter_child_nodes(current))))


def suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yields the blocks of a statement: those of `elif`, `else` and handlers, too."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list) and block:
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def called_names(nodes: Iterable[ast.expr]) -> list[str]:
    """Returns decorators or bases as the source spells them, without arguments of a call."""
    return [ast.unparse(n.func if isinstance(n, ast.Call) else n) for n in nodes]


def is_definition(node: ast.AST) -> bool:
    """Returns whether names inside are its own."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Returns whether the last statement of a block is a jump out of it."""
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
