"""Linear maps over F2: why a warp's lanes meet in one bank.

Where an address is the exclusive-or of one number for every set bit of the lane, the bank is a
linear map of the lane bits, and lanes collide along its kernel. A vector of bits is an int.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROW_BYTES = 128
"""Bytes of one row of all banks."""


@dataclass(frozen=True, slots=True)
class LinearMap:
    """A linear map over F2, as the image of every input bit, lowest first."""

    columns: tuple[int, ...]

    @staticmethod
    def of(function: Callable[[int], int], bits: int) -> LinearMap | None:
        """The map that a function of `bits` bits is; None if it is not linear."""
        return LinearMap.of_values([function(x) for x in range(1 << bits)])

    @staticmethod
    def of_values(values: Sequence[int]) -> LinearMap | None:
        """The map whose values are given for 0, 1, 2, ...; None if they are not those of one.

        Raises:
            ValueError: their number is not a power of two.
        """
        count = len(values)
        if count < 1 or count & (count - 1):
            raise ValueError(f"{count} values are not those of whole bits")
        bits = range(count.bit_length() - 1)
        made = LinearMap(tuple(values[1 << bit] for bit in bits))
        return made if all(made(x) == value for x, value in enumerate(values)) else None

    def __call__(self, x: int) -> int:
        """The image of a vector."""
        image = 0
        for bit, column in enumerate(self.columns):
            if x >> bit & 1:
                image ^= column
        return image

    def __matmul__(self, other: LinearMap) -> LinearMap:
        """The map x -> self(other(x))."""
        return LinearMap(tuple(self(column) for column in other.columns))

    def masked(self, mask: int) -> LinearMap:
        """The map with only some bits of its image."""
        return LinearMap(tuple(column & mask for column in self.columns))

    def inverse(self) -> LinearMap | None:
        """The inverse of a map onto as many bits as it takes; None where it has none."""
        size = len(self.columns)
        rows = [(column, 1 << bit) for bit, column in enumerate(self.columns)]
        for bit in range(size):
            found = next((r for r in range(bit, size) if rows[r][0] >> bit & 1), None)
            if found is None:
                return None
            rows[bit], rows[found] = rows[found], rows[bit]
            image, vector = rows[bit]
            rows = [
                (i ^ image, v ^ vector) if r != bit and i >> bit & 1 else (i, v)
                for r, (i, v) in enumerate(rows)
            ]
        return LinearMap(tuple(vector for _, vector in rows))

    @property
    def rank(self) -> int:
        """The dimension of the image."""
        return len(self.columns) - len(self.kernel())

    def kernel(self) -> tuple[int, ...]:
        """A basis of the vectors that are mapped to 0, each with as low a top bit as possible."""
        pivots: dict[int, tuple[int, int]] = {}
        basis = []
        for bit, column in enumerate(self.columns):
            image, vector = column, 1 << bit
            while image and image.bit_length() in pivots:
                other, combination = pivots[image.bit_length()]
                image, vector = image ^ other, vector ^ combination
            if image:
                pivots[image.bit_length()] = (image, vector)
            else:
                basis.append(vector)
        return tuple(basis)


@dataclass(frozen=True, slots=True)
class Collision:
    """Why the lanes of one pass conflict.

    Attributes:
        ways: the conflict degree, a power of two.
        lane_bits: independent lane bit vectors along which lanes share a bank but no word.
        address_bits: the address bits in which those lanes differ, all above the bank bits.
    """

    ways: int
    lane_bits: tuple[int, ...]
    address_bits: int

    def __str__(self) -> str:
        if self.ways == 1:
            return "no two lanes of a pass meet in a bank"
        single = [v.bit_length() - 1 for v in self.lane_bits if not v & (v - 1)]
        said = [_bits_text("lane bit", single)] if single else []
        said += [
            _bits_text("lane bit", _bits(v)) + " together" for v in self.lane_bits if v & (v - 1)
        ]
        fall = "falls" if len(self.lane_bits) == 1 else "fall"
        bits = _bits(self.address_bits)
        change = "changes" if len(bits) == 1 else "change"
        return (
            f"{' and '.join(said)} {fall} into the kernel of the bank map: only "
            f"{_bits_text('address bit', bits)} {change}, above the bank bits"
        )


def collision(addresses: Sequence[int], width: int) -> Collision | None:
    """Explains the lanes of one pass by their address bits.

    Args:
        addresses: byte addresses of neighbouring lanes, a power of two of them.
        width: bytes that a lane moves.

    Returns:
        None where the addresses are not linear over the lane bits.
    """
    unit = max(width, 4)
    units = [(a ^ addresses[0]) & -unit for a in addresses]
    by_unit = LinearMap.of_values(units)
    if by_unit is None:
        return None
    by_bank = by_unit.masked(ROW_BYTES - unit)
    together = _modulo(by_bank.kernel(), by_unit)
    bits = 0
    for vector in together:
        bits |= by_unit(vector)
    return Collision(1 << (by_unit.rank - by_bank.rank), together, bits)


def _modulo(vectors: Iterable[int], by_unit: LinearMap) -> tuple[int, ...]:
    """Of the vectors, some whose images are independent."""
    kept: list[int] = []
    for vector in vectors:
        if LinearMap(tuple(by_unit(v) for v in (*kept, vector))).rank > len(kept):
            kept.append(vector)
    return tuple(kept)


def _bits(vector: int) -> list[int]:
    return [bit for bit in range(vector.bit_length()) if vector >> bit & 1]


def _bits_text(noun: str, bits: Sequence[int]) -> str:
    """`lane bit 4`, `lane bits 3 and 4`, `lane bits 0 to 4`, `lane bits 0, 2 and 3`."""
    if len(bits) == 1:
        return f"{noun} {bits[0]}"
    if len(bits) > 2 and bits[-1] - bits[0] == len(bits) - 1:
        return f"{noun}s {bits[0]} to {bits[-1]}"
    return f"{noun}s {', '.join(map(str, bits[:-1]))} and {bits[-1]}"
