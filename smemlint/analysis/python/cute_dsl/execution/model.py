"""What the interpreter asks of the DSL in an executed program."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from functools import partial

from smemlint.analysis.python.cute_dsl.execution import members, numbers
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import combined_address, moved
from smemlint.analysis.python.cute_dsl.execution.libraries.torch import (
    TorchTensor,
    dtype_named,
    elementwise,
    torch_attribute,
)
from smemlint.analysis.python.cute_dsl.execution.merging import either
from smemlint.analysis.python.cute_dsl.execution.state import Execution, rename
from smemlint.analysis.python.cute_dsl.execution.storage import range_of
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Architecture,
    Cute,
    Number,
    Opaque,
    Origin,
    Pointer,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter import LibraryModel
from smemlint.analysis.python.interpreter.changes import Container
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Instance,
    Method,
    Symbol,
    Unknown,
    Value,
)
from smemlint.layout import cute
from smemlint.reasons import ReasonCode

_ARITHMETIC = Number | Opaque
_OF_ADDRESSES = (ast.Add, ast.Sub, ast.BitAnd, ast.BitXor)
_OF_ELEMENTS = ast.Add | ast.Sub | ast.Mult | ast.Div
_SWAPPED: dict[type[ast.AST], type[ast.cmpop]] = {
    ast.GtE: ast.LtE,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.Lt: ast.Gt,
}
_CONSTANTS = {"WARP_SIZE": 32, "WARPS_PER_WARPGROUP": 4, "THREADS_PER_WARPGROUP": 128}
"""Of `cutlass.cute.arch`."""
_HAVE_TYPES = ("cutlass", "torch", "numpy", "cute", "typing", "cutlass_dsl", "base_dsl")
"""Modules whose members are element types, by the names of these."""
_NUMBERS: dict[str, Value] = {
    f"math.{name}": getattr(math, name) for name in ("e", "inf", "pi", "tau")
}


class DslModel(LibraryModel):
    """The model of `cutlass` and of what host code uses with it."""

    def __init__(self, run: Execution) -> None:
        self.run = run

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns an element type, a member of an imported module, or the name itself."""
        path = symbol.path
        if path.startswith(("cutlass.", "torch.", "numpy.")):
            if symbol.name in _CONSTANTS:
                return _CONSTANTS[symbol.name]
            owner = path.split(".")[-2]
            found = (
                dtype_named(symbol.name)
                if owner
                in ("cutlass", "torch", "numpy", "cute", "typing", "cutlass_dsl", "base_dsl")
                else None
            )
            return found or symbol
        if path in _NUMBERS:
            return _NUMBERS[path]
        if path.startswith(
            ("builtins.", "math.", "functools.", "argparse.", "typing.", "operator.")
        ):
            return symbol
        found_member = self.run.texts.member(path, node)
        return found_member if found_member is not None else symbol

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a value of the DSL."""
        if isinstance(owner, TorchTensor):
            found = torch_attribute(owner, name)
            return found if found is not None else Method(owner, name)
        try:
            return members.attribute(self.run, owner, name)
        except cute.CuteError as error:
            return _unknown(error)

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Returns `owner[key]`."""
        if isinstance(owner, Symbol):
            if owner.name in ("MemRange", "Align"):
                return range_of(value, owner.name)
            return owner  # e.g. `cute.compile[options]`
        try:
            return members.subscript(self.run, owner, value, key)
        except cute.CuteError as error:
            return _unknown(error)

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns the result of an operator of which one side is no constant."""
        if isinstance(operation, ast.Eq | ast.NotEq):
            same = self._same(one, other)
            if same is not None:
                return same == isinstance(operation, ast.Eq)
        if isinstance(other, Architecture):
            one, operation, other = other, _SWAPPED.get(type(operation), ast.Eq)(), one
        if isinstance(one, Architecture):
            known = one.compared(operation, other.name) if isinstance(other, Symbol) else None
            return UNKNOWN if known is None else known
        if isinstance(operation, _OF_ELEMENTS) and TorchTensor in (type(one), type(other)):
            return elementwise(one, other)
        places = Pointer | UnknownTensor
        if isinstance(operation, ast.Add) and isinstance(payload_of(other), places):
            one, other = other, one
        pointer = payload_of(one)
        if isinstance(pointer, UnknownTensor) and isinstance(operation, ast.Add | ast.Sub):
            return one
        if isinstance(pointer, Pointer) and isinstance(operation, _OF_ADDRESSES):
            return self._of_address(pointer, operation, other)
        if isinstance(one, _ARITHMETIC) or isinstance(other, _ARITHMETIC):
            if isinstance(one, float) or isinstance(other, float):
                return DATA
            return numbers.calculate(self.run, operation, one, other)
        if self._are_shared_numbers(one, other):
            return numbers.calculate(self.run, operation, one, other)
        for value in (one, other):
            if isinstance(value, Unknown):
                return replace(value, is_uniform=False)
        return UNKNOWN

    def _of_address(self, pointer: Pointer, operation: ast.AST, other: Value) -> Value:
        """Returns a pointer further on or before, or what bits of an address make of it."""
        try:
            if isinstance(operation, ast.BitAnd | ast.BitXor):
                return combined_address(self.run, operation, pointer, other)
            sign = 1 if isinstance(operation, ast.Add) else -1
            return Cute(moved(self.run, pointer, other, sign))
        except cute.CuteError as error:
            return Cute(UnknownTensor(pointer.space, str(error), pointer.origin.dtype))

    def _are_shared_numbers(self, *values: Value) -> bool:
        """Returns whether values are numbers that all threads of a kernel share."""
        return self.run.kernel is not None and all(
            isinstance(v, int) or (isinstance(v, Unknown) and v.is_uniform) for v in values
        )

    def _same(self, one: Value, other: Value) -> bool | None:
        if isinstance(one, Symbol) and isinstance(other, Symbol):
            return numbers.tail(one) == numbers.tail(other)
        if isinstance(one, DType) or isinstance(other, DType):
            return one == other if isinstance(one, DType) and isinstance(other, DType) else None
        a, b = payload_of(one), payload_of(other)
        if (
            isinstance(a, cute.Layout)
            and isinstance(b, cute.Layout)
            and a.is_static
            and b.is_static
        ):
            return a == b
        return None

    def unary(self, operation: ast.unaryop, operand: Value) -> Value:
        """Returns the result of an operator of one operand."""
        if isinstance(operand, _ARITHMETIC) or self._are_shared_numbers(operand):
            if isinstance(operation, ast.Not):
                return numbers.calculate(self.run, ast.Eq(), operand, 0)
            if isinstance(operation, ast.USub):
                return numbers.calculate(self.run, ast.Sub(), 0, operand)
            return DATA
        return replace(operand, is_uniform=False) if isinstance(operand, Unknown) else UNKNOWN

    def assign_attribute(
        self, owner: Instance, name: str, value: Value, *, may_be_skipped: bool
    ) -> None:
        """Gives an attribute its value, which is undone where another path is executed."""
        self.run.changes.assign(owner, name, self.named(value, name), partial(either, self.run))

    def changes(self, owner: Container, *, may_be_skipped: bool) -> bool:
        """Takes note of a change of a container, which is undone where another path is executed."""
        self.run.changes.record_items(owner)
        return True

    def named(self, value: Value, name: str) -> Value:
        """Gives an array the name of the first variable that holds a tensor of it."""
        payload = payload_of(value)
        origin = payload.origin if isinstance(payload, cute.Tensor | Pointer) else None
        if isinstance(origin, Origin) and origin.object is not None:
            rename(origin.object, name)
        return value


def _unknown(error: cute.CuteError) -> Unknown:
    """Returns the value of an expression that the algebra refuses."""
    return Unknown.because(ReasonCode.UNKNOWN_LAYOUT, str(error))
