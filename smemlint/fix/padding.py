"""A better layout of one array, found on its recorded accesses: reads and writes together.

Every pattern of every access, in every kernel instance that has the declaration, is moved to the
candidate's layout and priced by the bank model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import gcd, isfinite, prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import FRAGMENT, Access, AccessKind, Facts, SharedArray, Span, WarpPattern
from smemlint.hardware.arch import BANKS, WORD
from smemlint.layout.solver import CopySource, Pattern, Score, candidates, freeing_swizzles, price
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PRICED_PATTERNS, MAX_SWIZZLE_BITS

ROW_BYTES = BANKS * WORD
_PRICED = frozenset((
    AccessKind.LOAD, AccessKind.STORE, AccessKind.LDMATRIX, AccessKind.STMATRIX,
    AccessKind.ASYNC_COPY,
))  # fmt: skip


class Layout(Protocol):
    """Another place for each element of an array."""

    def moved(self, offsets: NDArray[np.int64], array: SharedArray) -> NDArray[np.int64]:
        """Returns where what lies at these byte offsets in the array lies then."""


@dataclass(frozen=True, slots=True)
class Padding:
    """One extent of an array made larger.

    Attributes:
        axis: which extent; never the first, which no address depends on.
    """

    axis: int
    extra: int

    def dims(self, array: SharedArray) -> tuple[int, ...]:
        """Returns the extents of the padded array."""
        return tuple(
            (d or 0) + (self.extra if k == self.axis else 0) for k, d in enumerate(array.dims)
        )

    def added_bytes(self, array: SharedArray) -> int:
        """Returns by how much the array grows."""
        return prod(self.dims(array)) * array.element_bytes - (array.bytes or 0)

    def moved(self, offsets: NDArray[np.int64], array: SharedArray) -> NDArray[np.int64]:
        """Returns where what lies at these byte offsets in the array lies in the padded one."""
        stride = _stride(array, self.axis)
        rows = offsets // (stride * (array.dims[self.axis] or 1))
        moved: NDArray[np.int64] = offsets + rows * self.extra * stride
        return moved

    def is_left_alone(self, offsets: NDArray[np.int64], array: SharedArray) -> bool:
        """Returns whether none of these byte offsets in the padded array lies in the padding."""
        extent = array.dims[self.axis] or 1
        index = offsets // _stride(array, self.axis) % (extent + self.extra)
        return bool((index < extent).all())


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """All accesses of one declared array, over the kernel instances that have it."""

    accesses: tuple[Access, ...]

    @staticmethod
    def of(facts: Facts, array: SharedArray) -> Usage:
        """Returns the accesses of all arrays of one declaration, in all blocks that were tried."""
        found = (a for k in facts.kernels for a in k.accesses if array.is_declared_as(a.array))
        return Usage(
            tuple(
                replace(a, patterns=a.patterns + a.elsewhere) if a.elsewhere else a for a in found
            )
        )

    @property
    def is_decided(self) -> bool:
        """Whether all figures are known, and none is of an atomic or went through a swizzle."""
        return self._is_known and all(p.ideal for a in self.accesses for p in a.patterns)

    @property
    def is_misaligned(self) -> bool:
        """Whether all is known, and a lane's address is no multiple of what it moves."""
        return self._is_known and not self.is_decided

    @property
    def has_conflicts(self) -> bool:
        """Whether a pattern whose lanes are aligned takes more wavefronts than it could."""
        return any(p.ways > 1 for a in self.accesses for p in a.patterns)

    @property
    def _is_known(self) -> bool:
        return bool(self.accesses) and all(
            a.certainty.is_decided and a.layout is None and a.kind in _PRICED for a in self.accesses
        )

    @property
    def is_complete(self) -> bool:
        """Whether every address that is ever touched was recorded, as it is.

        Of a long loop whose iterations repeat one another only some are.
        """
        return all(
            not a.omitted
            and all(p.exact for p in a.patterns)
            and sum(p.count for p in a.patterns) >= a.instructions
            for a in self.accesses
        )

    @property
    def may_be_fused(self) -> bool:
        """Whether the compiler made one access of several, which an index may keep apart."""
        return any(a.fusion is not None for a in self.accesses)

    @property
    def is_torn_by_an_index(self) -> bool:
        """Whether the source moves several elements at once, by more than one instruction.

        A swizzled index in place of its offset is that of the first element only: the others do not
        follow it, as a swizzle keeps only the bytes of one instruction together.
        """
        return any(
            a.array is not None and a.whole_bytes > a.array.element_bytes for a in self.accesses
        )

    @property
    def takes_pitch(self) -> bool:
        """Whether a fragment of `wmma` is moved: rows lie a pitch apart, no index is swizzled."""
        return any(a.note == FRAGMENT for a in self.accesses)

    @property
    def widest_copy(self) -> int:
        """Bytes that a lane of an asynchronous copy moves at the most, which lie together."""
        copies = (a.width_bytes for a in self.accesses if a.kind is AccessKind.ASYNC_COPY)
        return max(copies, default=0)

    @property
    def sites(self) -> int:
        """Places of the source that access it."""
        return len({a.span for a in self.accesses})

    def reaches(self, places: Sequence[Span]) -> bool:
        """Returns whether each of the places stands inside the expression of an access."""
        return all(any(_encloses(a.span, place) for a in self.accesses) for place in places)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Patterns of one array, kind and width; byte offsets in the array of shape (n, 32)."""

    array: SharedArray
    kind: AccessKind
    width: int
    matrices: int
    offsets: NDArray[np.int64]
    active: NDArray[np.bool_]
    counts: NDArray[np.int64]
    copy: CopySource | None = None

    def pattern(self, element_bytes: int) -> Pattern:
        """Returns the group for the solver, in elements."""
        return Pattern(
            self.offsets // element_bytes,
            self.width,
            str(self.kind),
            self.active,
            self.matrices or 4,
            counts=self.counts,
            copy=self.copy,
        )

    def first(self) -> Group:
        """Returns the costliest pattern alone."""
        copy = self.copy
        if copy is not None:
            copy = replace(copy, addresses=copy.addresses[:1], accepted=copy.accepted[:1])
        return replace(
            self,
            offsets=self.offsets[:1],
            active=self.active[:1],
            counts=self.counts[:1],
            copy=copy,
        )


def best_padding(usage: Usage) -> tuple[Padding, Score] | None:
    """Returns the smallest of the best paddings; None where none costs less than no padding.

    A padding that would misalign a vector is no candidate.
    """
    groups = batches(usage)
    if not groups or not all(_has_rows(g.array) for g in groups):
        return None
    candidates = [
        p
        for axis in range(1, len(groups[0].array.dims))
        for p in _paddings(axis, groups, usage.widest_copy)
    ]
    if not candidates:
        return None
    plain, *scores = priced(groups, [Padding(1, 0), *candidates])
    array = groups[0].array
    better = (
        (padding, score)
        for padding, score in zip(candidates, scores, strict=True)
        if score < plain and is_worth(padding.added_bytes(array), array, score, plain)
    )
    return _cheapest(better, array)


def best_pitches(usage: Usage, axis: int, least: int) -> list[int]:
    """Returns changes of an extent that free its costliest access, those to less memory first."""

    def wasted(access: Access) -> int:
        return sum((p.wavefronts - p.ideal) * p.count for p in access.patterns)

    costliest = max(usage.accesses, key=wasted)
    groups = batches(Usage((costliest,)))
    if not groups or not wasted(costliest):
        return []
    array = groups[0].array
    stride, extent = _stride(array, axis), array.dims[axis] or 1
    widest = max(a.width_bytes for a in usage.accesses)
    candidates = [
        Padding(axis, extra)
        for extra in range(least, ROW_BYTES // stride + 1)
        if extra and (extent + extra) * stride % widest == 0
    ]
    candidates = [p for p in candidates if all(_is_aligned(g, p) for g in groups)]
    if not candidates:
        return []
    scores = priced(groups, candidates)
    return [p.extra for p, score in zip(candidates, scores, strict=True) if score.is_free]


def aligning_padding(usage: Usage) -> tuple[Padding, Score] | None:
    """Returns the best padding under which all vectors are aligned; None where there is none."""
    groups = batches(usage)
    if not groups or not all(_has_rows(g.array) for g in groups):
        return None
    candidates = [
        padding
        for axis in range(1, len(groups[0].array.dims))
        for padding in _aligned_paddings(axis, groups, usage.widest_copy)
        if all(_is_aligned(group, padding) for group in groups)
    ]
    if not candidates:
        return None
    array = groups[0].array
    try:
        scores = priced(groups, candidates)
    except ValueError:  # what a copy reads is not aligned, wherever it writes
        return None
    found = zip(candidates, scores, strict=True)
    return _cheapest(((p, score) for p, score in found if isfinite(score.ways)), array)


def _cheapest(
    candidates: Iterable[tuple[Padding, Score]], array: SharedArray
) -> tuple[Padding, Score] | None:
    """Returns the padding of the least cost, of several the one that adds least."""
    return min(candidates, key=lambda c: (c[1], c[0].added_bytes(array)), default=None)


def _is_aligned(group: Group, padding: Padding) -> bool:
    """Returns whether a padding leaves every lane's address a multiple of what it moves."""
    moved = padding.moved(group.offsets, group.array)
    lanes = group.active
    if group.kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
        lanes = np.broadcast_to(np.arange(moved.shape[1]) < 8 * (group.matrices or 4), moved.shape)
    return not (moved[lanes] % group.width).any()


def _aligned_paddings(axis: int, groups: Sequence[Group], widest_copy: int) -> Iterator[Padding]:
    """Returns paddings below one row of banks that make the pitch a multiple of all vectors."""
    strides = [(_stride(g.array, axis), g.array.dims[axis] or 1) for g in groups]
    widest = max(widest_copy, *(g.width for g in groups))
    for extra in range(1, ROW_BYTES // min(stride for stride, _ in strides) + 1):
        if all((extent + extra) * stride % widest == 0 for stride, extent in strides):
            yield Padding(axis, extra)


def is_worth(added: int, array: SharedArray, score: Score, plain: Score) -> bool:
    """Returns whether an array grows by at most half the share of wavefronts that it saves.

    A 2-way conflict that goes away is worth a quarter of the array, as shared memory that a block
    takes bounds how many blocks are resident.
    """
    saved = 1 - score.wavefronts / plain.wavefronts
    return added <= saved / 2 * (array.bytes or 0)


def best_swizzle(usage: Usage) -> Swizzle | None:
    """Returns the smallest swizzle of element offsets that is valid and frees all accesses.

    None as well where the addresses are not fully known, since a swizzle does not commute with an
    unknown offset.
    """
    if not usage.is_complete or usage.may_be_fused or usage.takes_pitch:
        return None
    if usage.is_torn_by_an_index:
        return None
    of_size: dict[tuple[int, int], list[Group]] = {}
    for group in batches(usage):  # instances may have elements of other types
        array = group.array
        of_size.setdefault((array.element_bytes, array.bytes or 0), []).append(group)
    extents = [size // element if element in (1, 2, 4, 8, 16) else 0 for element, size in of_size]
    least = min(extents, default=0)
    if least < 1:
        return None
    left: Sequence[Swizzle] = candidates(min(max(least - 1, 1).bit_length(), MAX_SWIZZLE_BITS))
    for (element, _), extent, groups in zip(of_size, extents, of_size.values(), strict=True):
        if any((g.offsets[g.active] % element).any() for g in groups):
            return None
        patterns = [g.pattern(element) for g in (*(g.first() for g in groups), *groups)]
        if usage.widest_copy:  # must not be torn apart, priced or not
            patterns.append(Pattern(np.zeros((1, 1), np.int64), usage.widest_copy))
        left = freeing_swizzles(patterns, element, extent=extent, among=left)
        if not left:
            return None
    return left[0]


def batches(usage: Usage) -> list[Group]:
    """Returns the costliest patterns of an array, in batches that are priced at once."""
    found = [(a, p) for a in usage.accesses if a.kind in _PRICED for p in a.patterns]
    found.sort(key=lambda item: -item[1].ways)
    batches: dict[object, list[tuple[Access, WarpPattern]]] = {}
    for access, pattern in found[:MAX_PRICED_PATTERNS]:
        form = access.note if access.kind is AccessKind.ASYNC_COPY else ""
        key = (id(access.array), access.kind, pattern.width, access.matrices, form)
        batches.setdefault(key, []).append((access, pattern))
    return [_group(batch) for batch in batches.values()]


def priced(groups: Sequence[Group], layouts: Sequence[Layout]) -> list[Score]:
    """Returns what each of some layouts achieves on all patterns together.

    Raises:
        ValueError: one misaligns a vector.
    """
    moved = [np.stack([to.moved(g.offsets, g.array) for to in layouts]) for g in groups]
    return price(moved, [g.pattern(1) for g in groups], 1)


def _group(batch: Sequence[tuple[Access, WarpPattern]]) -> Group:
    access, pattern = batch[0]
    assert access.array is not None
    return Group(
        access.array,
        access.kind,
        pattern.width,
        access.matrices,
        np.stack([p.addresses for _, p in batch]) - access.array.base,
        np.stack([p.active for _, p in batch]),
        np.array([p.count for _, p in batch], dtype=np.int64),
        _copy_source(access.note, [p for _, p in batch]),
    )


def _copy_source(operation: str, patterns: Sequence[WarpPattern]) -> CopySource | None:
    sources = [p.source for p in patterns if p.source is not None]
    if len(sources) < len(patterns):
        return None
    accepted = np.array([p.wavefronts for p in patterns], dtype=np.int64)
    return CopySource(np.stack(sources), operation.rpartition(".")[2], accepted)


def _encloses(outer: Span, inner: Span) -> bool:
    begin, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return (
        outer.path == inner.path
        and begin <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= end
    )


def _has_rows(array: SharedArray) -> bool:
    return len(array.dims) > 1 and all(array.dims) and bool(array.element_bytes and array.bytes)


def _paddings(axis: int, groups: Sequence[Group], widest_copy: int) -> Iterator[Padding]:
    """Returns paddings of an extent below one row of banks, those that keep all vectors aligned."""
    strides = {_stride(g.array, axis) for g in groups}
    widest = max(widest_copy, *(g.width for g in groups))
    step = max(widest // gcd(widest, stride) for stride in strides)
    for extra in range(step, ROW_BYTES // min(strides) + 1, step):
        yield Padding(axis, extra)


def _stride(array: SharedArray, axis: int) -> int:
    """Returns the bytes between neighbours along an extent."""
    return prod(d or 1 for d in array.dims[axis + 1 :]) * array.element_bytes
