"""Values of few unknowns: where an accumulation sums up more, one unknown stands for them.

`hash = hash * 31 + text[i]` over a thousand characters would be a sum of a thousand unknowns with
factors of five thousand bits, and every operation on it would go through all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from smemlint.analysis.simt.domain.lanes import Lanes, settled
from smemlint.analysis.simt.domain.values import ADDRESS, AffineInt, Symbol
from smemlint.limits.budgets import MAX_SUMMED

_LARGE = 1 << 63


def bounded(value: AffineInt, symbol: Callable[..., AffineInt]) -> AffineInt:
    """Returns the value with few unknowns, of factors of no more than 64 bits.

    Args:
        value: any.
        symbol: makes an unknown of a key, a name, a type and a number that divides it.
    """
    if not value.terms:
        return value
    if len(value.terms) <= MAX_SUMMED and all(_is_small(factor) for _, factor in value.terms):
        return value
    merged: list[tuple[Symbol, int]] = []
    rest: list[tuple[Symbol, Lanes]] = []
    for unknown, factor in value.terms:
        is_plain = type(unknown) is Symbol and not unknown.key.startswith(ADDRESS)
        if is_plain and isinstance(factor, int):
            merged.append((unknown, factor))
        else:
            rest.append((unknown, factor))
    if not merged:
        return value
    content = gcd(*(factor * unknown.multiple for unknown, factor in merged))
    part = AffineInt(0, value.type, tuple(merged))
    one = symbol(
        f"sum:{part.identity()}",
        f"{merged[0][0].name} + ..",
        value.type,
        multiple=gcd(content, 1 << value.type.bits),  # it may have wrapped around
    )
    base = settled(value.base + one.base)
    return AffineInt(base, value.type, (*rest, *one.terms), value.form)


def _is_small(factor: Lanes) -> bool:
    return not isinstance(factor, int) or -_LARGE < factor < _LARGE
