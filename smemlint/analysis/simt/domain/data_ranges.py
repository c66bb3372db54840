"""Data that lies in a known range: `base + step * k`, where only `k` is a matter of data.

`table[(word >> 8 & 255) * 64 + threadIdx.x]` hangs on data, and all but eight bits of it are known.
Of `table[word * 64 + threadIdx.x]` the lowest six bits are. What the threads of a warp load from
one address, or tell one another, differs between warps only: `table[begins[warp] + lane]`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from smemlint.analysis.simt.domain.ctypes import IntType
from smemlint.analysis.simt.domain.lanes import Lanes, largest, smallest, varies_in_a_warp
from smemlint.analysis.simt.domain.values import AffineInt, DataRange, Unknown, Value

_BOUND = 1 << 31
_BYTE = 8
_BITS = 32
_PERIOD = 1 << _BITS
"""Values of 32 bits: of a product that wraps around, no larger power of two divides the result."""


def is_divergent_data(value: Value) -> TypeGuard[Unknown]:
    """Returns whether a value is data that may differ from thread to thread."""
    if isinstance(value, DataRange):
        return True
    return value.__class__ is Unknown and value.is_data and not value.is_uniform


def in_range(why: Unknown, base: Lanes, step: int, count: int) -> Unknown:
    """Returns data of a range; without one where it may have wrapped around.

    Args:
        why: the data.
        base: the first value, of each lane.
        step: between neighbouring values.
        count: number of values.
    """
    found = DataRange(why.reason, why.is_data, split=why.split, base=base, step=step, count=count)
    least, most = _ends(found, count)
    return found if least >= -_BOUND and most < _BOUND else without_range(why)


def one_for_a_warp(why: Unknown) -> DataRange:
    """Returns data, or another unknown, of which all threads of a warp hold the same."""
    found = DataRange(why.reason, why.is_data, split=why.split, base=0, step=1, count=None)
    return replace(found, is_one_for_a_warp=True)


def agrees_by_warp(value: Value) -> bool:
    """Returns whether all threads of every warp hold one value."""
    if isinstance(value, AffineInt):
        return not any(
            varies_in_a_warp(part) for part in (value.base, *(c for _, c in value.terms))
        )
    if isinstance(value, DataRange):
        return value.is_one_for_a_warp and not varies_in_a_warp(value.base)
    return isinstance(value, Unknown) and value.is_uniform


def _multiples(why: Unknown, base: Lanes, step: int) -> Unknown:
    """Returns data of which it is known what it leaves by a power of two that divides `step`."""
    step = min(step & -step, _PERIOD)
    if isinstance(why, DataRange) and why.is_one_for_a_warp:
        is_near = smallest(base) >= -_BOUND and largest(base) < _BOUND
        return replace(why, base=base, step=step) if is_near else without_range(why)
    if step < 2:
        return without_range(why)
    base = base % step
    return DataRange(why.reason, why.is_data, split=why.split, base=base, step=step, count=None)


def _ends(data: DataRange, count: int) -> tuple[int, int]:
    """Returns the smallest and the largest value that any thread may have."""
    reach = data.step * (count - 1)
    return smallest(data.base) + min(reach, 0), largest(data.base) + max(reach, 0)


def without_range(why: Unknown) -> Unknown:
    """Returns data of which nothing is known."""
    is_range = isinstance(why, DataRange)
    return Unknown(why.reason, why.is_data, split=why.split) if is_range else why


def operated(op: str, a: Value, b: Value) -> Unknown | None:
    """Returns `a op b` where one side is data and more than that is known; None for all else."""
    found = _with_range(op, a, b)
    if isinstance(found, DataRange):
        return found
    data = next((v for v in (a, b) if isinstance(v, DataRange)), None)
    if data is not None and agrees_by_warp(a) and agrees_by_warp(b):
        return one_for_a_warp(data)
    return found


def _with_range(op: str, a: Value, b: Value) -> Unknown | None:
    if op in ("&", "+", "*") and isinstance(b, Unknown):
        a, b = b, a
    if not is_divergent_data(a) or not isinstance(b, AffineInt) or b.terms:
        return None
    constant = b.constant
    if op == "&":
        return _masked(a, constant) if constant is not None and constant > 0 else None
    if op in ("+", "-"):
        return moved(a, b.base if op == "+" else -b.base) if isinstance(a, DataRange) else None
    if constant is None or constant < 0:
        return None
    match op:
        case "*":
            return scaled(a, constant)
        case "<<" if constant < _BITS:
            return scaled(a, 1 << constant)
        case ">>" | "%" if isinstance(a, DataRange) and isinstance(a.base, int) and a.base == 0:
            return _narrowed(op, a, constant)
    return None


def _narrowed(op: str, data: DataRange, constant: int) -> Unknown | None:
    """Returns `data >> constant` or `data % constant` of data from 0 on."""
    if data.count is None:
        keeps_step = op == ">>" and constant < _BITS and data.step >> constant
        return _multiples(data, 0, data.step >> constant) if keeps_step else None
    if op == ">>" and constant < _BITS and not data.step % (1 << constant):
        return in_range(data, 0, data.step >> constant, data.count)
    if op == ">>" and constant < _BITS and data.step == 1:
        return in_range(data, 0, 1, max(data.count >> constant, 1))
    if op == "%" and constant and data.step == 1:
        return in_range(data, 0, 1, min(data.count, constant))
    return None


def converted(why: Unknown, ctype: IntType) -> Unknown:
    """Returns data as a type: within its range, or with the one that the type has."""
    if not is_divergent_data(why):
        return why
    if isinstance(why, DataRange) and why.count is None and ctype.bits >= _BITS:
        return why
    if isinstance(why, DataRange) and agrees_by_warp(why):
        return one_for_a_warp(why)
    if isinstance(why, DataRange) and why.count is not None:
        least, most = _ends(why, why.count)
        bits = ctype.bits - ctype.signed
        if -(1 << bits) * ctype.signed <= least and most < 1 << bits:
            return why
    is_byte = ctype.bits == _BYTE and not ctype.signed and not ctype.is_bool
    return in_range(why, 0, 1, 1 << _BYTE) if is_byte else without_range(why)


def moved(data: DataRange, by: Lanes) -> Unknown:
    """Returns the data plus a number, one for each thread or for all."""
    if isinstance(by, int) and abs(by) > 2 * _BOUND:  # more than int64 lanes may hold
        return without_range(data)
    if data.count is None:
        return _multiples(data, data.base + by, data.step)
    return in_range(data, data.base + by, data.step, data.count)


def scaled(data: Unknown, factor: int) -> Unknown:
    """Returns data times a number."""
    if abs(factor) > 2 * _BOUND:
        return without_range(data)
    if not isinstance(data, DataRange):
        return _multiples(data, 0, factor)
    if data.count is None:
        return _multiples(data, data.base * factor, data.step * factor)
    return in_range(data, data.base * factor, data.step * factor, data.count)


def _masked(why: Unknown, mask: int) -> Unknown | None:
    """Returns data of which a run of bits is kept; None for other bits."""
    step = mask & -mask
    count = mask // step + 1
    return in_range(why, 0, step, count) if not count & (count - 1) else None
