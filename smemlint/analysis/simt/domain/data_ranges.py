"""Data that lies in a known range: `base + step * k`, where only `k` is a matter of data.

`table[(word >> 8 & 255) * 64 + threadIdx.x]` hangs on data, and all but eight bits of it are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.lanes import largest, smallest
from smemlint.analysis.simt.domain.values import AffineInt, DataRange, Unknown

if TYPE_CHECKING:
    from smemlint.analysis.simt.domain.ctypes import IntType
    from smemlint.analysis.simt.domain.lanes import Lanes
    from smemlint.analysis.simt.domain.values import Value

_BOUND = 1 << 31
_BYTE = 8
_BITS = 32


def in_range(why: Unknown, base: Lanes, step: int, count: int) -> Unknown:
    """Returns data of a range; without one where it may have wrapped around."""
    found = DataRange(why.reason, is_data=True, base=base, step=step, count=count)
    least, most = _ends(found)
    return found if least >= -_BOUND and most < _BOUND else without_range(why)


def _ends(data: DataRange) -> tuple[int, int]:
    """Returns the smallest and the largest value that any thread may have."""
    reach = data.step * (data.count - 1)
    return smallest(data.base) + min(reach, 0), largest(data.base) + max(reach, 0)


def without_range(why: Unknown) -> Unknown:
    """Returns data of which nothing is known."""
    return Unknown(why.reason, why.is_data) if isinstance(why, DataRange) else why


def operated(op: str, a: Value, b: Value) -> Unknown | None:
    """Returns `a op b` where one side is data and the result has a range; None for all else."""
    if op in ("&", "+", "*") and isinstance(b, Unknown):
        a, b = b, a
    if not isinstance(a, Unknown) or not isinstance(b, AffineInt):
        return None
    if not a.is_data or a.is_uniform or b.terms:
        return None
    constant = b.constant
    if op == "&":
        return _masked(a, constant) if constant is not None and constant > 0 else None
    if not isinstance(a, DataRange):
        return None
    if op in ("+", "-"):
        return moved(a, b.base if op == "+" else -b.base)
    if constant is None or constant < 0:
        return None
    match op:
        case "*":
            return scaled(a, constant)
        case "<<" if constant < _BITS:
            return scaled(a, 1 << constant)
        case ">>" | "%" if isinstance(a.base, int) and a.base == 0:
            return _narrowed(op, a, constant)
    return None


def _narrowed(op: str, data: DataRange, constant: int) -> Unknown | None:
    """Returns `data >> constant` or `data % constant` of data from 0 on."""
    if op == ">>" and constant < _BITS and not data.step % (1 << constant):
        return in_range(data, 0, data.step >> constant, data.count)
    if op == ">>" and constant < _BITS and data.step == 1:
        return in_range(data, 0, 1, max(data.count >> constant, 1))
    if op == "%" and constant and data.step == 1:
        return in_range(data, 0, 1, min(data.count, constant))
    return None


def converted(why: Unknown, kind: IntType) -> Unknown:
    """Returns data as a type: within its range, or with the one that the type has."""
    if not why.is_data or why.is_uniform:
        return why
    if isinstance(why, DataRange):
        least, most = _ends(why)
        bits = kind.bits - kind.signed
        if -(1 << bits) * kind.signed <= least and most < 1 << bits:
            return why
    is_byte = kind.bits == _BYTE and not kind.signed and not kind.is_bool
    return in_range(why, 0, 1, 1 << _BYTE) if is_byte else without_range(why)


def moved(data: DataRange, by: Lanes) -> Unknown:
    """Returns the data plus a number, one for each thread or for all."""
    if isinstance(by, int) and abs(by) > 2 * _BOUND:  # more than int64 lanes may hold
        return without_range(data)
    return in_range(data, data.base + by, data.step, data.count)


def scaled(data: DataRange, factor: int) -> Unknown:
    """Returns the data times a number."""
    if abs(factor) > 2 * _BOUND:
        return without_range(data)
    return in_range(data, data.base * factor, data.step * factor, data.count)


def _masked(why: Unknown, mask: int) -> Unknown | None:
    """Returns data of which a run of bits is kept; None for other bits."""
    step = mask & -mask
    count = mask // step + 1
    return in_range(why, 0, step, count) if not count & (count - 1) else None
