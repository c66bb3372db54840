"""Functions and lambdas."""

from __future__ import annotations

from smemlint.frontend.ir.node import Expression, Statement, Type
from smemlint.frontend.ir.statements import Compound
from smemlint.frontend.ir.types import Decl, FuncDecl
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class FuncDef(Statement):
    """A function definition."""

    name: str
    type: FuncDecl
    body: Compound


@dataclass(frozen=True, slots=True, eq=False)
class Lambda(Expression):
    """`[captures]<template>(params) { body }`.

    Attributes:
        result: its return type, where that is written.
        template: its template parameters, as they are spelled.
        captures: what it captures, as it is spelled: `=`, `&`, `x`, `&x`, `x = a + b`, `this`.
        is_mutable: it may change its copies.
    """

    params: tuple[Decl, ...]
    body: Compound
    result: Type | None = None
    template: str = ""
    captures: tuple[str, ...] = ()
    is_mutable: bool = False
