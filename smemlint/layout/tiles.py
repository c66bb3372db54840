"""Reads and writes of a row-major tile by name: what `smemlint swizzle` talks about."""

from __future__ import annotations

import re
from itertools import product

from smemlint.layout.solver import Pattern
from smemlint.lazy_dataclasses import dataclass

_WARP = 32
_MATRICES = ("ldmatrix", "stmatrix")
_MATRIX_ROW = 16
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Tile:
    """A row-major matrix in shared memory.

    Raises:
        ValueError: on construction, if it is empty or too large to try all its reads.
    """

    rows: int
    columns: int
    element_bytes: int

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 1 or self.size > _LARGEST:
            raise ValueError(f"a tile of {self.rows}x{self.columns}: 1 to {_LARGEST} elements")

    @property
    def size(self) -> int:
        """Elements."""
        return self.rows * self.columns


def parse_shape(text: str) -> tuple[int, int]:
    """Returns `8x64` as rows and columns.

    Raises:
        ValueError: anything else.
    """
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if found is None:
        raise ValueError(f"{text!r} is not a shape such as 8x64")
    return int(found[1]), int(found[2])


def parse_dtype(text: str) -> int:
    """Returns the bytes of an element of a type such as f16, bf16, i32, u8, e4m3.

    Raises:
        ValueError: the name has no size of 8, 16, 32, 64 or 128 bits.
    """
    names = {"half": 16, "float": 32, "double": 64, "int": 32, "char": 8, "e4m3": 8, "e5m2": 8}
    found = re.fullmatch(r"(?:f|fp|bf|tf|float|i|u|s|b|int|uint)(\d+)", text)
    bits = int(found[1]) if found else names.get(text, 0)
    if bits not in (8, 16, 32, 64, 128):
        raise ValueError(f"{text!r} is not an element type such as f16, f32, u8")
    return bits // 8


def accesses(tile: Tile, name: str, vector_bytes: int, kind: str = "load") -> Pattern:
    """Returns all accesses of one name to a tile, one a row of the pattern.

    Args:
        tile: what is accessed.
        name: `column` (lanes go down), `row` (lanes go along the rows), `ldmatrix` or `stmatrix`
            (eight rows of 16 bytes) or `MxN` (lanes over M rows and N vectors of each); all but
            `row` may end with `/2` for every other row, `/3` for every third, ...
        vector_bytes: what a lane moves, except for matrices.
        kind: `load` or `store`.

    Raises:
        ValueError: the tile has no such access.
    """
    given, (name, step) = name, _stepped(name)
    width = _MATRIX_ROW if name in _MATRICES else vector_bytes
    if width % tile.element_bytes:
        raise ValueError(f"vectors of {width} bytes of elements of {tile.element_bytes} bytes")
    vector = width // tile.element_bytes
    if tile.columns % vector:
        raise ValueError(f"rows of {tile.columns} elements are not whole vectors of {vector}")
    across = tile.columns // vector
    if name == "row":
        if step > 1:
            raise ValueError(f"{given!r}: lanes along a row have no rows to leave out")
        lanes = min(_WARP, tile.rows * across)
        starts = range(0, tile.rows * across - lanes + 1, lanes)
        offsets = [[(start + lane) * vector for lane in range(lanes)] for start in starts]
        return Pattern(offsets, width, kind, name="row")
    tall, wide = _block(name, tile.rows // step)
    if not tall or tall * step > tile.rows or wide > across:
        raise ValueError(f"{given}: a block of {tall * step} rows x {wide} does not fit the tile")
    offsets = [
        [
            (top + first + i * step) * tile.columns + (left + j) * vector
            for i, j in product(range(tall), range(wide))
        ]
        for top in range(0, tile.rows - tall * step + 1, tall * step)
        for first in range(step)
        for left in range(0, across - wide + 1, wide)
    ]
    if name == "ldmatrix":
        return Pattern(offsets, width, "ldmatrix", None, 1, given)
    # One matrix of stmatrix is the pass of a 16-byte store: eight lanes.
    kind = "store" if name == "stmatrix" else kind
    return Pattern(offsets, width, kind, name=given)


def _stepped(name: str) -> tuple[str, int]:
    """Returns `column/2` as a name and how far apart its rows are."""
    found = re.fullmatch(r"([^/]*)/([1-9]\d{0,4})", name)
    return (found[1], int(found[2])) if found is not None else (name, 1)


def _block(name: str, rows: int) -> tuple[int, int]:
    if name == "column":
        return min(_WARP, rows), 1
    if name in _MATRICES:
        return 8, 1
    try:
        tall, wide = parse_shape(name)
    except ValueError:
        raise ValueError(f"{name!r} is none of column, row, ldmatrix, stmatrix and MxN") from None
    if not 0 < tall * wide <= _WARP:
        raise ValueError(f"{name}: a block of 1 to {_WARP} lanes wanted")
    return tall, wide
