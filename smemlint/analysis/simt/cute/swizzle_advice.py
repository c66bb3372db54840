"""What accesses touch of a CuTe tensor before its swizzle, and which swizzle frees them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from smemlint.facts import Access, AccessKind
from smemlint.hardware.arch import WIDEST_ACCESS
from smemlint.layout.solver import CopySource, Pattern, freeing_swizzle, score
from smemlint.layout.swizzle import Swizzle
from smemlint.limits.budgets import MAX_ADVISED_BITS, MAX_PATTERNS


def all_of(accesses: Sequence[Access]) -> str:
    """Returns how to speak of all accesses of an array."""
    array = accesses[0].array
    assert array is not None
    if len(accesses) == 1:
        return "its only access"
    several = "both" if len(accesses) == 2 else f"all {len(accesses)}"
    return f"{several} accesses of `{array.name}`"


def may_lack_patterns(access: Access) -> bool:
    """Returns whether an access may have more patterns than are kept of it."""
    return len(access.patterns) >= MAX_PATTERNS


def best_swizzle(patterns: Sequence[Pattern], size: int, extent: int) -> Swizzle | None:
    """Returns the canonical swizzle of 16-byte groups if it frees everything, else the smallest.

    Returns:
        None where no swizzle frees everything.

    Raises:
        ValueError: a pattern has no figure.
    """
    group = max((WIDEST_ACCESS // size).bit_length() - 1, 0)
    for bits in (3, 2, 1):
        canonical = Swizzle(bits, group, 3)
        if score(patterns, size, canonical).is_free:
            return canonical
    return freeing_swizzle(patterns, size, extent=extent, bits=MAX_ADVISED_BITS)


def offsets_of(access: Access, base: int, size: int, swizzle: Swizzle) -> Iterator[Pattern]:
    """Yields what an access touches, in elements of a tensor before its swizzle."""
    for pattern in access.patterns:
        copy = None
        if access.kind is AccessKind.ASYNC_COPY:
            if pattern.source is None:
                continue
            spent = np.array([max(pattern.wavefronts, pattern.profiler_ideal)], dtype=np.int64)
            copy = CopySource(pattern.source[None, :], access.note.rpartition(".")[2], spent)
        elements = (np.where(pattern.active, pattern.addresses, base) - base) // size
        yield Pattern(
            swizzle(elements)[None, :],
            pattern.width,
            access.kind.value,
            pattern.active[None, :],
            access.matrices or 4,
            counts=np.array([pattern.count]),
            copy=copy,
        )
