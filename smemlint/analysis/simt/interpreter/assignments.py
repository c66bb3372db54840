"""Assignments: to places, to elements and by what classes define."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.cute_front import assign_data
from smemlint.analysis.simt.builtins.tuples import assign_elements
from smemlint.analysis.simt.calls.candidates import find_candidates
from smemlint.analysis.simt.calls.class_conversions import converted_object
from smemlint.analysis.simt.calls.construction import construct
from smemlint.analysis.simt.calls.inlining import inline_best
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import CType, FloatType, IntType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, type_of
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    FloatValue,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.interpreter.operators import call_member_operator
from smemlint.analysis.simt.interpreter.pointers import note_lost_address
from smemlint.analysis.simt.types.specializations import takes
from smemlint.frontend import ir


@evaluates(ir.Assignment)
def evaluate_assignment(ev: Evaluator, node: ir.Assignment) -> Value:
    """Assigns, and returns the value as the type of what it was assigned to."""
    value = _assign(ev, node)
    ev.policy.on_assignment(node, value)
    return value


def _assign(ev: Evaluator, node: ir.Assignment) -> Value:
    if node.op == "=":
        place = ev.lvalue(node.lvalue) if isinstance(node.rvalue, ir.BraceList) else None
        value = _assigned_value(ev, node.rvalue, place)
        if isinstance(node.lvalue, ir.FuncCall) and assign_data(ev, node, value):
            return value
        place = ev.lvalue(node.lvalue) if place is None else place
        if isinstance(place, Unknown):
            note_lost_address(ev, value, node.lvalue)
            return value
        if assign_elements(ev, place, value, node):
            return value
        assigned = _assigned_by_class(ev, place, value, node)
        if assigned is not None:
            return assigned
        value = converted_object(ev, value, place.type, node)
        if place.object.space is not Space.LOCAL:
            _note_copy(ev, node.rvalue, value, place.type)
        write_lvalue(ev, place, value, node.lvalue, source=node.rvalue)
        return convert(ev, value, place.type)
    place = ev.lvalue(node.lvalue)
    if isinstance(place, Unknown):
        ev.evaluate(node.rvalue)
        return place
    found = call_member_operator(ev, place, node.op, node)
    if found is not None:
        return found
    if place.object.space is Space.LOCAL and isinstance(place.type, FloatType):
        held = FloatValue(place.type)  # an accumulator: its value is never followed
        apply_binary(ev, node.op[:-1], held, ev.evaluate(node.rvalue), node)
        return held
    value = ev.evaluate(node.rvalue)
    if isinstance(place.type, IntType):
        ev.state.trace.extend(node.rvalue)
    old = read_lvalue(ev, place, node.lvalue)
    new = apply_binary(ev, node.op[:-1], old, value, node)
    write_lvalue(ev, place, new, node.lvalue)
    return new


def _assigned_by_class(
    ev: Evaluator, place: LValue, value: Value, node: ir.Assignment
) -> Value | None:
    """Returns the value of an assignment that the class of a local object defines for a value."""
    record = place.type
    if not isinstance(record, RecordType) or place.object.space is not Space.LOCAL:
        return None
    definitions = ev.state.unit.functions_named("operator=")
    if record.record is None or not definitions:
        return None
    call = ir.FuncCall(ir.ID("operator=", at=node.at), (node.rvalue,), at=node.at)
    given = type_of(value)
    candidates = find_candidates(ev, "operator=", record, call)
    taking = [f for f in candidates if takes(ev, f, [given])]
    if not taking and isinstance(given, RecordType) and given.name == record.name:
        return None  # a copy
    if not candidates:
        return None
    return inline_best(ev, taking or candidates, (), call, place.pointer(), record)


def _assigned_value(ev: Evaluator, given: ir.Expression, place: LValue | Unknown | None) -> Value:
    """Returns what is assigned: an object of the left operand's class of `x = {a, b}`."""
    is_object = isinstance(place, LValue) and isinstance(place.type, RecordType)
    if isinstance(given, ir.BraceList) and isinstance(place, LValue) and is_object:
        return construct(ev, place.type, given.args, given)
    return ev.evaluate(given)


def _note_copy(ev: Evaluator, source: ir.Node, value: Value, ctype: CType) -> None:
    """Notes that a value is stored in memory, as it is or as a longer integer."""
    if isinstance(ctype, IntType) and isinstance(value, AffineInt | Unknown) and ctype.size > 1:
        ev.state.trace.extend(source, extends=ctype.size > 2)
    elif isinstance(value, FloatValue | Aggregate) and value.type == ctype:
        ev.state.trace.extend(source, extends=False)
