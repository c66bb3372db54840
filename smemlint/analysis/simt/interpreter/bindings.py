"""Structured bindings: `auto [a, b] = e`, whose names stand for the members of what `e` gives."""

from __future__ import annotations

from smemlint.analysis.simt.builtins.tuples import element_of
from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    OpaqueType,
    RecordType,
    array_member,
    is_tuple,
)
from smemlint.analysis.simt.domain.environment import LValue, type_of
from smemlint.analysis.simt.domain.values import ORIGIN, Cute, Unknown, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.frontend import ir
from smemlint.reasons import ReasonCode


@evaluates(ir.BindingElement)
def evaluate_binding_element(ev: Evaluator, node: ir.BindingElement) -> Value:
    """Returns the value of the member or element that a name stands for."""
    place = locate_binding_element(ev, node)
    return place if isinstance(place, Unknown) else read_lvalue(ev, place, node.value)


@locates(ir.BindingElement)
def locate_binding_element(ev: Evaluator, node: ir.BindingElement) -> LValue | Unknown:
    """Returns the member or element; what the first name has recorded, the others do not again."""
    bound = _bound_lvalue(ev, node)
    if isinstance(bound, Unknown):
        return bound
    ctype = bound.type
    offset: int | None = None
    if is_tuple(ctype) or array_member(ctype) is not None:
        element = element_of(ev, bound, node.index)
        return element or Unknown.because(ReasonCode.UNKNOWN_TYPE, "what a tuple refers to")
    if isinstance(ctype, ArrayType):
        offset, ctype = node.index * ctype.element.size, ctype.element
    elif isinstance(ctype, RecordType) and node.index < len(ctype.members):
        member = ctype.members[node.index]
        if member.name and not member.behind and ctype.is_sized:
            offset, ctype = member.offset, member.type
    elif isinstance(ctype, OpaqueType):
        found = read_lvalue(ev, bound, node.value)
        items = found.payload if isinstance(found, Cute) else None
        if isinstance(items, tuple) and node.index < len(items):
            return _temporary(ev, items[node.index], node)
        if isinstance(found, Unknown):
            return found
    if offset is None:
        text = f"what the names of `{ev.state.source_text(node.value)}` stand for"
        return Unknown.because(ReasonCode.UNKNOWN_TYPE, text)
    at = ev.state.domain.add(bound.offset, offset_of(offset))
    return LValue(bound.object, at, ctype, bound.volatile)


def _bound_lvalue(ev: Evaluator, node: ir.BindingElement) -> LValue | Unknown:
    if not node.index:
        return ev.lvalue(node.value)
    with ev.state.trace.muted():
        return ev.lvalue(node.value)


def _temporary(ev: Evaluator, value: Value, node: ir.BindingElement) -> LValue:
    """Returns a place for an element of a tuple of CuTe's, which has no place itself."""
    ctype = type_of(value)
    key = ev.state.key(node, f"element {node.index}")
    return LValue(ev.state.new_local("element", ctype, key, value), ORIGIN, ctype)
