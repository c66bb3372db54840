"""What a load or store of a whole tensor becomes: warp instructions and the bytes they touch.

Follows triton 3.9.0's lowering of `local_load` and `local_store`: `ldmatrix` and `stmatrix` where
four lanes hold 16 consecutive bytes (or eight lanes a column of 16), else the widest vectors that
registers form, merged as LLVM merges neighbours. Checked against the addresses of emitted PTX on
recorded pairs (tests/oracle/record_gluon.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smemlint.hardware.arch import WIDEST_ACCESS, architecture
from smemlint.layout.linear import ROW_BYTES, LinearMap
from smemlint.layout.memdesc import SharedView
from smemlint.layout.register_layouts import Spread
from smemlint.lazy_dataclasses import dataclass

_MATRIX_ROW = 16
"""Bytes of a row of a matrix."""
_SEEN_TERMS = 4
_SEEN_VECTORS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """Warp instructions of one kind and width that an access of a tensor becomes.

    Attributes:
        kind: `load`, `store`, `ldmatrix` or `stmatrix`.
        width: bytes that a lane moves; 16 for matrices.
        matrices: of a matrix instruction; 0 otherwise.
        addresses: byte offsets of shape (instructions of a warp, warps, 32).
    """

    kind: str
    width: int
    matrices: int
    addresses: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lowering:
    """What an access of a tensor becomes.

    Attributes:
        instructions: by falling width.
        doubt: why the widths are not sure; empty when they are.
    """

    instructions: tuple[Instructions, ...]
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Reach:
    """Linear element offsets of every bit of register, lane and warp number."""

    registers: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @staticmethod
    def of(spread: Spread, view: SharedView) -> _Reach:
        registers = tuple(view.linear(b) for b in spread.registers)
        return _Reach(
            tuple(r for r in registers if r),  # what is held twice is moved once
            tuple(view.linear(b) for b in spread.lanes),
            tuple(view.linear(b) for b in spread.warps),
        )

    def without(self, taken: Sequence[int]) -> _Reach:
        """Returns the registers that are left."""
        return _Reach(tuple(r for r in self.registers if r not in taken), self.lanes, self.warps)


def lowered(spread: Spread, view: SharedView, *, is_store: bool, arch: str) -> Lowering:
    """Returns the instructions of a load or store of all elements of a view."""
    reach = _Reach.of(spread, view)
    target = architecture(arch)
    has_matrices = target.has_stmatrix if is_store else target.has_ldmatrix
    if has_matrices and not view.padding:
        for transposed in (False, True):
            found = _matrices(reach, view, is_store=is_store, transposed=transposed)
            if found is not None:
                return Lowering((found,))
    return _vectors(reach, view, is_store=is_store)


# ---- vectors


def _vectors(reach: _Reach, view: SharedView, *, is_store: bool) -> Lowering:
    elements = _vector_elements(reach, view)
    rest = reach.without([1 << bit for bit in range(elements.bit_length() - 1)])
    addresses = view.physical(_combined(rest.registers, rest.warps, rest.lanes))
    width = elements * view.element_bits // 8
    if width > WIDEST_ACCESS:
        parts = np.arange(0, width, WIDEST_ACCESS)
        addresses = (addresses[None] + parts[:, None, None, None]).reshape(-1, *addresses.shape[1:])
        width = WIDEST_ACCESS
    kind = "store" if is_store else "load"
    found = tuple(Instructions(kind, w, 0, merged) for w, merged in _merged(addresses, width))
    is_plain = found[0].width == width
    is_sure = is_plain or (len(found) == 1 and _is_surely_merged(reach, len(addresses)))
    doubt = "" if is_sure else "whether the compiler merges neighbouring vectors is not known"
    return Lowering(found, doubt)


def _is_surely_merged(reach: _Reach, vectors: int) -> bool:
    """Returns whether LLVM's look at an address, a few steps deep, proves it aligned.

    The address is an exclusive-or of one term for every distance that bits of the thread number
    are shifted by; beyond four terms, or 32 vectors, merging was seen to stop.
    """
    moved = (*reach.lanes, *reach.warps)
    shifts = {at - bit for bit, offset in enumerate(moved) for at in range(32) if offset >> at & 1}
    is_mixed = any(r & m for r in reach.registers for m in moved)
    return len(shifts) + is_mixed <= _SEEN_TERMS and vectors <= _SEEN_VECTORS


def _merged(addresses: NDArray[np.int64], width: int) -> list[tuple[int, NDArray[np.int64]]]:
    """Merges neighbours at one distance in all lanes that align, as LLVM does; the widest first."""
    flat = addresses.reshape(len(addresses), -1)
    firsts = flat[:, 0]
    distances = [tuple(row) for row in (flat - firsts[:, None]).tolist()]
    number = {row: i for i, row in enumerate(sorted(set(distances)))}
    families = np.array([number[row] for row in distances])  # no np.unique: see `patterns_of`
    order = np.lexsort((firsts, families))
    alignment = np.bitwise_or.reduce(flat, axis=1)
    found: dict[int, list[int]] = {}
    at = 0
    while at < len(order):
        size = WIDEST_ACCESS
        while size > width and not _is_run(order, families, firsts, alignment, at, size, width):
            size //= 2
        found.setdefault(size, []).append(int(order[at]))
        at += max(size // width, 1)
    return [(size, addresses[found[size]]) for size in sorted(found, reverse=True)]


def _is_run(
    order: NDArray[np.int64],
    families: NDArray[np.int64],
    firsts: NDArray[np.int64],
    alignment: NDArray[np.int64],
    at: int,
    size: int,
    width: int,
) -> bool:
    """Returns whether the accesses from `at` on fill `size` aligned bytes."""
    run = order[at : at + size // width]
    return (
        len(run) == size // width
        and not alignment[run[0]] & (size - 1)
        and len(set(families[run].tolist())) == 1
        and bool((np.diff(firsts[run]) == width).all())
    )


def _vector_elements(reach: _Reach, view: SharedView) -> int:
    """Returns the longest vector that the first registers form and nothing else cuts."""
    most = min([every for every, _ in view.padding] or [WIDEST_ACCESS * 8 // view.element_bits])
    while most > 1 and not _is_vector(reach, most, is_ordered=bool(view.padding)):
        most //= 2
    return most


def _is_vector(reach: _Reach, elements: int, *, is_ordered: bool) -> bool:
    bits = elements.bit_length() - 1
    expected = [1 << bit for bit in range(bits)]
    if is_ordered and list(reach.registers[:bits]) != expected:
        return False
    if not set(expected) <= set(reach.registers):
        return False
    rest = reach.without(expected)
    return not any(o & (elements - 1) for o in (*rest.registers, *rest.lanes, *rest.warps))


# ---- matrices


@dataclass(frozen=True, slots=True)
class _MatrixTile:
    """What one matrix instruction's rows of 16 bytes are made of.

    Attributes:
        lanes, registers: element offsets of the lowest lane bits and of some registers.
        row_registers: how many further register bits number rows of one matrix.
    """

    lanes: tuple[int, ...]
    registers: tuple[int, ...]
    row_registers: int


def _tile(bits: int, *, transposed: bool) -> _MatrixTile | None:
    """Returns the tile of elements of so many bits; None where no instruction has it."""
    if transposed:
        return _MatrixTile((1, 2, 4), (), 1) if bits == 16 else None
    if bits > 32:
        return None
    per_word = 32 // bits
    registers = tuple(1 << b for b in range(per_word.bit_length() - 1))
    return _MatrixTile((per_word, 2 * per_word), registers, 0)


def _matrices(
    reach: _Reach, view: SharedView, *, is_store: bool, transposed: bool
) -> Instructions | None:
    """Returns `ldmatrix` or `stmatrix`; None where the layouts do not suit it."""
    tile = _tile(view.element_bits, transposed=transposed)
    if tile is None or not set(tile.registers) <= set(reach.registers):
        return None
    lanes = (*reach.lanes[2:], *reach.lanes[:2]) if transposed else reach.lanes
    if lanes[: len(tile.lanes)] != tile.lanes:
        return None
    rest = reach.without(tile.registers).registers
    row_lanes = lanes[len(tile.lanes) :]
    row = _MATRIX_ROW * 8 // view.element_bits
    if any(o & (row - 1) for o in (*rest, *row_lanes, *reach.warps, view.start)):
        return None
    if len(rest) < tile.row_registers:
        return None
    # The eight rows of a matrix come from lanes, with transposition from registers too.
    chosen = _row_registers(rest, row_lanes, tile.row_registers, row)
    rows = (*chosen, *row_lanes)
    further = tuple(r for r in rest if r not in chosen)
    count = min(len(further), 2)
    by_lane = (*rows, *further[:count])
    unused = (0,) * (5 - len(by_lane))
    offsets = _combined(further[count:], reach.warps, (*by_lane, *unused))
    kind = "stmatrix" if is_store else "ldmatrix"
    return Instructions(kind, _MATRIX_ROW, 1 << count, view.physical(offsets))


def _row_registers(
    registers: Sequence[int], lanes: Sequence[int], count: int, row: int
) -> tuple[int, ...]:
    """Returns the registers that number rows of a matrix, those that conflict least."""
    if not count:
        return ()
    banks = (ROW_BYTES // _MATRIX_ROW - 1) * row

    def collisions(register: int) -> int:
        phase = LinearMap((register, *lanes[: 3 - count]))
        return phase.rank - phase.masked(banks).rank

    return (min(registers, key=collisions),)


def _combined(
    outer: Sequence[int], warps: Sequence[int], lanes: Sequence[int]
) -> NDArray[np.int64]:
    """Computes linear offsets of shape (2**outer, 2**warps, 2**lanes)."""
    return _span(outer)[:, None, None] ^ _span(warps)[None, :, None] ^ _span(lanes)[None, None, :]


def _span(bases: Sequence[int]) -> NDArray[np.int64]:
    """Returns the exclusive-or of the bases of the set bits, for all numbers in order."""
    values = np.zeros(1, dtype=np.int64)
    for base in bases:
        values = np.concatenate([values, values ^ base])
    return values
