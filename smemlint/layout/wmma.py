"""`nvcuda::wmma` fragments: which lanes reach what of a tile, and with which instructions.

Read from the SASS of nvcc 13.0.88 for sm_90: every combination of fixtures/gpu/wmma.json, whose
counters the bank model reproduces, and of nvcc 13.5 for elements of less than a byte. A warp is
eight groups `g` of four lanes `t`, as in `mma.sync`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smemlint.hardware.arch import LANES
from smemlint.lazy_dataclasses import dataclass

_GROUPS = 8
_T = 4
_LDMATRIX_BYTES = 16
_BYTE = 8
_BLOCK = 16
_K_RUN = {"f16": 2, "bf16": 2, "i8": 4, "tf32": 1, "f64": 1}
"""Elements along k that a lane holds side by side."""
_BITS = {
    "f16": 16, "bf16": 16, "i8": 8, "i4": 4, "b1": 1, "tf32": 32, "f64": 64, "f32": 32, "i32": 32,
}  # fmt: skip
_WIDE = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_NARROW = {"i4": ((8, 8, 32),), "b1": ((8, 8, 128),)}
"""Elements of less than a byte: a row of the tile is 16 bytes, and lies along k."""
_SHAPES = {
    "f16": _WIDE, "bf16": _WIDE, "i8": _WIDE, "tf32": ((16, 16, 8),), "f64": ((8, 8, 4),),
    **_NARROW,
}  # fmt: skip
_SUM_SHAPES = {
    "f16": _WIDE, "f32": (*_WIDE, (16, 16, 8)), "i32": (*_WIDE, *_NARROW["i4"], *_NARROW["b1"]),
    "f64": ((8, 8, 4),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fragment:
    """`wmma::fragment<use, m, n, k, element, layout>`.

    Attributes:
        use: `matrix_a`, `matrix_b` or `accumulator`.
        shape: m, n, k.
        element: `f16`, `bf16`, `i8`, `i4` (signed or not), `b1`, `tf32`, `f64`, and of
            accumulators `f32`, `i32`.
        layout: `row_major` or `col_major` in memory.
    """

    use: str
    shape: tuple[int, int, int]
    element: str
    layout: str

    @property
    def is_known(self) -> bool:
        """Whether its lanes are known."""
        table = _SUM_SHAPES if self.use == "accumulator" else _SHAPES
        is_use = self.use in ("accumulator", "matrix_a", "matrix_b")
        is_layout = self.layout in ("row_major", "col_major")
        if self.element in _NARROW:
            is_layout = self.layout == ("row_major" if self.use == "matrix_a" else "col_major")
        return is_use and is_layout and self.shape in table.get(self.element, ())

    @property
    def bits(self) -> int:
        """Size of an element in memory."""
        return _BITS[self.element]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One instruction of a fragment's load or store.

    Attributes:
        lines, places: of each lane of a warp, int64 of shape (32,): which line of the tile in
            memory, and which element of it.
        width: bytes a lane moves.
        matrices: of ldmatrix; 0 for an ordinary load or store.
    """

    lines: NDArray[np.int64]
    places: NDArray[np.int64]
    width: int
    matrices: int = 0


def parts_of(fragment: Fragment) -> list[Part]:
    """Returns the instructions that load or store a fragment; none where that is not known."""
    if not fragment.is_known:
        return []
    m, n, k = fragment.shape
    rows, columns = {"matrix_a": (m, k), "matrix_b": (k, n)}.get(fragment.use, (m, n))
    is_row_major = fragment.layout == "row_major"
    lines, elements = (rows, columns) if is_row_major else (columns, rows)
    if fragment.use == "accumulator":
        # Of 8 x 32 the transposed product is computed: a lane's two neighbours lie in a column.
        has_pairs = is_row_major == ((m, n) != (8, 32))
        return list(_accumulator(lines, elements, fragment.element, has_pairs=has_pairs))
    is_k_along = is_row_major == (fragment.use == "matrix_a")
    return list(_operand(lines, elements, fragment.element, is_k_along=is_k_along))


def _operand(lines: int, elements: int, element: str, *, is_k_along: bool) -> Iterator[Part]:
    if element == "f16" or (element in ("i8", *_NARROW) and is_k_along):
        yield from _ldmatrix(lines, elements, _LDMATRIX_BYTES * _BYTE // _BITS[element])
        return
    size, run = _BITS[element] // _BYTE, _K_RUN[element]
    if is_k_along or run == 2:  # 16 bits: pairs along the line, transposed in registers
        yield from _vectors(lines, elements, size, run)
    else:
        yield from _scalars(lines, elements, size, run)


def _accumulator(lines: int, elements: int, element: str, *, has_pairs: bool) -> Iterator[Part]:
    size = _BITS[element] // _BYTE
    if has_pairs or size == 2:
        yield from _vectors(lines, elements, size, 2)
    else:
        yield from _scalars(lines, elements, size, 2)


def _ldmatrix(lines: int, elements: int, across: int) -> Iterator[Part]:
    """Returns matrices of eight 16-byte rows: an instruction for 16 lines of 16 elements."""
    lane, block = np.arange(LANES), max(_BLOCK, across)
    for top in range(0, lines, _BLOCK):
        for left in range(0, elements, block):
            corners = [
                (i, j)
                for j in range(left, min(left + block, elements), across)
                for i in range(top, min(top + _BLOCK, lines), _GROUPS)
            ]
            first = np.array(corners, np.int64)[np.minimum(lane // _GROUPS, len(corners) - 1)]
            lines_of = first[:, 0] + lane % _GROUPS
            yield Part(lines_of, first[:, 1], _LDMATRIX_BYTES, len(corners))


def _vectors(lines: int, elements: int, size: int, run: int) -> Iterator[Part]:
    """Returns `run` elements of one line a lane: lines go by groups."""
    g, t = np.divmod(np.arange(LANES), _T)
    for along in range(0, elements, _T * run):
        for down in range(0, lines, _GROUPS):
            yield Part(g + down, run * t + along, run * size)


def _scalars(lines: int, elements: int, size: int, run: int) -> Iterator[Part]:
    """Returns an element of each of `run` lines a lane: places go by groups."""
    g, t = np.divmod(np.arange(LANES), _T)
    for down in range(0, lines, _T * run):
        for along in range(0, elements, _GROUPS):
            for one in range(run):
                yield Part(run * t + down + one, g + along, size)
