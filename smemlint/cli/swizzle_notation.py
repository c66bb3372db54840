"""Every notation of a swizzle and of an access that `smemlint swizzle` takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from smemlint.layout.solver import Pattern
    from smemlint.layout.tiles import Tile

SWIZZLE_HELP = "B M S, 'B,M,S' or 'Swizzle<B,M,S>'; or a mode: none, 32B, 64B, 128B"
READ_HELP = (
    "column, row, ldmatrix, ldmatrix.trans, stmatrix, or MxN lanes; column:16 for lanes of 16 "
    "bytes, column/2 for every other row; may be given more than once (default: column)"
)
_TRIPLE = re.compile(r"(?:swizzle)?\s*<?\s*(-?\d+)\s*[,\s]\s*(-?\d+)\s*[,\s]\s*(-?\d+)\s*>?", re.I)


def triple_of(words: list[str]) -> tuple[int, int, int] | None:
    """Returns B, M and S of three words or one; None where it is a mode.

    Raises:
        ValueError: it is neither.
    """
    text = " ".join(words).strip()
    found = _TRIPLE.fullmatch(text)
    if found is not None:
        return int(found[1]), int(found[2]), int(found[3])
    if len(words) == 1:
        Swizzle.named(text)  # raises where there is no such mode
        return None
    raise ValueError(f"{text!r} is not three integers, nor a mode")


def swizzle_in_bytes(words: list[str], units: str, element_bytes: int) -> Swizzle:
    """Returns the swizzle of byte offsets that some words name; modes are always of bytes.

    Raises:
        ValueError: they name none, or CuTe rejects it.
    """
    triple = triple_of(words)
    if triple is None:
        return Swizzle.named(words[0])
    one = Swizzle(*triple)
    return one if units == "bytes" else one.in_bytes(element_bytes)


def access_of(tile: Tile, text: str, vector_bytes: int | None, kind: str = "load") -> Pattern:
    """Returns the access that `column`, `row:16` or `ldmatrix.trans` names.

    A transposed `ldmatrix` reads the same eight rows of 16 bytes for each matrix: what it moves to
    which lane is no matter of banks.

    Raises:
        ValueError: the tile has no such access.
    """
    from dataclasses import replace

    from smemlint.layout.tiles import accesses

    name, colon, width = text.partition(":")
    if colon and not width.isdecimal():
        raise ValueError(f"{text!r}: write {name}:16 for lanes of 16 bytes")
    moved = int(width) if colon else vector_bytes or tile.element_bytes
    plain = "ldmatrix" if name == "ldmatrix.trans" else name
    return replace(accesses(tile, plain, moved, kind), name=name)


def mode_of(in_bytes: Swizzle) -> str:
    """Returns `, the 128B mode`; empty for a swizzle that is none of TMA's."""
    return f", the {in_bytes.mode} mode" if in_bytes.mode not in (None, "none") else ""
