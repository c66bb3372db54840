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
from smemlint.limits.budgets import MAX_ADVISED_BITS, MAX_ADVISED_PATTERNS
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from smemlint.facts import Access, LayoutUse, SharedArray

_KEPT_PATTERNS = 64
"""Patterns that an access keeps: of one with as many, some may be missing."""
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
    if any(len(a.patterns) >= _KEPT_PATTERNS for a in accesses):
        return ""
    patterns = [p for a in accesses for p in _patterns(a, use)]
    if sum(len(np.atleast_2d(np.asarray(p.offsets))) for p in patterns) > MAX_ADVISED_PATTERNS:
        return ""
    spend(len(patterns))
    found = _found(patterns, use)
    if found is None or (found.bits, found.base, found.shift) == use.swizzle:
        return ""
    count = len(accesses)
    several = "both" if count == 2 else f"all {count}"
    copies = "its only access" if count == 1 else f"{several} accesses of `{array.name}`"
    return f"compose the layout with {found} instead: that frees {copies}"


def _form(use: LayoutUse | None) -> tuple[object, ...]:
    if use is None:
        return ()
    return (use.swizzle, use.units, use.element_bytes, use.shape, use.stride, use.base)


def _found(patterns: Sequence[Pattern], use: LayoutUse) -> Swizzle | None:
    """The canonical swizzle of 16-byte groups if it frees everything, else the smallest one."""
    extent = prod(use.shape)
    group = max((16 // use.element_bytes).bit_length() - 1, 0)
    try:
        for bits in (3, 2, 1):
            canonical = Swizzle(bits, group, 3)
            if score(patterns, use.element_bytes, canonical).is_free:
                return canonical
        return freeing_swizzle(patterns, use.element_bytes, extent=extent, bits=MAX_ADVISED_BITS)
    except ValueError:
        return None


def _patterns(access: Access, use: LayoutUse) -> Iterator[Pattern]:
    """Yields what an access touches, in offsets before the swizzle."""
    assert use.swizzle is not None and use.base is not None
    size, swizzle = use.element_bytes, Swizzle(*use.swizzle)
    for pattern in access.patterns:
        elements = (pattern.addresses - use.base) // size
        copy = None
        if access.kind is AccessKind.ASYNC_COPY:
            if pattern.source is None:
                continue
            spent = np.array([max(pattern.wavefronts, pattern.profiler_ideal)], dtype=np.int64)
            form = access.note.rpartition(".")[2]
            copy = CopySource(pattern.source[None, :], form, spent)
        yield Pattern(
            swizzle(np.where(pattern.active, elements, 0))[None, :],
            pattern.width,
            access.kind.value,
            pattern.active[None, :],
            access.matrices or 4,
            counts=np.array([pattern.count]),
            copy=copy,
        )
