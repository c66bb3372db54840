"""What the sites of a kernel issue, collected while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.values import Cause, Value, alignment, common_cause, signed
from smemlint.facts import AccessKind, SharedArray, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_GROUP_BYTES, MAX_GROUPS
from smemlint.reasons import Assumption, Reason, ReasonCode

Mask = NDArray[np.bool_]

WINDOW_BITS = 18
"""Shared memory of a block is smaller than this: addresses that agree here agree."""
ROW = 128
"""Bytes of all banks: patterns that far apart cost the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """A condition that is not known: paths go both ways.

    Attributes:
        cause: why lanes are not known to agree; None where each warp goes one way.
        place: names the condition, e.g. `line 12`.
    """

    cause: Cause | None
    place: str


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One shared access of the code.

    Attributes:
        width: bytes that a lane moves.
        span: where it stands in the source that it was compiled from.
        opcode: as the code spells it, e.g. `ld.shared.v4.f32`.
        operation: of an atomic, e.g. `add.u32`.
        array: that it is known to address.
        shift: bytes that a fused instruction begins away from the address.
        call: the call whose inlined function begins with it, which profilers show it at.
        is_partial: an asynchronous copy has a source size, which may be less than its width.
    """

    kind: AccessKind
    width: int
    span: Span
    opcode: str
    matrices: int = 0
    operation: str = ""
    array: SharedArray | None = None
    shift: int = 0
    call: Span | None = None
    is_partial: bool = False


@dataclass(slots=True, eq=False)
class Group:
    """Equal events of a site, up to a multiple of `ROW` bytes.

    Attributes:
        addresses: bytes, int64 of shape (warps, 32).
        mask: the lanes that take part.
        exact: the addresses hold as they are; else up to a multiple of the width.
        count: how often it was issued.
        source: of an asynchronous copy with known arguments: the bytes of global memory that the
            lanes read, of the same shape.
    """

    addresses: NDArray[np.int64]
    mask: Mask
    exact: bool
    count: int = 0
    source: NDArray[np.int64] | None = None


@dataclass(slots=True, eq=False)
class Issued:
    """What one site issued.

    Attributes:
        undecided: why some of it is not known.
        depends_on_data: which lanes take part depends on the contents of memory.
        conditions: the places of conditions that were taken to hold.
        assumptions: what else its figures take for granted.
    """

    groups: dict[tuple[bytes, ...], Group] = field(default_factory=dict)
    undecided: Cause | None = None
    depends_on_data: bool = False
    conditions: dict[str, None] = field(default_factory=dict)
    assumptions: dict[Assumption, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Recorder:
    """Collects the accesses of one evaluation by site.

    Attributes:
        sites: what each issued.
        has_sources: what asynchronous copies read is recorded, too.
    """

    sites: dict[Site, Issued] = field(default_factory=dict)
    has_sources: bool = False
    _bytes: int = 0

    def record(
        self,
        site: Site,
        address: Value,
        mask: Mask,
        forks: Sequence[Fork],
        source: Value | None = None,
    ) -> None:
        """Adds an access.

        Args:
            site: the instruction.
            address: bytes in the block's shared memory.
            mask: the lanes that take part.
            forks: the open conditions that it stands under.
            source: what an asynchronous copy reads, bytes of global memory.
        """
        issued = self.sites.setdefault(site, Issued())
        for fork in forks:
            if fork.cause is not None and fork.cause.is_data:
                issued.depends_on_data = True
            elif fork.cause is not None:
                issued.conditions.setdefault(fork.place)
        if site.kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
            mask = mask.any(axis=1, keepdims=True) & (np.arange(mask.shape[1]) < 8 * site.matrices)
        found = _lanes(address, mask, site)
        if isinstance(found, Cause):
            issued.undecided = issued.undecided or found
            return
        read = _global_lanes(source, mask) if self.has_sources and source is not None else None
        if isinstance(read, Cause):
            issued.undecided = issued.undecided or read
            return
        for addresses in found:
            self._add(issued, addresses, mask, read, exact=not address.terms)

    def _add(
        self,
        issued: Issued,
        addresses: NDArray[np.int64],
        mask: Mask,
        source: NDArray[np.int64] | None,
        *,
        exact: bool,
    ) -> None:
        first = int(addresses.flat[mask.argmax()])
        rows = np.where(mask, addresses - first // ROW * ROW, 0)
        key: tuple[bytes, ...] = (rows.tobytes(), mask.tobytes())
        if source is not None:
            key = (*key, source.tobytes())
        group = issued.groups.get(key)
        if group is None:
            self._bytes += 2 * rows.nbytes
            if len(issued.groups) >= MAX_GROUPS or self._bytes > MAX_GROUP_BYTES:
                issued.undecided = issued.undecided or Cause(
                    Reason(ReasonCode.TOO_LARGE, "too many different patterns")
                )
                return
            group = issued.groups[key] = Group(
                np.where(mask, addresses, 0), mask, exact, source=source
            )
        group.count += 1


def _lanes(address: Value, mask: Mask, site: Site) -> list[NDArray[np.int64]] | Cause:
    """Returns all lanes' addresses, once for every remainder that banks can tell apart."""
    if address.known is not True and (mask & ~np.asarray(address.known)).any():
        return common_cause(address)
    base = np.broadcast_to(np.asarray(address.base, dtype=np.int64), mask.shape) + site.shift
    if not address.terms:
        return [base & 0xFFFFFFFF]
    if address.bits < WINDOW_BITS:
        return Cause(
            Reason(
                ReasonCode.UNKNOWN_ADDRESS,
                "the address is cut to fewer bits than shared memory has",
            )
        )
    anchor = int(base.flat[mask.argmax()])
    apart = np.asarray(signed(base - anchor, min(address.bits, 32)))
    unit = max(site.width, 4)
    step = min(1 << alignment(address.terms), unit)
    near = apart + anchor % (1 << WINDOW_BITS)
    found = [near + r for r in range(0, unit, step)]
    if len(found) > 1:
        aligned = [b for b in found if not (b[mask] % site.width).any()]
        return aligned or found[:1]  # a misaligned remainder would fault: it does not occur
    return found


def _global_lanes(source: Value, mask: Mask) -> NDArray[np.int64] | Cause:
    """Returns the bytes that all lanes read from global memory, from a line on."""
    if source.known is not True and (mask & ~np.asarray(source.known)).any():
        cause = common_cause(source)
        return Cause(
            Reason(ReasonCode.UNKNOWN_VALUE, f"what the copy reads is not known: {cause.reason}"),
            is_data=cause.is_data,
        )
    if source.terms and 1 << alignment(source.terms) < ROW:
        return Cause(
            Reason(
                ReasonCode.UNKNOWN_VALUE,
                "what the copy reads is not known: it moves by parts of a line",
            )
        )
    base = np.broadcast_to(np.asarray(source.base, dtype=np.int64), mask.shape)
    first = int(base.flat[mask.argmax()])
    return np.where(mask, base - first // ROW * ROW, 0)
