"""Guesses at element types that a program refuses, and the types that it takes in their place.

A guess is an object of its own for each parameter, so that a type that is met somewhere in the
program is known again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise

from smemlint.analysis.python.cute_dsl.execution.values import AnyTensor, Origin, UnknownTensor
from smemlint.analysis.python.interpreter.values import DType, Value
from smemlint.lazy_dataclasses import dataclass

_OF_WIDTH = {
    4: DType("Float4E2M1FN", 4),
    8: DType("Float8E4M3FN", 8),
    16: DType("Float16", 16),
    32: DType("Float32", 32),
    64: DType("Float64", 64),
}


class RefutedGuess(Exception):
    """The host refuses a guess, so that what an execution with it gives is not needed."""


@dataclass(slots=True, eq=False)
class GuessedTypes:
    """The element types that parameters were given as guesses.

    Attributes:
        refuted: parameters whose guess the program refuses -> the type that it takes.
        stops: an execution ends where its host refuses a guess.
    """

    refuted: dict[ast.arg, DType] = field(default_factory=dict)
    stops: bool = False
    _given: dict[int, tuple[DType, ast.arg]] = field(default_factory=dict)

    def give(self, parameter: ast.arg, dtype: DType) -> DType:
        """Returns a guess for a parameter, an object of its own."""
        own = replace(dtype)
        self._given[id(own)] = own, parameter
        return own

    def _take(self, guess: Value, dtype: Value) -> None:
        """Takes note that a program takes a type, if it is known, where there is a guess."""
        if id(guess) in self._given and id(dtype) not in self._given and isinstance(dtype, DType):
            own, parameter = self._given[id(guess)]
            if own != dtype:
                self.refuted.setdefault(parameter, dtype)

    def learn_width(self, dtype: DType, bits: int) -> None:
        """Takes note of an operation that has no elements of fewer bits."""
        if dtype.bits < bits:
            self._take(dtype, _OF_WIDTH[bits])

    def learn_block_scaled(self, operands: Iterable[Value], scale: Value, bits: int) -> None:
        """Takes note of a block-scaled MMA, whose operands and scale factors are no halves."""
        for dtype, width in ((scale, 8), *((operand, bits) for operand in operands)):
            if isinstance(dtype, DType) and dtype.bits > 8:
                self._take(dtype, _OF_WIDTH[width])

    def learn_from_copy(self, sides: Sequence[AnyTensor]) -> None:
        """Takes note of a copy between elements of two widths, which CuTe refuses."""
        one, other = map(_element_of, sides)
        if one is not None and other is not None and one.bits != other.bits:
            self._take(one, other)
            self._take(other, one)

    def learn(self, test: ast.expr, evaluate: Callable[[ast.expr], Value], *, holds: bool) -> None:
        """Takes note of the types with which a condition has an outcome.

        Args:
            test: the condition.
            evaluate: returns the value of a part of it.
            holds: its outcome.
        """
        match test:
            case ast.Call(args=[inner]) if ast.unparse(test.func).endswith("const_expr"):
                self.learn(inner, evaluate, holds=holds)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.learn(operand, evaluate, holds=not holds)
            case ast.BoolOp(values=parts) if isinstance(test.op, ast.And) == holds:
                for part in parts:
                    self.learn(part, evaluate, holds=holds)
            case ast.Compare() if len(test.ops) == 1 or holds:
                for (one, other), op in zip(
                    pairwise((test.left, *test.comparators)), test.ops, strict=True
                ):
                    self._compare(one, op, other, evaluate, holds=holds)

    def _compare(
        self,
        one: ast.expr,
        op: ast.cmpop,
        other: ast.expr,
        evaluate: Callable[[ast.expr], Value],
        *,
        holds: bool,
    ) -> None:
        """Takes note of what a comparison with an outcome says of a type, or of its width."""
        if not isinstance(
            op, ast.Eq | ast.Is | ast.In if holds else ast.NotEq | ast.IsNot | ast.NotIn
        ):
            return
        if not (_is_plain(one) and _is_plain(other)):
            return  # evaluating it once more might access memory
        value = evaluate(other)
        if isinstance(op, ast.In | ast.NotIn):
            value = value[0] if isinstance(value, tuple | list) and value else None
        if isinstance(one, ast.Attribute) and one.attr == "width" and isinstance(value, int):
            one, value = one.value, _OF_WIDTH.get(value)
        self._take(evaluate(one), value)
        self._take(value, evaluate(one))


def _is_plain(node: ast.expr) -> bool:
    """Returns whether an expression only reads names and attributes."""
    return not any(isinstance(n, ast.Call | ast.Subscript | ast.NamedExpr) for n in ast.walk(node))


def _element_of(tensor: AnyTensor) -> DType | None:
    """Returns the element type of a tensor; None where it is not known."""
    if isinstance(tensor, UnknownTensor):
        return tensor.dtype
    return tensor.origin.dtype if isinstance(tensor.origin, Origin) else None
