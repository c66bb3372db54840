"""Parts of calls and subscripts, as the source writes them."""

from __future__ import annotations

import ast


def integer(node: ast.expr) -> int | None:
    """Returns the value of an integer literal; None for anything else."""
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_number else None  # type: ignore[attr-defined]


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """Returns the arguments that are written out, positional ones first."""
    positional = [a for a in node.args if not isinstance(a, ast.Starred)]
    return [*positional, *(k.value for k in node.keywords if k.arg is not None)]


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    """Returns the indices of a subscript, those of a tuple one by one."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def listing_of(node: ast.For) -> tuple[ast.expr, ast.expr | None, ast.expr]:
    """Returns what a loop lists, what counts its rounds if anything, and what an element is given.

    `for x in a` and `for k, x in enumerate(a)`.
    """
    match node:
        case ast.For(
            target=ast.Tuple(elts=[count, element]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[listed]),
        ):
            return listed, count, element
    return node.iter, None, node.target
