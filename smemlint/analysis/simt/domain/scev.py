"""Scalar evolution: which parts of an integer the compiler knows to be no constants.

Two addresses of one form differ by a constant that the compiler knows. The alignment it can prove
is that of the terms as they are computed, not of what they add up to: `(9 - x) * 17 + x` moves by
multiples of 16, but its terms are 17 * x and x.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import IntEnum

from smemlint.analysis.simt.domain.lanes import digest
from smemlint.lazy_dataclasses import light_dataclass
from smemlint.limits.budgets import MAX_SUMMED

Terms = tuple[tuple[str, int], ...]
_MOST = 1 << 10
_LARGE = 1 << 63
_MOVED = ("(>>", "(^")
"""Operations whose multiples are computed otherwise."""


class Shifted(IntEnum):
    """What the compiler makes of a constant in what is shifted."""

    NOT = 0
    MASKED = 1
    """It stands behind the shift, of a number with few bits or one that `|` joins it with."""
    PARTED = 2
    """It stands behind the shift."""
    ROUNDED = 3
    """It stays in a division of its own."""


@light_dataclass(frozen=True, slots=True)
class Split:
    """A multiple of a quotient, or a remainder, of a division by a constant.

    Attributes:
        of: tells what is divided from all else, and how.
        whole: the form of what is divided.
        modulus: what it is divided by.
        is_quotient: it is the quotient.
        factor: it is this multiple.
    """

    of: str
    whole: Scev
    modulus: int
    is_quotient: bool
    factor: int = 1


@light_dataclass(frozen=True, slots=True)
class Scev:
    """A sum of factor x atom without its constant.

    Attributes:
        terms: (atom, factor), ordered by atom; empty for a compile-time constant.
        alignment: a power of two (at most 1024) that provably divides the sum.
        ptxas_alignment: what ptxas proves of it: less where a difference was computed, or the sum
            from another one; 0 of what it proves nothing of in multiples either.
        is_divergent: it is computed from what tells lanes apart, so that the compiler does not
            take it to be the same for a warp, whatever the block's shape makes of it.
        is_rewritten: the compiler makes the sum of another one (`codegen.strength_reduction`).
        is_open: whether it does is not known.
        is_mirrored: something is subtracted from a constant in it.
        shifted: whether a part of it was shifted to the right.
        most: the largest value that the compiler knows of an atom that is never negative, times
            its factor; None for others. It tells no two forms apart.
        split: what it is of a division; None of what is none. It tells no two forms apart either.
        may_wrap: with its constant it may leave its type, as far as scalar evolution sees.
        is_joined: the source has `|` or `^` in place of its last `+`: LLVM sees each part, however
            many operations take bits of it.
        buried: the constants that a further term was added to: 512 of `(t + 8) * 64 + x`. LLVM sees
            of two sums how far they lie apart where these are equal.
    """

    terms: Terms = ()
    alignment: int = _MOST
    is_divergent: bool = False
    ptxas_alignment: int = _MOST
    is_rewritten: bool = False
    is_open: bool = False
    is_mirrored: bool = field(default=False, compare=False)
    shifted: Shifted = field(default=Shifted.NOT, compare=False)
    most: int | None = field(default=None, compare=False)
    split: Split | None = field(default=None, compare=False)
    may_wrap: bool = field(default=False, compare=False)
    is_joined: bool = field(default=False, compare=False)
    buried: int = field(default=0, compare=False)


CONSTANT = Scev()
CHUNK = "chunk "
"""Begins the atom of what is copied of one chunk of a swizzle: it is open how wide it becomes."""


def atom(
    key: str, alignment: int = 1, *, is_divergent: bool = False, most: int | None = None
) -> Scev:
    """Returns a value of its own."""
    alignment = min(alignment, _MOST)
    return Scev(((key, 1),), alignment, is_divergent, alignment, most=most)


def power_of_two(number: int) -> int:
    """Returns the largest power of two that divides a number, at most 1024."""
    bits = number | _MOST
    return bits & -bits


def factors_of(form: Scev) -> int:
    """Returns the power of two, at most 1024, that divides the factors of all atoms."""
    return min((power_of_two(factor) for _, factor in form.terms), default=_MOST)


def sum_of(a: Scev, b: Scev, sign: int = 1) -> Scev:
    """Returns the form of `a + b` or `a - b`."""
    if not b.terms:
        return replace(a, is_joined=False) if a.is_joined else a
    table = dict(a.terms)
    for key, factor in b.terms:
        table[key] = table.get(key, 0) + sign * factor
    terms = tuple(sorted((k, f) for k, f in table.items() if f))
    shown = min(a.ptxas_alignment, b.ptxas_alignment)
    form = Scev(
        terms,
        min(a.alignment, b.alignment),
        a.is_divergent or b.is_divergent,
        max(shown, 1) if a.terms or sign < 0 else shown,
        a.is_rewritten or b.is_rewritten,
        a.is_open or b.is_open,
        a.is_mirrored or b.is_mirrored,
        max(a.shifted, b.shifted),
        may_wrap=a.may_wrap or b.may_wrap,
        buried=a.buried + sign * b.buried,
    )
    return _of_few(form)


def undivided(a: Scev, b: Scev) -> Scev | None:
    """Returns the form of x for `x / c * c + x % c`; None for other sums.

    Four stores of `s[i / c * c + i % c]` with `i = 4 * t + j` are one STS.128, for a c of 32 or 48,
    for int and unsigned, for shifts and masks, and joined by `|`; those of twice the sum, of the
    elements `[i / c][i % c]` and of an int's `/` with its `&` are four STS (nvcc 13.5.37, sm_90).
    `i - i % c` and `i & -c` are such quotients, too.
    """
    x, y = a.split, b.split
    if x is None or y is None or x.of != y.of or x.is_quotient == y.is_quotient:
        return None
    quotient, remainder = (x, y) if x.is_quotient else (y, x)
    is_exact = remainder.factor == 1 and quotient.factor == quotient.modulus == remainder.modulus
    return x.whole if is_exact else None


def difference(a: Scev, b: Scev, minuend: int = 0) -> Scev:
    """Returns the form of `minuend + a - b`, of which ptxas sees no more than a common factor.

    Read off the SASS of nvcc 13.0.88 (sm_90): with l = threadIdx.x & 31, four loads of
    `h[128 - 4 * l + j]` stay four LDS, those of `h[4 * (n - l) + j]` and
    `h[512 - 4 * threadIdx.x + j]` become one LDS.128. Of `h[4 * (64 - (t >> 1)) + j]` and
    `h[4 * (64 - (t ^ 3)) + j]` they stay four, of `h[4 * (20 - t / 32) + j]` they become one, which
    is not modelled. Of p = s + off and off = 64 * ty + tx, eight words behind `p - tx` are two
    LDS.128, and eight LDS with p = s + 64 * ty + tx: that is open. What is subtracted by a
    multiplication that is no shift, as in `4 * t - t / 5 * 12 + j`, is a sum with a negative
    factor: one STS.128 in 60 of 60 kernels. Of shifts, those of `4 * t - 8 * ty + j` are four STS
    and those of `512 + 4 * t - 8 * ty + j` one: that is open (280 kernels, nvcc 13.5.37, sm_90).
    """
    form = sum_of(a, b, -1)
    if not b.terms:
        return form
    form = merged(form, a, b)
    factors = {abs(factor) for _, factor in form.terms}
    common = power_of_two(factors.pop()) if len(factors) == 1 else 1
    if not a.terms:
        is_masked = any(is_combined(key) for key, _ in b.terms)
        common = 1 if is_masked else min(common, power_of_two(minuend))
        is_open = any(key.startswith(_MOVED) for key, _ in b.terms)
        form = replace(form, is_mirrored=True, is_open=form.is_open or is_open)
    elif form.alignment > common:
        is_joined = not {key for key, _ in a.terms}.isdisjoint(key for key, _ in b.terms)
        negated = [(k, -f) for k, f in form.terms if f < 0 and -f == power_of_two(-f)]
        if not is_joined and not negated:
            common = form.alignment
        elif is_joined or any(_may_be_factored(form, *each) for each in negated):
            form = replace(form, is_open=True)
    return replace(form, ptxas_alignment=min(form.ptxas_alignment, common))


def merged(form: Scev, a: Scev, b: Scev) -> Scev:
    """Returns the form of a sum or difference of which LLVM may see a factor that neither part has.

    It does so of what is left where an atom is gone.
    """
    kept, least = {key for key, _ in form.terms}, factors_of(form)
    if least <= form.alignment or {key for key, _ in a.terms}.isdisjoint(k for k, _ in b.terms):
        return form
    is_gone = any(key not in kept for key, _ in a.terms)
    return replace(form, alignment=least if is_gone else form.alignment, is_open=True)


def _may_be_factored(form: Scev, key: str, factor: int) -> bool:
    """Returns whether the compiler may subtract less than a multiple of an atom from a sum."""
    return not is_combined(key) or all(f % factor == 0 for _, f in form.terms)


def is_combined(key: str) -> bool:
    """Returns whether an atom stands for an operation that is not linear, which `combined` keys."""
    return key.startswith("(")


def scaled(form: Scev, factor: int) -> Scev:
    """Returns the form of `factor * a`."""
    if not factor or not form.terms:
        return CONSTANT
    alignment = min(form.alignment * power_of_two(factor), _MOST)
    ptxas_alignment = min(form.ptxas_alignment * power_of_two(factor), _MOST)
    result = Scev(
        tuple([(k, f * factor) for k, f in form.terms]),
        alignment,
        form.is_divergent,
        ptxas_alignment,
        form.is_rewritten,
        form.is_open,
        form.is_mirrored,
        form.shifted,
        form.most * factor if form.most is not None and factor > 0 else None,
        form.split and replace(form.split, factor=form.split.factor * factor),
        form.may_wrap,
        buried=form.buried * factor,
    )
    return _of_few(result)


def divided_by(form: Scev, size: int) -> Scev | None:
    """Returns the form in elements of so many bytes; None where they do not divide it."""
    if size < 1 or any(factor % size for _, factor in form.terms):
        return None
    unit = power_of_two(size)
    return Scev(
        tuple([(atom, factor // size) for atom, factor in form.terms]),
        max(form.alignment // unit, 1),
        form.is_divergent,
        max(form.ptxas_alignment // unit, 1),
        form.is_rewritten,
        form.is_open,
        form.is_mirrored,
        form.shifted,
        form.most,
    )


def _of_few(form: Scev) -> Scev:
    """Returns the form; one atom stands for more than any address is made of."""
    if len(form.terms) <= MAX_SUMMED and all(-_LARGE < f < _LARGE for _, f in form.terms):
        return form
    key = f"sum:{digest(repr(form.terms).encode())}"
    return replace(form, terms=((key, 1),))
