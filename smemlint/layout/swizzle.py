"""CuTe's `Swizzle<B, M, S>`: an exclusive-or of one bit field of an offset into another.

The offset's bits, for S > 0 (a negative S exchanges the fields):

    0b xxxx YYY xx ZZZ xxxx        B  bits in each of the fields Y and Z
            |      |   |           M  lowest bits that stay (MBase): 2**M units move together
            +- S --+   +- M bits   S  distance from Z up to Y

Source: CUTLASS 4.7, `cute/swizzle.hpp` and `cute/swizzle_layout.hpp`, compiled (tests/oracle).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from smemlint.layout.register_layouts import bits_of
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MODES = {"none": (0, 4, 3), "32B": (1, 4, 3), "64B": (2, 4, 3), "128B": (3, 4, 3)}


@dataclass(frozen=True, slots=True, order=True)
class Swizzle:
    """A swizzle that CuTe accepts; offsets are in whatever unit its user counts in.

    Attributes:
        bits: B, how many bits are exchanged.
        base: M, log2 of the units that move together.
        shift: S, distance from Z to Y; negative if Y is the lower field.

    Raises:
        ValueError: on construction, what `why_invalid` says.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        reason = Swizzle.why_invalid(self.bits, self.base, self.shift)
        if reason is not None:
            raise ValueError(f"{self} is not a valid swizzle: {reason}")

    def __str__(self) -> str:
        return f"Swizzle<{self.bits},{self.base},{self.shift}>"

    @staticmethod
    def why_invalid(b: int, m: int, s: int) -> str | None:
        """Returns the clause of CuTe's that the parameters violate; None if they violate none."""
        if b < 0:
            return f"BBits must not be negative, and {b} is"
        if m < 0:
            return f"MBase must not be negative, and {m} is"
        if abs(s) < b:
            return f"|SShift| must be at least BBits, or the two fields overlap: {abs(s)} < {b}"
        if m + abs(s) > 31:
            return f"MBase + |SShift| must be at most 31: {m} + {abs(s)} = {m + abs(s)}"
        if b and b + m + abs(s) > 32:
            return f"BBits + MBase + |SShift| must be at most 32: {b + m + abs(s)}"
        return None

    @staticmethod
    def named(name: str) -> Swizzle:
        """Returns the swizzle in bytes of a TMA mode: `none`, `32B`, `64B` or `128B`.

        Raises:
            ValueError: another name.
        """
        for mode, parameters in _MODES.items():
            if name.lower() == mode.lower():
                return Swizzle(*parameters)
        raise ValueError(f"unknown swizzle mode {name!r}: one of {', '.join(_MODES)}")

    @property
    def mode(self) -> str | None:
        """The name of the TMA mode that this swizzle is, in bytes."""
        if self.is_identity:
            return "none"
        for name, parameters in _MODES.items():
            if parameters == (self.bits, self.base, self.shift):
                return name
        return None

    @property
    def is_identity(self) -> bool:
        """Whether no offset moves."""
        return self.bits == 0

    @property
    def y_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def z_mask(self) -> int:
        """The bits that are changed."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    @property
    def period(self) -> int:
        """Units after which it repeats: a base that is a multiple of it changes nothing."""
        return 1 << (self.base + abs(self.shift) + self.bits) if self.bits else 1

    @property
    def group(self) -> int:
        """Units that stay together: the widest vector that the swizzle does not tear apart."""
        return 1 << self.base

    @overload
    def __call__(self, offset: int) -> int: ...
    @overload
    def __call__(self, offset: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def __call__(self, offset: Any) -> Any:
        """Returns where the unit of that offset is kept.

        Args:
            offset: an integer, or integers of any shape and width; these give an int64 array.

        Raises:
            TypeError: offsets are not integers.
        """
        if not isinstance(offset, int):
            import numpy as np

            offset = np.asarray(offset)
            if offset.dtype.kind not in "iu":
                raise TypeError(f"offsets are {offset.dtype}, not integers")
            offset = offset.astype(np.int64, copy=False)
        return exclusive_or(offset, self.bits, self.base, self.shift)

    def upcast(self, factor: int) -> Swizzle:
        """Returns the same in units `factor` times as wide, as CuTe recasts it.

        Below MBase 0 the bits that would move parts of a unit are dropped, in silence: then the
        result is another function (`loses_bits_when_upcast`).

        Raises:
            ValueError: the factor is not a power of two.
        """
        base = self.base - bits_of(factor)
        return Swizzle(max(self.bits + min(base, 0), 0), max(base, 0), self.shift)

    def downcast(self, factor: int) -> Swizzle:
        """Returns the same in units of which `factor` make one.

        Raises:
            ValueError: the factor is not a power of two, or CuTe rejects the result.
        """
        return Swizzle(self.bits, self.base + bits_of(factor), self.shift)

    def loses_bits_when_upcast(self, factor: int) -> bool:
        """Returns whether units `factor` times as wide are torn apart by this swizzle."""
        return self.bits > 0 and self.base < bits_of(factor)

    def in_bytes(self, element_bytes: int) -> Swizzle:
        """Returns a swizzle of element offsets as one of byte offsets."""
        return self.downcast(element_bytes)

    def in_elements(self, element_bytes: int) -> Swizzle:
        """Returns a swizzle of byte offsets as one of element offsets.

        Raises:
            ValueError: it tears elements apart.
        """
        if self.loses_bits_when_upcast(element_bytes):
            raise ValueError(f"{self} in bytes moves parts of elements of {element_bytes} bytes")
        return self.upcast(element_bytes)


def exclusive_or(offset: Any, bits: int, base: int, shift: int) -> Any:
    """Returns the formula alone, also for parameters that CuTe rejects (`|shift| < bits`)."""
    field = (1 << bits) - 1
    if shift >= 0:
        return offset ^ (offset & field << (base + shift)) >> shift
    return offset ^ (offset & field << base) << -shift
