"""Tokens of PTX, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r'"[^"\n]*"|//.*|[%$.\w]+(?:::[.\w]+)*|[^\s\w]')
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)


class Token(NamedTuple):
    """A token and the line that it stands on, from 1."""

    text: str
    line: int


def without_block_comments(text: str) -> str:
    """Blanks comments that can span lines; lines keep their numbers."""
    if "/*" not in text:
        return text
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


def tokens(text: str, first_line: int = 1) -> Iterator[Token]:
    """Splits text without block comments."""
    for number, line in enumerate(text.split("\n"), first_line):
        for token in _TOKEN.findall(line):
            if token.startswith("//"):
                if "@[" in token and ".loc" in line:  # LLVM's: where it was inlined
                    yield Token(token, number)
                break
            yield Token(token, number)


def integer(text: str) -> int | None:
    """Returns the number of a token, of floating-point literals its bits; None for others."""
    digits = text.rstrip("Uu") if text[:1].isdigit() else ""
    if not digits:
        return None
    try:
        if text[:2] in ("0f", "0F", "0d", "0D") and len(text) in (10, 18):
            return int(text[2:], 16)
        if digits.isdigit() and len(digits) > 1 and digits.startswith("0"):
            return int(digits, 8)
        return int(digits, 0)
    except ValueError:
        return 0 if re.fullmatch(r"[\d.]+(?:[eE]\d*)?", text) else None
