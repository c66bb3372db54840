"""Choices: the value that a condition picks, known thread by thread or open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pycparser import c_ast

from smemlint.analysis.simt.domain.masks import is_any
from smemlint.analysis.simt.domain.scev import chosen
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    FloatValue,
    Int,
    OpenCondition,
    Pointer,
    Unknown,
    Value,
    assuming,
    bounds_of_truth,
    is_truth,
    open_condition,
    same,
    seen_by,
    select,
)
from smemlint.analysis.simt.interpreter.operators import Operators

if TYPE_CHECKING:
    from smemlint.analysis.simt.state import Mask

_ORDERS = frozenset(("<", "<=", ">", ">="))


class Choices(Operators):
    """Evaluates `?:` and joins what alternatives leave."""

    def _eval_TernaryOp(self, node: c_ast.TernaryOp) -> Value:
        condition = self.condition(self.evaluate(node.cond))
        mask = self.mask
        if isinstance(condition, Int):
            if condition.constant is not None:
                return self.evaluate(node.iftrue if condition.constant else node.iffalse)
            where = np.asarray(condition.base) != 0
            left = self._under(mask & where, node.iftrue)
            right = self._under(mask & ~where, node.iffalse)
            return _one_or_both(where, left, right)
        text = self.source(node.cond)
        self.note_data(condition, f"`{text}` holds", node.cond)
        may_hold, holds = bounds_of_truth(condition)
        left = self._assuming(f"`{text}` holds", mask & may_hold, node.iftrue)
        right = self._assuming(f"`{text}` does not hold", mask & ~holds, node.iffalse)
        if left is None or right is None:
            return _one_or_both(may_hold, left, right)
        return self.joined(left, right, condition, node)

    def note_data(self, condition: Unknown, holds: str, cond: c_ast.Node) -> None:
        """Remembers an assumption that holds for few threads, which only the data tell."""
        if condition.is_data and not condition.is_uniform and _singles_out(cond):
            self.data_conditions.add(holds)

    def _under(self, mask: Mask, node: c_ast.Node) -> Value | None:
        if not is_any(mask):
            return None
        before, self.mask = self.mask, mask
        try:
            return self.evaluate(node)
        finally:
            self.mask = before

    def _assuming(self, text: str, mask: Mask, node: c_ast.Node) -> Value | None:
        before = self.trace.events
        self.assumptions.append(text)
        try:
            return self._under(mask, node)
        finally:
            self.assumptions.pop()
            if self.trace.events > before:  # issued under a predicate of its own
                self.trace.fence("block")

    def joined(self, a: Value, b: Value, condition: Unknown, node: c_ast.Node) -> Value:
        """The value after an unknown condition chose between two."""
        if same(a, b):
            return a
        if isinstance(a, Int) and isinstance(b, Int):
            if condition.is_uniform:
                line = node.coord.line if node.coord else 0
                key = f"({line}?{a.identity()}:{b.identity()})"
                text = self.source(getattr(node, "cond", node))
                either = self.algebra.either(a, b, key, text)
                if either is not None:
                    return either
            if is_truth(a) and is_truth(b):
                return _truth_after(condition, a, b)
            inside = self._within_bounds(a, b, node)
            return inside or Unknown(condition.reason, condition.is_data)
        if isinstance(a, FloatValue) or isinstance(b, FloatValue):
            return a if isinstance(a, FloatValue) else b
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.object is b.object:
            offset = self.joined(a.offset, b.offset, condition, node)
            if isinstance(offset, Int):
                return Pointer(a.object, offset, a.target, a.is_volatile)
            return self.moved_away(a, offset) if isinstance(offset, Unknown) else offset
        if isinstance(a, Pointer) and isinstance(b, Pointer) and _lie_in_one_array(a, b):
            return self.moved_away(a, Unknown(condition.reason, condition.is_data))
        if isinstance(a, Aggregate) and isinstance(b, Aggregate):
            cells = {
                k: self.joined(v, b.cells.get(k, v), condition, node) for k, v in a.cells.items()
            }
            return Aggregate(a.type, cells)
        for value, other in ((a, b), (b, a)):
            if isinstance(value, OpenCondition) and is_truth(other):
                return _truth_after(condition, a, b)
            if isinstance(value, Unknown):
                return seen_by(None, value)
        return Unknown(condition.reason, condition.is_data)

    def _within_bounds(self, a: Int, b: Int, node: c_ast.Node) -> Int | None:
        """The one of two that varies by thread, where the other is the bound it is held to.

        `x < low ? low : x` and `if (x > high) x = high;` leave most threads as they are: the figure
        is that of blocks that the bound does not touch, and says so.
        """
        cond = getattr(node, "cond", None)
        if not (isinstance(cond, c_ast.BinaryOp) and cond.op in _ORDERS and _is_pure(cond)):
            return None
        self.trace.mute()
        sides = self.evaluate(cond.left), self.evaluate(cond.right)
        self.trace.unmute()
        for inside, bound, holds in ((a, b, "holds"), (b, a, "does not hold")):
            is_held = bound.is_uniform and not inside.is_uniform
            if is_held and any(same(x, inside) and same(y, bound) for x, y in (sides, sides[::-1])):
                return assuming(inside, f"`{self.source(cond)}` {holds}")
        return None


def _is_pure(node: c_ast.Node) -> bool:
    """Whether an expression only computes with variables and constants."""
    if isinstance(node, c_ast.UnaryOp):
        return node.op in ("-", "+", "~") and _is_pure(node.expr)
    if isinstance(node, c_ast.BinaryOp):
        return _is_pure(node.left) and _is_pure(node.right)
    return isinstance(node, c_ast.ID | c_ast.Constant)


def _singles_out(cond: c_ast.Node) -> bool:
    """Whether it tests for one value or bit: what an order parts, both halves are warps full of."""
    operators = _operators(cond)
    return bool(operators & {"==", "&"}) and not operators & {"<", ">", "<=", ">="}


def _operators(node: c_ast.Node) -> set[str]:
    own = {node.op} if isinstance(node, c_ast.BinaryOp) else set()
    return own.union(*(_operators(child) for _, child in node.children()))


def _truth_after(condition: Unknown, a: Value, b: Value) -> Unknown:
    """The truth value that is `a` where an open condition holds and `b` elsewhere."""
    may_hold, holds = bounds_of_truth(condition)
    (a_may, a_does), (b_may, b_does) = bounds_of_truth(a), bounds_of_truth(b)
    why = next((v for v in (a, b) if isinstance(v, Unknown)), condition)
    return open_condition(
        why, (may_hold & a_may) | (~holds & b_may), (~may_hold | a_does) & (holds | b_does)
    )


def _one_or_both(where: Mask, a: Value | None, b: Value | None) -> Value:
    if a is None:
        return b if b is not None else Unknown("nothing is evaluated")
    if b is None:
        return a
    made = select(where, a, b)
    if isinstance(a, Int) and isinstance(b, Int) and isinstance(made, Int) and made is not a:
        made.form = chosen(a, b, made)
    return made


def _lie_in_one_array(a: Pointer, b: Pointer) -> bool:
    """Whether both point into the same shared array, wherever that is."""
    return a.object.shared is not None and a.object.shared is b.object.shared
