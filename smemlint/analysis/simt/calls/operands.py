"""Operands of calls: places where they are lvalues, read when a parameter takes their value."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.dispatch import REFERENCES
from smemlint.analysis.simt.domain.ctypes import CType, is_opaque
from smemlint.analysis.simt.domain.environment import LValue, Operand
from smemlint.analysis.simt.domain.values import Pointer, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.types.declared_types import declared_type
from smemlint.frontend import ir


def operand_of(ev: Evaluator, node: ir.Node) -> Operand:
    """Returns an argument: its place where it is an lvalue, read when a parameter takes it."""
    if ir.names_place(node):
        place = ev.lvalue(node)
        if isinstance(place, LValue):
            return Operand(node, place, None)
    if isinstance(node, ir.BraceList):
        return Operand(node, None, None)  # the parameter's type tells what is made of it
    refer = REFERENCES.get(type(node))
    if refer is None:
        value = ev.evaluate(node)
        return Operand(node, None, value, _written_type(ev, node, value))
    value = refer(ev, node)
    if isinstance(value, Pointer) and value.is_reference:
        place = LValue(value.object, value.offset, value.target, value.is_volatile)
        return Operand(node, place, None)
    return Operand(node, None, value, _written_type(ev, node, value))


def _written_type(ev: Evaluator, node: ir.Node, value: Value) -> CType | None:
    """Returns the type of an argument whose value is not known; None where its text has none."""
    if not isinstance(value, Unknown):
        return None
    if isinstance(node, ir.Cast):
        return ev.types.resolve(node.to_type)
    found = declared_type(ev, node)
    return None if found is None or is_opaque(found) else found


def operand_values(ev: Evaluator, operands: Sequence[Operand]) -> list[Value]:
    """Returns the values of operands; places are read."""
    return [operand_value(ev, operand) for operand in operands]


def operand_value(ev: Evaluator, operand: Operand) -> Value:
    """Returns the value of an operand; a place is read."""
    if operand.value is not None:
        return operand.value
    if operand.place is None:
        return ev.evaluate(operand.node)
    return read_lvalue(ev, operand.place, operand.node)


def argument_values(ev: Evaluator, node: ir.FuncCall) -> list[Value]:
    """Returns the values of a call's arguments."""
    return [ev.evaluate(argument) for argument in node.args]
