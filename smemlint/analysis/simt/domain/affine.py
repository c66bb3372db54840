"""Integer arithmetic on lanes plus affine unknowns, exact or openly unknown.

Additions keep the affine form; `/ % & | ^ >>` by constants stay exact when the coefficients are
multiples of the modulus. A uniform result that is not affine becomes a fresh symbol, keyed by its
operands, so that the same expression is the same unknown. A result that would differ by thread and
is not affine is `Unknown`, with the symbol whose residues would decide it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import gcd

import numpy as np

from smemlint.analysis.simt.domain.bounded import bounded
from smemlint.analysis.simt.domain.comparisons import COMPARISONS, compare
from smemlint.analysis.simt.domain.ctypes import I32, I64, IntType, common, promoted
from smemlint.analysis.simt.domain.data_ranges import agrees_by_warp, one_for_a_warp
from smemlint.analysis.simt.domain.integer_scev import (
    added_scev,
    combined,
    converted_scev,
    extreme_scev,
    product_scev,
    scev_of,
    shifted_scev,
    subtracted_scev,
    with_wrap,
)
from smemlint.analysis.simt.domain.intervals import is_below, lower, upper, with_least, within
from smemlint.analysis.simt.domain.lanes import (
    Lanes,
    digest,
    is_zero,
    largest,
    plain,
    settled,
    smallest,
)
from smemlint.analysis.simt.domain.linear_forms import (
    added,
    content_of,
    divided,
    divides,
    in_ring,
    is_plain,
    narrowed,
    normalized,
    quotient,
    split_of,
    with_form,
    wrapped,
)
from smemlint.analysis.simt.domain.scev import atom, power_of_two, scaled
from smemlint.analysis.simt.domain.spelling import operation
from smemlint.analysis.simt.domain.values import ADDRESS, AffineInt, Symbol, Unknown, depends_on
from smemlint.reasons import ReasonCode

_BITS: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_LONGEST = 200
"""Characters of a symbol's key and of its name."""


class AffineDomain:
    """Operations under one assignment of residues.

    Args:
        splits: symbol key -> (modulus, residue): the symbol is `modulus * quotient + residue`, of
            modulus 0 the residue itself.

    Attributes:
        parts: key of a quotient by a modulus -> the symbol that was split into it and a residue.
        tracks_forms: sums and products keep how the compiler computes them.
    """

    tracks_forms = True

    def __init__(self, splits: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.splits = dict(splits or {})
        self.parts: dict[str, Symbol] = {}

    def symbol(
        self,
        key: str,
        name: str,
        type: IntType = I32,
        *,
        multiple: int = 1,
        nonnegative: bool = False,
        is_iteration: bool = False,
    ) -> AffineInt:
        """Returns the unknown of that key, split where a split is set.

        Keys are equal only for equal unknowns. `x ^= x >> 1` doubles key and name each time: the
        digest stands for a long key, and the beginning for a long name.

        Args:
            key: identity, see `Symbol`.
            name: as the user knows it.
            type: of the integer; unsigned ones are never negative.
            multiple: a number that is known to divide it.
            nonnegative: known to be >= 0.
            is_iteration: it numbers the iterations of a loop of which one stands for all.
        """
        key = key if len(key) <= _LONGEST else f"#{digest(key.encode())}"
        name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}.."
        nonnegative = nonnegative or not type.signed
        whole = Symbol(key, name, multiple, nonnegative, is_iteration=is_iteration)
        if key not in self.splits:
            return AffineInt(0, type, ((whole, 1),))
        modulus, residue = self.splits[key]
        form = atom(key, power_of_two(multiple))  # no compiler knows the residue
        if not modulus:
            return AffineInt(residue, type, (), form)
        quotient = Symbol(
            f"{key}/{modulus}", f"{name}/{modulus}", 1, nonnegative, is_iteration=is_iteration
        )
        self.parts[quotient.key] = whole
        return AffineInt(residue, type, ((quotient, modulus),), form)

    def operate(self, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a op b` for the binary operators of C that take integers."""
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
                return compare(op, a, b)
        return Unknown.because(ReasonCode.NOT_MODELLED, f"operator `{op}` is not evaluated")

    # ---- the affine operations

    def add(self, a: AffineInt, b: AffineInt, sign: int = 1) -> AffineInt:
        """Returns `a + sign * b`."""
        type = common(a.type, b.type)
        if is_plain(a) and is_plain(b):
            return narrowed(a.base + sign * b.base, type)  # type: ignore[arg-type]
        total = bounded(wrapped(added(a, b, sign, type)), self.symbol)
        if not self.tracks_forms:
            return total
        form = added_scev(a, b) if sign > 0 else subtracted_scev(a, b)
        return with_form(total, with_wrap(form, type, a, b))

    def multiply(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a * b`; exact where one side has no unknown."""
        type = common(a.type, b.type)
        if is_plain(a) and is_plain(b):
            return narrowed(a.base * b.base, type)  # type: ignore[arg-type]
        if a.terms and b.terms:
            return self._product(a, b, type)
        if b.terms or (scev_of(b).terms and not a.terms):
            a, b = b, a
        factor = b.base
        total = normalized(a.base * factor, type, [(s, c * factor) for s, c in a.terms])
        product = bounded(wrapped(total), self.symbol)
        if not self.tracks_forms:
            return product
        is_linear = isinstance(factor, int) and not scev_of(b).terms
        form = scaled(scev_of(a), int(factor)) if is_linear else product_scev(a, b)
        return with_form(product, with_wrap(form, type, a))

    def _product(self, a: AffineInt, b: AffineInt, type: IntType) -> AffineInt | Unknown:
        """Computes `a * b` of two unknowns: of `(lanes + x) * y` only `x * y` is a fresh one."""
        if a.is_uniform and not b.is_uniform:
            a, b = b, a
        is_parted = not isinstance(a.base, int) and all(isinstance(c, int) for _, c in a.terms)
        if not b.is_uniform or not is_parted:
            return self._fresh("*", a, b, type, multiple=content_of(a, type) * content_of(b, type))
        uniform = self._product(AffineInt(0, a.type, a.terms), b, type)
        by_lane = self.multiply(AffineInt(a.base, a.type), b)
        if isinstance(uniform, Unknown) or isinstance(by_lane, Unknown):
            return uniform if isinstance(uniform, Unknown) else by_lane
        return self.add(by_lane, uniform)

    # ---- division and bits

    def divide(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a / b` as C rounds, towards zero."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            return quotient(a.base, b.base, type)
        m = b.constant
        if m == 1:
            return a
        if m is not None and m > 0 and divides(m, a):
            known_sign = not type.signed or lower(a) >= 0
            if known_sign or is_zero(a.base % m):
                return normalized(a.base // m, type, divided(a, m))
        if is_below(a, b):
            return AffineInt(0, type)
        least = lower(a) // m if m is not None and m > 0 and a.is_uniform else 0
        return with_least(self._fresh("/", a, b, type, modulus=m), least)

    def modulo(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a % b` with the sign of `a`, as in C."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            times = quotient(a.base, b.base, type)
            if isinstance(times, Unknown):
                return times
            return AffineInt(settled(a.base - times.base * b.base), type)
        m = b.constant
        if m is not None and m > 0 and divides(m, a):
            if is_zero(a.base % m):
                return AffineInt(0, type)
            if not type.signed or lower(a) >= 0:
                return AffineInt(settled(a.base % m), type)
        if is_below(a, b):
            return a
        is_index = not type.signed or lower(a) >= 0
        ring = self._in_ring(a, m) if m and is_index else None
        return ring or self._fresh("%", a, b, type, modulus=m, nonnegative=is_index)

    def shift_left(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a << b`."""
        type = promoted(a.type)
        if b.constant is not None and 0 <= b.constant < type.bits:
            power = AffineInt(1 << b.constant, type)
            shifted = self.multiply(AffineInt(a.base, type, a.terms, a.form), power)
            if isinstance(shifted, Unknown) or not self.tracks_forms or not scev_of(b).terms:
                return shifted
            return with_form(shifted, shifted_scev(a, b))
        if a.is_concrete and b.is_concrete:
            amount = (
                np.clip(b.base, 0, 62) if not isinstance(b.base, int) else min(max(b.base, 0), 62)
            )
            return wrapped(AffineInt(settled(np.left_shift(a.base, amount)), type))
        return self._fresh("<<", a, b, type)

    def shift_right(self, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a >> b`, arithmetic where signed."""
        type = promoted(a.type)
        if a.is_concrete and b.is_concrete:
            amount = (
                np.clip(b.base, 0, 62) if not isinstance(b.base, int) else min(max(b.base, 0), 62)
            )
            return AffineInt(settled(np.right_shift(a.base, amount)), type)
        if b.constant is not None and 0 <= b.constant < 62:
            m = 1 << b.constant
            if divides(m, a):
                return normalized(a.base >> b.constant, type, divided(a, m))
            return self._fresh(">>", a, b, type, modulus=m, nonnegative=lower(a) >= 0)
        return self._fresh(">>", a, b, type, nonnegative=lower(a) >= 0)

    def bitwise(self, op: str, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `a & b`, `a | b` or `a ^ b`; the compiler sees no sum in what is a sum here."""
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
            rest = self.bitwise("&", a, AffineInt(~b.base, b.type))
            if isinstance(rest, Unknown):
                return rest
            is_pointer = any(s.key.startswith(ADDRESS) for s, _ in a.terms)  # it stays a sum
            mask = ~b.base if isinstance(b.base, int) and not is_pointer else 0
            if rest.terms and isinstance(a.base, int) and a.base & mask and not mask & mask + 1:
                # 4 * ((d + 3) >> 2) shows what divides it, where 3 + d - (d + 3 & 3) does not.
                digits = AffineInt(mask.bit_length(), I32)
                times = self.shift_right(a, digits)
                return times if isinstance(times, Unknown) else self.shift_left(times, digits)
            return with_form(self.add(a, rest, -1), None)
        if low < 0:
            return self._fresh(op, a, b, type)
        period = 1 << int(largest(b.base)).bit_length()
        if divides(period, a):
            if op == "&":
                return AffineInt(settled(_BITS["&"](a.base % period, b.base)), type)
            return AffineInt(settled(_BITS[op](a.base, b.base)), type, a.terms)
        is_high = [is_zero((c * s.multiple) % period) for s, c in a.terms]
        if any(is_high):  # those terms have none of the bits that change
            below = tuple(t for t, high in zip(a.terms, is_high, strict=True) if not high)
            changed = self.bitwise(op, AffineInt(a.base, a.type, below), b)
            if op == "&" or isinstance(changed, Unknown):
                return changed
            above = tuple(t for t, high in zip(a.terms, is_high, strict=True) if high)
            return with_form(self.add(changed, AffineInt(0, a.type, above)), None)
        ring = self._in_ring(a, period) if op == "&" and b.constant == period - 1 else None
        if ring is not None:
            return ring
        units = [power_of_two(content_of(x, type)) for x in (a, b)]
        unit = max(units) if op == "&" else min(units)
        bits = self._fresh(op, a, b, type, modulus=period, nonnegative=op == "&", multiple=unit)
        return within(0, int(largest(b.base)), bits) if op == "&" else bits

    def _in_ring(self, a: AffineInt, size: int) -> AffineInt | None:
        """Returns where numbers are in a ring of so many elements; None where that has no use.

        Of `(s + j) & 511` with an even `s` LLVM may make `s & 511 | j`: which neighbours fuse then
        is left open.
        """
        if scev_of(a).alignment > 1:
            return None
        key = f"(ring {size} {digest(a.identity().encode())})"
        found = in_ring(a, size, key, operation("/", repr(a), str(size)))
        return None if found is None else with_form(found, combined("%", a, AffineInt(size)))

    @staticmethod
    def key_of_choice(a: AffineInt, b: AffineInt, place: int) -> str:
        """Returns what names one of two numbers, picked at a place of the source."""
        return f"({place}?{a.identity()}:{b.identity()})"

    def either(self, a: AffineInt, b: AffineInt, key: str, name: str) -> AffineInt | None:
        """Returns one of both for all threads; None where their difference is not known."""
        difference = self.add(a, b, -1)
        if not difference.is_uniform:
            return self._either_by_lane(b, difference, key, name)
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

    def _either_by_lane(
        self, b: AffineInt, difference: AffineInt, key: str, name: str
    ) -> AffineInt | None:
        """Returns `b`, or all of a known difference more: the choice is 0 or 1 for all threads."""
        if not difference.is_concrete:
            return None
        choice = self.symbol(key, name, b.type, nonnegative=True)
        terms = tuple((replace(s, most=1), c) for s, c in choice.terms)
        more = self.multiply(difference, AffineInt(choice.base, b.type, terms))
        return self.add(b, more) if isinstance(more, AffineInt) else None

    def extreme(self, largest: bool, a: AffineInt, b: AffineInt) -> AffineInt | Unknown:
        """Returns `max(a, b)` or `min(a, b)`."""
        type = common(a.type, b.type)
        if a.is_concrete and b.is_concrete:
            pick = np.maximum if largest else np.minimum
            form = None if is_plain(a) and is_plain(b) else extreme_scev(a, b, largest=largest)
            return AffineInt(settled(plain(pick(a.base, b.base))), type, (), form)
        greater = compare(">=", a, b)
        if isinstance(greater, AffineInt) and greater.constant is not None:
            return a if bool(greater.constant) == largest else b
        name, of = ("max", max) if largest else ("min", min)
        low, high = of(lower(a), lower(b)), of(upper(a), upper(b))
        return within(low, high, self._fresh(name, a, b, type, nonnegative=low >= 0))

    def convert(self, a: AffineInt, type: IntType) -> AffineInt | Unknown:
        """Returns the value as another integer type."""
        if type.is_bool:
            return compare("!=", a, AffineInt(0))
        if not a.terms or type.bits >= 32:
            bits = wrapped(AffineInt(a.base, type, a.terms), narrowing=type.bits < 32)
            return with_form(bits, a.form if type == a.type else converted_scev(a, type))
        if not type.signed:
            return self.bitwise(
                "&", AffineInt(a.base, I32, a.terms), AffineInt((1 << type.bits) - 1)
            )
        return AffineInt(a.base, type, a.terms, converted_scev(a, type))

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
        """Returns a fresh symbol for a uniform result, else `Unknown` with the helpful split.

        It is known to be one for a warp where the operands are.
        """
        if a.is_uniform and b.is_uniform:
            x, y = self._put_together(a), self._put_together(b)
            key = f"({op} {x.identity()} {y.identity()})"
            name = operation(op, repr(x), repr(y))
            return self.symbol(key, name, type, multiple=multiple, nonnegative=nonnegative)
        if modulus is not None and len(a.terms) > 1 and not b.terms:
            one = self._as_one(a)
            if one is not None:
                return self.operate(op, one, b)
        result = Unknown(depends_on(a, b), split=split_of(a, modulus) if modulus else None)
        return one_for_a_warp(result) if agrees_by_warp(a) and agrees_by_warp(b) else result

    def _put_together(self, a: AffineInt) -> AffineInt:
        """Returns the value in the unknowns that were split, as every split names what it gives."""
        base, terms = a.base, []
        for symbol, factor in a.terms:
            whole = self.parts.get(symbol.key)
            modulus, residue = self.splits[whole.key] if whole is not None else (1, 0)
            if whole is None or not isinstance(factor, int) or factor % modulus:
                terms.append((symbol, factor))
            else:
                terms.append((whole, factor // modulus))
                base = base - factor // modulus * residue
        return normalized(base, a.type, terms)

    def _as_one(self, a: AffineInt) -> AffineInt | None:
        """Returns the value with its unknowns in one, whose residues are fewer."""
        steps = [c * s.multiple for s, c in a.terms if isinstance(c, int)]
        if len(steps) < len(a.terms):
            return None
        unit = gcd(*steps)
        total = AffineInt(0, a.type, a.terms)
        name = repr(total) if unit == 1 else operation("/", repr(total), str(unit))
        key = f"sum {total.identity()}"
        part = self.symbol(key, name, a.type, nonnegative=lower(total) >= 0)
        more = self.multiply(AffineInt(part.base, I64, part.terms), AffineInt(unit, I64))
        if isinstance(more, Unknown):
            return None
        return AffineInt(a.base + more.base, a.type, more.terms)
