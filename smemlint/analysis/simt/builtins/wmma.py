"""`wmma::load_matrix_sync` and `store_matrix_sync`: which lanes reach what of a shared tile.

Read from the SASS of nvcc 13.0.88 for sm_90 and met by the counters of fixtures/kernels/wmma.cu:
16-bit operands are loaded by ldmatrix, transposed where the lines in memory run along the other
dimension; accumulators lie in the lanes as those of `mma.m16n8k16`, two neighbours of a row a
lane. Other element types and shapes compile to generic loads or shuffles and are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.domain.ctypes import I64, CType, FloatType, IntType, OpaqueType
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import Int, Pointer, Unknown, Value, number
from smemlint.analysis.simt.state import WARP, Place
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pycparser import c_ast

    from smemlint.analysis.simt.builtins.intrinsics import Intrinsics

_SHAPES = frozenset(((16, 16, 16), (32, 8, 16), (8, 32, 16)))
_LINE = 8
"""Elements of a line, and lines, of one ldmatrix matrix."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """`wmma::fragment<use, m, n, k, element, layout>`; `layout` is empty for accumulators."""

    use: str
    shape: tuple[int, int, int]
    element: CType
    layout: str


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One instruction of a fragment's load or store.

    Attributes:
        lines, places: of each lane of a warp, shape (32,): which line of the tile, and which
            element of it.
        width: bytes a lane moves.
        matrices: of ldmatrix; 0 for an ordinary load or store.
    """

    lines: NDArray[np.int64]
    places: NDArray[np.int64]
    width: int
    matrices: int = 0


def move(m: Intrinsics, node: c_ast.FuncCall, *, is_store: bool) -> Value:
    """Records the shared accesses of a fragment's load or store."""
    exprs = list(node.args.exprs) if node.args is not None else []
    if len(exprs) < 3:
        return number(0)
    target, source = (exprs[1], exprs[0]) if is_store else (exprs[0], exprs[1])
    held, pointer, pitch = m.place(target), m.evaluate(source), m.evaluate(exprs[2])
    if not isinstance(pointer, Pointer) or pointer.object.space is not Space.SHARED:
        return number(0)
    fragment = fragment_of(m, held)
    order = _last_word(exprs[3]) if len(exprs) > 3 else ""
    parts = list(_parts(fragment, order)) if fragment is not None else []
    if not parts:
        what = "store_matrix_sync" if is_store else "load_matrix_sync"
        m.not_followed(node, f"how `{what}` spreads this fragment over the lanes is not modelled")
        return number(0)
    size = fragment.element.size if fragment is not None else 0
    for part in parts:
        offset = _offset(m, pointer, pitch, part, size)
        kind = AccessKind.STORE if is_store else AccessKind.LOAD
        kind = AccessKind.LDMATRIX if part.matrices else kind
        m.emit(
            kind, pointer.object, offset, part.width, node,
            matrices=part.matrices, volatile=True,
        )  # fmt: skip
    return number(0)


def fragment_of(m: Intrinsics, held: Place | Unknown) -> Fragment | None:
    """The fragment that a place holds; None where its type does not say."""
    if isinstance(held, Unknown) or not isinstance(held.type, OpaqueType):
        return None
    name, arguments = m.unit.template_arguments(held.type.spelling)
    if name.rsplit("::", 1)[-1] != "fragment" or len(arguments) < 5:
        return None
    sizes = [m.value_argument(a) for a in arguments[1:4]]
    shape = tuple(s.constant for s in sizes if isinstance(s, Int) and s.constant is not None)
    element = m.type_argument(arguments[4])
    if len(shape) != 3 or element is None or not element.size:
        return None
    layout = arguments[5].rsplit("::", 1)[-1].strip() if len(arguments) > 5 else ""
    use = arguments[0].rsplit("::", 1)[-1].strip()
    return Fragment(use, (shape[0], shape[1], shape[2]), element, layout)


def _parts(fragment: Fragment, order: str) -> Iterator[Part]:
    """The instructions, in the order that they are issued; none where it is not known."""
    m, n, k = fragment.shape
    if fragment.use in ("matrix_a", "matrix_b"):
        is_half = isinstance(fragment.element, FloatType) and fragment.element.name == "half"
        if not is_half or fragment.shape not in _SHAPES:
            return
        rows, columns = (m, k) if fragment.use == "matrix_a" else (k, n)
        if fragment.layout == "col_major":
            rows, columns = columns, rows
        elif fragment.layout != "row_major":
            return
        yield from _matrices(rows, columns)
    elif fragment.use == "accumulator" and fragment.shape == (16, 16, 16):
        yield from _accumulator(fragment.element, order)


def _matrices(lines: int, elements: int) -> Iterator[Part]:
    """Ldmatrix over a tile of that many lines in memory: four 8 x 8 matrices at a time."""
    corners = [(i, j) for j in range(0, elements, _LINE) for i in range(0, lines, _LINE)]
    for start in range(0, len(corners), 4):
        group = corners[start : start + 4]
        lane = np.arange(WARP)
        which = np.minimum(lane // _LINE, len(group) - 1)
        first = np.array(group, dtype=np.int64)[which]
        yield Part(first[:, 0] + lane % _LINE, first[:, 1], 2 * _LINE, len(group))


def _accumulator(element: CType, order: str) -> Iterator[Part]:
    """Each lane holds elements 2t and 2t + 1 of rows g and g + 8, in both halves of the row."""
    lane = np.arange(WARP)
    g, t = lane // 4, lane % 4
    if order == "mem_row_major":
        for down in (0, 8):
            for along in (0, 8):
                yield Part(g + down, 2 * t + along, 2 * element.size)
    elif order == "mem_col_major" and isinstance(element, FloatType | IntType):
        if element.size != 4:
            return
        for down in (0, 8):
            for along in (0, 8):
                for one in (0, 1):
                    yield Part(2 * t + along + one, g + down, element.size)


def _offset(m: Intrinsics, pointer: Pointer, pitch: Value, part: Part, size: int) -> Int | Unknown:
    """Bytes of each lane from the start of the array: pointer + (line * pitch + place) * size."""
    if not isinstance(pitch, Int):
        return pitch if isinstance(pitch, Unknown) else Unknown("the leading dimension is unknown")
    warps = len(m.geometry.linear) // WARP
    lines = Int(np.tile(part.lines, warps), I64, form=atom("wmma line", hangs_on_lane=True))
    places = Int(
        np.tile(part.places * size, warps), I64, form=atom("wmma place", hangs_on_lane=True)
    )
    wide = Int(pitch.base, I64, pitch.terms, pitch.form)
    along = m.algebra.multiply(wide, Int(size, I64))
    rows = along if isinstance(along, Unknown) else m.algebra.multiply(lines, along)
    if isinstance(rows, Unknown):
        return rows
    return m.algebra.add(pointer.offset, m.algebra.add(rows, places))


def _last_word(node: c_ast.Node) -> str:
    name = getattr(node, "name", "")
    return name.rsplit("::", 1)[-1] if isinstance(name, str) else ""
