"""What the rules on swizzles and layouts ask of a `LayoutUse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.layout.swizzle import Swizzle

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from smemlint.facts import Access, Facts, LayoutUse

COPIES = "cute-dsl-copy"
"""Family of copies whose vectors the compiler splits where they do not fit."""
ELEMENTWISE = "cute-elementwise"
"""Family of copies that CuTe makes element by element, though vectors lie together."""
MAX_OFFSETS = 1 << 20
MOST_BYTES = 1 << 40
"""Offsets and strides beyond are no layout's, and would overflow."""
BANK_BITS = 0b1111100
"""Bits of a byte address that choose the bank: 32 banks of 4 bytes."""


def swizzle_of(use: LayoutUse) -> Swizzle | None:
    """Returns the swizzle, if it is one that moves something."""
    if use.swizzle is None or Swizzle.why_invalid(*use.swizzle) is not None:
        return None
    swizzle = Swizzle(*use.swizzle)
    return None if swizzle.is_identity else swizzle


def byte_swizzle(use: LayoutUse) -> Swizzle | None:
    """Returns the same on byte offsets; None if an element's size is unknown or no power of two."""
    swizzle = swizzle_of(use)
    if swizzle is None or use.units == "bytes":
        return swizzle
    size = use.element_bytes
    if use.units != "elements" or size < 1 or size & (size - 1):
        return None
    try:
        return swizzle.in_bytes(size)
    except ValueError:
        return None


def offsets(use: LayoutUse) -> NDArray[np.int64] | None:
    """Returns all offsets before the swizzle, in `use.units`; None when unknown, too many or large.

    The first mode of `use.shape` is the fastest.
    """
    size = 1
    for extent in use.shape:
        size *= extent
    if not use.shape or len(use.shape) != len(use.stride) or not 0 < size <= MAX_OFFSETS:
        return None
    if max(map(abs, (use.offset, *use.stride))) > MOST_BYTES:
        return None
    import numpy as np

    found = np.full(1, use.offset, dtype=np.int64)
    for extent, stride in zip(use.shape, use.stride, strict=True):
        found = (np.arange(extent, dtype=np.int64)[:, None] * stride + found).ravel()
    return found


def accesses_through(use: LayoutUse, facts: Facts) -> Iterator[Access]:
    """Yields the accesses whose addresses went through it."""
    for kernel in facts.kernels:
        yield from (a for a in kernel.accesses if a.layout is use)


def is_conflict_free(use: LayoutUse, facts: Facts) -> bool:
    """Returns whether accesses went through it and every one is known to be free of conflicts."""
    found = list(accesses_through(use, facts))
    return bool(found) and all(a.certainty.is_decided and 0 < a.ways <= 1 for a in found)


def bits(mask: int) -> str:
    """Returns `bits 4 to 6`, `bit 4`: the run of a mask."""
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    return f"bit {low}" if low == high else f"bits {low} to {high}"
