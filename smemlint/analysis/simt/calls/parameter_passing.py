"""Parameter passing: by value, by reference, of a default argument and of a braced list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TypeVar

from smemlint.analysis.simt.calls.float_constants import as_constant
from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    is_opaque,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import (
    Binding,
    LValue,
    Operand,
    Scope,
    Variable,
    is_reference,
    type_of,
)
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    Aggregate,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.frames import Frame
from smemlint.analysis.simt.interpreter.conversions import binds_temporary, convert
from smemlint.analysis.simt.interpreter.pointers import TEXT
from smemlint.analysis.simt.state import State
from smemlint.analysis.simt.types.overloads import constancy_of
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode

_T = TypeVar("_T")

_PARAMETER = "parameter type"
"""The name of a parameter's type where a braced list makes an object of it."""
_GIVEN = "parameter's operand"
"""The name of an object that a parameter of another type is made of."""


def bind_parameters(
    ev: Evaluator,
    params: Sequence[ir.Decl],
    operands: Sequence[Operand],
    frame: Frame,
    node: ir.Node,
) -> list[tuple[str, Binding]]:
    """Returns the names of parameters, and what they are bound to.

    Args:
        ev: the evaluator.
        params: their declarations.
        operands: the arguments of the call, evaluated.
        frame: of the function that is called.
        node: the call.
    """
    types = _in_frame(ev.state, frame, lambda: [ev.types.resolve(p.type) for p in params])
    given = [*operands, *repeat(None, len(params) - len(operands))]
    return [
        _bind(ev, param, type_, operand, frame, node)
        for param, type_, operand in zip(params, types, given, strict=False)
    ]


def _bind(
    ev: Evaluator,
    param: ir.Decl,
    type_: CType,
    operand: Operand | None,
    frame: Frame,
    node: ir.Node,
) -> tuple[str, Binding]:
    """Returns the name of a parameter, and what it is bound to."""
    state, name = ev.state, param.name
    if isinstance(type_, ArrayType):
        type_ = PointerType(type_.element)
    if operand is None:
        init = param.init
        if init is None:
            unknown = Unknown.because(ReasonCode.NO_VALUE, f"`{name}` has its default value")
            default = state.new_local(name, type_, state.key(node, name), unknown)
            return name, Variable(default, type_)
        operand = _in_frame(state, frame, lambda: _default(ev, init, type_))
    if is_reference(type_):
        assert isinstance(type_, PointerType)
        bound = _bind_reference(ev, name, type_, operand, node)
        return name, replace(bound, is_constant=constancy_of(ev, param, type_.target))
    value = _value_given(ev, operand, type_)
    if isinstance(value, Unknown) and value.is_uniform and isinstance(type_, IntType):
        value = state.domain.symbol(state.key(node, name), name, type_)
    converted = convert(ev, value, type_)
    if isinstance(type_, OpaqueType):
        type_ = type_of(converted)
    held = state.new_local(name, type_, state.key(node, name), converted)
    bound = Variable(held, type_, constancy_of(ev, param, type_))
    return name, as_constant(ev, bound, operand.node)


def _default(ev: Evaluator, init: ir.Node, ctype: CType) -> Operand:
    """Returns what a parameter takes by default: `{}` makes an object of its type."""
    listed = init if isinstance(init, ir.BraceList) else None
    if isinstance(init, ir.InitList):
        listed = ir.BraceList(init.exprs, at=init.at)
    if listed is None:
        return operand_of(ev, init)
    value = _value_given(ev, Operand(listed, None, None), unreferenced(ctype))
    return Operand(ir.ID(_PARAMETER, at=listed.at), None, value)


def _bind_reference(
    ev: Evaluator, name: str, type_: PointerType, operand: Operand, node: ir.Node
) -> Variable:
    """Returns a parameter that refers to the operand's place, or to a temporary of its value."""
    state, place = ev.state, operand.place
    if place is None or binds_temporary(place.type, type_.target):
        value = _value_given(ev, operand, type_.target)
        is_text = isinstance(value, Pointer) and value.object.type == TEXT
        is_place = isinstance(value, Pointer) and not isinstance(type_.target, PointerType)
        if isinstance(value, Pointer) and is_place and not is_text:
            place = LValue(value.object, value.offset, value.target, value.is_volatile)
        else:
            temporary = type_of(value) if isinstance(type_.target, OpaqueType) else type_.target
            held = convert(ev, value, temporary)
            local = state.new_local(name, temporary, state.key(node, name), held)
            place = LValue(local, ORIGIN, temporary)
    target = place.type if isinstance(type_.target, OpaqueType | ArrayType) else type_.target
    if isinstance(place.type, RecordType) and not isinstance(target, RecordType):
        target = place.type
    pointer = Pointer(place.object, place.offset, target, place.volatile or type_.is_volatile)
    obj = Object(name, type_, Space.LOCAL, state.key(node, name), {0: pointer}, born=state.mask)
    return Variable(obj, PointerType(target, True))


def _value_given(ev: Evaluator, operand: Operand, ctype: CType) -> Value:
    """Returns the value that a parameter of a type takes: what is made of a list or an object."""
    node = operand.node
    bound: Scope = {_PARAMETER: ctype}
    if isinstance(node, ir.BraceList) and not is_opaque(ctype):
        given: tuple[ir.Expression, ...] = node.args
    else:
        value = operand_value(ev, operand)
        if not isinstance(value, Aggregate) or not _is_converted(value, ctype):
            return value
        held = ev.state.new_local(_GIVEN, value.type, ev.state.key(node, _GIVEN), value)
        bound[_GIVEN] = Variable(held, value.type)
        given = (ir.ID(_GIVEN, at=node.at),)
    with ev.state.frame.scoped(bound):
        return ev.evaluate(ir.FuncCall(ir.ID(_PARAMETER, at=node.at), given, at=node.at))


def _is_converted(value: Aggregate, ctype: CType) -> bool:
    """Returns whether a parameter of a type takes what an object of another class is made."""
    if not isinstance(value.type, RecordType):
        return False
    return isinstance(ctype, IntType) or value.type.is_unrelated(ctype)


def _in_frame(state: State, frame: Frame, evaluate: Callable[[], _T]) -> _T:
    """Returns what is evaluated with a frame on top of the stack."""
    caller = state.frames
    state.frames = [*caller, frame]
    try:
        return evaluate()
    finally:
        state.frames = caller
