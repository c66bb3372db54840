"""Tuples and pairs of the standard library: what makes them, and their elements."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.domain.ctypes import (
    CType,
    PointerType,
    RecordType,
    array_member,
    is_opaque,
    is_tuple,
)
from smemlint.analysis.simt.domain.environment import (
    LValue,
    Operand,
    Scope,
    Variable,
    is_reference,
    type_of,
)
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    Cute,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    offset_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue, write_lvalue
from smemlint.analysis.simt.interpreter.lvalues import place_of_value
from smemlint.analysis.simt.types.records import tuple_type
from smemlint.analysis.simt.types.template_arguments import value_argument
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode

_MAKERS = {"make_tuple": "tuple", "make_pair": "pair"}
_REFERRING = frozenset(("tie", "forward_as_tuple"))


def call_tuple(
    ev: Evaluator, name: str, arguments: tuple[str, ...], node: ir.FuncCall
) -> Value | None:
    """Returns what `make_tuple`, `tie`, `get` and `apply` give; None of all other functions."""
    namespace, _, name = name.rpartition("::")
    if name in _MAKERS or name in _REFERRING:
        operands = [operand_of(ev, argument) for argument in node.args]
        made = [_part(ev, operand, refers=name in _REFERRING) for operand in operands]
        return _tuple_of(_MAKERS.get(name, "tuple"), made, namespace)
    if name == "get" and len(node.args) == 1 and arguments:
        index = getattr(value_argument(ev, arguments[0]), "constant", None)
        return None if index is None else _get(ev, operand_of(ev, node.args[0]), index, node)
    if name == "apply" and len(node.args) == 2:
        return _apply(ev, node)
    return None


def _part(ev: Evaluator, operand: Operand, *, refers: bool) -> tuple[CType, Value]:
    place = operand.place
    if refers and place is not None:
        return PointerType(place.type, is_reference=True), place.pointer()
    value = operand_value(ev, operand)
    return type_of(value), value


def _tuple_of(name: str, parts: Sequence[tuple[CType, Value]], namespace: str) -> Value:
    ctype = tuple_type(name, [ctype for ctype, _ in parts], namespace)
    if ctype is None:
        return Cute(tuple(value for _, value in parts))
    members = zip(ctype.members, parts, strict=True)
    return Aggregate(ctype, {member.offset: value for member, (_, value) in members})


def element_of(ev: Evaluator, place: LValue, index: int) -> LValue | None:
    """Returns an element of a tuple, pair or array that is nothing else; None of all others."""
    array = array_member(place.type)
    members = place.type.members if isinstance(place.type, RecordType) else ()
    if array is not None:
        offset, ctype = index * array.element.size, array.element
    elif is_tuple(place.type) and 0 <= index < len(members):
        offset, ctype = members[index].offset, members[index].type
    else:
        return None
    found = LValue(place.object, ev.state.domain.add(place.offset, offset_of(offset)), ctype)
    if is_reference(ctype):
        held = ev.state.memory.read(place.object, found.offset, ctype, ev.state.mask)
        return LValue(held.object, held.offset, held.target) if isinstance(held, Pointer) else None
    return found


def _get(ev: Evaluator, operand: Operand, index: int, node: ir.FuncCall) -> Value:
    value = operand_value(ev, operand) if operand.place is None or is_opaque(operand.type) else None
    if isinstance(value, Cute) and isinstance(value.payload, tuple):
        return value.payload[index] if index < len(value.payload) else _unknown(ev, node)
    place = operand.place if value is None else place_of_value(ev, value, node)
    found = element_of(ev, place, index) if isinstance(place, LValue) else None
    if found is None:
        return _unknown(ev, node)
    return Pointer(found.object, found.offset, found.type, found.volatile, is_reference=True)


def _unknown(ev: Evaluator, node: ir.FuncCall) -> Unknown:
    return Unknown.because(ReasonCode.UNKNOWN_TYPE, f"what `{ev.state.source_text(node)}` gives")


def _apply(ev: Evaluator, node: ir.FuncCall) -> Value | None:
    """Calls a function with the elements of a tuple."""
    operand = operand_of(ev, node.args[1])
    place: LValue | Unknown | None = operand.place
    if place is None:
        place = place_of_value(ev, operand_value(ev, operand), node)
    if not isinstance(place, LValue) or not is_tuple(place.type):
        return None
    assert isinstance(place.type, RecordType)
    scope: Scope = {}
    for k in range(len(place.type.members)):
        element = element_of(ev, place, k)
        if element is None:
            return None
        reference, name = PointerType(element.type, is_reference=True), f"apply.{k}"
        obj = Object(name, reference, Space.LOCAL, ev.state.key(node, name), {0: element.pointer()})
        scope[name] = Variable(obj, reference)
    names = tuple(ir.ID(name, at=node.at) for name in scope)
    with ev.state.frame.scoped(scope):
        return ev.evaluate(ir.FuncCall(node.args[0], names, at=node.at))


def assign_elements(ev: Evaluator, place: LValue, value: Value, node: ir.Node) -> bool:
    """Assigns the elements of a tuple to what those of `std::tie` refer to; False of all others."""
    if not is_tuple(place.type) or not isinstance(place.type, RecordType):
        return False
    if not any(is_reference(member.type) for member in place.type.members):
        return False
    given = place_of_value(ev, value, node) if isinstance(value, Aggregate) else None
    unknown = Unknown.because(ReasonCode.UNKNOWN_VALUE, "an element of a tuple is not known")
    for k in range(len(place.type.members)):
        target = element_of(ev, place, k)
        if target is None:
            continue
        source = element_of(ev, given, k) if isinstance(given, LValue) else None
        found = read_lvalue(ev, source, node) if source is not None else unknown
        if isinstance(value, Cute) and isinstance(value.payload, tuple):
            found = value.payload[k] if k < len(value.payload) else unknown
        write_lvalue(ev, target, found, node)
    return True
