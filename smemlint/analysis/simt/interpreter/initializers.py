"""Initializers: `= e`, `(args)`, `{..}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from smemlint.analysis.simt.calls.construction import construct_at, zero_value
from smemlint.analysis.simt.calls.inlining import inline
from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, IntType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.values import Aggregate, Pointer, Unknown, Value, offset_of
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import convert
from smemlint.analysis.simt.types.overloads import members_of
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.frontend.program import Record


def initialize(ev: Evaluator, variable: Variable, init: ir.Node) -> None:
    """Runs an initializer: `= e`, `(args)`, `{..}`."""
    obj, kind = variable.object, variable.type
    place = LValue(obj, offset_of(0), kind)
    if isinstance(kind, ArrayType):
        _fill_array(ev, place, init)
    elif isinstance(kind, RecordType):
        arguments = _init_arguments(init)
        if arguments is None:
            value = ev.evaluate(init)
            if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                value = read_lvalue(ev, LValue(value.object, value.offset, value.target), init)
            write_lvalue(ev, place, value, init)
        else:
            construct_at(ev, place, arguments, init)
    else:
        argument = _first_argument(init)
        value = zero_value(kind) if argument is None else ev.evaluate(argument)
        if isinstance(kind, PointerType) and isinstance(value, Aggregate):
            value = _convert_by_operator(ev, value, kind, init)
        obj.cells.pop(0, None)
        ev.state.memory.set_cell(obj, 0, convert(ev, value, kind))


def _convert_by_operator(
    ev: Evaluator, value: Aggregate, kind: PointerType, node: ir.Node
) -> Value:
    """Returns a class object converted to a pointer by its conversion operator."""
    state = ev.state
    record = value.type
    if not isinstance(record, RecordType) or record.record is None:
        return Unknown(
            Reason(ReasonCode.UNKNOWN_ADDRESS, "a class object is converted to a pointer")
        )
    holder = state.new_local(record.name, record, state.key(node), value)
    this = Pointer(holder, offset_of(0), record)
    best: Value = Unknown(
        Reason(
            ReasonCode.NOT_DECLARED, f"`{record.name}` has no conversion to a pointer that was read"
        )
    )
    for function in members_of(cast("Record", record.record), state.unit.functions):
        is_conversion = function.name.startswith("operator") and function.name.endswith("*")
        if not is_conversion:
            continue
        best = inline(ev, function, [], (), node, this, record)
        if isinstance(best, Pointer):
            return Pointer(best.object, best.offset, kind.target, best.is_volatile)
    return best


def _fill_array(ev: Evaluator, place: LValue, init: ir.Node) -> None:
    """Initializes an array, element by element; what is not named is zero."""
    kind = place.type
    assert isinstance(kind, ArrayType)
    items = _init_arguments(init)
    if items is None:
        ev.evaluate(init)
        return
    scalar: CType = kind
    while isinstance(scalar, ArrayType):
        scalar = scalar.element
    if not isinstance(scalar, IntType):
        for item in items:
            if not isinstance(item, ir.InitList):
                ev.evaluate(item)
        place.object.default = zero_value(scalar) if not isinstance(scalar, RecordType) else None
        return
    place.object.default = zero_value(scalar)
    step = kind.element.size
    for i, item in enumerate(items):
        inner = LValue(
            place.object, ev.state.domain.add(place.offset, offset_of(i * step)), kind.element
        )
        if isinstance(kind.element, ArrayType):
            _fill_array(ev, inner, item)
        else:
            write_lvalue(ev, inner, ev.evaluate(_first_argument(item) or item), item)


def _init_arguments(init: ir.Node) -> tuple[ir.Expression, ...] | None:
    """Returns the operands of `(args)` and `{..}` initializers; None for `= expression`."""
    if isinstance(init, ir.InitList):
        return init.exprs
    if isinstance(init, ir.DirectInit | ir.BraceList):
        return init.args
    return None


def _first_argument(init: ir.Node | None) -> ir.Node | None:
    if init is None:
        return None
    arguments = _init_arguments(init)
    if arguments is None:
        return init
    return arguments[0] if arguments else None
