"""`nvcuda::wmma` fragments: which lanes reach what of a tile, and with which instructions.

Read from the SASS of nvcc 13.0.88 for sm_90: every combination of fixtures/gpu/wmma.json, whose
counters the bank model reproduces. A warp is eight groups `g` of four lanes `t`, as in `mma.sync`.
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
_BLOCK = 16
_K_RUN = {"f16": 2, "bf16": 2, "i8": 4, "tf32": 1, "f64": 1}
"""Elements along k that a lane holds side by side."""
_BYTES = {"f16": 2, "bf16": 2, "i8": 1, "tf32": 4, "f64": 8, "f32": 4, "i32": 4}
_WIDE = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_SHAPES = {"f16": _WIDE, "bf16": _WIDE, "i8": _WIDE, "tf32": ((16, 16, 8),), "f64": ((8, 8, 4),)}
_SUM_SHAPES = {
    "f16": _WIDE, "f32": (*_WIDE, (16, 16, 8)), "i32": _WIDE, "f64": ((8, 8, 4),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fragment:
    """`wmma::fragment<use, m, n, k, element, layout>`.

    Attributes:
        use: `matrix_a`, `matrix_b` or `accumulator`.
        shape: m, n, k.
        element: `f16`, `bf16`, `i8` (signed or not), `tf32`, `f64`, and of accumulators `f32`,
            `i32`.
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
        return is_use and is_layout and self.shape in table.get(self.element, ())


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
    size, run = _BYTES[element], _K_RUN[element]
    if element == "f16" or (element == "i8" and is_k_along):
        yield from _ldmatrix(lines, elements, _LDMATRIX_BYTES // size)
    elif is_k_along or run == 2:  # 16 bits: pairs along the line, transposed in registers
        yield from _vectors(lines, elements, size, run)
    else:
        yield from _scalars(lines, elements, size, run)


def _accumulator(lines: int, elements: int, element: str, *, has_pairs: bool) -> Iterator[Part]:
    size = _BYTES[element]
    if has_pairs or size == 2:
        yield from _vectors(lines, elements, size, 2)
    else:
        yield from _scalars(lines, elements, size, 2)


def _ldmatrix(lines: int, elements: int, across: int) -> Iterator[Part]:
    """Returns matrices of eight 16-byte rows: an instruction for 16 lines of 16 elements."""
    lane = np.arange(LANES)
    for top in range(0, lines, _BLOCK):
        for left in range(0, elements, _BLOCK):
            corners = [
                (i, j)
                for j in range(left, min(left + _BLOCK, elements), across)
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
