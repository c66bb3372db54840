"""Integers as C expressions of the names that the user knows, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PRODUCT = frozenset("*/%")
_SUM = _PRODUCT | frozenset("+-")
_OPERATORS = _SUM | {"&", "|", "^", "<<", ">>"}
_NONE: frozenset[str] = frozenset()
_OUTER = re.compile(
    rf"[()\[\]{{}}]|(?<!\S)(?:{'|'.join(map(re.escape, sorted(_OPERATORS)))})(?!\S)"
)
"""Brackets, and operators between spaces."""
_BARE = {"*": (frozenset("*"), frozenset("*")), "/": (_PRODUCT, _NONE), "%": (_PRODUCT, _NONE)}
"""Operators that the left and the right operand may have without parentheses; of others, none."""

_SHOWN = 60
"""Characters of an expression that a note shows in full."""


def operation(op: str, left: str, right: str) -> str:
    """Returns `left op right` with the parentheses that it needs, `op(left, right)` of a name."""
    if op not in _OPERATORS:
        return f"{op}({left}, {right})"
    bare_left, bare_right = _BARE.get(op, (_NONE, _NONE))
    return f"{_operand(left, bare_left)} {op} {_operand(right, bare_right)}"


def sum_of_products(terms: Iterable[tuple[str, int | None]], constant: int | None = 0) -> str:
    """Returns the sum of names times factors, and a constant; None is a factor of each lane's."""
    added: list[str] = ["lanes"] if constant is None else []
    subtracted: list[str] = []
    for name, factor in (*_with_masks(terms), *([("", constant)] if constant else [])):
        side = subtracted if factor is not None and factor < 0 else added
        side.append(_product(factor, name))
    if len(added) == 1 and not subtracted:
        return added[0]
    text = " + ".join(_operand(part, _SUM) for part in added)
    return (text + "".join(f" - {_operand(part, _PRODUCT)}" for part in subtracted)).strip() or "0"


def abbreviated(text: str) -> str:
    """Returns an expression as a note shows it: a long one with `..` for what is in brackets."""
    if len(text) <= _SHOWN:
        return text
    shown, depth = "", 0
    for letter in text:
        depth -= letter in ")]}"
        if not depth:
            shown += f"{letter}.." if letter in "([{" else letter
        depth += letter in "([{"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}.."


def _product(factor: int | None, name: str) -> str:
    if factor is not None and abs(factor) == 1 and name:
        return name
    number = "lanes" if factor is None else str(abs(factor))
    return operation("*", number, name) if name else number


def _with_masks(terms: Iterable[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """Returns the terms with `n` and minus `n & 3` as one: `n & ~3`, whose sum they are."""
    found = list(terms)
    for name, factor in tuple(found):
        base, _, mask = name.rpartition(" & ")
        if factor is not None and mask.isdigit() and (base, -factor) in found:
            found.remove((name, factor))
            found[found.index((base, -factor))] = f"{base} & ~{mask}", -factor
    return found


def _operand(text: str, bare: frozenset[str]) -> str:
    return text if _outer_operators(text) <= bare else f"({text})"


def _outer_operators(text: str) -> frozenset[str]:
    """Returns the operators of an expression that stand in no brackets."""
    found, depth = set(), 0
    for part in _OUTER.findall(text):
        if part in "([{":
            depth += 1
        elif part in ")]}":
            depth -= 1
        elif not depth:
            found.add(part)
    return frozenset(found)
