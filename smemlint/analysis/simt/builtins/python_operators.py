"""What Python's operators do that C's do not: rounding down, and indices from the end.

The front end for kernels in Python calls these as functions; no C++ source can name them so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.domain.ctypes import common
from smemlint.analysis.simt.domain.values import FloatValue, Int, Unknown, Value, settled

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.analysis.simt.builtins.intrinsics import Intrinsics
    from smemlint.analysis.simt.domain.values import Lanes

_MAYBE_NEGATIVE = "an index that is not known does not count from the end"


def floor_divide(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """`a // b`."""
    a, b = _operands(m, node)
    if not (isinstance(a, Int) and isinstance(b, Int)):
        return _other(a, b)
    if a.is_concrete and b.is_concrete:
        if np.any(np.equal(b.base, 0) & m.mask):
            return Unknown("division by zero")
        return Int(settled(a.base // _nonzero(b)), common(a.type, b.type))
    shift = _power_of_two(b)
    if shift is not None:  # rounds down whatever the sign
        return m.algebra.shift_right(a, Int(shift))
    return m.algebra.divide(a, b)


def floor_modulo(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """`a % b`, with the sign of `b`."""
    a, b = _operands(m, node)
    if not (isinstance(a, Int) and isinstance(b, Int)):
        return _other(a, b)
    if a.is_concrete and b.is_concrete:
        if np.any(np.equal(b.base, 0) & m.mask):
            return Unknown("division by zero")
        return Int(settled(a.base % _nonzero(b)), common(a.type, b.type))
    if _power_of_two(b) is not None:
        return m.algebra.bitwise("&", a, m.algebra.add(b, Int(1), -1))
    return m.algebra.modulo(a, b)


def from_end(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """An index into an array of known extent: negative ones count from the end."""
    index, extent = _operands(m, node)
    if not isinstance(index, Int) or not isinstance(extent, Int):
        return index
    if index.is_concrete and extent.constant is not None:
        if not np.any(np.less(index.base, 0)):
            return index
        wrapped = np.where(np.less(index.base, 0), index.base + extent.constant, index.base)
        return Int(settled(wrapped), index.type)
    is_open = not isinstance(m.algebra.compare(">=", index, Int(0)), Int)
    if is_open and _MAYBE_NEGATIVE not in m.assumptions:
        m.assumptions.append(_MAYBE_NEGATIVE)
    return index


def _operands(m: Intrinsics, node: c_ast.FuncCall) -> tuple[Value, Value]:
    a, b, *_ = m.values(node)
    return a, b


def _other(a: Value, b: Value) -> Value:
    for value in (a, b):
        if isinstance(value, Unknown):
            return value
    for value in (a, b):
        if isinstance(value, FloatValue):
            return value
    return Unknown("an operand is not a number")


def _nonzero(b: Int) -> Lanes:
    return (b.base or 1) if isinstance(b.base, int) else np.where(b.base == 0, 1, b.base)


def _power_of_two(b: Int) -> int | None:
    n = b.constant
    return n.bit_length() - 1 if n is not None and n > 0 and n & (n - 1) == 0 else None


TABLE = {
    "__floor_divide": floor_divide,
    "__floor_modulo": floor_modulo,
    "__from_end": from_end,
}
