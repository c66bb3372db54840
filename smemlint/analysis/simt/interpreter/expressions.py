"""Expressions: values of c_ast nodes for all threads of the block at once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from smemlint.analysis.simt.domain.ctypes import (
    DOUBLE,
    FLOAT,
    I8,
    I32,
    I64,
    U32,
    U64,
    ArrayType,
    FloatType,
    IntType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    Callable,
    FloatValue,
    PartlyKnown,
    Pointer,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.interpreter.joins import Joins
from smemlint.analysis.simt.state import Variable
from smemlint.analysis.simt.types.resolve import CTYPES
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from pycparser import c_ast

_SUFFIX = re.compile(r"[uUlLzZ]+$")
_NUMBERS = frozenset((IntType, FloatType))
"""Types of which a local variable holds one value, which a name reads."""


class Expressions(Joins):
    """Evaluates expressions; calls live in `calls`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._evaluators: dict[type, Any] = {}

    def evaluate(self, node: c_ast.Node) -> Value:
        """The value of an expression; side effects happen for the active threads."""
        spend()
        method = self._evaluators.get(node.__class__)
        if method is None:
            name = node.__class__.__name__
            method = getattr(self, f"_eval_{name}", None)
            if method is None:
                return Unknown(f"a {name} is not evaluated")
            self._evaluators[node.__class__] = method
        return method(node)  # type: ignore[no-any-return]

    def _eval_Constant(self, node: c_ast.Constant) -> Value:
        text = node.value
        if node.type == "string":
            return Pointer(
                Object("string", ArrayType(I8, None), Space.GLOBAL, "string"), offset_of(0), I8
            )
        if node.type == "char" or text.startswith("'"):
            return number(_character(text), I8)
        if "int" in node.type:
            return _integer(text)
        return FloatValue(FLOAT if text[-1:] in "fF" else DOUBLE)

    def _eval_ID(self, node: c_ast.ID) -> Value:
        binding = self.binding(node.name, node)
        if binding.__class__ is Variable:
            if binding.type.__class__ in _NUMBERS and binding.object.space is Space.LOCAL:
                value = binding.object.cells.get(0)
                if value is not None and value.__class__ is not PartlyKnown:
                    return value
            return self.read(self._variable_place(binding), node)
        if isinstance(binding, CTYPES):
            return Callable(node.name, binding)
        return binding  # type: ignore[return-value]

    def _eval_ArrayRef(self, node: c_ast.ArrayRef) -> Value:
        place = self._element_place(node)
        return place if isinstance(place, Unknown) else self.read(place, node)

    def _eval_StructRef(self, node: c_ast.StructRef) -> Value:
        place = self._struct_place(node)
        return place if isinstance(place, Unknown) else self.read(place, node)

    def _eval_Assignment(self, node: c_ast.Assignment) -> Value:
        if node.op == "=":
            value = self.evaluate(node.rvalue)
            place = self.place(node.lvalue)
            if isinstance(place, Unknown):
                return value
            self.stored = node.rvalue if isinstance(place.type, RecordType) else None
            self.write(place, value, node.lvalue)
            self.stored = None
            return self.convert(value, place.type)
        place = self.place(node.lvalue)
        if isinstance(place, Unknown):
            self.evaluate(node.rvalue)
            return place
        if place.object.space is Space.LOCAL and isinstance(place.type, FloatType):
            self.evaluate(node.rvalue)  # an accumulator: its value is never followed
            self.spend(1)
            return FloatValue(place.type)
        value = self.evaluate(node.rvalue)
        old = self.read(place, node.lvalue)
        new = self.binary(node.op[:-1], old, value, node)
        self.write(place, new, node.lvalue)
        return new

    def _eval_ExprList(self, node: c_ast.ExprList) -> Value:
        value: Value = Unknown("an empty expression")
        for expr in node.exprs:
            value = self.evaluate(expr)
        return value

    def _eval_InitList(self, node: c_ast.InitList) -> Value:
        if len(node.exprs or ()) == 1:
            return self.evaluate(node.exprs[0])
        for expr in node.exprs or ():
            self.evaluate(expr)
        return Unknown("a braced list is not followed")

    def _eval_Typename(self, node: c_ast.Typename) -> Value:
        return Callable("type", self.resolve(node))


@lru_cache(1024)
def _integer(text: str) -> Value:
    suffix = _SUFFIX.search(text)
    digits = text[: suffix.start()] if suffix and not text.lower().startswith("0x") else text
    if text.lower().startswith("0x"):
        digits = text.rstrip("uUlLzZ")
    try:
        value = (
            int(digits, 0)
            if not (len(digits) > 1 and digits[0] == "0" and digits[1:].isdigit())
            else int(digits, 8)
        )
    except ValueError:
        return Unknown(f"`{text}` is not a number")
    letters = text[len(digits) :].lower()
    unsigned = "u" in letters
    wide = "l" in letters or "z" in letters or value >= 1 << 32
    if wide:
        return number(value, U64 if unsigned or value >= 1 << 63 else I64)
    if unsigned or (value >= 1 << 31 and digits[:1] == "0"):
        return number(value, U32)
    return number(value, I64 if value >= 1 << 31 else I32)


def _character(text: str) -> int:
    body = text[text.index("'") + 1 : -1]
    escapes = {"\\n": 10, "\\t": 9, "\\0": 0, "\\\\": 92, "\\'": 39, "\\r": 13}
    return escapes.get(body, ord(body[0]) if body else 0)
