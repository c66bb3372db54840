"""Which swizzle of a CuTe layout frees every copy of its tensor: evaluated, not guessed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from smemlint.facts import AccessKind
from smemlint.layout.solver import CopySource, Pattern, freeing_swizzle, score
from smemlint.layout.swizzle import Swizzle
from smemlint.limits.budgets import MAX_ADVISED_BITS, MAX_ADVISED_PATTERNS, MAX_PATTERNS
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.facts import Access, LayoutUse, SharedArray

_WIDEST = 16
"""Bytes of the widest vector."""


def with_swizzle_advice(accesses: Sequence[Access]) -> tuple[Access, ...]:
    """Returns the accesses; those that conflict name the swizzle that frees their tensor.

    Only swizzles of element offsets are replaced: one of byte addresses is what TMA and wgmma
    expect, whose layout would have to change with it.
    """
    by_array: dict[SharedArray, list[Access]] = defaultdict(list)
    for access in accesses:
        if access.array is not None:
            by_array[access.array].append(access)
    advice: dict[SharedArray, str] = {}
    for array, mine in by_array.items():
        if any(a.ways > 1 for a in mine):
            advice[array] = _advice(array, mine)
    return tuple(
        replace(a, advice=advice[a.array])
        if a.array is not None and a.ways > 1 and not a.advice and advice.get(a.array)
        else a
        for a in accesses
    )


def _advice(array: SharedArray, accesses: Sequence[Access]) -> str:
    uses = {_form(a.layout) for a in accesses}
    use = accesses[0].layout
    if len(uses) != 1 or use is None or use.swizzle is None or use.units != "elements":
        return ""
    if use.base is None or use.element_bytes < 1 or use.family != "cute":
        return ""
    if Swizzle(*use.swizzle).group * use.element_bytes < _WIDEST:
        return ""  # it splits vectors: another one makes other accesses
    if not all(a.certainty.is_decided and a.patterns for a in accesses):
        return ""
    if any(may_lack_patterns(a) for a in accesses):
        return ""
    before = Swizzle(*use.swizzle)
    patterns = [p for a in accesses for p in offsets_of(a, use.base, use.element_bytes, before)]
    if len(patterns) > MAX_ADVISED_PATTERNS:
        return ""
    spend(len(patterns))
    found = _found(patterns, use)
    if found is None or (found.bits, found.base, found.shift) == use.swizzle:
        return ""
    return f"compose the layout with {found} instead: that frees {all_of(accesses)}"


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


def _form(use: LayoutUse | None) -> tuple[object, ...]:
    if use is None:
        return ()
    return (use.swizzle, use.units, use.element_bytes, use.shape, use.stride, use.base)


def _found(patterns: Sequence[Pattern], use: LayoutUse) -> Swizzle | None:
    try:
        return best_swizzle(patterns, use.element_bytes, prod(use.shape))
    except ValueError:
        return None


def best_swizzle(patterns: Sequence[Pattern], size: int, extent: int) -> Swizzle | None:
    """Returns the canonical swizzle of 16-byte groups if it frees everything, else the smallest.

    Args:
        patterns: what is accessed, see `offsets_of`.
        size: bytes of an element.
        extent: elements of the layout.

    Returns:
        None where no swizzle frees everything.

    Raises:
        ValueError: a pattern has no figure.
    """
    group = max((_WIDEST // size).bit_length() - 1, 0)
    for bits in (3, 2, 1):
        canonical = Swizzle(bits, group, 3)
        if score(patterns, size, canonical).is_free:
            return canonical
    return freeing_swizzle(patterns, size, extent=extent, bits=MAX_ADVISED_BITS)


def offsets_of(access: Access, base: int, size: int, swizzle: Swizzle) -> Iterator[Pattern]:
    """Yields what an access touches, in elements of a tensor before its swizzle.

    Args:
        access: with its patterns.
        base: byte address of the tensor's first element.
        size: bytes of an element.
        swizzle: of the tensor's element offsets.
    """
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
