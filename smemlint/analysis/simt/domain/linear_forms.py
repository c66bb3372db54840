"""Sums of a base and coefficient x symbol: normal form, wrap-around, divisibility, residues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import gcd

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.lanes import Lanes, is_zero, settled
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.values import AffineInt, Symbol, Unknown
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_RESIDUES, MAX_SPLIT
from smemlint.limits.steps import spend
from smemlint.reasons import ReasonCode

_SMALL = 1 << 31
_BYTES_OF_BANKS = 128
"""A ring of a multiple of so many elements is one of all banks, whatever their type."""


def is_plain(a: AffineInt) -> bool:
    """Returns whether it is one number that the compiler knows too: most are."""
    return not a.terms and a.form is None and isinstance(a.base, int)


def narrowed(number: int, type: IntType) -> AffineInt:
    """Returns a plain number, wrapped where the type is narrower."""
    if -_SMALL <= number < _SMALL and (type.signed or number >= 0):
        return AffineInt(number, type)
    return wrapped(AffineInt(number, type))


def with_form(value: AffineInt, form: Scev | None) -> AffineInt:
    """Returns the same number as the compiler computes it."""
    return AffineInt(value.base, value.type, value.terms, form)


def normalized(base: Lanes, type: IntType, terms: list[tuple[Symbol, Lanes]]) -> AffineInt:
    """Returns a sum without the terms that are zero."""
    kept = [(s, settled(c)) for s, c in terms if not is_zero(c)]
    return AffineInt(settled(base), type, tuple(kept))


def divided(a: AffineInt, m: int) -> list[tuple[Symbol, Lanes]]:
    """Returns the terms of `a / m` where `m` divides them all, with what divides a symbol."""
    return [(s if s.multiple == 1 else s.part(), c * s.multiple // m) for s, c in a.terms]


def added(a: AffineInt, b: AffineInt, sign: int, type: IntType) -> AffineInt:
    """Returns `a + sign * b` of a type, not wrapped."""
    base = a.base + b.base if sign == 1 else a.base - b.base
    if not b.terms:
        return AffineInt(base if isinstance(base, int) else settled(base), type, a.terms)
    table: dict[Symbol, Lanes] = dict(a.terms)
    for s, c in b.terms:
        table[s] = table.get(s, 0) + sign * c
    return normalized(base, type, list(table.items()))


def wrapped(value: AffineInt, narrowing: bool = False) -> AffineInt:
    """Returns what the type keeps of a number.

    Unsigned results wrap; signed overflow is undefined, so only conversions wrap it.
    """
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


def content_of(a: AffineInt, type: IntType) -> int:
    """Returns what divides a uniform value in that type; unsigned ones wrap around."""
    if not a.is_uniform:
        return 1
    content = gcd(int(a.base), *(int(c) * s.multiple for s, c in a.terms))
    return content if type.signed else gcd(content, 1 << type.bits)


def divides(m: int, a: AffineInt) -> bool:
    """Returns whether every unknown moves the value by multiples of `m`."""
    return all(is_zero((c * s.multiple) % m) for s, c in a.terms)


def split_of(a: AffineInt, modulus: int) -> tuple[Symbol, int] | None:
    """Returns the symbol and modulus whose residues decide a value's own by `modulus`."""
    for s, c in a.terms:
        if not isinstance(c, int):
            return None
        if (c * s.multiple) % modulus:
            residues = modulus // gcd(c * s.multiple, modulus)
            return (s, residues * s.multiple) if residues <= MAX_SPLIT else None
    return None


def quotient(a: Lanes, b: Lanes, type: IntType) -> AffineInt | Unknown:
    """Returns `a / b` of known numbers, rounded towards zero."""
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            return Unknown.because(ReasonCode.NO_VALUE, "division by zero")
        q = abs(a) // abs(b)
        return AffineInt(q if (a < 0) == (b < 0) else -q, type)
    try:
        x, y = np.asarray(a, np.int64), np.asarray(b, np.int64)
    except OverflowError:
        return Unknown.because(ReasonCode.NO_VALUE, "a number of more than 64 bits")
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe)
    return AffineInt(settled(np.where((x < 0) == (safe < 0), quotient, -quotient)), type)


@dataclass(frozen=True, slots=True)
class Turns(Symbol):
    """How often a number went around a ring: thread by thread another number of times.

    Attributes:
        places: where the threads are in the ring, but for what is the same for all of them.
    """

    places: NDArray[np.int64] = field(kw_only=True, compare=False)


def in_ring(a: AffineInt, size: int, key: str, name: str) -> AffineInt | None:
    """Returns `a % size` as a sum, of which not all residues are to be enumerated.

    Of a ring of many elements `ring[(head + t) % size]` costs what `ring[head + t]` does. None of
    what is the same for all threads, or has other factors than one for all.
    """
    if a.is_uniform or isinstance(a.base, int):
        return None
    steps = [c * s.multiple for s, c in a.terms if isinstance(c, int)]
    most = MAX_SPLIT if size % _BYTES_OF_BANKS else MAX_RESIDUES
    if len(steps) < len(a.terms) or size // gcd(size, *steps) <= most:
        return None
    return AffineInt(a.base, a.type, (*a.terms, (Turns(key, name, places=a.base), -size)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ByResidue(Unknown):
    """What is no linear form, but is one under every residue of an unknown: `(lane + n) % 8`.

    Attributes:
        cases: the number under every residue of the symbol and modulus of `split`.
    """

    cases: tuple[AffineInt, ...]

    def identity(self) -> str:
        """Returns a text that is equal only for equal values, to key what is computed from it."""
        return "|".join(case.identity() for case in self.cases)


def by_residue(
    function: Callable[..., AffineInt | Unknown], *operands: AffineInt | Unknown
) -> AffineInt | Unknown:
    """Returns what a function makes of numbers, residue by residue where that alone is known."""
    unknown = [n for n in operands if isinstance(n, Unknown)]
    unknown.sort(key=lambda n: isinstance(n, ByResidue))
    found = unknown[0] if unknown else function(*operands)
    if unknown and not isinstance(found, ByResidue):
        return found
    if not isinstance(found, Unknown) or found.split is None:
        return found
    symbol, modulus = found.split
    residues = range(0, modulus, symbol.multiple)
    plain = Unknown(found.reason, found.is_data, found.is_uniform, found.split)
    if len(residues) > MAX_RESIDUES:
        return plain
    cases = []
    for index, residue in enumerate(residues):
        spend()
        parts = [_under(n, index, residue, found.split) for n in operands]
        case = plain if any(p is None for p in parts) else function(*parts)
        if isinstance(case, Unknown):
            return plain
        cases.append(case)
    return ByResidue(found.reason, split=found.split, cases=tuple(cases))


def _under(
    number: AffineInt | Unknown, index: int, residue: int, split: tuple[Symbol, int]
) -> AffineInt | None:
    """Returns a number under one residue; None where it hangs on those of another unknown."""
    if isinstance(number, Unknown):
        return (
            number.cases[index] if isinstance(number, ByResidue) and number.split == split else None
        )
    symbol, modulus = split
    factor = dict(number.terms).get(symbol)
    if factor is None:
        return number
    quotient = Symbol(f"{symbol.key}/{modulus}", f"{symbol.name}/{modulus}", 1, symbol.nonnegative)
    others = [term for term in number.terms if term[0] != symbol]
    base = number.base + factor * residue
    return normalized(base, number.type, [*others, (quotient, factor * modulus)])
