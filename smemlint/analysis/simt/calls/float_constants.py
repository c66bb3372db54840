"""Floating-point constants that literals initialize: the compiler folds what compares them.

Of `gemm(.., 1.f, 0.f)` with a parameter `const T beta` that is all that is left of
`if (beta == 0) c[i] = x; else c[i] = x + beta * c[i];`. No other floating-point value is followed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from smemlint.analysis.simt.domain.ctypes import BOOL, CType, FloatType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def as_constant(ev: Evaluator, variable: Variable, init: ir.Node | None) -> Variable:
    """Returns a variable, with its number if it is a constant that a literal initializes."""
    if not variable.is_constant or init is None or not isinstance(variable.type, FloatType):
        return variable
    number = _rounded(_number_of(ev, init), variable.type)
    return Variable(variable.object, variable.type, True, number)


def compared_constants(ev: Evaluator, op: str, node: ir.Node) -> AffineInt | None:
    """Returns the outcome of a comparison of two constants as 0 or 1; None of all others."""
    if not isinstance(node, ir.BinaryOp) or node.op != op or op not in _COMPARE:
        return None
    left, right = _number_of(ev, node.left), _number_of(ev, node.right)
    if left is None or right is None:
        return None
    return AffineInt(int(_COMPARE[op](left, right)), BOOL)


def _rounded(number: float | None, ctype: CType) -> float | None:
    if number is None or ctype.size not in (4, 8):
        return None
    return float(np.float32(number)) if ctype.size == 4 else number


def _number_of(ev: Evaluator, node: ir.Node) -> float | None:
    match node:
        case ir.Constant(value=text):
            try:
                number = float(text.rstrip("fFlLuU"))
            except ValueError:  # hexadecimal, a character
                return None
            return float(np.float32(number)) if text[-1] in "fF" else number
        case ir.UnaryOp(op="-", expr=expr):
            inner = _number_of(ev, expr)
            return None if inner is None else -inner
        case ir.ID(name=name):
            found = ev.state.lookup(name)
            return found.number if isinstance(found, Variable) else None
    return None
