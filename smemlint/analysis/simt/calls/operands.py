"""Operands of calls: places where they are lvalues, read when a parameter takes their value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.domain.environment import LValue, Operand
from smemlint.analysis.simt.interpreter.accesses import read_lvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.domain.values import Value
    from smemlint.analysis.simt.evaluator import Evaluator


def arguments_of(node: c_ast.FuncCall) -> list[c_ast.Node]:
    """Returns the operands of a call."""
    return list(node.args.exprs) if node.args is not None else []


def operand_of(ev: Evaluator, node: c_ast.Node) -> Operand:
    """An argument: its place where it is an lvalue (read only when a parameter takes it)."""
    if isinstance(node, c_ast.ID | c_ast.ArrayRef | c_ast.StructRef) or (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    ):
        place = ev.lvalue(node)
        if isinstance(place, LValue):
            return Operand(node, place, None)
    return Operand(node, None, ev.evaluate(node))


def operand_values(ev: Evaluator, operands: Sequence[Operand]) -> list[Value]:
    """Returns the values of operands; places are read."""
    return [operand_value(ev, operand) for operand in operands]


def operand_value(ev: Evaluator, operand: Operand) -> Value:
    """Returns the value of an operand; a place is read."""
    if operand.value is not None:
        return operand.value
    assert operand.place is not None
    return read_lvalue(ev, operand.place, operand.node)


def argument_values(ev: Evaluator, node: c_ast.FuncCall) -> list[Value]:
    """Returns the values of a call's arguments."""
    return [ev.evaluate(argument) for argument in arguments_of(node)]


def is_call(node: c_ast.Node | None, name: str) -> bool:
    """Returns whether a node calls the function of that name."""
    return (
        isinstance(node, c_ast.FuncCall)
        and isinstance(node.name, c_ast.ID)
        and node.name.name == name
    )
