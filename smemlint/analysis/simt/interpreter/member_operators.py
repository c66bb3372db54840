"""Operators that classes define as members: `++state`, `state += n`."""

from __future__ import annotations

from smemlint.analysis.simt.calls.inlining import inline_named
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir


def call_member_operator(
    ev: Evaluator, place: LValue, op: str, node: ir.UnaryOp | ir.Assignment
) -> Value | None:
    """Returns the value of an operator that the class of its left operand defines.

    Args:
        ev: the evaluator.
        place: the left operand.
        op: as the definition spells it: `++`, `+=`.
        node: the expression; `x++` passes a number that is not used.

    Returns:
        None where the operand is no class object, or its class does not define the operator.
    """
    record = place.type
    if not isinstance(record, RecordType) or record.record is None:
        return None
    arguments: tuple[ir.Expression, ...] = ()
    if isinstance(node, ir.Assignment):
        arguments = (node.rvalue,)
    elif node.op.startswith("p"):
        arguments = (ir.Constant("int", "0", at=node.at),)
    call = ir.FuncCall(ir.ID(f"operator{op}", at=node.at), arguments, at=node.at)
    return inline_named(ev, f"operator{op}", record, call, place.pointer())
