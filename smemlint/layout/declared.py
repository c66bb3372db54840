"""Swizzles that the user declares for a shared array, in a pragma or in the configuration."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass

UNITS = ("bytes", "elements")


@dataclass(frozen=True, slots=True)
class DeclaredSwizzle:
    """A swizzle of every offset in an array.

    Attributes:
        units: `bytes` or `elements`, what it counts in.
    """

    swizzle: Swizzle
    units: str

    def __str__(self) -> str:
        s = self.swizzle
        return f"swizzle({s.bits}, {s.base}, {s.shift}) {self.units}"

    def in_bytes(self, element_bytes: int) -> Swizzle:
        """Returns the same on byte offsets.

        Raises:
            ValueError: it counts in elements whose size is no power of two.
        """
        return self.swizzle if self.units == "bytes" else self.swizzle.in_bytes(element_bytes)


def read_declared(parameters: Sequence[object], units: object) -> DeclaredSwizzle:
    """Returns the declaration of three numbers and their unit, as spelled.

    Raises:
        ValueError: what is wrong and what to write.
    """
    try:
        b, m, s = (int(str(p), 10) for p in parameters)
    except ValueError:
        raise ValueError("`swizzle` takes three numbers: write swizzle(3, 4, 3) bytes") from None
    reason = Swizzle.why_invalid(b, m, s)
    if reason is not None:
        raise ValueError(f"swizzle({b}, {m}, {s}) is not a valid swizzle: {reason}")
    if units not in UNITS:
        raise ValueError(
            f"swizzle({b}, {m}, {s}) counts in what? write `bytes` or `elements` behind it"
        )
    return DeclaredSwizzle(Swizzle(b, m, s), str(units))


def declared_in(text: str) -> DeclaredSwizzle:
    """Returns the declaration that a configuration spells as `3,4,3 bytes`.

    Raises:
        ValueError: what is wrong and what to write.
    """
    numbers, _, units = text.strip().partition(" ")
    return read_declared(numbers.split(","), units.strip())
