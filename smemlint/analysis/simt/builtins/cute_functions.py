"""CuTe's functions in the evaluator; an element of a shared tensor is a shared access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from smemlint.analysis.simt.builtins.cute_instructions import call_instruction
from smemlint.analysis.simt.builtins.cute_types import is_cute_name
from smemlint.analysis.simt.calls.candidates import find_candidates
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call
from smemlint.analysis.simt.codegen.slots import with_open_form
from smemlint.analysis.simt.cute.accesses import offset_of_address
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import FUNCTIONS
from smemlint.analysis.simt.cute.identity import coordinate_at
from smemlint.analysis.simt.cute.methods import call_method
from smemlint.analysis.simt.cute.run_time import to_engine, traced
from smemlint.analysis.simt.cute.tensors import REGISTERS, data_of
from smemlint.analysis.simt.cute.tiled import ALGORITHMS
from smemlint.analysis.simt.cute.values import (
    Converter,
    Origin,
    first_unknown,
    payload_of,
    shared_tensor_of,
    tensor_of,
    value_of,
)
from smemlint.analysis.simt.domain.ctypes import RecordType, StaticType
from smemlint.analysis.simt.domain.environment import LValue, Variable
from smemlint.analysis.simt.domain.unknown_offset import lvalue_at_unknown_offset
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Cute,
    Pointer,
    Unknown,
    UnknownTensor,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.analysis.simt.types.template_arguments import split_qualified
from smemlint.frontend import ir
from smemlint.frontend.heuristics import is_copy_instruction
from smemlint.frontend.program import Function
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.reasons import Reason, ReasonCode

_BANK_ROW = 128
"""Bytes after which banks repeat."""


# ---- functions and methods


def call_function(
    ev: Evaluator, name: str, types: tuple[str, ...], node: ir.FuncCall
) -> Value | None:
    """Returns the value of a function of CuTe's; None when the name is none."""
    if is_copy_instruction(name):
        return call_instruction(ev, name, node)
    prefix, _, last = name.rpartition("::")
    handler = FUNCTIONS.get(last)
    if handler is None:
        return None
    if prefix.strip(":") != "cute" and (_is_class(ev, prefix) or _has_own(ev, name, types, node)):
        return None
    call = Call(ev, last, types, coordinate_arguments(ev, node), node)
    return _answer(lambda: handler(call), call)


def _is_class(ev: Evaluator, prefix: str) -> bool:
    """Returns whether a qualifier is a class of the unit, or stands for one."""
    name = split_qualified(prefix)[1].partition("<")[0]
    if not name or ev.state.unit.records.get(name):
        return bool(name)
    return isinstance(ev.types.spelled(prefix), RecordType)


def _has_own(ev: Evaluator, name: str, types: tuple[str, ...], node: ir.FuncCall) -> bool:
    """Returns whether the unit has a function of that name that may take the call's arguments.

    One for objects of its own classes does not hide CuTe's, which argument-dependent lookup finds.
    """
    if is_cute_name(ev, name):
        return False
    last = name.rpartition("::")[2]
    own = find_candidates(ev, last, None, node)
    if name == ev.state.frame.name.split(":", 1)[0] and all(
        _is_of_cute(ev, argument) for argument in node.args
    ):
        own = [function for function in own if not _takes_anything(function)]
    is_class = bool(ev.state.unit.records.get(last))
    return is_class or any(
        function.scope[:1] != ("cute",) and _may_take(ev, function, types, node) for function in own
    )


def _takes_anything(function: Function) -> bool:
    """Returns whether all parameters are of type parameters: CuTe's for tensors goes first.

    `template <class A, class B> void copy(const A& a, B& b) { copy(a, b); }` does not call itself:
    argument-dependent lookup finds a more specialized one.
    """
    names = {parameter.name for parameter in function.template if parameter.kind == "type"}
    return names.issuperset(signature_of(function).classes)


def _may_take(ev: Evaluator, function: Function, types: tuple[str, ...], node: ir.FuncCall) -> bool:
    """Returns whether a definition may take template arguments, and variables that CuTe makes."""
    for parameter, spelled in zip(function.template, types, strict=False):
        if parameter.is_pack:
            break
        if parameter.kind == "type" and spelled.isdecimal():
            return False
    records = ev.state.unit.records
    return not any(
        records.get(name.partition("<")[0]) and _is_of_cute(ev, argument)
        for name, argument in zip(signature_of(function).classes, node.args, strict=False)
    )


def _is_of_cute(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether an expression is made of a variable that holds one of CuTe's objects."""
    if isinstance(node, ir.FuncCall):
        operands = (
            [*node.args, node.name.name] if isinstance(node.name, ir.StructRef) else node.args
        )
        return any(_is_of_cute(ev, operand) for operand in operands)
    binding = ev.state.lookup(node.name) if isinstance(node, ir.ID) else None
    type_ = binding.type if isinstance(binding, Variable) else None
    return isinstance(getattr(type_, "target", type_), StaticType)


def call_method_of_cute(
    ev: Evaluator, value: Value, name: str, types: tuple[str, ...], node: ir.FuncCall
) -> Value | None:
    """Returns the value of a method of one of CuTe's classes; None when it is none.

    Args:
        ev: the evaluator.
        value: the object.
        name: of the method.
        types: template arguments, as the call spells them.
        node: the call.
    """
    # `with` takes barriers and descriptors by reference.
    arguments = () if name == "with" else coordinate_arguments(ev, node)
    call = Call(ev, name, types, arguments, node)
    return _answer(lambda: call_method(value, call), call)


def coordinate_arguments(ev: Evaluator, node: ir.FuncCall) -> tuple[Value, ...]:
    """Returns the values of a call's arguments, underscores included."""
    return tuple(_coordinate(ev, argument) for argument in node.args)


def _answer(answer: Callable[[], Value | None], call: Call) -> Value | None:
    """Returns what the engine answers; where it cannot, why, and notes the shared tensors hit."""
    try:
        return answer()
    except (ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
        unknown = first_unknown(list(call.values))
        why = Reason(ReasonCode.NOT_MODELLED, str(error)) if unknown is None else unknown.reason
        reason = Reason(why.code, f"`{call.name}` is not followed: {why}")
        is_shared = any(shared_tensor_of(value) is not None for value in call.values)
        if is_shared or (call.name in ALGORITHMS and unknown is not None):
            return call.ev.state.note_unfollowed(call.node, reason)
        is_of_shared = any(isinstance(value, UnknownTensor) for value in call.values)
        return UnknownTensor(reason) if is_of_shared else Unknown(reason)


# ---- elements and slices


def evaluate_coordinate(ev: Evaluator, value: Value, node: ir.FuncCall) -> Value:
    """Returns what `t(..)` gives of a tensor or a layout: an element, an offset, or a slice."""
    arguments = coordinate_arguments(ev, node)
    payload = payload_of(value)
    call = Call(ev, "operator()", (), arguments, node)
    found: Value | None = None
    if is_slice(node) and isinstance(value, Cute) and is_tensor_or_layout(value):
        found = _answer(lambda: _sliced(ev, payload, arguments), call)
    elif isinstance(payload, cute.Tensor) and payload.space is cute.Space.COORDINATE:
        found = _answer(
            lambda: coordinate_at(payload, tuple(_coordinates(ev, arguments)), ev.state.mask), call
        )
    elif isinstance(payload, cute.Tensor):
        place = element_of_tensor(ev, payload, arguments)
        return place if isinstance(place, Unknown) else read_lvalue(ev, place, node)
    elif isinstance(payload, cute.Layout | cute.ComposedLayout):
        at = _coordinates(ev, arguments)
        found = _answer(lambda: value_of(payload(*at)), call)
    elif isinstance(payload, Swizzle):
        found = call_method(value, replace(call, name="apply"))
    return found if found is not None else unfollowed_call(ev, str(payload), node)


def coordinate_of_unknown(ev: Evaluator, tensor: UnknownTensor, node: ir.FuncCall) -> Unknown:
    """Returns what `t(..)` gives of a tensor with an unknown layout; an element is noted."""
    if is_slice(node):
        return tensor
    name = ev.state.source_text(node.name)
    reason = Reason(tensor.reason.code, f"`{name}(..)` is not followed: {tensor.reason}")
    return ev.state.note_unfollowed(node, reason)


def locate_coordinate(ev: Evaluator, value: Value, node: ir.FuncCall) -> LValue | Unknown | None:
    """Returns the element that `t(i, j)` names; None of a slice or a layout."""
    tensor = tensor_of(value)
    if tensor is None or is_slice(node) or tensor.space is cute.Space.COORDINATE:
        return None
    return element_of_tensor(ev, tensor, coordinate_arguments(ev, node))


def element_of_tensor(
    ev: Evaluator, tensor: cute.Tensor, arguments: tuple[Value, ...]
) -> LValue | Unknown:
    """Returns the place of an element: layout, then swizzle, then bytes."""
    origin = tensor.origin
    if not isinstance(origin, Origin):
        return Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "a coordinate of a tensor")
    pointer = origin.pointer
    if not tensor.is_shared and tensor.space is not cute.Space.GLOBAL:
        return LValue(pointer.object, AffineInt(ev.state.geometry.linear), pointer.target)
    offset: AffineInt | Unknown
    try:
        address = tensor.address_of(*_traced_coordinates(ev, tensor, arguments))
        lanes = address if isinstance(address, int) else address.value
        offset = offset_of_address(lanes, tensor)
        if isinstance(offset, AffineInt) and _is_swizzled_part(tensor, origin):
            offset = with_open_form(offset)
    except ValueError as error:
        unknown = first_unknown(list(arguments))
        offset = (
            unknown if unknown is not None else Unknown.because(ReasonCode.NOT_MODELLED, str(error))
        )
    if isinstance(offset, Unknown):
        return lvalue_at_unknown_offset(pointer, offset)
    return LValue(pointer.object, offset, pointer.target, pointer.is_volatile)


def _is_swizzled_part(tensor: cute.Tensor, origin: Origin) -> bool:
    """Returns whether a run-time coordinate was fixed in a swizzled tensor."""
    layout = tensor.layout
    if isinstance(layout, cute.ComposedLayout):
        return not isinstance(layout.offset, int)
    return origin.use is not None and tensor.swizzle is None


def element_at(ev: Evaluator, value: Value, subscript: ir.Node) -> LValue | Unknown | None:
    """Returns the element of a tensor at a coordinate; None of all that is no tensor."""
    tensor = tensor_of(value)
    return (
        element_of_tensor(ev, tensor, (_coordinate(ev, subscript),)) if tensor is not None else None
    )


def is_slice(node: ir.FuncCall) -> bool:
    """Returns whether a coordinate keeps a mode."""
    return any(map(_mentions_underscore, node.args))


def _coordinate(ev: Evaluator, node: ir.Node) -> Value:
    return Cute("_") if _is_underscore(node) else ev.evaluate(node)


def _coordinates(ev: Evaluator, arguments: tuple[Value, ...]) -> list[cute.Coordinate]:
    convert = Converter(ev.state.domain)
    return [convert.coordinate(value) for value in arguments]


def _traced_coordinates(
    ev: Evaluator, tensor: cute.Tensor, arguments: tuple[Value, ...]
) -> list[cute.Coordinate]:
    """Returns the coordinates; a number for several modes keeps how it is taken apart.

    Of `t(i)` with `i = threadIdx.x + 32 * k` the remainder by 32 is no sum to the compiler. Modes
    that are one are put together again: `i % 32 + i / 32 * 32` is `i`.
    """
    found = _coordinates(ev, arguments)
    plain = tensor.layout.plain
    modes = (plain,) if len(arguments) == 1 else plain.modes()
    for k, (value, mode) in enumerate(zip(arguments, modes, strict=False)):
        if isinstance(value, AffineInt) and cute.coalesce(mode).rank > 1:
            found[k] = traced(value, ev.state.domain)
    return found


def _sliced(ev: Evaluator, payload: Any, arguments: tuple[Value, ...]) -> Value:
    at = _coordinates(ev, arguments)
    coordinate = at[0] if len(at) == 1 else tuple(at)
    if isinstance(payload, cute.Tensor):
        return Cute(payload.slice(coordinate))
    if isinstance(payload, cute.SmemAtom):
        layout, _ = cute.slice_layout(payload.layout, coordinate)
        return Cute(cute.SmemAtom(payload.swizzle, layout.plain))
    return Cute(cute.slice_layout(payload, coordinate)[0])


def is_of_registers(value: object) -> bool:
    """Returns whether a value is a tensor in registers."""
    tensor = tensor_of(value) if isinstance(value, Cute) else None
    origin = tensor.origin if tensor is not None else None
    return isinstance(origin, Origin) and origin.pointer.object.key == REGISTERS


def is_tensor_or_layout(value: Cute) -> bool:
    """Returns whether a value is one whose elements, or offsets of elements, calls name."""
    payload = value.payload
    return isinstance(payload, cute.Tensor | cute.Layout | cute.ComposedLayout | cute.SmemAtom)


# ---- members


def move_tensor(
    ev: Evaluator, content: Value, name: ir.Node, value: Value, node: ir.Assignment
) -> bool:
    """Moves a tensor to a pointer that `t.data()` is assigned; returns False of what is none.

    A move by whole bank rows and whole periods of the swizzle changes no figure, and is left out:
    double buffers move so under conditions that are open.

    Args:
        ev: the evaluator.
        content: what the name stands for.
        name: `t`.
        value: the pointer.
        node: the assignment.
    """
    tensor = tensor_of(content)
    if tensor is None or not isinstance(tensor.origin, Origin):
        return False
    place = ev.lvalue(name)
    if isinstance(place, LValue) and not _keeps_banks(ev, tensor, value):
        origin, offset = tensor.origin, value
        if isinstance(value, Pointer):
            origin, offset = Origin(value, origin.use), value.offset
        base = to_engine(offset, ev.state.domain) * 8
        write_lvalue(ev, place, Cute(replace(tensor, base=base, origin=origin)), node)
    return True


def _keeps_banks(ev: Evaluator, tensor: cute.Tensor, value: Value) -> bool:
    """Returns whether a pointer lies whole bank rows and swizzle periods from a tensor's."""
    here = data_of(tensor)
    if not isinstance(here, Pointer) or not isinstance(value, Pointer):
        return False
    if here.object.key != value.object.key:
        return False
    period = _BANK_ROW
    if isinstance(tensor.layout, cute.ComposedLayout):
        period = max(period, tensor.layout.swizzle.period * tensor.bits // 8)
    if tensor.swizzle is not None:
        period = max(period, tensor.swizzle.period)
    distance = ev.state.domain.add(value.offset, here.offset, -1)
    steps = [distance.base, *(c for _, c in distance.terms)]
    return all(isinstance(step, int) and step % period == 0 for step in steps)


def _is_underscore(node: ir.Node) -> bool:
    return isinstance(node, ir.ID) and node.name in ("_", "cute::_")


def _mentions_underscore(node: ir.Node) -> bool:
    if isinstance(node, ir.FuncCall | ir.Construct):
        return any(map(_mentions_underscore, node.args))
    return _is_underscore(node)
