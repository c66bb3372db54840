"""Run-time integers inside the layout engine: lanes plus affine unknowns, or why not known."""

from __future__ import annotations

from functools import partial
from math import gcd
from typing import Any

import numpy as np

from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.bitwise_scev import operated_scev
from smemlint.analysis.simt.domain.ctypes import I64, U64, IntType, StaticIntType
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.linear_forms import ByResidue, by_residue
from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    atom,
    divided_by,
    is_combined,
    power_of_two,
    sum_of,
)
from smemlint.analysis.simt.domain.swizzled import swizzled
from smemlint.analysis.simt.domain.values import AffineInt, Unknown, Value
from smemlint.layout.cute import DynamicInt, Integer
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class RunTime:
    """A number with unknowns in it; the engine calculates with it as with an array.

    Attributes:
        value: the number; what is not known stays so through every operation.
        is_traced: how the compiler computes quotients and remainders counts, as in plain code.
    """

    domain: AffineDomain
    value: AffineInt | Unknown
    is_traced: bool = False

    __array_ufunc__ = None  # numpy leaves `array + RunTime` to this class

    def __str__(self) -> str:
        value = self.value
        return value.identity() if isinstance(value, AffineInt | ByResidue) else str(value.reason)

    @property
    def reason(self) -> str:
        """Returns why it is not known; nothing where it is a number of run time."""
        return str(self.value.reason) if isinstance(self.value, Unknown) else ""

    @property
    def multiple(self) -> int:
        """What divides it whatever its unknowns are."""
        value = self.value
        if not isinstance(value, AffineInt) or not value.terms or not value.is_uniform:
            return 1
        return gcd(value.base, *(c * s.multiple for s, c in value.terms))

    def _operate(self, op: str, other: Any, *, is_reversed: bool = False) -> RunTime:
        operand = other.value if isinstance(other, RunTime) else _without_unknowns(other)
        is_traced = self.is_traced or (isinstance(other, RunTime) and other.is_traced)
        a, b = (operand, self.value) if is_reversed else (self.value, operand)
        result = by_residue(partial(self._result, op, is_traced), a, b)
        return RunTime(self.domain, result, is_traced)

    def _result(self, op: str, is_traced: bool, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        kind = U64 if op in "/%" else I64  # what CuTe divides are coordinates, from 0 on
        x, y = _wide(a, kind), _wide(b, kind)
        result = self.domain.operate(op, x, y)
        if not isinstance(result, AffineInt):
            return result
        result = _wide(result)
        if is_traced and op in "/%":
            result.form = _taken_apart(op, x, y)
        elif op == "/" and _is_computed(x) and y.constant:
            result.form = divided_by(scev_of(x), y.constant)
        return result

    def __add__(self, other: Any) -> RunTime:
        return self._operate("+", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> RunTime:
        return self._operate("-", other)

    def __rsub__(self, other: Any) -> RunTime:
        return self._operate("-", other, is_reversed=True)

    def __mul__(self, other: Any) -> RunTime:
        return self._operate("*", other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> RunTime:
        return self._operate("/", other)

    def __rfloordiv__(self, other: Any) -> RunTime:
        return self._operate("/", other, is_reversed=True)

    def __mod__(self, other: Any) -> RunTime:
        return self._operate("%", other)

    def __rmod__(self, other: Any) -> RunTime:
        return self._operate("%", other, is_reversed=True)

    def __and__(self, other: Any) -> RunTime:
        return self._operate("&", other)

    def __xor__(self, other: Any) -> RunTime:
        return self._operate("^", other)

    __rxor__ = __xor__

    def __neg__(self) -> RunTime:
        return self._operate("-", 0, is_reversed=True)

    def __abs__(self) -> RunTime:
        return self

    def swizzled(self, swizzle: Swizzle) -> RunTime:
        """Returns where this offset is kept."""
        kept = by_residue(partial(swizzled, swizzle=swizzle), self.value)
        return RunTime(self.domain, kept, self.is_traced)


def _taken_apart(op: str, x: AffineInt, y: AffineInt) -> Scev | None:
    """Returns the form of a quotient or a remainder.

    LLVM sees what bits of a sum can be set: `(t % 32 + 64) / 32` is 2, and the remainder `t % 32`.
    """
    form, n = scev_of(x), y.constant or 0
    is_power = n > 0 and not n & (n - 1)
    if op == "/" and is_power and not form.alignment % n and not np.any(np.asarray(x.base) % n):
        return divided_by(form, n)
    most = form.most if is_power and not x.terms else None
    if most is not None and int(np.min(x.base)) % n + most < n:
        return CONSTANT if op == "/" else form
    return operated_scev(op, x, y, signed=True)


def _without_unknowns(lanes: Any) -> AffineInt:
    number = AffineInt(lanes, I64)
    if not isinstance(lanes, int):
        number.form = thread_form(number)
    return number


def _wide(value: AffineInt, kind: IntType = I64) -> AffineInt:
    return AffineInt(value.base, kind, value.terms, value.form)


def to_engine(value: Value, domain: AffineDomain) -> Integer:
    """Returns a number for the engine: a Python int only of a static type."""
    if not isinstance(value, AffineInt):
        unknown = (
            value
            if isinstance(value, Unknown)
            else Unknown.because(ReasonCode.NOT_MODELLED, "a value that is no number")
        )
        return DynamicInt(RunTime(domain, unknown))
    if value.constant is not None and isinstance(value.type, StaticIntType):
        return value.constant
    return DynamicInt(RunTime(domain, value) if value.terms or _is_computed(value) else value.base)


def traced(value: Value, domain: AffineDomain) -> Integer:
    """Returns a number for the engine that keeps how the compiler computes with it."""
    if not isinstance(value, AffineInt) or value.constant is not None:
        return to_engine(value, domain)
    return DynamicInt(RunTime(domain, value, is_traced=True))


def _is_computed(value: AffineInt) -> bool:
    """Returns whether the compiler does not know that lanes are thread numbers and a constant."""
    if value.form is None:
        return False
    return any(is_combined(key) or key.startswith("blockDim") for key, _ in value.form.terms)


def thread_form(offset: AffineInt) -> Scev:
    """Returns what the compiler sees of an address: a part of the thread plus a constant."""
    lanes = np.asarray(offset.base)
    pattern = AffineInt(lanes - lanes.flat[0], I64)
    alignment = power_of_two(int(np.gcd.reduce(pattern.base, axis=None)))
    form = atom(pattern.identity(), alignment, is_divergent=True)
    rest = AffineInt(0, I64, offset.terms)
    return sum_of(form, scev_of(rest))


def from_engine(number: Integer) -> AffineInt | Unknown:
    """Returns the evaluator's number; a static one has a static type."""
    if isinstance(number, int):
        return AffineInt(number, STATIC)
    lanes = number.value
    if lanes is None:
        return Unknown.because(ReasonCode.UNKNOWN_VALUE, "a number that is known only at run time")
    if isinstance(lanes, RunTime):
        return lanes.value
    return AffineInt(int(lanes) if getattr(lanes, "ndim", 0) == 0 else lanes, I64)


STATIC = StaticIntType(32, True)
