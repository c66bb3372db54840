"""Elements: `a[i]` of arrays, classes and CuTe tensors."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.containers import elements_on_device
from smemlint.analysis.simt.builtins.cute_front import element_by_subscript
from smemlint.analysis.simt.calls.inlining import inline_member
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import (
    U32,
    ArrayType,
    OpaqueType,
    RecordType,
    array_member,
)
from smemlint.analysis.simt.domain.environment import LValue, Variable, type_of
from smemlint.analysis.simt.domain.unknown_offset import lvalue_at_unknown_offset
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.pointers import advance, dereference
from smemlint.analysis.simt.types.declared_types import declared_type
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode


def _plain_element(ev: Evaluator, node: ir.ArrayRef) -> LValue | Unknown:
    place = ev.lvalue(node.name) if ir.names_place(node.name) else None
    if isinstance(place, LValue):
        found = _by_operator(ev, place, "operator[]", (node.subscript,), node)
        if found is not None:
            return found
        base = read_lvalue(ev, place, node.name)
    elif place is None or isinstance(node.name, ir.ID):  # an argument that is bound by value
        base = ev.evaluate(node.name)
    else:
        base = place
    index = ev.evaluate(node.subscript)
    if isinstance(base, AffineInt) and isinstance(index, Pointer):
        base, index = index, base
    if isinstance(base, Aggregate):
        return _element_of_class(ev, base, index, node)
    if not isinstance(base, Pointer):
        return (
            base
            if isinstance(base, Unknown)
            else Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "what is indexed is not a pointer")
        )
    if base.object.space is Space.LOCAL and isinstance(index, Unknown) and index.is_uniform:
        index = _some_index(ev, node)
    if base.object.space is not Space.LOCAL and not isinstance(base.target, ArrayType):
        is_plain = isinstance(node.subscript, ir.ID | ir.Constant)  # LLVM counts in its width
        ev.state.spend_on(node, 1 if is_plain else 2, is_load=True)
    return _element_at(ev, base, index, is_computed=not isinstance(node.name, ir.ArrayRef))


def _some_index(ev: Evaluator, node: ir.ArrayRef) -> AffineInt:
    """Returns a number that stands for an index which all threads share."""
    state = ev.state
    state.sequence += 1
    text = state.source_text(node.subscript)
    return state.domain.symbol(state.key(node, f"index{state.sequence}"), text, U32)


def _element_of_class(
    ev: Evaluator, base: Aggregate, index: Value, node: ir.ArrayRef
) -> LValue | Unknown:
    elements = array_member(base.type)
    if elements is None:
        text = f"`{ev.state.source_text(node)}` calls an operator that is not followed"
        return Unknown.because(ReasonCode.NOT_MODELLED, text)
    value = ev.state.new_local("elements", base.type, ev.state.key(node), base)
    return _element_at(ev, Pointer(value, ORIGIN, elements.element), index)


def _element_at(
    ev: Evaluator, first: Pointer, index: Value, *, is_computed: bool = False
) -> LValue | Unknown:
    moved = advance(ev, first, index, is_computed=is_computed)
    if isinstance(moved, Unknown):
        return lvalue_at_unknown_offset(first, moved)  # counted: the array is known even so
    return LValue(moved.object, moved.offset, moved.target, moved.is_volatile)


@evaluates(ir.ArrayRef)
def evaluate_element(ev: Evaluator, node: ir.ArrayRef) -> Value:
    """Returns the value of an element."""
    place = locate_element(ev, node)
    return place if isinstance(place, Unknown) else read_lvalue(ev, place, node)


@locates(ir.ArrayRef)
def locate_element(ev: Evaluator, node: ir.ArrayRef) -> LValue | Unknown:
    """Returns an element: of a CuTe tensor, by a class's own `operator[]`, or of an array."""
    element = element_by_subscript(ev, node)
    if element is not None:
        return element
    binding = ev.state.lookup(node.name.name) if isinstance(node.name, ir.ID) else None
    if isinstance(binding, Variable):
        if isinstance(binding.type, ArrayType):
            return _plain_element(ev, node)
        first = None
        if isinstance(binding.type, OpaqueType):
            first = elements_on_device(ev, binding.type, node.name)
        if first is not None:
            return _element_at(ev, first, ev.evaluate(node.subscript))
    return _element_of_standard_array(ev, node) or _plain_element(ev, node)


def _element_of_standard_array(ev: Evaluator, node: ir.ArrayRef) -> LValue | Unknown | None:
    """Returns an element of a `std::array` that is an object or a part of one; None for others."""
    ctype = declared_type(ev, node.name)
    is_open = ctype is None and isinstance(node.name, ir.StructRef)
    if not is_open and (ctype is None or array_member(ctype) is None):
        return None
    place = ev.lvalue(node.name)
    elements = array_member(place.type) if isinstance(place, LValue) else None
    if elements is None or isinstance(place, Unknown):
        return None
    first = Pointer(place.object, place.offset, elements.element, place.volatile)
    return _element_at(ev, first, ev.evaluate(node.subscript))


def pointed_to(ev: Evaluator, node: ir.UnaryOp) -> LValue | Unknown:
    """Returns what `*p` names: by a pointer, or by the `operator*` of a class."""
    place = ev.lvalue(node.expr) if isinstance(node.expr, ir.ID) else None
    value: Value | None = None
    if not isinstance(place, LValue) or not isinstance(place.type, RecordType):
        value, place = ev.evaluate(node.expr), None
        if isinstance(value, Aggregate):
            held = ev.state.new_local("object", value.type, ev.state.key(node), value)
            place = LValue(held, ORIGIN, value.type)
    found = _by_operator(ev, place, "operator*", (), node) if place is not None else None
    if found is not None:
        return found
    return dereference(ev, ev.evaluate(node.expr) if value is None else value, node)


def _by_operator(
    ev: Evaluator,
    place: LValue,
    name: str,
    operands: tuple[ir.Expression, ...],
    node: ir.ArrayRef | ir.UnaryOp,
) -> LValue | Unknown | None:
    """Returns what an operator of an object's class gives; None where it defines none."""
    if not isinstance(place.type, RecordType):
        return None
    called = node.name if isinstance(node, ir.ArrayRef) else ir.ID(name, at=node.at)
    value = inline_member(ev, name, place, ir.FuncCall(called, operands, at=node.at))
    if value is None:
        return None
    if isinstance(value, Unknown) or (isinstance(value, Pointer) and value.is_reference):
        return dereference(ev, value, node)
    content = ev.state.new_local("element", type_of(value), ev.state.key(node), value)
    return LValue(content, ORIGIN, type_of(value))
