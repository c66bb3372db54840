"""Integer literals of C++: `42`, `052`, `0x2AuLL`, `0b101`, `1'000'000`."""

from __future__ import annotations

import re

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_LITERAL_CHARACTERS

_LITERAL = re.compile(
    r"(?:0x(?P<hex>[0-9a-f']+)|0b(?P<binary>[01']+)|(?P<octal>0[0-7']*)|(?P<decimal>[1-9][0-9']*))"
    r"(?P<suffix>[ulz]*)",
    re.IGNORECASE,
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}


@dataclass(frozen=True, slots=True)
class IntegerLiteral:
    """What an integer literal says.

    Attributes:
        value: at least 0.
        is_decimal: else it may take an unsigned type without a suffix that asks for one.
        is_unsigned: its suffix has a `u`.
        is_long: its suffix has an `l` or a `z`.
    """

    value: int
    is_decimal: bool
    is_unsigned: bool
    is_long: bool


def read_integer(text: str) -> IntegerLiteral | None:
    """Returns what an integer literal says; None for other texts, and for longer ones."""
    match = _LITERAL.fullmatch(text) if len(text) <= MAX_LITERAL_CHARACTERS else None
    if match is None:
        return None
    kind = next(name for name in _BASES if match[name] is not None)
    digits = match[kind].replace("'", "")
    suffix = match["suffix"].lower()
    value = int(digits, _BASES[kind]) if digits else 0
    is_long = "l" in suffix or "z" in suffix
    return IntegerLiteral(value, kind == "decimal", "u" in suffix, is_long)
