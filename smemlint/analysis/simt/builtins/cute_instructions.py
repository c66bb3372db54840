"""`copy` of CuTe's operations, called without an atom: `SM90_U32x4_STSM_N::copy(a, b, c, d, s)`."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.async_copies import record_copy
from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.cute.accesses import KINDS, note_moved_without_lanes
from smemlint.analysis.simt.cute.values import payload_of
from smemlint.analysis.simt.domain.ctypes import StaticType
from smemlint.analysis.simt.domain.environment import LValue, Operand
from smemlint.analysis.simt.domain.values import Pointer, Space, Unknown, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import emit_event, write_lvalue
from smemlint.analysis.simt.types.statics import static_value
from smemlint.frontend import ir
from smemlint.layout import cute
from smemlint.reasons import ReasonCode


def call_instruction(ev: Evaluator, name: str, node: ir.FuncCall) -> Value | None:
    """Executes the `copy` of an operation of CuTe's; None where the name has none."""
    type_ = ev.types.spelled(name.rpartition("::")[0])
    op = payload_of(static_value(type_)) if isinstance(type_, StaticType) else None
    if not isinstance(op, cute.CopyOp) or not node.args:
        return None
    operands = [operand_of(ev, argument) for argument in node.args]
    if op.mechanism is cute.Mechanism.UNIVERSAL:
        return _assign(ev, operands)
    if not op.has_lane_addresses:
        _note_what_is_moved(ev, op, operands, node)
    elif op.mechanism is cute.Mechanism.CP_ASYNC and len(operands) > 1:
        source, target = _pointer(operands[0]), _pointer(operands[1])
        form = "cg" if op.is_global else "ca"
        size = operand_value(ev, operands[2]) if op.is_zero_filling and operands[2:] else None
        record_copy(ev, node, target, source, op.bits // 8, form=form, size=size)
    else:
        _move_matrices(ev, op, operands, node)
    return number(0)


def _assign(ev: Evaluator, operands: list[Operand]) -> Value | None:
    """Writes the first operand to the second; None where that is no place."""
    source, *targets = operands
    place = targets[0].place if targets else None
    if not isinstance(place, LValue):
        return None
    write_lvalue(ev, place, operand_value(ev, source), targets[0].node)
    return number(0)


def _pointer(operand: Operand) -> Pointer | Unknown:
    """Returns a pointer to what an operand refers to."""
    place = operand.place
    if isinstance(place, LValue):
        return place.pointer()
    value = operand.value
    if isinstance(value, Pointer | Unknown):
        return value
    return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "its address is not followed")


def _move_matrices(
    ev: Evaluator, op: cute.CopyOp, operands: list[Operand], node: ir.FuncCall
) -> None:
    """Records ldmatrix, whose first operand is in memory, or stmatrix, whose last one is."""
    is_load = op.mechanism is cute.Mechanism.LDMATRIX
    memory = operands.pop(0 if is_load else -1)
    row = _pointer(memory)
    kind, width = KINDS[op.mechanism.value], op.bits // 8
    if isinstance(row, Unknown):
        emit_event(ev, kind, None, row, width, node, matrices=op.matrices, volatile=True)
    elif row.object.space is Space.SHARED:
        obj, offset = row.object, row.offset
        emit_event(ev, kind, obj, offset, width, node, matrices=op.matrices, volatile=True)
    for operand in operands if is_load else ():
        if operand.place is not None and operand.place.object.space is Space.LOCAL:
            ev.state.memory.forget(operand.place.object, f"was loaded by `{op.name}`")


def _note_what_is_moved(
    ev: Evaluator, op: cute.CopyOp, operands: list[Operand], node: ir.FuncCall
) -> None:
    """Notes shared memory that an operation moves to which no lane gives addresses."""
    for operand in operands:
        place = operand.place
        is_referred_to = place is not None and place.object.space is Space.SHARED
        value = _pointer(operand) if is_referred_to else operand_value(ev, operand)
        if isinstance(value, Pointer) and value.object.space is Space.SHARED:
            obj = value.object
            note_moved_without_lanes(ev, node, obj.name, obj.shared, op.mechanism.value)
