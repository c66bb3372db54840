"""How the compiler sees an integer: which parts of it are no constants, and what divides them.

Two addresses of one form differ by a constant that the compiler knows. The alignment it can prove
is that of the terms as they are computed, not of what they add up to: `(9 - x) * 17 + x` moves by
multiples of 16, but its terms are 17 * x and x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from smemlint.analysis.simt.domain.values import AffineInt

_MOST = 1 << 10


@dataclass(frozen=True, slots=True)
class Scev:
    """A sum of factor x atom without its constant.

    Attributes:
        terms: (atom, factor), ordered by atom; empty for a compile-time constant.
        alignment: a power of two (at most 1024) that provably divides the sum.
        is_divergent: it is computed from what tells lanes apart, so that the compiler does not
            take it to be the same for a warp, whatever the block's shape makes of it.
    """

    terms: tuple[tuple[str, int], ...] = ()
    alignment: int = _MOST
    is_divergent: bool = False


CONSTANT = Scev()


def atom(key: str, alignment: int = 1, *, is_divergent: bool = False) -> Scev:
    """Returns a value of its own."""
    return Scev(((key, 1),), min(alignment, _MOST), is_divergent)


def scev_of(value: AffineInt) -> Scev:
    """Returns the form of a value; one that was made without is an atom of its own."""
    if value.form is not None:
        return value.form
    if isinstance(value.base, int) and not value.terms:
        return CONSTANT
    is_one = isinstance(value.base, int)
    form = CONSTANT if is_one else atom(value.identity(), is_divergent=True)
    for symbol, factor in value.terms:
        if not isinstance(factor, int):
            return atom(value.identity(), is_divergent=True)
        form = sum_of(form, scaled(atom(symbol.key, power_of_two(symbol.multiple)), factor))
    return form


def power_of_two(number: int) -> int:
    """Returns the largest power of two that divides a number, at most 1024."""
    return min(number & -number, _MOST) if number else _MOST


def sum_of(a: Scev, b: Scev, sign: int = 1) -> Scev:
    """Returns the form of `a + b` or `a - b`."""
    if not b.terms:
        return a
    table = dict(a.terms)
    for key, factor in b.terms:
        table[key] = table.get(key, 0) + sign * factor
    terms = tuple(sorted((k, f) for k, f in table.items() if f))
    return Scev(terms, min(a.alignment, b.alignment), a.is_divergent or b.is_divergent)


def scaled(form: Scev, factor: int) -> Scev:
    """Returns the form of `factor * a`."""
    if not factor or not form.terms:
        return CONSTANT
    alignment = min(form.alignment * power_of_two(factor), _MOST)
    return Scev(tuple((k, f * factor) for k, f in form.terms), alignment, form.is_divergent)


def chosen_scev(a: AffineInt, b: AffineInt, made: AffineInt) -> Scev:
    """Returns the form of `condition ? a : b` by lane: an atom, divisible by what divides both."""
    return atom(made.identity(), min(_divisor(a), _divisor(b)), is_divergent=True)


def _divisor(value: AffineInt) -> int:
    """The power of two (at most 1024) that provably divides a value, its constant included."""
    bits = value.base
    if not isinstance(bits, int):
        bits = int(np.bitwise_or.reduce(bits))
    return min(scev_of(value).alignment, power_of_two(bits))


def combined(op: str, a: AffineInt, b: AffineInt, alignment: int = 1) -> Scev:
    """Returns the form of an operation that is not linear: an atom, keyed by its operands."""
    x, y = scev_of(a), scev_of(b)
    key = hash((op, a.identity(), b.identity(), x.terms, y.terms))
    by_lane = x.is_divergent or y.is_divergent
    return atom(f"({op} {key:x})", alignment, is_divergent=by_lane)


def operated_scev(op: str, a: AffineInt, b: AffineInt, *, signed: bool) -> Scev:
    """Returns the form of `a op b` for the operators that are not sums or products."""
    x, y = scev_of(a), scev_of(b)
    if not x.terms and not y.terms:
        return CONSTANT
    if y.terms or not isinstance(b.base, int):
        both = min(x.alignment, y.alignment)
        return combined(op, a, b, both if op in ("&", "|", "^") else 1)
    constant = b.base
    if op in ("|", "^") and 0 <= constant < x.alignment:
        return x  # the constant only meets bits that are constant anyway
    if op == "&":
        return combined(op, a, b, max(power_of_two(constant), x.alignment))
    if op == "%" and not signed:
        return combined(op, a, b, min(x.alignment, power_of_two(constant)))
    return combined(op, a, b)
