"""Initializers: `= e`, `(args)`, `{..}`."""

from __future__ import annotations

from smemlint.analysis.simt.calls.class_conversions import converted_object
from smemlint.analysis.simt.calls.construction import (
    construct_at,
    fill_array,
    first_argument,
    init_arguments,
    zero_value,
)
from smemlint.analysis.simt.domain.ctypes import ArrayType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.values import ORIGIN, Pointer
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.frontend import ir


def initialize(ev: Evaluator, variable: Variable, init: ir.Node) -> None:
    """Runs an initializer: `= e`, `(args)`, `{..}`."""
    obj, ctype = variable.object, variable.type
    place = LValue(obj, ORIGIN, ctype)
    if isinstance(ctype, ArrayType):
        fill_array(ev, place, init)
    elif isinstance(ctype, RecordType):
        arguments = init_arguments(init)
        if arguments is None:
            value = ev.evaluate(init)
            if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                value = read_lvalue(ev, LValue(value.object, value.offset, value.target), init)
            write_lvalue(ev, place, converted_object(ev, value, ctype, init), init)
        else:
            construct_at(ev, place, arguments, init)
    else:
        argument = first_argument(init)
        value = zero_value(ctype) if argument is None else ev.evaluate(argument)
        value = converted_object(ev, value, ctype, init)
        obj.cells.pop(0, None)
        ev.state.memory.set_cell(obj, 0, convert(ev, value, ctype))
