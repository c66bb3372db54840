"""Initializers: `= e`, `(args)`, `{..}`."""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.calls.construction import (
    construct_at,
    fill_array,
    first_argument,
    init_arguments,
    zero_value,
)
from smemlint.analysis.simt.calls.inlining import inline
from smemlint.analysis.simt.domain.ctypes import ArrayType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.values import Aggregate, Pointer, Unknown, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.types.overloads import members_of
from smemlint.frontend import ir
from smemlint.frontend.program import Record
from smemlint.reasons import ReasonCode


def initialize(ev: Evaluator, variable: Variable, init: ir.Node) -> None:
    """Runs an initializer: `= e`, `(args)`, `{..}`."""
    obj, ctype = variable.object, variable.type
    place = LValue(obj, offset_of(0), ctype)
    if isinstance(ctype, ArrayType):
        fill_array(ev, place, init)
    elif isinstance(ctype, RecordType):
        arguments = init_arguments(init)
        if arguments is None:
            value = ev.evaluate(init)
            if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                value = read_lvalue(ev, LValue(value.object, value.offset, value.target), init)
            write_lvalue(ev, place, value, init)
        else:
            construct_at(ev, place, arguments, init)
    else:
        argument = first_argument(init)
        value = zero_value(ctype) if argument is None else ev.evaluate(argument)
        if isinstance(ctype, PointerType) and isinstance(value, Aggregate):
            value = _convert_by_operator(ev, value, ctype, init)
        obj.cells.pop(0, None)
        ev.state.memory.set_cell(obj, 0, convert(ev, value, ctype))


def _convert_by_operator(
    ev: Evaluator, value: Aggregate, ctype: PointerType, node: ir.Node
) -> Value:
    """Returns a class object converted to a pointer by its conversion operator."""
    state = ev.state
    record = value.type
    if not isinstance(record, RecordType) or record.record is None:
        return Unknown.because(
            ReasonCode.UNKNOWN_ADDRESS, "a class object is converted to a pointer"
        )
    holder = state.new_local(record.name, record, state.key(node), value)
    this = Pointer(holder, offset_of(0), record)
    best: Value = Unknown.because(
        ReasonCode.NOT_DECLARED, f"`{record.name}` has no conversion to a pointer that was read"
    )
    for function in members_of(cast("Record", record.record), state.unit.functions):
        is_conversion = function.name.startswith("operator") and function.name.endswith("*")
        if not is_conversion:
            continue
        best = inline(ev, function, [], (), node, this, record)
        if isinstance(best, Pointer):
            return Pointer(best.object, best.offset, ctype.target, best.is_volatile)
    return best
