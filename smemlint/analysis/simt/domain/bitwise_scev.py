"""Scalar evolution of what takes bits or a quotient: `&`, `|`, `^`, `>>`, `/`, `%`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.domain.integer_scev import (
    BITS_OF_INT,
    combined,
    divided_names,
    one_of,
    scev_of,
)
from smemlint.analysis.simt.domain.lanes import digest
from smemlint.analysis.simt.domain.scev import (
    CONSTANT,
    Scev,
    Shifted,
    Split,
    power_of_two,
    sum_of,
    undivided,
)
from smemlint.analysis.simt.domain.values import AffineInt

_PAIR = 2
_SIGNED = "%int"
"""The operator in the names of remainders that are no masks."""
_FEW_BITS = 2
"""That are shifted out of a sum whose constant LLVM takes out: of `(64 * t + 16 * i) >> 4` none."""


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
    """Returns the form of `x + c & mask` where c lies below the bits of x; else None.

    Read off the PTX and SASS of nvcc 13.0.88 (sm_90, -O3), of loads with j = 0, 1, ...:
    `(4 * t + j & 508) + j` is one LDS.128, since the mask takes j away. Where the mask keeps j
    (`4 * t + j & 511` and `(4 * t + j) % 512u`), every even j but 0 is computed anew; the odd ones
    stand behind j = 0 if x is one shift (`4 * t`, `2 * t + 2 * d`), behind each other if not
    (`4 * (t + 1)`, `12 * t`). It is open where the compiler may know bits: `(t & ~3) + j & 511` is
    one LDS.128.
    """
    form = scev_of(a)
    low = form.alignment - 1
    rest = one_of(a) & low
    if not rest or (mask & low and mask & low != low):
        return None
    whole = AffineInt(a.base - rest, a.type, a.terms, a.form)
    masked = combined(op, whole, b, max(low + 1, power_of_two(mask)), mask)
    if not mask & low or form.is_joined:
        return masked
    if mask & (mask + 1) or not _has_known_parts(a, form):
        return replace(masked, ptxas_alignment=1, is_open=True)
    if not rest & 1:
        return combined(op, a, b, power_of_two(rest), mask)
    factors = {factor for _, factor in form.terms}
    is_shift = len(factors) == 1 and factors <= {power_of_two(low + 1)} and not one_of(whole)
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
    low = one_of(a) & x.alignment - 1
    out = low & (1 << constant) - 1
    if out and (is_quotient or (_is_masked(x) and x.shifted is not Shifted.MASKED)):
        whole = one_of(a) >> constant  # with what is constant in it, which stays in the atom
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
    is_added = one_of(rest) and (out or not _has_known_parts(a, x))
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
    low = one_of(a) & scev_of(a).alignment - 1
    if not low:
        return combined(">>", a, b)
    form = combined(">>", AffineInt(a.base - low, a.type, a.terms, a.form), b)
    return form if scev_of(a).is_joined else replace(form, is_open=True)


def bits_of_sum(op: str, a: AffineInt, b: AffineInt) -> str | None:
    """Returns what tells a sum from others of which bits are taken; None of what is none.

    LLVM sees through the `|` that it makes of `4 * t + 1` if only one operation takes bits of it,
    and always through one of the source.
    """
    form = scev_of(a)
    constant = one_of(a) & form.alignment - 1
    known = b.base if isinstance(b.base, int) and not b.terms else -1
    if op in ("|", "^") and not known & constant:
        return None
    if not constant or form.is_joined or (op in ("&", "%") and 0 <= known <= form.alignment):
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
    constant = one_of(value) & form.alignment - 1
    most = int(np.min(value.base)) + (form.most or 0)
    is_bounded = (form.most is not None or not form.terms) and most >= 0
    varying = (1 << most.bit_length()) - 1 if is_bounded else -1
    return varying & -form.alignment | constant


def _clears_constants(value: AffineInt, mask: int) -> bool:
    """Returns whether a mask takes no bits of a number but those that the compiler knows.

    `s[2 * t & ~1]` and `s[2 * t + 1]` are one LDS.64, so are those of `(2 * t + 1) & ~1` and
    `2 * (t & 31) & 62`, but not of `2 * t & 4094`: LLVM knows no range of threadIdx (nvcc 13.5.37).
    """
    form = scev_of(value)
    cleared = ~mask & -form.alignment & (1 << value.type.bits) - 1
    if _has_few_bits(value, form):
        return not _possible_bits(value) & cleared
    return not cleared and not any(factor & ~mask for _, factor in value.terms)


def _is_of_bits(value: AffineInt, form: Scev) -> bool:
    """Returns whether a number is shifted from what a mask, a shift to the right or `^` left."""
    (key, factor), *others = form.terms or (("", 1),)
    is_one = not others and factor == power_of_two(factor) and not int(np.min(value.base)) & -factor
    return is_one and key.startswith(("(&", "(>>", "(^"))


def _joined_scev(op: str, a: AffineInt, b: AffineInt, *, is_shared: bool) -> Scev | None:
    """Returns the form of `a | b` or `a ^ b` that is a sum; None of others.

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
    """
    x, y = scev_of(a), scev_of(b)
    low = one_of(a) & x.alignment - 1
    if y.terms or not isinstance(b.base, int):
        if is_shared or _possible_bits(a) & _possible_bits(b):
            return None
        form = sum_of(x, y)
        if (x.terms and low) or (y.terms and one_of(b) & y.alignment - 1):
            form = replace(form, ptxas_alignment=1, is_open=True)
    elif _possible_bits(a) & b.base and not 0 <= b.base < x.alignment:
        return None
    elif op == "^" and low & b.base:
        return replace(x, ptxas_alignment=1, is_open=True) if low & b.base == b.base else None
    elif low and _is_of_bits(a, x) and x.shifted is Shifted.NOT:
        form = replace(x, ptxas_alignment=1, is_open=True)
    else:
        form = x
    return replace(form, shifted=max(form.shifted, Shifted.MASKED), is_joined=True)


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
    cleared = -constant % (1 << BITS_OF_INT)
    factor = 1
    if op == ">>" and 0 <= constant < BITS_OF_INT:
        modulus = 1 << constant
    elif op == "&" and cleared > 1 and not cleared & (cleared - 1) and a.type.bits == BITS_OF_INT:
        modulus = factor = cleared
    elif op == "&" and constant > 0 and not constant & (constant + 1):
        modulus = constant + 1
    elif op in ("/", "%") and constant > 0:
        modulus = constant
    else:
        return None
    if op in ("/", "%") and _is_compared(a, constant):
        return None
    down, to_zero = divided_names(a)
    of = to_zero if op in ("/", "%") and a.type.signed else down
    return Split(of, scev_of(a), modulus, op in ("/", ">>") or factor > 1, factor)


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
    is_exact = is_power and x.alignment >= constant and not one_of(a) % constant
    if op == "/" and is_power and (not is_quotient or is_exact or _is_of_threads(a, x)):
        op, constant = ">>", constant.bit_length() - 1
    is_kept = op == "&" and _clears_constants(a, constant)
    if is_kept or (op, constant) in (("/", 1), (">>", 0)):
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
        known = x.alignment if op == "^" else power_of_two(~constant & -x.alignment)
        whole = one_of(a) | constant if op == "|" else one_of(a) ^ constant
        form = combined(op, a, b, known)
        shown = min(x.ptxas_alignment, power_of_two(constant), power_of_two(whole))
        return replace(form, ptxas_alignment=shown)
    if op == ">>" and 0 <= constant < x.alignment.bit_length():
        return _shifted_scev(a, b, constant, is_quotient=is_quotient)
    if op == ">>" and constant > 0 and not is_shared and not is_quotient:
        return _shifted_out(a, b)
    if op == "%" and constant > 0:
        return _remainder_scev(a, b, constant, signed=signed)
    return combined(op, a, b)


def hides_alignment(form: Scev) -> bool:
    """Returns whether LLVM does not see how a sum of many terms is aligned, for a remainder."""
    return len(form.terms) > _PAIR and any(k.startswith(f"({_SIGNED} ") for k, _ in form.terms)


def _remainder_scev(a: AffineInt, b: AffineInt, constant: int, *, signed: bool) -> Scev:
    """Returns the form of `a % b`, which is `a - a / b * b` where no mask is made of it.

    Of `4 * t % 60` and `4 * t % 18` ptxas sees that 4 and 2 divide them, signed or not; nothing of
    an int's remainder by 64, in an array that is declared to be aligned LLVM does, in a sum of at
    most two terms: it looks no deeper (17 own sums, PTX of nvcc 13.5.37). Neither does of
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
    is_hidden = is_mask and not is_masked
    op = _SIGNED if is_hidden else "%"
    form = combined(op, a, b, aligned, constant - 1 if is_natural else None)
    return replace(form, ptxas_alignment=1) if is_hidden else form


def _most_of(value: AffineInt) -> int | None:
    """Returns the largest value that the compiler knows of one that is not negative, else None."""
    form = scev_of(value)
    if form.most is None or int(np.min(value.base)) < 0:
        return None
    return form.most + (one_of(value) & form.alignment - 1)


def _is_compared(value: AffineInt, constant: int) -> bool:
    """Returns whether a division by a number that is no power of two is made a comparison."""
    most = _most_of(value)
    return most is not None and most < 2 * constant and bool(constant & (constant - 1))
