"""Parts of calls and subscripts, as the source writes them."""

from __future__ import annotations

import ast

from smemlint.frontend.python.imports import dotted, is_none
from smemlint.frontend.python.parameters import argument_of
from smemlint.frontend.python.python2 import rounds_down
from smemlint.frontend.python.syntax_walk import walk

_FLOATS = frozenset(("float", "float16", "float32", "float64", "sqrt", "exp", "log", "sin", "cos"))


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


def unrolling(call: ast.Call) -> str:
    """Returns the pragma that `range(.., unroll=4)` stands for; empty without one."""
    unroll = argument_of(call, "unroll")
    if unroll is None or is_none(unroll):
        return ""
    if isinstance(unroll, ast.Constant) and unroll.value is False:
        return "unroll 1"
    factor = literal(unroll)
    return f"unroll {factor}" if factor is not None else "unroll"


def listed_numbers(node: ast.expr) -> list[int] | None:
    """Returns the integers of a list or tuple that has nothing else."""
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    numbers = [literal(e) for e in node.elts]
    return [n for n in numbers if n is not None] if None not in numbers and numbers else None


def literal(node: ast.expr) -> int | None:
    """Returns the value of an integer literal, which may have a sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return None if inner is None else -inner
    return integer(node)


def is_floating(value: ast.expr) -> bool:
    """Returns whether an expression is a floating-point number whatever its names mean."""
    return any(
        (isinstance(n, ast.Div) and not rounds_down(n))
        or (isinstance(n, ast.Constant) and isinstance(n.value, float))
        or (isinstance(n, ast.Call) and (dotted(n.func) or "").rsplit(".", 1)[-1] in _FLOATS)
        for n in walk(value)
    )
