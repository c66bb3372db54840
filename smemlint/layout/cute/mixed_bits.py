"""Integers of which some bits are static and the others dynamic: CuTe's `MixedBits`.

Source: CUTLASS 4.7, `cute/numeric/math.hpp` and `cute/swizzle.hpp`.
"""

from __future__ import annotations

from smemlint.layout.cute.int_tuples import Coordinate, IntTuple
from smemlint.layout.cute.integers import (
    CuteError,
    DynamicInt,
    Integer,
    Lanes,
    Underscore,
    exact_div,
    static,
)
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class MixedBits:
    """Static bits plus dynamic bits under a mask; the two do not overlap.

    Attributes:
        known: the bits that are set for certain.
        lanes: the dynamic bits.
        mask: the bits that may be set at run time.
    """

    known: int
    lanes: Lanes
    mask: int

    def __str__(self) -> str:
        return f"({self.known}|?&{self.mask})"

    @property
    def integer(self) -> DynamicInt:
        """The number."""
        return DynamicInt(None if self.lanes is None else self.lanes + self.known)

    @property
    def possible(self) -> int:
        """The bits that are or may be set."""
        return self.known | self.mask

    def __floordiv__(self, factor: int) -> MixedBits:
        """Returns the number in units of `factor`.

        Raises:
            CuteError: a bit that may be set is below the unit.
        """
        lanes = None if self.lanes is None else self.lanes // factor
        known, mask = exact_div(self.known, factor), exact_div(self.mask, factor)
        return MixedBits(static(known), lanes, static(mask))

    def __mul__(self, factor: int) -> MixedBits:
        lanes = None if self.lanes is None else self.lanes * factor
        return MixedBits(self.known * factor, lanes, self.mask * factor)


def same_bits(a: object, b: object) -> bool:
    """Returns whether two offsets are `MixedBits` that are known to be equal in every thread."""
    if not isinstance(a, MixedBits) or not isinstance(b, MixedBits):
        return False
    lanes = repr(DynamicInt(a.lanes)), repr(DynamicInt(b.lanes))
    is_known = a.lanes is not None and b.lanes is not None
    return (a.known, a.mask) == (b.known, b.mask) and is_known and lanes[0] == lanes[1]


def exclusive_or(a: int | MixedBits, b: int | MixedBits) -> int | MixedBits:
    """Returns the exclusive-or of two numbers; static where no bit is dynamic."""
    if isinstance(a, int) and isinstance(b, int):
        return a ^ b
    left = a if isinstance(a, MixedBits) else MixedBits(a, 0, 0)
    right = b if isinstance(b, MixedBits) else MixedBits(b, 0, 0)
    mask = left.mask | right.mask
    known = (left.known ^ right.known) & ~mask
    if left.lanes is None or right.lanes is None:
        return MixedBits(known, None, mask)
    total = (left.lanes + left.known) ^ (right.lanes + right.known)
    return MixedBits(known, total & mask, mask)


def mixed_bits(shape: IntTuple, stride: IntTuple, coordinate: Coordinate) -> int | MixedBits:
    """Returns the offset of a coordinate with the bits that a dynamic coordinate may set.

    Raises:
        CuteError: a fixed mode's extent x stride is no power of two.
    """
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        assert isinstance(coordinate, tuple)
        total: int | MixedBits = 0
        for s, d, c in zip(shape, stride, coordinate, strict=True):
            total = exclusive_or(mixed_bits(s, d, c), total)
        return total
    assert not isinstance(coordinate, tuple | Underscore)
    extent, step = static(_number(shape)), static(_number(stride))
    span = extent * step
    if span & (span - 1):
        raise CuteError("a slice of a swizzled layout fixes a mode that is no power of two")
    offset = coordinate * step
    if isinstance(offset, int):
        return offset
    mask = (extent - 1) * step
    if not mask:
        return 0
    return MixedBits(0, None if offset.value is None else offset.value & mask, mask)


def _number(tree: IntTuple) -> Integer:
    assert not isinstance(tree, tuple)
    return tree
