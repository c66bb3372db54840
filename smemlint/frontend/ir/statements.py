"""Statements."""

from __future__ import annotations

from typing import TypeAlias

from smemlint.frontend.ir.node import BlockItem, Expression, Statement
from smemlint.frontend.ir.types import Decl, DeclList
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Compound(Statement):
    """`{ .. }`."""

    block_items: tuple[BlockItem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EmptyStatement(Statement):
    """`;`."""


@dataclass(frozen=True, slots=True, eq=False)
class Using(Statement):
    """`using namespace a;`, `using a::f;`, `namespace z = a::b;`: it makes names visible.

    Attributes:
        text: the directive without its `using`.
    """

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class If(Statement):
    """`if (cond) iftrue else iffalse`."""

    cond: Expression
    iftrue: BlockItem | None
    iffalse: BlockItem | None
    is_constexpr: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Try(Statement):
    """`try body catch (T e) handler`.

    Attributes:
        handlers: branches that are taken where it does; each begins by declaring what it takes.
    """

    body: Compound
    handlers: tuple[If, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For(Statement):
    """`for (init; cond; next) stmt`; of a `range`, indices are tested for being negative."""

    init: DeclList | Expression | None
    cond: Expression | None
    next: Expression | None
    stmt: BlockItem
    pragma: str = ""
    tests_indices: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RangeFor(Statement):
    """`for (decl : range) stmt`; the initializer of `decl` is a `RangeElement`."""

    decl: Decl
    stmt: BlockItem
    pragma: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class While(Statement):
    """`while (cond) stmt`."""

    cond: Expression
    stmt: BlockItem
    pragma: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DoWhile(Statement):
    """`do stmt while (cond)`."""

    cond: Expression
    stmt: BlockItem
    pragma: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Switch(Statement):
    """`switch (cond) stmt`."""

    cond: Expression
    stmt: BlockItem


@dataclass(frozen=True, slots=True, eq=False)
class Case(Statement):
    """`case expr:` with the statements up to the next label."""

    expr: Expression
    stmts: tuple[BlockItem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Default(Statement):
    """`default:` with the statements up to the next label."""

    stmts: tuple[BlockItem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Break(Statement):
    """`break;`."""


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Statement):
    """`continue;`."""


@dataclass(frozen=True, slots=True, eq=False)
class Return(Statement):
    """`return expr;`."""

    expr: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Goto(Statement):
    """`goto name;`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Label(Statement):
    """`name: stmt`."""

    name: str
    stmt: BlockItem


Loop: TypeAlias = For | RangeFor | While | DoWhile
"""A loop; `pragma` is the text of a `#pragma` in front of it."""
