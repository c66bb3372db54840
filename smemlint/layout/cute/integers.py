"""Static and dynamic integers of CuTe.

A static integer (`Int<N>`) is a Python `int`; a dynamic one is a `DynamicInt`. The difference is
part of the type in CuTe and decides code paths (vector widths, the branch that `copy` takes), so a
dynamic integer never compares statically equal to anything, whatever its value is.

Source: CUTLASS 4.7, `cute/numeric/integral_constant.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import gcd
from typing import Any, Final, TypeAlias

import numpy as np

from smemlint.digests import blake2b
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass

Lanes: TypeAlias = Any
"""One number, an int64 array with one entry a thread, or an object with the same operators.

None stands for a number that nobody knows: a run-time extent or stride of global memory.
"""

Integer: TypeAlias = "int | DynamicInt"


class CuteError(ValueError):
    """What CuTe refuses to compile (a static assertion), or what is not modelled."""


class Refused(CuteError):
    """What CuTe refuses to compile, for sure."""


class Underscore:
    """The coordinate `_`, which keeps a mode."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


UNDERSCORE: Final = Underscore()


@dataclass(frozen=True, slots=True, eq=False)
class DynamicInt:
    """An integer that is known only at run time.

    Arithmetic with static integers follows CuTe: `0*d`, `0/d`, `0%d`, `d%1` and `0&d` are static
    zeros, everything else is dynamic (`1*d`, too).

    Attributes:
        value: what it is in each thread.
    """

    value: Lanes = None

    @property
    def multiple(self) -> int:
        """What the program declares to divide it, whatever it happens to be."""
        return int(getattr(self.value, "multiple", 1))

    def __repr__(self) -> str:
        value = self.value
        if hasattr(value, "tobytes"):
            return f"?#{blake2b(value.tobytes(), digest_size=16).hexdigest()}"
        return "?" if value is None else f"?{value}"

    def __add__(self, other: Integer) -> DynamicInt:
        return _dynamic(lambda a, b: a + b, self, other)

    def __radd__(self, other: int) -> DynamicInt:
        return _dynamic(lambda a, b: a + b, other, self)

    def __sub__(self, other: Integer) -> DynamicInt:
        return _dynamic(lambda a, b: a - b, self, other)

    def __rsub__(self, other: int) -> DynamicInt:
        return _dynamic(lambda a, b: a - b, other, self)

    def __mul__(self, other: Integer) -> Integer:
        return 0 if is_static_value(other, 0) else _dynamic(lambda a, b: a * b, self, other)

    def __rmul__(self, other: int) -> Integer:
        return 0 if other == 0 else _dynamic(lambda a, b: a * b, other, self)

    def __floordiv__(self, other: Integer) -> DynamicInt:
        return _dynamic(lambda a, b: a // b, self, other)

    def __rfloordiv__(self, other: int) -> Integer:
        return 0 if other == 0 else _dynamic(lambda a, b: a // b, other, self)

    def __mod__(self, other: Integer) -> Integer:
        if is_static_value(other, 1) or is_static_value(other, -1):
            return 0
        return _dynamic(lambda a, b: a % b, self, other)

    def __rmod__(self, other: int) -> Integer:
        return 0 if other == 0 else _dynamic(lambda a, b: a % b, other, self)

    def __neg__(self) -> DynamicInt:
        return DynamicInt(None if self.value is None else -self.value)

    def __abs__(self) -> DynamicInt:
        return DynamicInt(None if self.value is None else abs(self.value))


def _dynamic(operator: Callable[[Any, Any], Any], left: Integer, right: Integer) -> DynamicInt:
    a, b = lanes_of(left), lanes_of(right)
    if a is None or b is None:
        return DynamicInt()
    try:
        with np.errstate(divide="raise"):
            return DynamicInt(operator(a, b))
    except (ZeroDivisionError, FloatingPointError, OverflowError):  # no value, or wider than int64
        return DynamicInt()


def lanes_of(number: Integer) -> Lanes:
    """Returns the values behind a static or dynamic integer."""
    return number.value if isinstance(number, DynamicInt) else number


def is_static_value(number: object, value: int) -> bool:
    """Returns whether a number is static and has this value: CuTe's `is_constant<value, T>`."""
    return isinstance(number, int) and number == value


def absolute(number: Integer) -> Integer:
    """Returns the magnitude of an integer."""
    return number.__abs__()


def minimum(a: Integer, b: Integer) -> Integer:
    """Returns the smaller of two integers; its value is left open when one is dynamic."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else DynamicInt()


def sign(number: Integer) -> Integer:
    """Returns -1, 0 or 1; left open for a dynamic integer."""
    return (number > 0) - (number < 0) if isinstance(number, int) else DynamicInt()


def ceil_div(a: Integer, b: Integer) -> Integer:
    """Returns a / b, rounded up."""
    return (a + b - 1) // b


def static(number: Integer) -> int:
    """Returns a static integer.

    Raises:
        CuteError: it is dynamic, or what stands in its place is no integer.
    """
    if not isinstance(number, int):
        why = getattr(getattr(number, "value", None), "reason", "")
        raise CuteError(why or "a number that must be static is known only at run time")
    return number


def exact_div(number: Integer, divisor: int) -> Integer:
    """Returns a quotient; a dynamic number is assumed to divide, as CuTe's `safe_div` does.

    Raises:
        CuteError: a static number does not divide.
    """
    if isinstance(number, int) and number % divisor:
        raise CuteError(f"{number} does not divide by {divisor}")
    return number // divisor


def greatest_common_divisor(*numbers: int) -> int:
    """Returns the greatest common divisor; 0 divides by everything."""
    return reduce(gcd, numbers, 0)


def apply_swizzle(swizzle: Swizzle, number: Integer) -> Integer:
    """Returns the swizzled number; an object as value is asked for its `swizzled(swizzle)`."""
    if isinstance(number, int):
        return swizzle(number)
    value = number.value
    if value is None:
        return number
    own = getattr(value, "swizzled", None)
    return DynamicInt(own(swizzle) if own is not None else swizzle(value))
