"""Operators and builtin functions of constants, bounded in what they make."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from smemlint.analysis.python.interpreter.values import UNKNOWN, Value, is_known
from smemlint.limits import sizes
from smemlint.limits.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_NUMBER = 1 << 64
_MAX_END = 1 << 40
"""Of a range: its length stays one that `len` can tell."""
LARGEST_SEQUENCE = sizes.MOST_ITEMS

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def operated(operation: ast.AST, one: Value, other: Value) -> Value:
    """The result of an operator on two constants."""
    try:
        _require_small(operation, one, other)
        return _OPERATORS[type(operation)](one, other)
    except (ArithmeticError, KeyError, TypeError, ValueError, TooLarge):
        return UNKNOWN


def concatenated(one: Value, other: Value) -> Value:
    """The sum of two sequences of which not all items need to be known."""
    try:
        sizes.require_sum(one, other)
    except TooLarge:
        return UNKNOWN
    return one + other


def _require_small(operation: ast.AST, one: Value, other: Value) -> None:
    """Measures the result of an operator on constants.

    Raises:
        TooLarge: it is, or a number is, larger than what is followed.
    """
    numbers = [v for v in (one, other) if isinstance(v, int)]
    if any(abs(n) > _MAX_NUMBER for n in numbers):
        raise TooLarge
    sequences = [v for v in (one, other) if isinstance(v, tuple | list | str | bytes)]
    match operation:
        case ast.Mod() if isinstance(one, str | bytes):
            raise TooLarge  # a width in the format makes it as long as it likes
        case ast.Pow() | ast.LShift() if numbers:
            if len(numbers) < 2 or abs(one) > 1024 or not 0 <= other <= 64:
                raise TooLarge
        case ast.Mult() if len(numbers) == 1 and sequences:
            sizes.require_items(len(sequences[0]) * abs(numbers[0]))
            sizes.require_tree(sequences * abs(numbers[0]))
        case ast.Add() if len(sequences) == 2:
            sizes.require_sum(*sequences)


def builtin(name: str, arguments: list[Value]) -> Value:
    """A builtin function of constants."""
    if name in ("list", "tuple") and len(arguments) == 1:
        items = arguments[0]
        if isinstance(items, list | tuple | range) and len(items) <= LARGEST_SEQUENCE:
            return list(items) if name == "list" else tuple(items)
        return UNKNOWN
    if name == "len" and len(arguments) == 1:
        held = arguments[0]
        is_sure = isinstance(held, tuple) or (isinstance(held, list) and UNKNOWN not in held)
        return len(held) if is_sure else UNKNOWN
    if not all(is_known(a) for a in arguments):
        return UNKNOWN
    if name == "range" and any(isinstance(a, int) and abs(a) > _MAX_END for a in arguments):
        return UNKNOWN
    if name == "str" and not isinstance(arguments[0] if arguments else "", str | int):
        return UNKNOWN
    if name == "sum" and any(not isinstance(a, list | tuple | range) for a in arguments):
        return UNKNOWN  # a list to begin with makes one of all items
    known: dict[str, Callable[..., Any]] = {
        "range": range, "min": min, "max": max, "abs": abs, "int": int, "float": float,
        "bool": bool, "str": str, "sum": sum, "reversed": lambda x: list(reversed(x)),
        "sorted": sorted, "zip": lambda *x: list(zip(*x, strict=False)),
        "enumerate": lambda x: list(enumerate(x)),
    }  # fmt: skip
    if name not in known or any(
        isinstance(a, range | list | tuple) and len(a) > LARGEST_SEQUENCE for a in arguments
    ):
        return UNKNOWN
    try:
        sizes.require_tree(arguments)
        return known[name](*arguments)
    except (ArithmeticError, TypeError, ValueError, TooLarge):
        return UNKNOWN


def forget(held: list[Value] | dict[Any, Value]) -> None:
    """What a container holds, and how much, is not known any more."""
    held.clear()
    if isinstance(held, list):
        held.append(UNKNOWN)
