"""Calls as a file's text spells them, before anything of it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smemlint.limits.budgets import MAX_WRITTEN_CALL

_PIECE = re.compile(r"[()\[\]{},]|[^()\[\]{},]+")


def written_calls(text: str, name: str) -> Iterator[list[str]]:
    """Yields the texts of the arguments of each call of a function, and of its declarations.

    Args:
        text: of a file; comments and strings in a call count as what they look like.
        name: of the function, without qualification.
    """
    for found in re.finditer(rf"\b{re.escape(name)}\s*+(?:<[^;{{}}()]{{0,500}}>\s*+)?\(", text):
        yield _arguments(text[found.end() : found.end() + MAX_WRITTEN_CALL])


def _arguments(text: str) -> list[str]:
    """Returns what stands between the commas up to the closing parenthesis."""
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(text):
        depth += (piece in "([{") - (piece in ")]}")
        if depth < 0:
            break
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]
