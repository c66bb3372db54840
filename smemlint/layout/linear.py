"""Linear maps over F2; a vector of bits is an int."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.lazy_dataclasses import dataclass

ROW_BYTES = 128
"""Bytes of one row of all banks."""


@dataclass(frozen=True, slots=True)
class LinearMap:
    """A linear map over F2, as the image of every input bit, lowest first."""

    columns: tuple[int, ...]

    @staticmethod
    def of_values(values: Sequence[int]) -> LinearMap | None:
        """Returns the map with these values of 0, 1, 2, ...; None if no linear map has them.

        Raises:
            ValueError: their number is not a power of two.
        """
        count = len(values)
        if count < 1 or count & (count - 1):
            raise ValueError(f"{count} values are not those of whole bits")
        bits = range(count.bit_length() - 1)
        result = LinearMap(tuple(values[1 << bit] for bit in bits))
        return result if all(result(x) == value for x, value in enumerate(values)) else None

    def __call__(self, x: int) -> int:
        """Returns the image of a vector."""
        image = 0
        for bit, column in enumerate(self.columns):
            if x >> bit & 1:
                image ^= column
        return image

    def __matmul__(self, other: LinearMap) -> LinearMap:
        """Returns the map x -> self(other(x))."""
        return LinearMap(tuple(self(column) for column in other.columns))

    def masked(self, mask: int) -> LinearMap:
        """Returns the map with only some bits of its image."""
        return LinearMap(tuple(column & mask for column in self.columns))

    def inverse(self) -> LinearMap | None:
        """Returns the inverse of a map onto as many bits as it takes; None where it has none."""
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
        """Returns a basis of the vectors that are mapped to 0, each with the lowest top bit."""
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
