"""Scalar evolution of integers: which addresses differ by a constant, and what divides them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.lanes import digest
from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    Split,
    atom,
    difference,
    is_combined,
    merged,
    power_of_two,
    scaled,
    sum_of,
)
from smemlint.analysis.simt.domain.values import AffineInt

_HALF = 1 << 30
BITS_OF_INT = 32


def scev_of(value: AffineInt) -> Scev:
    """Returns the form of a value; one that was made without is an atom of its own."""
    if value.form is not None:
        return value.form
    if isinstance(value.base, int) and not value.terms:
        return CONSTANT
    is_one = isinstance(value.base, int)
    form = None if is_one else atom(value.identity(), is_divergent=True)
    for symbol, factor in value.terms:
        if not isinstance(factor, int):
            return atom(value.identity(), is_divergent=True)
        term = scaled(atom(symbol.key, power_of_two(symbol.multiple)), factor)
        form = term if form is None else sum_of(form, term)
    return form or CONSTANT


def added_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a + b`.

    LLVM makes `t << 1` of `t + t`, and `t << 2` of `t + z` with z = 3 * t: `s[t + t]` and the next
    element are one LDS.64. Of `l + t` with l = t + 2 * n, and with l = t + 2, they are two where l
    is used once more, and one for some other sums: that is open (56 kernels, nvcc 13.5.37, sm_90).
    """
    found = multiple_scev(a, b)
    if found is not None:
        return found
    x, y = scev_of(a), scev_of(b)
    return merged(sum_of(x, y), x, y)


def buried_by(a: AffineInt, b: AffineInt) -> int:
    """Returns the constants that `a + b` buries, neither of which is one: see `Scev.buried`.

    Thread 0 tells them: what tells threads apart is 0 for it.
    """
    return sum(base if isinstance(base, int) else int(base[0]) for base in (a.base, b.base))


def multiple_scev(a: AffineInt, b: AffineInt, sign: int = 1) -> Scev | None:
    """Returns the form of `a + sign * b` where both are multiples of a number, and so is it."""
    x, y = scev_of(a), scev_of(b)
    if not x.terms or [key for key, _ in x.terms] != [key for key, _ in y.terms]:
        return None
    p, q = x.terms[0][1], y.terms[0][1]
    is_one = scaled(x, q).terms == scaled(y, p).terms
    if not is_one or not np.array_equal(np.multiply(a.base, q), np.multiply(b.base, p)):
        return None
    total = p + sign * q
    return next((scaled(f, total // by) for f, by in ((x, p), (y, q)) if total % by == 0), None)


def subtracted_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a - b`.

    LLVM makes `x ^ 31` of `31 - x` where x has no bits above these (InstCombine), which no sum is
    rewritten to: of `p[31 - l + 2 * l + 1]` and then `p[2 * l]`, `p[2 * l + 1]` with
    l = threadIdx.x % 32 the last two are one LDS.64, behind `p[l]` they are two LDS (nvcc 13.0.88,
    sm_90, -O3).
    """
    if _is_flipped(a, b):
        return replace(combined("^", b, a), is_mirrored=True)
    multiple = multiple_scev(a, b, -1)
    if multiple is not None:
        return multiple
    form = difference(scev_of(a), scev_of(b), a.base if isinstance(a.base, int) else 1)
    rest = scev_of(b).split
    whole = rest.modulus if rest is not None and rest.is_quotient else 1
    if rest is None or rest.factor != whole or rest.of not in divided_names(a):
        return form
    factor = 1 if rest.is_quotient else rest.modulus
    other = Split(rest.of, rest.whole, rest.modulus, not rest.is_quotient, factor)
    may_be_mask = rest.is_quotient and not whole & (whole - 1)
    return replace(form, split=other, is_open=form.is_open or may_be_mask)


def _is_flipped(a: AffineInt, b: AffineInt) -> bool:
    """Returns whether `a` is 2^n - 1 and the compiler knows that `b` has no other bits."""
    bits, most = a.base, scev_of(b).most
    if not isinstance(bits, int) or a.terms or scev_of(a).terms or most is None or b.terms:
        return False
    return bits > 0 and not bits & (bits + 1) and most <= bits and int(np.min(b.base)) == 0


def chosen_scev(a: AffineInt, b: AffineInt, result: AffineInt) -> Scev:
    """Returns the form of `condition ? a : b` by lane: an atom, divisible by what divides both.

    Of `4 * t` and `8 * t` LLVM makes a shift by 2 or 3, which ptxas sees nothing of: open.
    """
    form = atom(result.identity(), min(_divisor(a), _divisor(b)), is_divergent=True)
    (x, *more), (y, *others) = (scev_of(n).terms or (("", 0),) for n in (a, b))
    if more or others or x[0] != y[0] or x == y:
        return form
    return replace(form, ptxas_alignment=1, is_open=True)


def _divisor(value: AffineInt) -> int:
    """Returns the power of two (at most 1024) that provably divides a value."""
    bits = value.base
    if not isinstance(bits, int):
        bits = int(np.bitwise_or.reduce(bits))
    return min(scev_of(value).alignment, power_of_two(bits))


def one_of(value: AffineInt) -> int:
    """Returns a thread's known part: modulo the alignment of its form, that of all."""
    return value.base if isinstance(value.base, int) else int(value.base[0])


def combined(
    op: str, a: AffineInt, b: AffineInt, alignment: int = 1, most: int | None = None
) -> Scev:
    """Returns the form of an operation that is not linear: an atom, keyed by its operands.

    Args:
        op: the operation.
        a: its first operand.
        b: its second operand.
        alignment: a power of two that divides the result.
        most: the largest value of the result; None where not known.
    """
    x, y = scev_of(a), scev_of(b)
    key = digest(f"{a.identity()} {b.identity()} {x.terms} {y.terms}".encode())
    by_lane = x.is_divergent or y.is_divergent
    result = atom(f"({op} {key})", alignment, is_divergent=by_lane, most=most)
    return replace(result, is_open=True) if x.is_open or y.is_open else result


def extreme_scev(a: AffineInt, b: AffineInt, *, largest: bool) -> Scev:
    """Returns the form of `max(a, b)` or `min(a, b)`, which one the compiler does not know.

    LLVM knows the bits that both have: of an array that is declared to be aligned four loads of
    `s[min(4 * t, 252) + j]` are one LDS.128. ptxas knows none: of any other they are four LDS, and
    one those of `s[min(t, 63) * 4 + j]` (28 own kernels twice, nvcc 13.5.37, sm_90).
    """
    known = min(scev_of(a).alignment, scev_of(b).alignment, power_of_two(one_of(a) - one_of(b)))
    form = combined("max" if largest else "min", a, b, known)
    return replace(form, ptxas_alignment=1)


def shifted_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a << b` where LLVM does not know `b`: it does not shift summands.

    Of `s[2 * t << u]` and `s[(2 * t + 1) << u]` two words are loaded, of `s[(2 * t << u) + 1]` and
    the first LDS.64 (nvcc 13.5.37, sm_90).
    """
    return combined("<<", a, b, alignment_of(a))


def product_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a * b`, of neither of which LLVM knows the number."""
    return combined("*", a, b, power_of_two(alignment_of(a) * alignment_of(b)))


def alignment_of(value: AffineInt) -> int:
    """Returns the largest power of two that the compiler sees to divide a number."""
    return min(scev_of(value).alignment, power_of_two(one_of(value)))


def with_wrap(form: Scev, type: IntType, *parts: AffineInt) -> Scev:
    """Returns the form of a sum or a multiple of these, with whether it may leave its type.

    Scalar evolution takes that it does not from the sum of an int and a constant, not from a
    multiple of that or another sum of it, and from 64 bits and few bits of numbers with 32, of
    which a thread's is one as any other.
    """
    summed = [part for part in parts if scev_of(part).terms]
    is_exact = type.signed and len(parts) > 1 and len(summed) == 1
    if form.may_wrap or is_exact or not any(map(one_of, parts)) or not summed:
        return form
    unknowns = [symbol for part in summed for symbol, _ in part.terms]
    is_wide = type.bits > BITS_OF_INT and all(s.key.startswith("blockIdx.") for s in unknowns)
    return form if is_wide or _is_small(form.split) else replace(form, may_wrap=True)


def converted_scev(a: AffineInt, type: IntType) -> Scev | None:
    """Returns the form of a number of another type: of an int in 64 unsigned bits it may wrap."""
    form, is_wider = a.form, type.bits > a.type.bits
    if form is None or not form.terms:
        return form
    if type.signed and type.bits < BITS_OF_INT:
        return _sign_extended(form, begins_whole(a))
    if _is_small(form.split):
        return form
    is_lost = a.type.signed and not type.signed if is_wider else bool(one_of(a))
    return replace(form, may_wrap=True) if is_lost else form


def _sign_extended(form: Scev, is_whole: bool) -> Scev:
    """Returns the form of a number that is cut off to few bits, of which one is its sign.

    LLVM makes `t << 16 >> 12` of the bytes `16 * t` of a short, of which ptxas knows no bits: four
    loads of `s[4 * t + j]` stay four LDS. Of what is computed before, `short b = 4 * t`, those of
    `s[b + j]` are four or one: open. What has no sign is masked (132 kernels, nvcc 13.5.37, sm_90).
    """
    if form.most is not None and all(is_combined(key) for key, _ in form.terms):
        return form
    is_one = is_whole and len(form.terms) == 1 and form.terms[0][1] == 1
    return replace(form, ptxas_alignment=0, is_open=form.is_open or not is_one)


def _is_small(part: Split | None) -> bool:
    """Returns whether a multiple of a quotient or remainder stays far from the ends of an int."""
    most = 0 if part is None else part.modulus
    if part is not None and part.is_quotient:
        most = (1 << BITS_OF_INT) // most
    return part is not None and most * abs(part.factor) < _HALF


def may_wrap(value: AffineInt) -> bool:
    """Returns whether a number may leave its type; what LLVM makes a `|` does not."""
    form = scev_of(value)
    return form.may_wrap and not (value.type.signed and 0 < one_of(value) < form.alignment)


def begins_whole(value: AffineInt) -> bool:
    """Returns whether no constant stands in a sum."""
    return not one_of(value)


def divided_names(value: AffineInt) -> tuple[str, str]:
    """Returns what tells a number from others that are divided, rounded down and to zero."""
    of = f"{value.identity()} {scev_of(value).terms}"
    return digest(f"down {of}".encode()), digest(f"to 0 {of}".encode())
