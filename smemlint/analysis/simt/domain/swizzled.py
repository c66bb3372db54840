"""Swizzled addresses: the offset that a swizzle makes of an offset, lanes and unknowns included."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import AffineInt, Unknown
from smemlint.facts import LayoutUse
from smemlint.limits.budgets import MAX_SPLIT
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from smemlint.facts import SharedArray
    from smemlint.layout.declared import DeclaredSwizzle
    from smemlint.layout.swizzle import Swizzle

_WINDOW_ALIGNMENT = 1024
"""Bytes that a block's shared memory begins on a multiple of."""


def swizzled(offset: AffineInt, swizzle: Swizzle) -> AffineInt | Unknown:
    """Returns where an offset is kept; what is unknown in it must be whole periods of the swizzle.

    An unknown that is not asks for its residues (`Unknown.split`).
    """
    period = swizzle.period
    for symbol, factor in offset.terms:
        steps = factor if isinstance(factor, int) else int(np.gcd.reduce(factor, axis=None))
        step = steps * symbol.multiple
        if step % period:
            residues = period // gcd(step, period)
            text = f"`{symbol.name}` moves the address by less than the swizzle's {period}"
            reason = Reason(ReasonCode.RESIDUES, text)
            found = (symbol, symbol.multiple * residues) if residues <= MAX_SPLIT else None
            return Unknown(reason, split=found)
    moved = AffineInt(swizzle(offset.base), offset.type, offset.terms)
    if not isinstance(offset.base, int):
        # The exclusive-or hides from the compiler which accesses are neighbours, but not the bits
        # below those that it changes.
        alignment = min(scev_of(offset).alignment, 1 << swizzle.base)
        moved.form = atom(moved.identity(), alignment, is_divergent=True)
    return moved


def declared_use(array: SharedArray, declared: DeclaredSwizzle, kernel: str) -> LayoutUse:
    """Returns the declared swizzle of a whole array as a fact."""
    unit = array.element_bytes if declared.units == "bytes" else 1
    dims = [d for d in array.dims if d is not None]
    known = len(dims) == len(array.dims) and array.element_bytes > 0
    strides = tuple(prod(dims[i + 1 :]) * unit for i in range(len(dims)))
    s = declared.swizzle
    return LayoutUse(
        array.span,
        "declared",
        str(declared),
        kernel,
        (s.bits, s.base, s.shift),
        units=declared.units,
        element_bytes=array.element_bytes,
        shape=tuple(dims) if known else (),
        stride=strides if known else (),
        extent=prod(dims) * unit if known else None,
        array=array,
        assumptions=(
            Assumption(Topic.LAYOUT, f"`{array.name}` has the declared {declared}", array.name),
        ),
        is_bound=True,
        base=0,
    )


def placed(use: LayoutUse, bases: Mapping[str, int]) -> LayoutUse:
    """Returns the use with the address that its array gets.

    Args:
        use: of an array.
        bases: byte of the block's shared memory by name of a static array; the end of the static
            arrays under the empty name, where dynamic shared memory begins.
    """
    array = use.array
    if array is None or use.base is None:
        return use
    start = bases.get("" if array.is_dynamic else array.name)
    if start is None:
        return use
    start = -(-start // array.alignment) * array.alignment
    address = start + use.base
    alignment = address & -address if address else _WINDOW_ALIGNMENT
    return replace(use, address=address, alignment=min(alignment, _WINDOW_ALIGNMENT))
