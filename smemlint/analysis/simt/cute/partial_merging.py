"""Copies of neighbouring elements of a swizzled tensor, one by one: what merging may cost.

nvcc merges most of them to vectors and leaves some, and no rule for which is known (CUTLASS 4.7,
nvcc 13.5, sm_90: of 21 copies of halves, floats and bytes into registers, 14 are vectors alone, and
7 have one vector in two pieces, or a part of one read twice; nvcc 13.0: three of four vectors that
are stored). Each width from one element to the widest vector is priced: where all take the same
multiple of their ideal, so does whatever the compiler makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.hardware.arch import BANKS, LANES, WIDEST_ACCESS, WORD
from smemlint.hardware.banks import wavefronts
from smemlint.layout.cute import Instruction, Tensor

Located: TypeAlias = "tuple[Instruction, AffineInt | Unknown]"
Merged: TypeAlias = "tuple[Instruction, AffineInt | Unknown, Sequence[Located]]"
_Known: TypeAlias = "dict[tuple[str, int, int, bytes], tuple[int, int]]"
_ROW = BANKS * WORD


def merged_partly(
    located: Sequence[Located],
    has_swizzle: Callable[[Tensor], bool],
    mask: NDArray[np.bool_],
    known_width: Callable[[Tensor], int] | None = None,
) -> list[Merged]:
    """Returns the accesses with those that the compiler merges as vectors.

    Args:
        located: the instructions of one call and their byte offsets, in order.
        has_swizzle: whether a tensor is swizzled.
        mask: the threads that take part.
        known_width: bytes that it is known to merge a tensor's neighbours to, 0 where that is not
            known; None for no tensor.

    Returns:
        Each with the accesses that it may stay, where those cost another multiple of their ideal.
    """
    found: list[Merged] = []
    known: _Known = {}
    for run in _runs(located, has_swizzle):
        first = run[0][0]
        width = known_width(first.tensor) if known_width is not None and run[1:] else 0
        if not run[1:] or 0 < width <= first.width:
            found += ((*one, ()) for one in run)
            continue
        ways = _ways(run, mask, known) if not width else None
        is_known = width or (ways is not None and ways[0] == ways[1])
        count = 1 << (len(run).bit_length() - 1)
        vector = replace(first, width=first.width * count)
        found.append((vector, run[0][1], () if is_known else run[:count]))
        found += ((*one, ()) for one in run[count:])
    return found


def _runs(
    located: Sequence[Located], has_swizzle: Callable[[Tensor], bool]
) -> Iterator[list[Located]]:
    """Yields the accesses in order, neighbours of one vector together."""
    run: list[Located] = []
    for one in located:
        if run and not (_is_next(run, one) and has_swizzle(one[0].tensor)):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _is_next(run: Sequence[Located], one: Located) -> bool:
    """Returns whether an access continues a vector that may begin with the first of the run."""
    (first, start), (instruction, at) = run[0], one
    is_plain = first.op in ("load", "store") and first.op == instruction.op
    if not is_plain or first.width != instruction.width or isinstance(start, Unknown):
        return False
    if isinstance(at, Unknown) or not at.is_beside(start):
        return False
    wide = first.width * (1 << len(run).bit_length())
    if wide > WIDEST_ACCESS:
        return False
    is_ahead = at.base - start.base == len(run) * first.width
    return bool(np.all(is_ahead & (start.base % wide == 0)))


def _ways(run: Sequence[Located], mask: NDArray[np.bool_], known: _Known) -> tuple[int, int] | None:
    """Computes wavefronts over ideal at the best and the worst width; None where unknown.

    Runs whose lanes are apart alike and begin in the same bank are priced once: a copy of a tile by
    one thread has thousands.
    """
    instruction, offset = run[0]
    assert isinstance(offset, AffineInt)
    if any(np.any(np.asarray(c) * s.multiple % _ROW) for s, c in offset.terms):
        return None
    base = np.asarray(offset.base, dtype=np.int64)
    lanes = np.broadcast_to(base - (base.min() & -_ROW), mask.shape)
    key = instruction.op, instruction.width, len(run), lanes.tobytes()
    if key not in known:
        known[key] = _priced(instruction, len(run), lanes.reshape(-1, LANES), mask)
    return known[key]


def _priced(
    instruction: Instruction, length: int, warps: NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[int, int]:
    """Prices a run as vectors of each width; returns the least and the most of their ways."""
    active = mask.reshape(-1, LANES)
    figures: list[int] = []
    width = instruction.width
    while width <= instruction.width * length:
        for first in range(0, length, width // instruction.width):
            at = warps + first * instruction.width
            cost = wavefronts(at, kind=instruction.op, width=width, active=active)
            ways = -(-cost.wavefronts // np.maximum(cost.ideal, 1))
            figures.append(int(np.max(ways, initial=1)))
        width *= 2
    return min(figures), max(figures)
