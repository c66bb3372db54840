"""Scalar evolution: which parts of an integer the compiler knows to be no constants.

Two addresses of one form differ by a constant that the compiler knows. The alignment it can prove
is that of the terms as they are computed, not of what they add up to: `(9 - x) * 17 + x` moves by
multiples of 16, but its terms are 17 * x and x.
"""

from __future__ import annotations

from dataclasses import dataclass

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
