"""Abstract values of registers: exact lanes plus unknowns that are one number for a warp.

A register holds `base + sum(factor * symbol)` modulo `2**bits` in every known lane. What moves all
lanes of a warp alike only rotates the banks, so a figure stays exact although parameters, block
indices and trip counts are unknown.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_TERMS
from smemlint.reasons import Reason, ReasonCode

Lanes: TypeAlias = "int | NDArray[np.int64]"
"""One number for all lanes, or int64 of shape (warps, 32)."""
Known: TypeAlias = "bool | NDArray[np.bool_]"
"""Which lanes are known: all, none, or bool of shape (warps, 32)."""

WORD_BITS = 64
ANY = -1
"""The mask of a symbol of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why lanes are not known.

    Attributes:
        is_data: the lanes depend on the contents of memory.
    """

    reason: Reason
    is_data: bool = False


DATA = Cause(Reason(ReasonCode.DATA, "the address depends on data"), is_data=True)
UNSET = Cause(Reason(ReasonCode.NO_VALUE, "a register is read before it is written"))
PATHS = Cause(
    Reason(ReasonCode.UNKNOWN_CONDITION, "paths that lanes take apart compute different values")
)
NOT_LINEAR = Cause(
    Reason(ReasonCode.RESIDUES, "how far lanes lie apart depends on a value that is not known")
)


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """An unknown integer that all lanes of a warp share; warps may differ.

    Attributes:
        name: of the parameter or special register; empty for an intermediate result.
        mask: the bits that can be set; `ANY` where nothing is known.
    """

    name: str = ""
    mask: int = ANY


Terms: TypeAlias = "tuple[tuple[Symbol, int], ...]"


@dataclass(slots=True, eq=False)
class Value:
    """The contents of a register in all lanes of a block; never changed in place.

    Attributes:
        base: unsigned below 64 bits of width, two's complement at 64.
        terms: (symbol, factor); empty for exact lanes.
        bits: the sum holds modulo `2**bits`; of no meaning without terms.
        known: the lanes that the sum holds in.
        cause: why the others are not known.
    """

    base: Lanes
    terms: Terms = ()
    bits: int = WORD_BITS
    known: Known = True
    cause: Cause | None = None

    @property
    def is_top(self) -> bool:
        """Whether nothing is known in any lane."""
        return self.known is False

    @property
    def is_exact(self) -> bool:
        """Whether every lane is a known number."""
        return self.known is True and not self.terms

    @property
    def constant(self) -> int | None:
        """The number that every lane holds; None where there is none."""
        if self.known is True and not self.terms and isinstance(self.base, int):
            return self.base
        return None


ZERO = Value(0)
ONE = Value(1)


def top(cause: Cause) -> Value:
    """Returns the value of which no lane is known."""
    return Value(0, known=False, cause=cause)


def uniform(name: str = "", mask: int = ANY, factor: int = 1) -> Value:
    """Returns `factor` times a fresh unknown that is one number for each warp."""
    return Value(0, ((Symbol(name, mask), factor),))


def wrap(value: Lanes, width: int) -> Lanes:
    """Reduces numbers to registers of `width` bits: unsigned below 64, two's complement at 64."""
    if width < WORD_BITS:
        return value & ((1 << width) - 1)
    if isinstance(value, int):
        return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
    return value


def signed(value: Lanes, width: int) -> Lanes:
    """Reads registers of `width` bits as two's complement."""
    if width >= WORD_BITS:
        return value
    sign = 1 << (width - 1)
    return ((value & ((1 << width) - 1)) ^ sign) - sign


def unsigned(value: Lanes, width: int) -> Lanes:
    """Reads registers as unsigned numbers; arrays of 64-bit registers stay two's complement."""
    if width < WORD_BITS:
        return value & ((1 << width) - 1)
    return value & ((1 << 64) - 1) if isinstance(value, int) else value


def trailing_zeros(number: int) -> int:
    """Counts the zero bits below the lowest set bit; 64 for zero."""
    return (number & -number).bit_length() - 1 if number else WORD_BITS


def alignment(terms: Terms) -> int:
    """Returns how many low bits of the sum of terms are zero."""
    return min((trailing_zeros(factor) for _, factor in terms), default=WORD_BITS)


def is_row_uniform(lanes: Lanes) -> bool:
    """Returns whether the lanes of every warp hold one number."""
    return isinstance(lanes, int) or bool((lanes == lanes[:, :1]).all())


def is_uniform(value: Value) -> bool:
    """Returns whether all lanes of a warp hold one number, known or not."""
    return value.known is True and is_row_uniform(value.base)


def both_known(x: Known, y: Known) -> Known:
    """Returns the lanes that are known in both operands."""
    if isinstance(x, bool):
        return y if x else False
    if isinstance(y, bool):
        return x if y else False
    both: NDArray[np.bool_] = x & y
    return both if both.any() else False


def common_cause(*values: Value) -> Cause:
    """Returns the cause of an unknown result: data before all else."""
    causes = [v.cause for v in values if v.cause is not None]
    return next((c for c in causes if c.is_data), causes[0] if causes else NOT_LINEAR)


def cause_of(*values: Value) -> Cause | None:
    """Returns the cause that a partly known result takes over from its operands."""
    causes = [v for v in values if v.cause is not None]
    return common_cause(*causes) if causes else None


def weak(*values: Value) -> Value:
    """Returns the result of an operation that is not modelled: uniform if its operands are."""
    return uniform() if all(is_uniform(v) for v in values) else top(common_cause(*values))


def sum_terms(x: Terms, y: Terms, sign: int = 1) -> Terms:
    """Returns the terms of `x + sign * y`; too many become one."""
    if not y:
        return x
    table = dict(x)
    for symbol, factor in y:
        table[symbol] = table.get(symbol, 0) + sign * factor
    terms = tuple((s, f) for s, f in table.items() if f)
    return terms if len(terms) <= MAX_TERMS else collapsed(terms)


def collapsed(terms: Terms, *more: int) -> Terms:
    """Returns a fresh unknown times what divides all factors and `more`."""
    common = gcd(*(factor for _, factor in terms), *more)
    return ((Symbol(), common),) if common else ()


def scaled_terms(terms: Terms, factor: int) -> Terms:
    """Returns the terms of `factor * x`."""
    return tuple((s, f * factor) for s, f in terms) if factor else ()


def is_same_terms(x: Terms, y: Terms) -> bool:
    """Returns whether two sums of terms are one."""
    return x is y or x == y or (len(x) == len(y) and dict(x) == dict(y))


def possible_bits(terms: Terms) -> int:
    """Returns the bits that the sum of terms can set, negative for all from some bit on."""
    found = 0
    for symbol, factor in terms:
        if symbol.mask < 0 or factor < 0 or factor & (factor - 1):
            return -(1 << alignment(terms))
        bits = symbol.mask * factor
        if bits & found:
            return -(1 << alignment(terms))
        found |= bits
    return found


def union_of_bits(lanes: Lanes) -> int:
    """Returns the bits that are set in any lane."""
    return lanes if isinstance(lanes, int) else int(np.bitwise_or.reduce(lanes, axis=None))


def fits(value: Value, width: int) -> bool:
    """Returns whether a sum with terms provably lies in [0, 2**width): it does not wrap."""
    bits = possible_bits(value.terms)
    if bits < 0 or bits >> width or value.bits < width:
        return False
    base = union_of_bits(value.base)
    return 0 <= base < 1 << width and not base & bits
