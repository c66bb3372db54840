"""Priced patterns of an access: the one place where issued lanes meet the bank model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smemlint.facts import Access, AccessKind, Certainty, Stat, WarpPattern
from smemlint.hardware.arch import LANES, assumption
from smemlint.hardware.async_copies import async_wavefronts
from smemlint.hardware.banks import wavefronts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PATTERNS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic


@dataclass(slots=True, eq=False)
class Group:
    """Equal events of a site: their lanes, once, and how often they were issued.

    Attributes:
        addresses: bytes, int64 of shape (threads,).
        mask: the threads that take part.
        width: bytes that a thread moves.
        values: of enclosing loop variables, for messages.
        exact: the addresses hold as they are; else only up to a common multiple of the width.
        spare: bytes at the end of each thread's that the source does not read.
        count: how often the block issued it.
        source: of an asynchronous copy: bytes of global memory that a thread reads.
        chain: which of `Access.chains` issued it first.
        is_reached: nothing is assumed for one of the events but that the loops around it run.
        narrowest, widest: bytes of the instructions that the compiler may make of it; 0 where
            what it makes is known.
    """

    addresses: NDArray[np.int64]
    mask: NDArray[np.bool_]
    width: int
    values: tuple[tuple[str, int], ...] = ()
    exact: bool = True
    spare: int = 0
    count: int = 0
    source: NDArray[np.int64] | None = None
    chain: int = 0
    is_reached: bool = False
    narrowest: int = 0
    widest: int = 0


def priced_patterns(
    groups: Sequence[Group], *, kind: AccessKind, matrices: int, operation: str, arch: str
) -> list[WarpPattern]:
    """Prices the distinct warp patterns of a site, those of one width in one batch.

    Args:
        groups: of one block shape.
        kind: of access.
        matrices: of a matrix instruction.
        operation: of an atomic, e.g. `add.u32`.
        arch: the target.

    Raises:
        ValueError: nobody measured such an access on the target.
    """
    found: list[WarpPattern] = []
    for width in sorted({g.width for g in groups}):
        alike = [g for g in groups if g.width == width]
        found += _patterns_of_width(alike, width, kind, matrices, operation, arch)
    return found


def _patterns_of_width(
    groups: Sequence[Group], width: int, kind: AccessKind, matrices: int, operation: str, arch: str
) -> list[WarpPattern]:
    addresses = np.concatenate([g.addresses.reshape(-1, LANES) for g in groups])
    active = np.concatenate([g.mask.reshape(-1, LANES) for g in groups])
    warps = groups[0].mask.size // LANES
    counts = np.repeat([g.count for g in groups], warps)
    owners = np.repeat(np.arange(len(groups)), warps)
    index = np.flatnonzero(active.any(axis=1))
    if not len(index):
        return []
    sources = _sources(groups)
    keys = [addresses[index], active[index]] + ([sources[index]] if sources is not None else [])
    rows = np.concatenate(keys, axis=1)
    first: dict[bytes, int] = {}
    same = [
        first.setdefault(row.tobytes(), at) for at, row in zip(index.tolist(), rows, strict=True)
    ]
    totals = np.bincount(same, weights=counts[index]).astype(int)
    chosen = list(first.values())
    read = sources[chosen] if sources is not None else None
    cost = _cost(addresses[chosen], active[chosen], width, kind, matrices, operation, arch, read)
    return [
        WarpPattern(
            addresses[row],
            active[row],
            int(row % warps),
            int(totals[row]),
            int(cost[0][k]),
            int(cost[1][k]),
            int(cost[2][k]),
            width,
            groups[owners[row]].values,
            groups[owners[row]].exact,
            groups[owners[row]].spare,
            sources[row] if sources is not None else None,
            groups[owners[row]].chain,
            groups[owners[row]].is_reached,
        )
        for k, row in enumerate(chosen)
    ]


def _sources(groups: Sequence[Group]) -> NDArray[np.int64] | None:
    """Returns what the warps of all groups read from global memory, of shape (n, 32)."""
    found = [g.source.reshape(-1, LANES) for g in groups if g.source is not None]
    return np.concatenate(found) if len(found) == len(groups) else None


def _cost(
    addresses: NDArray[np.int64],
    active: NDArray[np.bool_],
    width: int,
    kind: AccessKind,
    matrices: int,
    operation: str,
    arch: str,
    sources: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], ...]:
    """Computes wavefronts, ideal, profiler ideal of each row; 0 where hardware refuses it."""
    result = tuple(np.zeros(len(addresses), dtype=np.int64) for _ in range(3))
    lanes = active
    if kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
        lanes = np.arange(LANES) < 8 * matrices
    if kind is AccessKind.ASYNC_COPY and sources is None:
        return result
    taken = addresses if sources is None else addresses | sources
    aligned = ~(((taken % width) != 0) & lanes).any(axis=1)
    if not aligned.any():
        return result
    if sources is not None:
        copied = async_wavefronts(
            addresses[aligned],
            sources[aligned],
            form=operation.rpartition(".")[2],
            width=width,
            active=active[aligned],
        )
        result[0][aligned] = copied.wavefronts
        result[1][aligned] = result[2][aligned] = copied.ideal
        return result
    extra = {"operation": operation} if kind is AccessKind.ATOMIC else {}
    priced = wavefronts(
        addresses[aligned],
        kind=str(kind),
        width=width,
        active=active[aligned],
        matrices=matrices or 4,
        arch=arch,
        **extra,
    )
    result[0][aligned] = priced.wavefronts
    result[1][aligned] = priced.ideal
    result[2][aligned] = priced.profiler_ideal
    return result


def on_architecture(access: Access, arch: str) -> Access:
    """Returns the access with what its figures take for granted of the architecture."""
    if access.wavefronts is None:
        return access
    try:
        taken = assumption(arch, str(access.kind), access.width_bytes)
    except ValueError as missing:
        return replace(
            access,
            certainty=Certainty.UNKNOWN,
            wavefronts=None,
            ideal=None,
            patterns=(),
            reason=Reason(ReasonCode.NOT_MEASURED, str(missing)),
        )
    if not taken:
        return access
    certainty = Certainty.ASSUMED if access.certainty is Certainty.PROVED else access.certainty
    return replace(
        access,
        certainty=certainty,
        assumptions=(*access.assumptions, Assumption(Topic.HARDWARE, taken)),
    )


def stat_of(figures: Sequence[tuple[int, int]]) -> Stat:
    """Returns smallest, largest and mean of figures with counts; all alike where none has one."""
    total = sum(n for _, n in figures)
    weighted = figures if total else [(v, 1) for v, _ in figures]
    mean = sum(v * n for v, n in weighted) / sum(n for _, n in weighted)
    return Stat(min(v for v, _ in figures), max(v for v, _ in figures), mean)


def costliest(patterns: Sequence[WarpPattern]) -> tuple[WarpPattern, ...]:
    """Returns the patterns, faulting and costly ones first; last, how far the others reach."""

    def cost(p: WarpPattern) -> float:
        return p.wavefronts / p.ideal if p.ideal else float("inf")

    ordered = sorted(patterns, key=cost, reverse=True)
    exact = [p for p in ordered[MAX_PATTERNS:] if p.exact and p.active.any()]
    if not exact:
        return tuple(ordered[:MAX_PATTERNS])
    ends = (
        min(exact, key=lambda p: int(p.addresses[p.active].min())),
        max(exact, key=lambda p: int(p.addresses[p.active].max())),
    )
    return (*ordered[: MAX_PATTERNS - len(ends)], *ends)
