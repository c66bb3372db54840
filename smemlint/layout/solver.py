"""The smallest swizzle and the smallest padding that free all accesses of an array at once.

All candidates are priced in one batch by the bank model, so the search is exhaustive: no CuTe-legal
swizzle within the bits given, and no padding, does better.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemlint.hardware.arch import BANKS, LANES, WORD
from smemlint.hardware.async_copies import async_wavefronts
from smemlint.hardware.banks import wavefronts
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass

_ROW_BYTES = BANKS * WORD
_AT_A_TIME = 1 << 20
"""Lane addresses priced in one batch, which bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class CopySource:
    """What an asynchronous copy reads.

    Attributes:
        addresses: bytes of global memory from a multiple of 128, of shape (n, 32).
        form: `cg` or `ca`.
        accepted: wavefronts that are no worse than today's, of shape (n,).
    """

    addresses: NDArray[np.int64]
    form: str
    accepted: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What warps touch at one access: the first element of each lane's vector.

    Attributes:
        offsets: logical element offsets of shape (n, lanes), at most 32 lanes.
        width: bytes that a lane moves.
        kind: as for `hardware.wavefronts`.
        active: of the same shape; all by default.
        matrices: of ldmatrix and stmatrix.
        counts: how often each is issued, of shape (n,); once by default.
        copy: the other side of an asynchronous copy; None for any other access.
    """

    offsets: ArrayLike
    width: int
    kind: str = "load"
    active: ArrayLike | None = None
    matrices: int = 4
    name: str = ""
    counts: ArrayLike | None = None
    copy: CopySource | None = None

    def lanes(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Returns offsets and active lanes, filled up to shape (n, 32)."""
        offsets = np.atleast_2d(np.asarray(self.offsets, dtype=np.int64))
        active = np.ones(offsets.shape, dtype=np.bool_)
        if self.active is not None:
            active &= np.asarray(self.active, dtype=np.bool_)
        missing = ((0, 0), (0, LANES - offsets.shape[1]))
        return np.pad(offsets, missing), np.pad(active, missing)


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """How good an arrangement is; less is better.

    Attributes:
        ways: the worst wavefronts / ideal of an instruction, for asynchronous copies / accepted;
            infinite where one would be torn apart or misaligned.
        wavefronts: of all instructions together.
    """

    ways: float
    wavefronts: int

    @property
    def is_free(self) -> bool:
        """Whether no instruction conflicts."""
        return self.ways <= 1


@dataclass(frozen=True, slots=True)
class Solution:
    """The best of both kinds of repair.

    Attributes:
        plain: of the array as it is.
        swizzle: the smallest of the best, by B, |S|, M; in element units.
        swizzled: what it achieves.
        padding: the fewest elements after each row among the best; None without a row length.
        padded: what it achieves.
    """

    plain: Score
    swizzle: Swizzle
    swizzled: Score
    padding: int | None
    padded: Score | None


def solve(
    patterns: Sequence[Pattern],
    element_bytes: int,
    *,
    pitch: int | None = None,
    extent: int | None = None,
    bits: int = 16,
    banks: int = BANKS,
) -> Solution:
    """Repairs an array for all of its accesses together.

    The array is taken to start at a multiple of 128 bytes, or of its swizzle's period if offsets
    are swizzled as addresses.

    Args:
        patterns: every access of the array.
        element_bytes: size of an element, a power of two.
        pitch: elements of a row, where padding goes.
        extent: elements of the array; a swizzle must not leave it.
        bits: a swizzle acts on offset bits below this one.
        banks: 32; fewer serves textbook examples, whose elements are words.

    Raises:
        ValueError: the bank model refuses an access of the array as it is, or the element's size is
            not a power of two.
    """
    if element_bytes < 1 or element_bytes & (element_bytes - 1):
        raise ValueError(f"elements of {element_bytes} bytes: a power of two wanted")
    plain = score(patterns, element_bytes, Swizzle(0, 0, 0), banks=banks)
    swizzle, swizzled = best_swizzle(patterns, element_bytes, extent=extent, bits=bits, banks=banks)
    if pitch is None:
        return Solution(plain, swizzle, swizzled, None, None)
    padding, padded = best_padding(patterns, element_bytes, pitch, banks=banks)
    return Solution(plain, swizzle, swizzled, padding, padded)


def score(
    patterns: Sequence[Pattern], element_bytes: int, swizzle: Swizzle, *, banks: int = BANKS
) -> Score:
    """Returns what a swizzle of element offsets achieves.

    Args:
        patterns: what is accessed, in elements before the swizzle.
        element_bytes: of the tile.
        swizzle: of element offsets; `Swizzle(0, 0, 0)` for the array as it is.
        banks: of 4 bytes each.

    Raises:
        ValueError: the bank model refuses an access.
    """
    if any(_is_torn(p, element_bytes, swizzle) for p in patterns):
        return Score(float("inf"), 0)
    return price([[swizzle(p.lanes()[0])] for p in patterns], patterns, element_bytes, banks)[0]


def best_swizzle(
    patterns: Sequence[Pattern],
    element_bytes: int,
    *,
    extent: int | None = None,
    bits: int = 16,
    banks: int = BANKS,
) -> tuple[Swizzle, Score]:
    """Returns the best swizzle of element offsets, the smallest by B, |S|, M among equals.

    Args:
        patterns: what is accessed, in elements before the swizzle.
        element_bytes: of the tile.
        extent: elements of the array, out of which nothing may be moved; None for no such bound.
        bits: of an element offset that the swizzle may read and change, from the lowest on.
        banks: of 4 bytes each.

    Raises:
        ValueError: the bank model refuses an access of the array as it is.
    """
    tried = [
        s for s in candidates(bits) if not any(_is_torn(p, element_bytes, s) for p in patterns)
    ]
    lanes = [p.lanes()[0] for p in patterns]
    step = max(1, _AT_A_TIME // max(sum(x.size for x in lanes), 1))
    scores: list[Score] = []
    for at in range(0, len(tried), step):
        moved = [_swizzled(x, tried[at : at + step]) for x in lanes]
        scores += price(moved, patterns, element_bytes, banks)
    ranked = sorted(range(len(tried)), key=lambda i: scores[i])  # stable: smallest first
    for i in ranked:
        if extent is None or stays_within(tried[i], extent):
            return tried[i], scores[i]
    raise AssertionError("the identity is a candidate and leaves nothing")


def freeing_swizzle(
    patterns: Sequence[Pattern], element_bytes: int, *, extent: int, bits: int
) -> Swizzle | None:
    """Returns the smallest swizzle of element offsets that frees every access; else None.

    As `best_swizzle`, and faster: what one access rules out is not priced on the next.

    Raises:
        ValueError: the bank model refuses an access of the array as it is.
    """
    found = freeing_swizzles(patterns, element_bytes, extent=extent, among=candidates(bits))
    return found[0] if found else None


def freeing_swizzles(
    patterns: Sequence[Pattern], element_bytes: int, *, extent: int, among: Sequence[Swizzle]
) -> list[Swizzle]:
    """Returns which of some swizzles of element offsets free every access, in their order.

    Raises:
        ValueError: the bank model refuses an access of the array as it is.
    """
    left = [
        s
        for s in among
        if stays_within(s, extent) and not any(_is_torn(p, element_bytes, s) for p in patterns)
    ]
    for pattern in patterns:
        lanes = pattern.lanes()[0]
        step = max(1, _AT_A_TIME // max(lanes.size, 1))
        scores: list[Score] = []
        for at in range(0, len(left), step):
            scores += price([_swizzled(lanes, left[at : at + step])], [pattern], element_bytes)
        left = [s for s, achieved in zip(left, scores, strict=True) if achieved.is_free]
        if not left:
            break
    return left


def best_padding(
    patterns: Sequence[Pattern], element_bytes: int, pitch: int, *, banks: int = BANKS
) -> tuple[int, Score]:
    """Returns the fewest elements to add to each row of `pitch` elements, among the best.

    Paddings below one row of banks are tried, after which the banks repeat; those that misalign a
    vector are not.

    Raises:
        ValueError: the bank model refuses an access of the array as it is.
    """
    period = _ROW_BYTES // element_bytes if banks == BANKS else banks
    rows = [p.lanes()[0] // pitch for p in patterns]
    aligned = [
        pad
        for pad in range(max(period, 1))
        if all(
            (row[p.lanes()[1]] * pad * element_bytes % p.width == 0).all()
            for row, p in zip(rows, patterns, strict=True)
        )
    ]
    pads = np.array(aligned, dtype=np.int64)[:, None, None]
    moved = [p.lanes()[0] + row * pads for row, p in zip(rows, patterns, strict=True)]
    scores = price(moved, patterns, element_bytes, banks)
    best = min(range(len(aligned)), key=lambda i: scores[i])
    return aligned[best], scores[best]


def stays_within(swizzle: Swizzle, extent: int) -> bool:
    """Returns whether no offset below `extent` is sent to or beyond it."""
    # A whole number of periods is permuted within itself: only the rest can leave.
    rest = extent % swizzle.period
    return rest == 0 or int(swizzle(np.arange(rest, dtype=np.int64)).max()) < rest


def _is_torn(pattern: Pattern, element_bytes: int, swizzle: Swizzle) -> bool:
    """Returns whether the swizzle moves parts of a lane's vector to different places."""
    return swizzle.bits > 0 and swizzle.group * element_bytes < pattern.width


@lru_cache(maxsize=8)
def candidates(bits: int) -> tuple[Swizzle, ...]:
    """Returns every swizzle of bits below `bits`, by B, |S|, M, a positive S first."""
    found = [Swizzle(0, 0, 0)]
    for b in range(1, bits // 2 + 1):
        for distance in range(b, bits - b + 1):
            for m in range(bits - b - distance + 1):
                found += [Swizzle(b, m, distance), Swizzle(b, m, -distance)]
    order = sorted(found, key=lambda s: (s.bits, abs(s.shift), s.base, -s.shift))
    return tuple(order)


def _swizzled(offsets: NDArray[np.int64], swizzles: Sequence[Swizzle]) -> NDArray[np.int64]:
    """Returns swizzled addresses, of shape (swizzles, n, 32)."""
    columns = np.array([(s.y_mask, max(s.shift, 0), max(-s.shift, 0)) for s in swizzles]).T
    mask, right, left = columns[:, :, None, None]
    moved: NDArray[np.int64] = offsets ^ ((offsets & mask) >> right << left)
    return moved


def price(
    moved: Sequence[ArrayLike], patterns: Sequence[Pattern], element_bytes: int, banks: int = BANKS
) -> list[Score]:
    """Returns what candidate layouts achieve.

    Args:
        moved: of each pattern the element offsets under each candidate, (candidates, n, 32).
        patterns: every access of the array.
        element_bytes: size of an element.
        banks: see `solve`.

    Raises:
        ValueError: the bank model refuses an access under a candidate, or there is none.
    """
    ways: NDArray[np.float64] | None = None
    total: NDArray[np.int64] | None = None
    for offsets, pattern in zip(moved, patterns, strict=True):
        addresses = np.asarray(offsets) * element_bytes
        active = np.broadcast_to(pattern.lanes()[1], addresses.shape)
        if banks != BANKS:
            addresses = _spread(addresses, pattern, element_bytes, banks)
        each, ideal = _cost(addresses, active, pattern)
        excess = (each / np.maximum(ideal, 1)).max(axis=1)
        counts = 1 if pattern.counts is None else np.asarray(pattern.counts)
        spent = (each * counts).sum(axis=1)
        ways = excess if ways is None else np.maximum(ways, excess)
        total = spent if total is None else total + spent
    if ways is None or total is None:
        raise ValueError("no access to repair")
    return [Score(float(w), int(t)) for w, t in zip(ways, total, strict=True)]


def _cost(
    addresses: NDArray[np.int64], active: NDArray[np.bool_], pattern: Pattern
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Computes wavefronts, and what is accepted, of every candidate and pattern."""
    if pattern.copy is not None:
        copied = async_wavefronts(
            addresses,
            np.broadcast_to(pattern.copy.addresses, addresses.shape),
            form=pattern.copy.form,
            width=pattern.width,
            active=active,
        )
        return copied.wavefronts, np.broadcast_to(pattern.copy.accepted, copied.wavefronts.shape)
    cost = wavefronts(
        addresses, kind=pattern.kind, width=pattern.width, active=active, matrices=pattern.matrices
    )
    return cost.wavefronts, np.maximum(cost.ideal, cost.profiler_ideal)


def _spread(
    addresses: NDArray[np.int64], pattern: Pattern, element_bytes: int, banks: int
) -> NDArray[np.int64]:
    """Spreads addresses so that the hardware's banks stand for fewer banks of words."""
    if pattern.width != WORD or element_bytes != WORD or not 0 < banks < BANKS:
        raise ValueError(f"{banks} banks serve single elements of {WORD} bytes only")
    words = addresses // WORD
    return words // banks * _ROW_BYTES + words % banks * WORD
