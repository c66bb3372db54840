"""Expressions of Python that C does not have."""

from __future__ import annotations

from smemlint.frontend.ir.node import Expression
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FloorDivision(Expression):
    """`left // right`, rounded down."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class FloorModulo(Expression):
    """`left % right`, with the sign of `right`."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class WrappedIndex(Expression):
    """An index into `extent` elements, from the end where it is negative."""

    index: Expression
    extent: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Expression):
    """An expression that is not lowered; its operands are evaluated, its value is not."""

    text: str
    args: tuple[Expression, ...]
