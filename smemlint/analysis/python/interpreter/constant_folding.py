"""Operators, builtin functions and containers of constants, bounded in what they make."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from smemlint.analysis.python.interpreter.values import (
    REST_OF_NAMES,
    UNKNOWN,
    Key,
    Scope,
    Value,
    is_key,
    is_known,
)
from smemlint.frontend.python.python2 import rounds_down
from smemlint.limits import sizes
from smemlint.limits.budgets import MAX_ITEMS, MAX_OPERAND, MAX_RANGE_END
from smemlint.limits.errors import TooLarge

_Container: TypeAlias = "list[Value] | tuple[Value, ...] | range | str"

_OPERATORS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv, ast.Mod: operator.mod,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Pow: operator.pow, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_BUILTINS: dict[str, Callable[..., Value]] = {
    "range": range, "min": min, "max": max, "abs": abs, "int": int, "float": float,
    "bool": bool, "str": str, "sum": sum, "reversed": lambda items: list(reversed(items)),
    "sorted": sorted, "zip": lambda *items: list(zip(*items, strict=False)),
    "enumerate": lambda items: list(enumerate(items)),
}  # fmt: skip


_STRING_METHODS = frozenset((
    "lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "removeprefix",
    "removesuffix", "isdigit", "split",
))  # fmt: skip
"""Methods whose results are no longer than what they are given."""
READING_METHODS = frozenset(("items", "keys", "values", "copy", "get"))
"""Methods that leave a dictionary as it is."""
_OTHERS = "*"
"""Key of what a dictionary has besides the entries that are known."""


# ---- operators


def fold(operation: ast.AST, one: Value, other: Value) -> Value:
    """Returns the result of an operator on two constants."""
    try:
        if rounds_down(operation) and isinstance(one, int) and isinstance(other, int):
            return one // other
        _require_small(operation, one, other)
        return _OPERATORS[type(operation)](one, other)
    except (ArithmeticError, KeyError, TypeError, ValueError, TooLarge):
        return UNKNOWN


def fold_unary(operation: ast.unaryop, operand: Value) -> Value:
    """Returns the result of an operator on one constant."""
    match operation, operand:
        case ast.Not(), _:
            return not operand
        case ast.USub(), int() | float():
            return -operand
        case ast.Invert(), int():
            return ~operand
    return UNKNOWN


def fold_membership(item: Value, container: Value) -> bool | None:
    """Returns whether a constant container has an item; None where that is not known."""
    are_known = is_complete(container) if isinstance(container, dict) else is_known(container)
    if not (is_known(item) and are_known):
        return None
    try:
        match container:
            case str():
                return item in container if isinstance(item, str) else None
            case bytes():
                return item in container if isinstance(item, int | bytes) else None
            case list() | tuple() | dict() | range():
                return item in container
    except (TypeError, ValueError):  # it cannot be a key, or is no byte
        return None
    return None


def concatenate(
    one: list[Value] | tuple[Value, ...], other: list[Value] | tuple[Value, ...]
) -> Value:
    """Returns the sum of two sequences of which not all items need to be known."""
    try:
        sizes.require_sum(one, other)
    except TooLarge:
        return UNKNOWN
    if isinstance(one, list) and isinstance(other, list):
        return one + other
    return one + other if isinstance(one, tuple) and isinstance(other, tuple) else UNKNOWN


def repeat(items: list[Value] | tuple[Value, ...], count: int) -> Value:
    """Returns a sequence several times, of which not all items need to be known."""
    try:
        sizes.require_items(len(items) * max(count, 0))
        sizes.require_tree([items] * max(count, 0))
    except TooLarge:
        return UNKNOWN
    return items * count


def _require_small(operation: ast.AST, one: Value, other: Value) -> None:
    """Measures the result of an operator on constants.

    Raises:
        TooLarge: it is, or a number is, larger than what is followed.
    """
    numbers = [v for v in (one, other) if isinstance(v, int)]
    if any(abs(n) > MAX_OPERAND for n in numbers):
        raise TooLarge
    sequences = [v for v in (one, other) if isinstance(v, tuple | list | str | bytes)]
    match operation:
        case ast.Mod() if isinstance(one, str | bytes):
            raise TooLarge  # a width in the format makes it as long as it likes
        case ast.Pow() | ast.LShift() if numbers:
            if len(numbers) < 2 or abs(numbers[0]) > 1024 or not 0 <= numbers[1] <= 64:
                raise TooLarge
        case ast.Mult() if len(numbers) == 1 and sequences:
            sizes.require_items(len(sequences[0]) * abs(numbers[0]))
            sizes.require_tree(sequences * abs(numbers[0]))
        case ast.Add() if len(sequences) == 2:
            sizes.require_sum(*sequences)


# ---- builtin functions


def ceiling_quotient(arguments: Sequence[Value]) -> Value:
    """Returns the quotient of two positive integers, rounded up: `tl.cdiv`."""
    match arguments:
        case [int(one), int(other)] if one > 0 and other > 0:
            return -(-one // other)
    return UNKNOWN


def call_builtin(name: str, arguments: list[Value], named: Scope | None = None) -> Value:
    """Returns the result of a builtin function; not known where an argument is not.

    Of named arguments only the order of `sorted`, whether lengths are checked and the entries of a
    dictionary are followed.
    """
    is_reversed = named.get("reverse") if named else None
    if name == "sorted" and named and list(named) == ["reverse"] and isinstance(is_reversed, bool):
        found = call_builtin(name, arguments)
        return found[::-1] if isinstance(found, list) and is_reversed else found
    first = arguments[0] if len(arguments) == 1 else None
    if name == "dict" and (not arguments or isinstance(first, dict)):
        entries: dict[Key, Value] = dict(first) if isinstance(first, dict) else {}
        entries.update((key, value) for key, value in (named or {}).items())
        return UNKNOWN if REST_OF_NAMES in entries else entries
    if named and (name, list(named)) != ("zip", ["strict"]):
        return UNKNOWN
    if name in ("set", "frozenset") and isinstance(first, list | tuple) and is_known(first):
        try:
            return tuple(dict.fromkeys(first))
        except TypeError:
            return UNKNOWN
    if name in ("list", "tuple") and len(arguments) == 1:
        if isinstance(first, list | tuple | range) and len(first) <= MAX_ITEMS:
            return list(first) if name == "list" else tuple(first)
        return UNKNOWN
    if name == "len" and len(arguments) == 1:
        if isinstance(first, tuple) or (isinstance(first, list) and UNKNOWN not in first):
            return len(first)
        return UNKNOWN
    if name not in _BUILTINS or not all(map(is_known, arguments)):
        return UNKNOWN
    if not _is_small_call(name, arguments):
        return UNKNOWN
    try:
        sizes.require_tree(arguments)
        return _BUILTINS[name](*arguments)
    except (ArithmeticError, TypeError, ValueError, TooLarge):
        return UNKNOWN


def _is_small_call(name: str, arguments: list[Value]) -> bool:
    """Returns whether the result of a builtin function on constants is small."""
    if any(isinstance(a, range | list | tuple) and len(a) > MAX_ITEMS for a in arguments):
        return False
    match name:
        case "range":
            return not any(isinstance(a, int) and abs(a) > MAX_RANGE_END for a in arguments)
        case "str":
            return not arguments or isinstance(arguments[0], str | int)
        case "sum":  # a list to begin with makes one of all items
            return all(isinstance(a, list | tuple | range) for a in arguments)
    return True


# ---- containers


def item_of(container: _Container | dict[Key, Value], key: Value) -> Value:
    """Returns an item of a container; not known where it has none of this key."""
    if not is_key(key):
        return UNKNOWN
    if isinstance(container, dict):
        return container.get(key, UNKNOWN)
    try:
        return container[key] if isinstance(key, int) else UNKNOWN
    except IndexError:
        return UNKNOWN


def slice_of(container: _Container | dict[Key, Value], ends: Sequence[Value]) -> Value:
    """Returns a slice of a container: `ends` are its start, stop and step."""
    numbers = [e for e in ends if e is None or isinstance(e, int)]
    if isinstance(container, dict) or len(numbers) < len(ends):
        return UNKNOWN
    try:
        return container[slice(*numbers)]
    except ValueError:  # a step of 0
        return UNKNOWN


def call_dict_method(owner: dict[Key, Value], name: str, arguments: list[Value]) -> Value:
    """Returns the result of one of `READING_METHODS`."""
    if _OTHERS in owner:
        key = arguments[0] if name == "get" and arguments else UNKNOWN
        return item_of(owner, key)
    match name, arguments:
        case "items", []:
            return list(owner.items())
        case "keys", []:
            return list(owner)
        case "values", []:
            return list(owner.values())
        case "copy", []:
            return owner.copy()
        case "get", [key, *default] if is_key(key):
            return owner.get(key, *default[:1])
    return UNKNOWN


def call_string_method(owner: str, name: str, arguments: list[Value]) -> Value:
    """Returns the result of a method of a text; not known for one that may make a longer one."""
    if name not in _STRING_METHODS or not all(map(is_known, arguments)):
        return UNKNOWN
    try:
        found: Value = getattr(owner, name)(*arguments)
        sizes.require_tree((found,))
    except (TypeError, ValueError, TooLarge):
        return UNKNOWN
    return found


def is_complete(table: dict[Key, Value]) -> bool:
    """Returns whether it is known what a dictionary has."""
    return _OTHERS not in table


def forget(container: list[Value] | dict[Key, Value]) -> None:
    """Makes unknown what a container has, and how much."""
    container.clear()
    if isinstance(container, list):
        container.append(UNKNOWN)
    else:
        container[_OTHERS] = UNKNOWN
