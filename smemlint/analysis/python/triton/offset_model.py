"""Triton's index arithmetic in numbers: tiles of offsets as arrays, one entry an element.

What is not known keeps the reason, so that a comment which asks for a figure gets an answer.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.python.element_types import DTYPES
from smemlint.analysis.python.interpreter import LibraryModel
from smemlint.analysis.python.interpreter.arguments import BoundArguments, are_integers
from smemlint.analysis.python.interpreter.constant_folding import call_builtin, ceiling_quotient
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    ModelValue,
    Scope,
    Symbol,
    Unknown,
    Value,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_OFFSETS
from smemlint.reasons import ReasonCode

Numbers: TypeAlias = "NDArray[np.int64 | np.bool_]"
_LARGEST = (1 << 31) - 1
_KEEPS = frozenset(("multiple_of", "max_contiguous", "max_constancy", "constexpr", "to_tensor"))
_FROM_MEMORY = frozenset(("load", "atomic_add", "atomic_cas", "gather"))
_WIDE_ENOUGH = frozenset(("int32", "int64", "uint32", "uint64"))

_OPERATORS: dict[type[ast.AST], Callable[..., Numbers]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod, ast.LShift: np.left_shift, ast.RShift: np.right_shift,
    ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor,
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal,
    ast.Gt: np.greater, ast.GtE: np.greater_equal,
}  # fmt: skip
_ON_NATURALS = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
"""Operators that C and Python read differently for negative numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetTile(ModelValue):
    """A tensor of known numbers or truth values.

    Attributes:
        values: int64 or bool, of any shape.
    """

    values: Numbers


class OffsetModel(LibraryModel):
    """The model of Triton's index arithmetic."""

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of a function of `triton.language`, or of a tensor's method."""
        if isinstance(callee, Method):
            if callee.name == "to":
                return _converted(callee.owner, given.get(0, "dtype"))
            return _function(callee.name, [callee.owner, *given.positional], given.named)
        if isinstance(callee, Symbol):
            return _function(callee.name, given.positional, given.named)
        return UNKNOWN

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns the element type of this name, or the name itself."""
        bits = DTYPES.get(symbol.name)
        return DType(symbol.name, bits) if bits is not None else symbol

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a tile."""
        if isinstance(owner, OffsetTile):
            if name == "shape":
                return owner.values.shape
            return OffsetTile(owner.values.T) if name == "T" else Method(owner, name)
        if name == "value" and isinstance(owner, int):
            return owner
        return owner if isinstance(owner, Unknown) else UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Returns `x[:, None]`: a tile with another dimension of extent 1."""
        if not isinstance(owner, OffsetTile):
            return owner if isinstance(owner, Unknown) else UNKNOWN
        index: list[slice | None] = []
        for part in key.elts if isinstance(key, ast.Tuple) else [key]:
            if isinstance(part, ast.Constant) and part.value is None:
                index.append(None)
            elif isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None:
                index.append(slice(None))
            else:
                return Unknown.because(
                    ReasonCode.UNKNOWN_ADDRESS, "an index of a tensor is not evaluated"
                )
        if sum(part is not None for part in index) > owner.values.ndim:
            return UNKNOWN
        return OffsetTile(owner.values[tuple(index)])

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns the result of an elementwise operator, where 32-bit numbers hold it."""
        return _operate(operation, one, other)


def _operate(operation: ast.AST, one: Value, other: Value) -> Value:
    for side in (one, other):
        if isinstance(side, Unknown):
            return side
    left, right = _array(one), _array(other)
    operate = _OPERATORS.get(type(operation))
    if left is None or right is None or operate is None:
        return UNKNOWN
    if isinstance(operation, _ON_NATURALS) and ((left < 0).any() or (right < 0).any()):
        return Unknown.because(ReasonCode.NO_VALUE, "it divides or shifts negative numbers")
    if isinstance(operation, ast.FloorDiv | ast.Mod) and (right == 0).any():
        return Unknown.because(ReasonCode.NO_VALUE, "it divides by zero")
    if isinstance(operation, ast.LShift | ast.RShift) and (right > 31).any():
        return Unknown.because(ReasonCode.NO_VALUE, "it shifts by more than 31 bits")
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        return Unknown.because(
            ReasonCode.NOT_MODELLED,
            f"tensors of shapes {left.shape} and {right.shape} do not go together",
        )
    if prod(shape) > MAX_OFFSETS:
        return Unknown.because(ReasonCode.TOO_LARGE, f"more than {MAX_OFFSETS} elements")
    if not isinstance(operation, ast.BitAnd | ast.BitOr | ast.BitXor):
        left, right = left.astype(np.int64), right.astype(np.int64)
    # Both sides are below 2**31, and no result reaches 2**63.
    values = operate(left, right)
    if values.dtype != np.bool_ and (np.abs(values) > _LARGEST).any():
        return Unknown.because(ReasonCode.TOO_LARGE, "it leaves the range of 32-bit numbers")
    return OffsetTile(values)


def _array(value: Value) -> Numbers | None:
    if isinstance(value, OffsetTile):
        return value.values
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return np.asarray(value, dtype=np.bool_ if isinstance(value, bool) else np.int64)
    return None


def _function(name: str, arguments: list[Value], named: Scope) -> Value:
    """Returns the result of a function of `triton.language`, or of a tensor's method."""
    first = arguments[0] if arguments else UNKNOWN
    if name in _KEEPS:
        return first
    if name in _FROM_MEMORY:
        return Unknown.because(ReasonCode.DATA, "it is read from memory")
    if name in ("program_id", "num_programs"):
        return Unknown.because(
            ReasonCode.UNKNOWN_VALUE,
            "the number of the program is not known: leave it out of the expression",
        )
    for value in (*arguments, *named.values()):
        if isinstance(value, Unknown):
            return value
    match name:
        case "arange":
            ends = [*arguments[:2], *(named[k] for k in ("start", "end") if k in named)]
            return _arange(ends)
        case "range" | "static_range":
            ends = arguments[:3]
            return call_builtin("range", ends) if ends and are_integers(ends) else UNKNOWN
        case "cdiv":
            return ceiling_quotient(arguments)
        case "minimum" | "maximum" | "where" | "xor":
            return _elementwise(name, arguments)
        case "zeros":
            return _full(first, 0)
        case "full":
            return _full(first, arguments[1] if len(arguments) > 1 else 0)
    return _reshaped(name, first, arguments[1:])


def _full(shape: Value, value: Value) -> Value:
    extents = _shape(shape)
    if not extents or prod(extents) > MAX_OFFSETS or not isinstance(value, int):
        return UNKNOWN
    return OffsetTile(np.full(extents, value, dtype=np.int64))


def _arange(ends: Sequence[Value]) -> Value:
    match ends:
        case [int(start), int(end)]:
            if not 0 < end - start <= MAX_OFFSETS or max(abs(start), abs(end)) > _LARGEST:
                return Unknown.because(
                    ReasonCode.TOO_LARGE,
                    f"a `tl.arange` of none, or of more than {MAX_OFFSETS} elements",
                )
            return OffsetTile(np.arange(start, end, dtype=np.int64))
    return Unknown.because(ReasonCode.UNKNOWN_VALUE, "the ends of a `tl.arange` are not known")


def _elementwise(name: str, arguments: Sequence[Value]) -> Value:
    arrays = [_array(a) for a in arguments]
    if len(arrays) != (3 if name == "where" else 2) or any(a is None for a in arrays):
        return UNKNOWN
    functions: dict[str, Callable[..., Numbers]] = {
        "minimum": np.minimum, "maximum": np.maximum, "where": np.where, "xor": np.bitwise_xor,
    }  # fmt: skip
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays if a is not None))
    except ValueError:
        return UNKNOWN
    return OffsetTile(functions[name](*arrays)) if prod(shape) <= MAX_OFFSETS else UNKNOWN


def _reshaped(name: str, tile: Value, arguments: Sequence[Value]) -> Value:
    """Returns the result of a function that changes the shape or order of a tile only."""
    if not isinstance(tile, OffsetTile):
        return Unknown.because(ReasonCode.NOT_MODELLED, f"`{name}` is not evaluated")
    values = tile.values
    spread = arguments[0] if len(arguments) == 1 else tuple(arguments)
    shape = _shape(spread if isinstance(spread, tuple | list) else (spread,))
    try:
        match name:
            case "ravel":
                return OffsetTile(values.reshape(-1))
            case "expand_dims" if shape:
                return OffsetTile(np.expand_dims(values, shape))
            case "reshape" | "view" if shape:
                return OffsetTile(values.reshape(shape))
            case "broadcast_to" if shape and prod(shape) <= MAX_OFFSETS:
                return OffsetTile(np.broadcast_to(values, shape))
            case "trans" | "permute":
                return OffsetTile(values.transpose(shape or None))
    except ValueError as error:
        return Unknown.because(
            ReasonCode.NOT_MODELLED, f"`{name}` of a tensor of shape {values.shape}: {error}"
        )
    return Unknown.because(ReasonCode.NOT_MODELLED, f"`{name}` is not evaluated")


def _converted(tile: Value, dtype: Value) -> Value:
    """Returns the result of `.to(dtype)`, where the type holds all numbers."""
    name = dtype.name if isinstance(dtype, DType) else ""
    is_wide = name in _WIDE_ENOUGH
    is_signed = is_wide and not name.startswith("u")
    if isinstance(tile, OffsetTile) and (is_signed or (is_wide and not (tile.values < 0).any())):
        return OffsetTile(tile.values.astype(np.int64))
    return (
        tile
        if isinstance(tile, Unknown)
        else Unknown.because(ReasonCode.NOT_MODELLED, "a conversion is not evaluated")
    )


def _shape(value: Value) -> tuple[int, ...] | None:
    if not isinstance(value, tuple | list):
        return None
    found = tuple(n for n in value if isinstance(n, int) and not isinstance(n, bool))
    return found if len(found) == len(value) else None
