"""Integer arithmetic on lanes plus affine unknowns, exact or openly unknown.

Additions keep the affine form; `/ % & | ^ >>` by constants stay exact when the coefficients are
multiples of the modulus. A uniform result that is not affine becomes a fresh symbol, keyed by its
operands, so that the same expression is the same unknown. A result that would differ by thread and
is not affine is `Unknown`, with the symbol whose residues would decide it.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from smemlint.analysis.simt.domain.ctypes import BOOL, I32, I64, IntType, common, promoted
from smemlint.analysis.simt.domain.integer_scev import combined, scev_of
from smemlint.analysis.simt.domain.intervals import decided, largest, lower, smallest, upper
from smemlint.analysis.simt.domain.scev import Scev, scaled, sum_of
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Symbol,
    Unknown,
    is_zero,
    settled,
    varies_in_a_warp,
)
from smemlint.limits.budgets import MAX_SPLIT
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from smemlint.analysis.simt.domain.values import Lanes

BY_CONSTANT = frozenset(("/", "%", ">>", "&", "|", "^"))
"""Operators whose result by a constant hangs on residues."""

_SMALL = 1 << 31
_LONGEST = 200
"""Characters of a symbol's key and of its name."""


class AffineDomain:
    """Operations under one assignment of residues.

    Args:
        splits: symbol key -> (modulus, residue): the symbol is `modulus * quotient + residue`.
    """

    def __init__(self, splits: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.splits = dict(splits or {})

    def symbol(
        self,
        key: str,
        name: str,
        type: IntType = I32,
        *,
        multiple: int = 1,
        nonnegative: bool = False,
    ) -> AffineInt:
        """Returns the unknown of that key, split where a split is set.

        Keys are equal only for equal unknowns. `x ^= x >> 1` doubles key and name each time: the
        hash stands for a long key, and the beginning for a long name.
        """
        key = key if len(key) <= _LONGEST else f"#{hash(key):x}"
        name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}.."
        nonnegative = nonnegative or not type.signed
        if key not in self.splits:
            return AffineInt(0, type, ((Symbol(key, name, multiple, nonnegative), 1),))
        modulus, residue = self.splits[key]
        quotient = Symbol(f"{key}/{modulus}", f"{name}/{modulus}", 1, nonnegative)
        return AffineInt(residue, type, ((quotient, modulus),))

    def operate(self, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a op b` for the binary operators of C that take integers."""
        match op:
            case "+":
                return self.add(a, b)
            case "-":
                return self.add(a, b, -1)
            case "*":
                return self.multiply(a, b)
            case "/":
                return self.divide(a, b)
            case "%":
                return self.modulo(a, b)
            case "<<":
                return self.shift_left(a, b)
            case ">>":
                return self.shift_right(a, b)
            case "&" | "|" | "^":
                return self.bitwise(op, a, b)
            case _ if op in COMPARISONS:
                return self.compare(op, a, b)
        return Unknown(Reason(ReasonCode.NOT_MODELLED, f"operator `{op}` is not evaluated"))

    # ---- the affine operations

    def add(self, a: AffineInt, b: AffineInt, sign: int = 1) -> AffineInt:
        """`a + sign * b`."""
        type = common(a.type, b.type)
        if is_plain(a) and is_plain(b):
            return _narrowed(a.base + sign * b.base, type)  # type: ignore[arg-type]
        form = sum_of(scev_of(a), scev_of(b), sign)
        return _with_form(_wrapped(_sum(a, b, sign, type)), form)

    def multiply(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a * b`; exact where one side has no unknown."""
        type = common(a.type, b.type)
        if is_plain(a) and is_plain(b):
            return _narrowed(a.base * b.base, type)  # type: ignore[arg-type]
        if a.terms and b.terms:
            return self._product(a, b, type)
        if b.terms or (scev_of(b).terms and not a.terms):
            a, b = b, a
        factor = b.base
        is_linear = isinstance(factor, int) and not scev_of(b).terms
        form = scaled(scev_of(a), int(factor)) if is_linear else combined("*", a, b)
        product = _normal(_mul(a.base, factor), type, [(s, _mul(c, factor)) for s, c in a.terms])
        return _with_form(_wrapped(product), form)

    def _product(self, a: AffineInt, b: AffineInt, type: IntType) -> AffineInt | Unknown:
        """`a * b` of two unknowns: of `(lanes + x) * y` only `x * y` is a fresh one."""
        if a.is_uniform and not b.is_uniform:
            a, b = b, a
        is_parted = not isinstance(a.base, int) and all(isinstance(c, int) for _, c in a.terms)
        if not b.is_uniform or not is_parted:
            return self._fresh("*", a, b, type, multiple=_content(a, type) * _content(b, type))
        uniform = self._product(AffineInt(0, a.type, a.terms), b, type)
        by_lane = self.multiply(AffineInt(a.base, a.type), b)
        if isinstance(uniform, Unknown) or isinstance(by_lane, Unknown):
            return uniform if isinstance(uniform, Unknown) else by_lane
        return self.add(by_lane, uniform)

    # ---- division and bits

    def divide(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a / b` as C rounds, towards zero."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            return _concrete_divide(a.base, b.base, type)
        m = b.constant
        if m == 1:
            return a
        if m is not None and m > 0 and _divides(m, a):
            known_sign = not type.signed or lower(a) >= 0
            if known_sign or is_zero(_mod(a.base, m)):
                return _normal(a.base // m, type, _divided(a, m))
        return self._fresh("/", a, b, type, modulus=m)

    def modulo(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a % b` with the sign of `a`, as in C."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            quotient = _concrete_divide(a.base, b.base, type)
            if isinstance(quotient, Unknown):
                return quotient
            return AffineInt(settled(a.base - _mul(quotient.base, b.base)), type)
        m = b.constant
        if m is not None and m > 0 and _divides(m, a):
            if is_zero(_mod(a.base, m)):
                return AffineInt(0, type)
            if not type.signed or lower(a) >= 0:
                return AffineInt(settled(_mod(a.base, m)), type)
        return self._fresh("%", a, b, type, modulus=m, nonnegative=lower(a) >= 0)

    def shift_left(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a << b`."""
        type = promoted(a.type)
        if b.constant is not None and 0 <= b.constant < type.bits:
            power = AffineInt(1 << b.constant, type)
            return self.multiply(AffineInt(a.base, type, a.terms, a.form), power)
        if a.is_concrete and b.is_concrete:
            amount = (
                np.clip(b.base, 0, 62) if not isinstance(b.base, int) else min(max(b.base, 0), 62)
            )
            return _wrapped(AffineInt(settled(np.left_shift(a.base, amount)), type))
        return self._fresh("<<", a, b, type)

    def shift_right(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a >> b`, arithmetic where signed."""
        type = promoted(a.type)
        if a.is_concrete and b.is_concrete:
            amount = (
                np.clip(b.base, 0, 62) if not isinstance(b.base, int) else min(max(b.base, 0), 62)
            )
            return AffineInt(settled(np.right_shift(a.base, amount)), type)
        if b.constant is not None and 0 <= b.constant < 62:
            m = 1 << b.constant
            if _divides(m, a):
                return _normal(a.base >> b.constant, type, _divided(a, m))
            return self._fresh(">>", a, b, type, modulus=m, nonnegative=lower(a) >= 0)
        return self._fresh(">>", a, b, type, nonnegative=lower(a) >= 0)

    def bitwise(self, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`a & b`, `a | b` or `a ^ b`."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            return AffineInt(settled(_BITS[op](a.base, b.base)), type)
        if a.is_concrete:
            a, b = b, a
        if not b.is_concrete:
            return self._fresh(op, a, b, type)
        low = smallest(b.base)
        if op == "&" and largest(b.base) < 0:
            # Aligning down: a & ~(2^k - 1) is a - (a & (2^k - 1)).
            rest = self.bitwise("&", a, AffineInt(_invert(b.base), b.type))
            return rest if isinstance(rest, Unknown) else self.add(a, rest, -1)
        if low < 0:
            return self._fresh(op, a, b, type)
        period = 1 << int(largest(b.base)).bit_length()
        if _divides(period, a):
            if op == "&":
                return AffineInt(settled(_BITS["&"](_mod(a.base, period), b.base)), type)
            return AffineInt(settled(_BITS[op](a.base, b.base)), type, a.terms)
        return self._fresh(op, a, b, type, modulus=period, nonnegative=op == "&")

    def either(self, a: AffineInt, b: AffineInt, key: str, name: str) -> AffineInt | None:
        """One of both for all threads; None where they do not differ by the same for all."""
        difference = self.add(a, b, -1)
        if not difference.is_uniform:
            return None
        steps = [int(c) * s.multiple for s, c in difference.terms]
        unit = gcd(int(smallest(difference.base)), *steps)
        if unit == 0:
            return a
        if lower(difference) < 0:
            a, b, difference = b, a, self.add(b, a, -1)
        is_above = lower(difference) >= 0
        times = self.symbol(key, name, a.type, nonnegative=is_above)
        if is_above and difference.constant is not None:
            terms = tuple((replace(s, most=1), c) for s, c in times.terms)
            times = AffineInt(times.base, times.type, terms)
        more = self.multiply(times, AffineInt(unit, a.type))
        return self.add(b, more) if isinstance(more, AffineInt) else None

    # ---- comparison

    def compare(self, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """A comparison as 0 or 1; `Unknown` (uniform where both sides are) when it is open."""
        if a.is_concrete and b.is_concrete:
            return AffineInt(_truth(_COMPARE[op](a.base, b.base)), BOOL)
        difference = _sum(a, b, -1, I32)
        if not difference.terms:
            return AffineInt(_truth(_COMPARE[op](difference.base, 0)), BOOL)
        low, high = lower(difference), upper(difference)
        known = decided(op, low, high)
        if known is not None:
            return AffineInt(int(known), BOOL)
        uniform = a.is_uniform and b.is_uniform
        is_sparse = op == "==" and not uniform and varies_in_a_warp(difference.base)
        return Unknown(
            Reason(ReasonCode.UNKNOWN_CONDITION, "the condition is not known"),
            is_data=is_sparse,
            is_uniform=uniform,
        )

    def extreme(self, largest: bool, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """`max(a, b)` or `min(a, b)`."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            pick = np.maximum if largest else np.minimum
            return AffineInt(settled(_plain(pick(a.base, b.base))), type)
        greater = self.compare(">=", a, b)
        if isinstance(greater, AffineInt) and greater.constant is not None:
            return a if bool(greater.constant) == largest else b
        bound = lower(a) >= 0 and lower(b) >= 0
        return self._fresh("max" if largest else "min", a, b, type, nonnegative=bound)

    def convert(self, a: AffineInt, type: IntType) -> AffineInt | Unknown:
        """Returns the value as another integer type."""
        if type.is_bool:
            return self.compare("!=", a, AffineInt(0))
        if not a.terms or type.bits >= 32:
            wrapped = _wrapped(AffineInt(a.base, type, a.terms), narrowing=type.bits < 32)
            return _with_form(wrapped, a.form)
        if not type.signed:
            return self.bitwise(
                "&", AffineInt(a.base, I32, a.terms), AffineInt((1 << type.bits) - 1)
            )
        return AffineInt(a.base, type, a.terms, a.form)

    # ---- what is not affine

    def _fresh(
        self,
        op: str,
        a: AffineInt,
        b: AffineInt,
        type: IntType,
        *,
        modulus: int | None = None,
        nonnegative: bool = False,
        multiple: int = 1,
    ) -> AffineInt | Unknown:
        """A fresh symbol for a uniform result, else `Unknown` with the split that would help."""
        if a.is_uniform and b.is_uniform:
            key = f"({op} {a.identity()} {b.identity()})"
            name = f"({a!r}) {op} ({b!r})"
            return self.symbol(key, name, type, multiple=multiple, nonnegative=nonnegative)
        if modulus is not None and len(a.terms) > 1 and not b.terms:
            one = self._as_one(a)
            if one is not None:
                return self.operate(op, one, b)
        names = sorted({s.name for v in (a, b) for s, _ in v.terms})
        text = f"depends on the value of {', '.join(f'`{n}`' for n in names)}"
        reason = Reason(ReasonCode.UNKNOWN_VALUE, text)
        return Unknown(reason, split=_split(a, modulus) if modulus else None)

    def _as_one(self, a: AffineInt) -> AffineInt | None:
        """The value with its unknowns in one: residues of a sum are fewer than of its parts."""
        steps = [c * s.multiple for s, c in a.terms if isinstance(c, int)]
        if len(steps) < len(a.terms):
            return None
        unit = gcd(*steps)
        total = AffineInt(0, a.type, a.terms)
        name = " + ".join(s.name for s, _ in a.terms)
        key = f"sum {total.identity()}"
        part = self.symbol(key, name, a.type, nonnegative=lower(total) >= 0)
        more = self.multiply(AffineInt(part.base, I64, part.terms), AffineInt(unit, I64))
        if isinstance(more, Unknown):
            return None
        return AffineInt(a.base + more.base, a.type, more.terms)


class Results(AffineDomain):
    """Remembers what the unknowns that it makes are the results of.

    Attributes:
        made_of: key of a symbol -> operator and operands.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made_of: dict[str, tuple[str, AffineInt, AffineInt]] = {}

    def _fresh(
        self, op: str, a: AffineInt, b: AffineInt, type: IntType, **known: Any
    ) -> AffineInt | Unknown:
        made = super()._fresh(op, a, b, type, **known)
        if isinstance(made, AffineInt) and len(made.terms) == 1:
            self.made_of[made.terms[0][0].key] = op, a, b
        return made


# ---- pure helpers on lanes

_BITS: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_COMPARE: dict[str, Callable[[Lanes, Lanes], object]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
COMPARISONS = frozenset(_COMPARE)


def is_plain(a: AffineInt) -> bool:
    """Returns whether it is one number that the compiler knows too: most are."""
    return not a.terms and a.form is None and isinstance(a.base, int)


def _narrowed(number: int, type: IntType) -> AffineInt:
    """Returns a plain number, wrapped where the type is narrower."""
    if -_SMALL <= number < _SMALL and (type.signed or number >= 0):
        return AffineInt(number, type)
    return _wrapped(AffineInt(number, type))


def _with_form(value: AffineInt, form: Scev | None) -> AffineInt:
    return AffineInt(value.base, value.type, value.terms, form)


def _plain(value: object) -> Lanes:
    return value.astype(np.int64, copy=False) if isinstance(value, np.ndarray) else int(value)  # type: ignore[call-overload]


def _truth(value: object) -> Lanes:
    return settled(_plain(value))


def _mul(a: Lanes, b: Lanes) -> Lanes:
    return a * b


def _mod(a: Lanes, m: int) -> Lanes:
    return a % m


def _invert(a: Lanes) -> Lanes:
    return ~a


def _normal(base: Lanes, type: IntType, terms: list[tuple[Symbol, Lanes]]) -> AffineInt:
    kept = tuple((s, settled(c)) for s, c in terms if not is_zero(c))
    return AffineInt(settled(base), type, kept)


def _divided(a: AffineInt, m: int) -> list[tuple[Symbol, Lanes]]:
    """The terms of `a / m` where `m` divides them all, a symbol's known multiple included."""
    found: list[tuple[Symbol, Lanes]] = []
    for s, c in a.terms:
        part = s
        if s.multiple != 1:
            part = s.part()
        found.append((part, c * s.multiple // m))
    return found


def _sum(a: AffineInt, b: AffineInt, sign: int, type: IntType) -> AffineInt:
    base = a.base + b.base if sign == 1 else a.base - b.base
    if not b.terms:
        return AffineInt(base if isinstance(base, int) else settled(base), type, a.terms)
    table: dict[Symbol, Lanes] = dict(a.terms)
    for s, c in b.terms:
        table[s] = table.get(s, 0) + sign * c
    return _normal(base, type, list(table.items()))


def _wrapped(value: AffineInt, narrowing: bool = False) -> AffineInt:
    """Unsigned results wrap; signed overflow is undefined, so only conversions wrap it."""
    type = value.type
    if value.terms or type.bits >= 64:
        return value
    if not type.signed:
        if isinstance(value.base, int):
            return AffineInt(value.base & ((1 << type.bits) - 1), type)
        if np.count_nonzero(value.base >> type.bits):  # too large, or negative
            return AffineInt(settled(value.base & ((1 << type.bits) - 1)), type)
        return value
    half = 1 << (type.bits - 1)
    if isinstance(value.base, int):
        fits = -half <= value.base < half
    else:
        fits = type.bits == 32 and not np.count_nonzero(value.base != value.base.astype(np.int32))
    if fits and not narrowing:
        return value
    return AffineInt(settled(((value.base + half) & (2 * half - 1)) - half), type)


def _content(a: AffineInt, type: IntType) -> int:
    """Returns what divides a uniform value in that type; unsigned ones wrap around."""
    if not a.is_uniform:
        return 1
    content = gcd(int(a.base), *(int(c) * s.multiple for s, c in a.terms))
    return content if type.signed else gcd(content, 1 << type.bits)


def _divides(m: int, a: AffineInt) -> bool:
    """Returns whether every unknown moves the value by multiples of `m`."""
    return all(is_zero((c * s.multiple) % m) for s, c in a.terms)


def _split(a: AffineInt, modulus: int) -> tuple[Symbol, int] | None:
    for s, c in a.terms:
        if not isinstance(c, int):
            return None
        if (c * s.multiple) % modulus:
            residues = modulus // gcd(c * s.multiple, modulus)
            return (s, residues * s.multiple) if residues * s.multiple <= MAX_SPLIT else None
    return None


def _concrete_divide(a: Lanes, b: Lanes, type: IntType) -> AffineInt | Unknown:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            return Unknown(Reason(ReasonCode.NO_VALUE, "division by zero"))
        q = abs(a) // abs(b)
        return AffineInt(q if (a < 0) == (b < 0) else -q, type)
    try:
        x, y = np.asarray(a, np.int64), np.asarray(b, np.int64)
    except OverflowError:
        return Unknown(Reason(ReasonCode.NO_VALUE, "a number of more than 64 bits"))
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe)
    return AffineInt(settled(np.where((x < 0) == (safe < 0), quotient, -quotient)), type)


def truth(a: AffineInt) -> AffineInt | Unknown:
    """Returns the value as a condition."""
    if a.type.is_bool:
        return a
    return AffineDomain().compare("!=", a, AffineInt(0))
