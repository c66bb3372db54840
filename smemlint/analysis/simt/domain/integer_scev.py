"""Scalar evolution of integers: which addresses differ by a constant, and what divides them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.lanes import digest
from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    Shifted,
    Split,
    atom,
    difference,
    merged,
    power_of_two,
    scaled,
    sum_of,
    undivided,
)
from smemlint.analysis.simt.domain.values import AffineInt

_FEW_BITS = 2
_HALF = 1 << 30
_BITS_OF_INT = 32
"""That are shifted out of a sum whose constant LLVM takes out: of `(64 * t + 16 * i) >> 4` none."""


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
    if rest is None or rest.factor != whole or rest.of not in _divided(a):
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


def _one_of(value: AffineInt) -> int:
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


def shifted_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a << b` where LLVM does not know `b`: it does not shift summands.

    Of `s[2 * t << u]` and `s[(2 * t + 1) << u]` two words are loaded, of `s[(2 * t << u) + 1]` and
    the first LDS.64 (nvcc 13.5.37, sm_90).
    """
    return combined("<<", a, b, _alignment(a))


def product_scev(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a * b`, of neither of which LLVM knows the number."""
    return combined("*", a, b, power_of_two(_alignment(a) * _alignment(b)))


def _alignment(value: AffineInt) -> int:
    """Returns the largest power of two that the compiler sees to divide a number."""
    return min(scev_of(value).alignment, power_of_two(_one_of(value)))


def with_wrap(form: Scev, type: IntType, *parts: AffineInt) -> Scev:
    """Returns the form of a sum or a multiple of these, with whether it may leave its type.

    Scalar evolution takes that it does not from the sum of an int and a constant, not from a
    multiple of that or another sum of it, and from 64 bits and few bits of numbers with 32, of
    which a thread's is one as any other.
    """
    summed = [part for part in parts if scev_of(part).terms]
    is_exact = type.signed and len(parts) > 1 and len(summed) == 1
    if form.may_wrap or is_exact or not any(map(_one_of, parts)) or not summed:
        return form
    unknowns = [symbol for part in summed for symbol, _ in part.terms]
    is_wide = type.bits > _BITS_OF_INT and all(s.key.startswith("blockIdx.") for s in unknowns)
    return form if is_wide or _is_small(form.split) else replace(form, may_wrap=True)


def converted_scev(a: AffineInt, type: IntType) -> Scev | None:
    """Returns the form of a number of another type: of an int in 64 unsigned bits it may wrap."""
    form, is_wider = a.form, type.bits > a.type.bits
    if form is None or not form.terms or _is_small(form.split):
        return form
    is_lost = a.type.signed and not type.signed if is_wider else bool(_one_of(a))
    return replace(form, may_wrap=True) if is_lost else form


def _is_small(part: Split | None) -> bool:
    """Returns whether a multiple of a quotient or remainder stays far from the ends of an int."""
    most = 0 if part is None else part.modulus
    if part is not None and part.is_quotient:
        most = (1 << _BITS_OF_INT) // most
    return part is not None and most * abs(part.factor) < _HALF


def may_wrap(value: AffineInt) -> bool:
    """Returns whether a number may leave its type; what LLVM makes a `|` does not."""
    form = scev_of(value)
    return form.may_wrap and not (value.type.signed and 0 < _one_of(value) < form.alignment)


def begins_whole(value: AffineInt) -> bool:
    """Returns whether no constant stands in a sum."""
    return not _one_of(value)


def _is_of_threads(value: AffineInt, form: Scev) -> bool:
    """Returns whether the compiler knows that a value of thread numbers is not negative."""
    return (
        not value.terms
        and int(np.min(value.base)) >= 0
        and all(key.startswith("threadIdx") and factor > 0 for key, factor in form.terms)
    )


def _has_few_bits(value: AffineInt, form: Scev) -> bool:
    """Returns whether the compiler knows that a masked value is not negative."""
    return _is_masked(form) and form.most is not None and int(np.min(value.base)) >= 0


def _masked_above(op: str, a: AffineInt, b: AffineInt, mask: int) -> Scev | None:
    """Returns the form of `x + c & mask` where c lies below the bits that x can have.

    Read off the PTX and SASS of nvcc 13.0.88 (sm_90, -O3), of loads with j = 0, 1, ...:
    `(4 * t + j & 508) + j` is one LDS.128, since the mask takes j away. Where the mask keeps j
    (`4 * t + j & 511` and `(4 * t + j) % 512u`), every even j but 0 is computed anew; the odd ones
    stand behind j = 0 if x is one shift (`4 * t`, `2 * t + 2 * d`), behind each other if not
    (`4 * (t + 1)`, `12 * t`). It is open where the compiler may know bits: `(t & ~3) + j & 511` is
    one LDS.128.

    Returns:
        None where there is no such c.
    """
    form = scev_of(a)
    low = form.alignment - 1
    rest = _one_of(a) & low
    if not rest or (mask & low and mask & low != low):
        return None
    whole = AffineInt(a.base - rest, a.type, a.terms, a.form)
    masked = combined(op, whole, b, max(low + 1, power_of_two(mask)), mask)
    if not mask & low:
        return masked
    if mask & (mask + 1) or not _has_known_parts(a, form):
        return replace(masked, ptxas_alignment=1, is_open=True)
    if not rest & 1:
        return combined(op, a, b, power_of_two(rest), mask)
    factors = {factor for _, factor in form.terms}
    is_shift = len(factors) == 1 and factors <= {power_of_two(low + 1)} and not _one_of(whole)
    return masked if is_shift else combined(f"{op} odd", whole, b, 1, mask)


def _has_known_parts(value: AffineInt, form: Scev) -> bool:
    """Returns whether no bit is known of a sum, and its constant is what the first thread has."""
    unknowns = {symbol.key for symbol, _ in value.terms}
    return all(key in unknowns or key.startswith("threadIdx") for key, _ in form.terms)


def _is_masked(form: Scev) -> bool:
    """Returns whether a sum is a multiple of bits that a mask or a shift leaves."""
    return len(form.terms) == 1 and form.terms[0][0].startswith(("(&", "(>>"))


def _shifted_scev(a: AffineInt, b: AffineInt, constant: int, *, is_quotient: bool) -> Scev:
    """Returns the form of `a >> b`.

    With x = 4 * t, `s[x / 2]` and `s[(x + 2) / 2]` are one LDS.64, so are more of them, and those
    of `>>` and of unsigned numbers, of `x + 3`, too; of an int, `x + 3` divided by 2 is a load of
    its own, as is `x + 1` (nvcc 13.0.88, sm_90, -O3). In loops of unknown length the first two stay
    apart where x is divided as an int or comes from outside. Where ones go out of `x + 3 >> 1`, the
    constant stays in multiples of `t & 28` and `t / 4`: no `(x + 1) >> 1` meets it, and
    `x + 3 >> 1` of `4 * (t & 31)` is no `x + 2 >> 1`. Open are those where more than two bits go,
    or sums with other constants and of other bits are shifted: some stay apart.

    Args:
        a: what is shifted.
        b: by how much.
        constant: the same, less than the bits that are known to be zero in the form.
        is_quotient: the source divides a signed number.
    """
    x = scev_of(a)
    most = x.most >> constant if x.most is not None else None
    low = _one_of(a) & x.alignment - 1
    out = low & (1 << constant) - 1
    if out and (is_quotient or (_is_masked(x) and x.shifted is not Shifted.MASKED)):
        whole = _one_of(a) >> constant  # with what is constant in it, which stays in the atom
        form = combined(">>", a, b, min(x.alignment >> constant, power_of_two(whole)), most)
        is_rounded = is_quotient or low > out
        return replace(form, shifted=Shifted.ROUNDED) if is_rounded else form
    rest = AffineInt(a.base - low, a.type, a.terms, a.form) if low else a
    form = combined(">>", rest, b, x.alignment >> constant, most)
    is_masked = all(key.startswith(("(&", "(%")) for key, _ in x.terms)
    if not low:
        return form
    if low == out and constant > _FEW_BITS:
        return replace(form, ptxas_alignment=1, is_open=True)
    is_added = _one_of(rest) and (out or not _has_known_parts(a, x))
    is_flipped = not out and any(key.startswith("(^") for key, _ in x.terms)
    if constant > _FEW_BITS or is_added or is_flipped:
        form = replace(form, ptxas_alignment=1, is_open=True)
    return replace(form, shifted=Shifted.MASKED if is_masked else Shifted.PARTED)


def _shifted_out(a: AffineInt, b: AffineInt) -> Scev:
    """Returns the form of `a >> b` where all bits go that are known to be constant.

    nvcc 13.0.88, sm_90, -O3, of `s[i + (i >> 5) * 4]` and i = x + 0, .., x + 3: one LDS.128 if i is
    unsigned or x = 4 * (t & 31), a LDS and a LDS.128 if x = 4 * t and i is signed. Where i is
    masked, too, as in `s[(i >> 5) * 36 + (i & 31)]`, or used for itself, all are LDS: it is open.
    """
    low = _one_of(a) & scev_of(a).alignment - 1
    if not low:
        return combined(">>", a, b)
    form = combined(">>", AffineInt(a.base - low, a.type, a.terms, a.form), b)
    return replace(form, is_open=True)


def bits_of_sum(op: str, a: AffineInt, b: AffineInt) -> str | None:
    """Returns what tells a sum from others of which bits are taken; None of what is none.

    LLVM sees through the `|` that it makes of `4 * t + 1` if only one operation takes bits of it.
    """
    form = scev_of(a)
    constant = _one_of(a) & form.alignment - 1
    known = b.base if isinstance(b.base, int) and not b.terms else -1
    if op in ("|", "^") and not known & constant:
        return None
    if not constant or (op in ("&", "%") and 0 <= known <= form.alignment):
        return None
    return f"{constant} {digest(f'{a.identity()} {form.terms}'.encode())}"


def parted_scev(a: Scev, b: Scev, total: Scev) -> Scev:
    """Returns the form of `a + b`, in one of which a constant stands behind a shift.

    The constant leaves the sum if the compiler knows what bits are shifted: four loads of
    `s[(16 * l + 4 * j >> 2) + 64 * w]` with l = threadIdx.x % 32 are one LDS.128, those with
    threadIdx.x or a size in the place of l four LDS, also in an array that is declared to be
    aligned; `s[w][16 * t + 4 * j >> 2]` is one LDS.128 (nvcc 13.0.88, sm_90, -O3).
    """
    if not a.terms or not b.terms or total.shifted is not Shifted.PARTED:
        return total
    return replace(total, alignment=1, ptxas_alignment=1)


def _possible_bits(value: AffineInt) -> int:
    """Returns the bits of a value that the compiler does not know to be zero."""
    form = scev_of(value)
    constant = _one_of(value) & form.alignment - 1
    most = int(np.min(value.base)) + (form.most or 0)
    is_bounded = (form.most is not None or not form.terms) and most >= 0
    varying = (1 << most.bit_length()) - 1 if is_bounded else -1
    return varying & -form.alignment | constant


def _is_of_bits(value: AffineInt, form: Scev) -> bool:
    """Returns whether a number is shifted from what a mask, a shift to the right or `^` left."""
    (key, factor), *others = form.terms or (("", 1),)
    is_one = not others and factor == power_of_two(factor) and not int(np.min(value.base)) & -factor
    return is_one and key.startswith(("(&", "(>>", "(^"))


def _joined_scev(op: str, a: AffineInt, b: AffineInt, *, is_shared: bool) -> Scev | None:
    """Returns the form of `a | b` or `a ^ b` that is a sum.

    It is where no bit can be in both, and where a constant meets none but constant bits: always of
    `|`, of `^` if these have all of its bits. That is open for these, for what stays `|` in PTX,
    and for a sum that is joined with a variable: it has to be used for nothing else. nvcc 13.0.88,
    sm_90, -O3, four loads with j = 0 to 3:

    | index | SASS |
    | --- | --- |
    | `32 * (t & 63) + (j ^ 4)`, `(8 * t + j) ^ 4`, `32 * t + (j ^ ((t & 7) * 4))` | one LDS.128 |
    | `(4 * t + j) ^ 1`, `(32 * t + j) ^ ((t & 7) * 4)` | one LDS.128: open |
    | `(4 * t + 3) ^ j`, `(32 * (t & 63) + j) ^ 4` | four LDS: open |
    | `(4 * t + j) ^ 3`, `(4 * t + j) ^ 4` | four LDS |

    Returns:
        None where it is no sum.
    """
    x, y = scev_of(a), scev_of(b)
    low = _one_of(a) & x.alignment - 1
    if y.terms or not isinstance(b.base, int):
        if is_shared or _possible_bits(a) & _possible_bits(b):
            return None
        form = sum_of(x, y)
        if (x.terms and low) or (y.terms and _one_of(b) & y.alignment - 1):
            form = replace(form, ptxas_alignment=1, is_open=True)
    elif _possible_bits(a) & b.base and not 0 <= b.base < x.alignment:
        return None
    elif op == "^" and low & b.base:
        return replace(x, ptxas_alignment=1, is_open=True) if low & b.base == b.base else None
    elif low and _is_of_bits(a, x) and x.shifted is Shifted.NOT:
        form = replace(x, ptxas_alignment=1, is_open=True)
    else:
        form = x
    return replace(form, shifted=max(form.shifted, Shifted.MASKED))


def operated_scev(
    op: str, a: AffineInt, b: AffineInt, *, signed: bool, is_shared: bool = False
) -> Scev:
    """Returns the form of `a op b` for the operators that are not sums or products.

    Args:
        op: the operation.
        a: its first operand.
        b: its second operand.
        signed: the result is.
        is_shared: bits of `a` were taken before (`bits_of_sum`).
    """
    if op == "|" and (whole := undivided(scev_of(a), scev_of(b))) is not None:
        return whole
    form = _operated_scev(op, a, b, signed=signed, is_shared=is_shared)
    split = _split(op, a, b) if form.terms else None
    return form if split is None else replace(form, split=split)


def _split(op: str, a: AffineInt, b: AffineInt) -> Split | None:
    """Returns what `a op b` is of a division by a constant."""
    if b.terms or not isinstance(b.base, int):
        return None
    constant = b.base
    cleared = -constant % (1 << _BITS_OF_INT)
    factor = 1
    if op == ">>" and 0 <= constant < _BITS_OF_INT:
        modulus = 1 << constant
    elif op == "&" and cleared > 1 and not cleared & (cleared - 1) and a.type.bits == _BITS_OF_INT:
        modulus = factor = cleared
    elif op == "&" and constant > 0 and not constant & (constant + 1):
        modulus = constant + 1
    elif op in ("/", "%") and constant > 0:
        modulus = constant
    else:
        return None
    if op in ("/", "%") and _is_compared(a, constant):
        return None
    down, to_zero = _divided(a)
    of = to_zero if op in ("/", "%") and a.type.signed else down
    return Split(of, scev_of(a), modulus, op in ("/", ">>") or factor > 1, factor)


def _divided(value: AffineInt) -> tuple[str, str]:
    """Returns what tells a number from others that are divided, rounded down and to zero."""
    of = f"{value.identity()} {scev_of(value).terms}"
    return digest(f"down {of}".encode()), digest(f"to 0 {of}".encode())


def _operated_scev(op: str, a: AffineInt, b: AffineInt, *, signed: bool, is_shared: bool) -> Scev:
    x, y = scev_of(a), scev_of(b)
    if not x.terms and not y.terms:
        return CONSTANT
    if op in ("|", "^"):
        joined = _joined_scev(op, a, b, is_shared=is_shared)
        if joined is not None:
            return joined
    if y.terms or not isinstance(b.base, int):
        both = min(x.alignment, y.alignment)
        return combined(op, a, b, both if op in ("&", "|", "^") else 1)
    constant = b.base
    is_power = constant > 0 and not constant & (constant - 1)
    is_quotient = op == "/" and signed and not _has_few_bits(a, x)
    is_exact = is_power and x.alignment >= constant and not _one_of(a) % constant
    if op == "/" and is_power and (not is_quotient or is_exact or _is_of_threads(a, x)):
        op, constant = ">>", constant.bit_length() - 1
    if (op, constant) in (("/", 1), (">>", 0)):
        return x
    if (op == "&" and 0 <= constant < x.alignment) or (op, constant) == ("%", 1):
        return CONSTANT
    masked = None
    is_mask = (op == "&" and constant > 0) or (op == "%" and is_power and not signed)
    if is_mask and not is_shared:
        masked = _masked_above(op, a, b, constant if op == "&" else constant - 1)
    if masked is not None:
        return masked
    if op == "&":
        most = constant if constant >= 0 else None
        return combined(op, a, b, max(power_of_two(constant), x.alignment), most)
    if op in ("|", "^") and constant >= 0:
        whole = _one_of(a) | constant if op == "|" else _one_of(a) ^ constant
        return combined(op, a, b, min(x.alignment, power_of_two(constant), power_of_two(whole)))
    if op == ">>" and 0 <= constant < x.alignment.bit_length():
        return _shifted_scev(a, b, constant, is_quotient=is_quotient)
    if op == ">>" and constant > 0 and not is_shared and not is_quotient:
        return _shifted_out(a, b)
    if op == "%" and constant > 0:
        return _remainder_scev(a, b, constant, signed=signed)
    return combined(op, a, b)


def _remainder_scev(a: AffineInt, b: AffineInt, constant: int, *, signed: bool) -> Scev:
    """Returns the form of `a % b`, which is `a - a / b * b` where no mask is made of it.

    Of `4 * t % 60` and `4 * t % 18` ptxas sees that 4 and 2 divide them, signed or not; nothing of
    an int's remainder by 64, in an array that is declared to be aligned LLVM does. Neither does of
    `4 * (t & 15) % 60`: LLVM compares and subtracts where it knows that a number is less than twice
    as large, and leaves it where it is less (nvcc 13.5.37, sm_90).
    """
    x, most = scev_of(a), _most_of(a)
    if most is not None and most < constant:
        return x
    is_natural = not signed or most is not None or _is_of_threads(a, x)
    is_mask = not constant & (constant - 1)
    is_masked = not signed or _has_few_bits(a, x)
    aligned = 1 if _is_compared(a, constant) else min(x.alignment, power_of_two(constant))
    form = combined("%", a, b, aligned, constant - 1 if is_natural else None)
    return replace(form, ptxas_alignment=1) if is_mask and not is_masked else form


def _most_of(value: AffineInt) -> int | None:
    """Returns the largest value that the compiler knows of one that is not negative, else None."""
    form = scev_of(value)
    if form.most is None or int(np.min(value.base)) < 0:
        return None
    return form.most + (_one_of(value) & form.alignment - 1)


def _is_compared(value: AffineInt, constant: int) -> bool:
    """Returns whether a division by a number that is no power of two is made a comparison."""
    most = _most_of(value)
    return most is not None and most < 2 * constant and bool(constant & (constant - 1))
