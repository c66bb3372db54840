"""Executes blocks and the statements that hold others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.dispatch import STATEMENTS, evaluates, executes
from smemlint.analysis.simt.domain.values import Unknown, Value
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from smemlint.analysis.simt.evaluator import Evaluator


@executes(ir.Compound)
def execute_block(ev: Evaluator, node: ir.Compound) -> None:
    """Executes a block in a scope of its own."""
    scopes = ev.state.frame.scopes
    scopes.append({})
    try:
        _execute_all(ev, node.block_items or ())
    finally:
        scopes.pop()


@evaluates(ir.Compound)
def evaluate_block(ev: Evaluator, node: ir.Compound) -> Value:
    """Returns the value of a statement expression: that of its last statement."""
    scopes = ev.state.frame.scopes
    scopes.append({})
    items = list(node.block_items or ())
    is_valued = bool(items) and _is_expression(items[-1])
    try:
        _execute_all(ev, items[:-1] if is_valued else items)
        if is_valued:
            return ev.evaluate(items[-1])
        return Unknown(Reason(ReasonCode.NO_VALUE, "a statement without a value"))
    finally:
        scopes.pop()


def _is_expression(node: ir.Node) -> bool:
    """Returns whether a statement is an expression, and so has a value."""
    return node.__class__ is ir.FuncCall or node.__class__ not in STATEMENTS


def _execute_all(ev: Evaluator, items: Iterable[ir.Node]) -> None:
    pragma: ir.Pragma | None = None
    for item in items:
        if pragma is not None:
            ev.state.pragmas[id(item)] = pragma.string or ""
        pragma = item if item.__class__ is ir.Pragma else None
        ev.execute(item)


@executes(ir.EmptyStatement, ir.Pragma)
def execute_nothing(ev: Evaluator, node: ir.Node) -> None:
    """Does nothing: what a pragma says is kept for the statement behind it."""


@executes(ir.DeclList)
def execute_declarations(ev: Evaluator, node: ir.DeclList) -> None:
    """Executes declarations, one by one."""
    for decl in node.decls:
        ev.execute(decl)


@executes(ir.Label)
def execute_labelled(ev: Evaluator, node: ir.Label) -> None:
    """Executes a statement with a label."""
    ev.execute(node.stmt)
