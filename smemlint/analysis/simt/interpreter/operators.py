"""Operators: arithmetic and logic of numbers and pointers, increments, sizes."""

from __future__ import annotations

import numpy as np
from pycparser import c_ast

from smemlint.analysis.simt.domain.affine import COMPARISONS, is_plain
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I64,
    U64,
    CType,
)
from smemlint.analysis.simt.domain.masks import is_any
from smemlint.analysis.simt.domain.scev import operated
from smemlint.analysis.simt.domain.values import (
    Callable,
    FloatValue,
    Int,
    OpenCondition,
    Pointer,
    Unknown,
    Value,
    bounds_of_truth,
    number,
    open_condition,
    propagated,
)
from smemlint.analysis.simt.interpreter.accesses import Accesses
from smemlint.analysis.simt.interpreter.lvalues import is_lost, why_lost
from smemlint.analysis.simt.state import Place, is_reference
from smemlint.analysis.simt.types.resolve import CTYPES


class Operators(Accesses):
    """Evaluates unary and binary operators."""

    follows_forms = True
    """Whether integers keep how the compiler computes them, which fusion needs."""

    def _eval_UnaryOp(self, node: c_ast.UnaryOp) -> Value:
        op = node.op
        if op in ("sizeof", "alignof", "_Alignof", "__alignof__"):
            return self._size(node, op)
        if op == "&":
            return self._address(node.expr)
        if op in ("++", "--", "p++", "p--"):
            return self.incremented(node)[1]
        value = self.evaluate(node.expr)
        if op == "*":
            place = self.target_of(value, node)
            return place if isinstance(place, Unknown) else self.read(place, node)
        if isinstance(value, FloatValue):
            return (
                Unknown("a condition on a floating-point number", is_data=True)
                if op == "!"
                else value
            )
        if isinstance(value, Pointer) and op == "!":
            return number(0, BOOL)
        if isinstance(value, OpenCondition) and op == "!":
            return value.negated()
        if not isinstance(value, Int):
            return (
                propagated(value, value)
                if isinstance(value, Unknown)
                else Unknown(f"operand of `{op}` is not a number")
            )
        match op:
            case "-":
                return self.algebra.add(Int(0, value.type), value, -1)
            case "+":
                return value
            case "~":
                return self.algebra.add(self.algebra.add(Int(0, value.type), value, -1), Int(-1), 1)
            case "!":
                return self.algebra.compare("==", value, Int(0))
        return Unknown(f"operator `{op}` is not evaluated")

    def _size(self, node: c_ast.UnaryOp, op: str) -> Value:
        kind: CType | None
        if isinstance(node.expr, c_ast.Typename):
            kind = self.resolve(node.expr)
        else:
            self.trace.mute()
            try:
                place = self.place(node.expr)
                kind = place.type if isinstance(place, Place) else None
                if isinstance(place, Unknown):
                    value = self.evaluate(node.expr)
                    held = value.payload if isinstance(value, Callable) else None
                    kind = held if isinstance(held, CTYPES) else None
            finally:
                self.trace.unmute()
        if kind is not None and is_reference(kind):
            kind = kind.target  # type: ignore[union-attr]
        size = (kind.size if op == "sizeof" else kind.align) if kind is not None else 0
        return (
            number(size, U64)
            if size
            else Unknown(f"`{self.source(node)}` is not known", is_uniform=True)
        )

    def incremented(self, node: c_ast.UnaryOp) -> tuple[Place | Unknown, Value]:
        """The place of `++x` or `x++`, and the value of the expression."""
        place = self.place(node.expr)
        if isinstance(place, Unknown):
            return place, place
        old = self.read(place, node.expr)
        new = self.binary("+" if "+" in node.op else "-", old, number(1), node)
        self.write(place, new, node.expr)
        return place, old if node.op.startswith("p") else new

    def _eval_BinaryOp(self, node: c_ast.BinaryOp) -> Value:
        if node.op in ("&&", "||"):
            return self._logical(node)
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def _logical(self, node: c_ast.BinaryOp) -> Value:
        left = self.condition(self.evaluate(node.left))
        short = 0 if node.op == "&&" else 1
        if (
            isinstance(left, Int)
            and left.constant is not None
            and (left.constant != 0) == bool(short)
        ):
            return number(short, BOOL)
        mask = self.mask
        may_hold, holds = bounds_of_truth(left)
        self.mask = mask & (may_hold if node.op == "&&" else ~holds)
        right = (
            self.condition(self.evaluate(node.right)) if is_any(self.mask) else number(short, BOOL)
        )
        self.mask = mask
        if isinstance(left, Int) and isinstance(right, Int):
            op = "&" if node.op == "&&" else "|"
            both = self.algebra.bitwise(op, left, right)
            return Int(both.base, BOOL) if isinstance(both, Int) else both
        for known, other in ((left, right), (right, left)):
            if isinstance(known, Int) and known.constant is not None:
                return number(short, BOOL) if (known.constant != 0) == bool(short) else other
        unknown = left if isinstance(left, Unknown) else right
        assert isinstance(unknown, Unknown)
        if left.is_uniform and right.is_uniform:
            return Unknown(unknown.reason, unknown.is_data, is_uniform=True)
        is_data = any(isinstance(v, Unknown) and v.is_data for v in (left, right))
        other_may, other_does = bounds_of_truth(right)
        combine = np.logical_and if node.op == "&&" else np.logical_or
        return open_condition(
            Unknown(unknown.reason, is_data),
            combine(may_hold, other_may),
            combine(holds, other_does),
        )

    def binary(self, op: str, a: Value, b: Value, node: c_ast.Node) -> Value:
        """`a op b` for the built-in operators."""
        if a.__class__ is Int and b.__class__ is Int:
            return self._integers(op, a, b, node)
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            return self._pointer_operation(op, a, b)
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return propagated(a, b)
        if isinstance(a, FloatValue) or isinstance(b, FloatValue):
            self.spend(1)
            if op in COMPARISONS:
                return Unknown("a condition on a floating-point number", is_data=True)
            return a if isinstance(a, FloatValue) else b
        if self.loops:
            self.spend_on(node)
        return self.operator_call(op, a, b, node)

    def _integers(self, op: str, a: Int, b: Int, node: c_ast.Node) -> Value:
        if self.loops:
            self.spend_on(node)
        try:
            result = self.algebra.operate(op, a, b)
        except OverflowError:
            return Unknown("a number does not fit into 64 bits")
        if result.__class__ is Int and self.follows_forms and _may_have_form(result, a, b):
            result.form = operated(op, a, b, signed=result.type.signed)
        return result

    def operator_call(self, op: str, a: Value, b: Value, node: c_ast.Node) -> Value:
        """An overloaded operator on class objects."""
        return Unknown(f"operator `{op}` on class objects is not followed")

    def _pointer_operation(self, op: str, a: Value, b: Value) -> Value:
        if op == "+" and isinstance(a, Pointer):
            return self._moved(a, b)
        if op == "+" and isinstance(b, Pointer):
            return self._moved(b, a)
        if op == "-" and isinstance(a, Pointer) and not isinstance(b, Pointer):
            return self._moved(a, b, -1)
        for pointer in (a, b):
            if isinstance(pointer, Pointer) and is_lost(pointer.offset):
                return why_lost(pointer.object)
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
            difference = self.algebra.add(a.offset, b.offset, -1)
            if op == "-":
                return self.algebra.divide(difference, Int(max(a.target.size, 1), I64))
            if op in COMPARISONS:
                return self.algebra.compare(op, difference, Int(0, I64))
        if op in ("==", "!="):  # against nullptr: pointers that we know are not null
            return number(int(op == "!="), BOOL)
        return Unknown("pointers into different objects are combined")


def _may_have_form(result: Int, a: Int, b: Int) -> bool:
    """Whether a result without a form comes from something the compiler does not know."""
    if result.form is not None:
        return False
    return not (is_plain(a) and is_plain(b))
