"""Numbers between Python, the affine domain and the layout engine.

What a value is not raises `CuteError`: a number, a shape, a coordinate or a tiler.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Cute, Number, Opaque
from smemlint.analysis.python.interpreter.constant_folding import is_complete
from smemlint.analysis.python.interpreter.values import (
    BoundMethod,
    Class,
    Function,
    Instance,
    Method,
    Symbol,
    Unknown,
    Value,
)
from smemlint.analysis.simt.codegen.unrolled_sums import remember_iterations
from smemlint.analysis.simt.cute.run_time import RunTime, from_engine, to_engine
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.integer_scev import combined, scev_of
from smemlint.analysis.simt.domain.scev import power_of_two
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.layout import cute
from smemlint.layout.cute import Coordinate, Integer, IntTuple, Tiler
from smemlint.reasons import Reason, ReasonCode

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


_NO_NUMBER = Reason(ReasonCode.UNKNOWN_VALUE, "a number is not known")
_TOO_WIDE = UnknownNumber(
    Reason(ReasonCode.UNKNOWN_VALUE, "a number does not fit into the 32 bits of an Int32")
)
_NO_COORDINATE = Reason(ReasonCode.UNKNOWN_VALUE, "a coordinate is not known")
_FLOATING = Reason(ReasonCode.DATA, "an operator of floating-point numbers")
OPEN_CONDITION = Reason(ReasonCode.UNKNOWN_CONDITION, "the condition is not known")

# ---- arithmetic


def operand_of(run: Execution, value: Value) -> AffineInt | UnknownNumber:
    """Returns a value as a number of the domain."""
    match value:
        case bool() | int():
            return AffineInt(int(value), I32) if -(2**31) <= value < 2**31 else _TOO_WIDE
        case Number():
            return value.value
        case Opaque():
            return run.fresh(value.name)
        case Unknown(is_uniform=True):
            return run.number_of(value)
        case Unknown() if run.kernel is None:  # all threads share what the host computes
            return run.fresh("a number of the host", nonnegative=False)
        case Unknown():
            return UnknownNumber(value.reason or _NO_NUMBER)
    return UnknownNumber(Reason(ReasonCode.UNKNOWN_VALUE, "a value that is no integer"))


def calculate(run: Execution, operation: ast.AST, one: Value, other: Value) -> Number:
    """Returns the result of an operator of two numbers, one of which is known at run time only."""
    a, b = operand_of(run, one), operand_of(run, other)
    name = _OPERATORS.get(type(operation))
    unknown = next((v for v in (a, b) if isinstance(v, UnknownNumber)), None)
    if unknown is not None or name is None:
        return Number(unknown or UnknownNumber(_FLOATING))
    assert isinstance(a, AffineInt) and isinstance(b, AffineInt)
    result = run.domain.operate(name, a, b)
    if isinstance(result, AffineInt) and name == "^" and not result.is_uniform:
        # Nothing is taken out of it: four loads of `s[r, (4 * c + i) ^ (4 * r)]` are four LDS, of
        # `s[r, ((4 * c) ^ (4 * r)) + i]` one LDS.128 (nvidia-cutlass-dsl 4.8.1, sm_90a).
        known = power_of_two(int(np.gcd.reduce(result.base, axis=None))) if not result.terms else 1
        divisor = min(scev_of(a).alignment, scev_of(b).alignment, known)
        result.form = combined(name, a, b, divisor)
    if run.kernel is not None and run.kernel.loops.depth and isinstance(result, AffineInt):
        remember_iterations(result, a, b)
    return Number(result)


def truth_of(value: Value) -> bool | NDArray[np.bool_] | UnknownNumber:
    """Returns a condition: one outcome, one a thread, or that it is not known.

    Objects are true, and containers that have any items.
    """
    if isinstance(value, Number):
        held = value.value
        if isinstance(held, UnknownNumber):
            return held
        if held.terms:
            return UnknownNumber(OPEN_CONDITION, is_uniform=held.is_uniform)
        if isinstance(held.base, int):
            return bool(held.base)
        lanes = held.base != 0
        return bool(lanes[0]) if lanes.all() or not lanes.any() else lanes
    if isinstance(value, Instance | Class | Function | BoundMethod):
        return True
    if isinstance(value, tuple | list) or (isinstance(value, dict) and is_complete(value)):
        return bool(value)
    return UnknownNumber(OPEN_CONDITION, is_uniform=isinstance(value, Opaque))


# ---- to the engine


def integer(run: Execution, value: Value) -> Integer:
    """Returns a number for the engine: static where Python knows it."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Number | Opaque):
        found = operand_of(run, value)
        if isinstance(found, UnknownNumber):
            return cute.DynamicInt(RunTime(run.domain, found))
        return to_engine(found, run.domain)
    if isinstance(value, Unknown):
        raise cute.CuteError(str(value.reason or _NO_NUMBER))
    if isinstance(value, Method):
        raise cute.CuteError(f"`{value.name}` is not known")
    raise cute.CuteError("a value that is no integer stands where one is needed")


def int_tuple(run: Execution, value: Value) -> IntTuple:
    """Returns a shape or stride."""
    if isinstance(value, tuple | list):
        return tuple(int_tuple(run, item) for item in value)
    return integer(run, value)


def extents(run: Execution, value: Value) -> IntTuple:
    """Returns a shape; an extent that is not known stays so."""
    if isinstance(value, tuple | list):
        return tuple(extents(run, item) for item in value)
    if isinstance(value, Method):  # of an object of which nothing is known
        value = Unknown.because(ReasonCode.UNKNOWN_VALUE, f"`{value.name}` is not known")
    return _unknown(run, value, _NO_NUMBER) if isinstance(value, Unknown) else integer(run, value)


def _unknown(run: Execution, value: Unknown, otherwise: Reason) -> cute.DynamicInt:
    return cute.DynamicInt(RunTime(run.domain, UnknownNumber(value.reason or otherwise)))


def coordinate(run: Execution, value: Value) -> Coordinate:
    """Returns a coordinate; None keeps a mode, and what is not known stays so."""
    if isinstance(value, tuple | list):
        return tuple(coordinate(run, item) for item in value)
    if value is None:
        return cute.UNDERSCORE
    if isinstance(value, Unknown):
        return _unknown(run, value, _NO_COORDINATE)
    return integer(run, value)


def tiler(run: Execution, value: Value) -> Tiler:
    """Returns a layout, a number, an underscore, or a tuple of such."""
    if isinstance(value, tuple | list):
        return tuple(tiler(run, item) for item in value)
    if value is None:
        return cute.UNDERSCORE
    if isinstance(value, Cute):
        if isinstance(value.payload, cute.Layout):
            return value.payload
        raise cute.CuteError("a tiler that is no layout")
    return integer(run, value)


# ---- from the engine


def value_of(run: Execution, tree: Any) -> Value:
    """Returns a number, a nested tuple or a layout of the engine as a value."""
    if isinstance(tree, tuple):
        return tuple(value_of(run, item) for item in tree)
    if isinstance(tree, bool | int):
        return int(tree)
    if isinstance(tree, cute.DynamicInt):
        if tree.value is None:
            return Number(run.fresh("extent"))
        return Number(from_engine(tree))
    return None if tree is cute.UNDERSCORE else Cute(tree)


def tail(symbol: Symbol, count: int = 2) -> str:
    """Returns the last parts of a dotted name, which identify members of enumerations."""
    return ".".join(symbol.path.split(".")[-count:])
