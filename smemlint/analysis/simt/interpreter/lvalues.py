"""Places: the lvalues of expressions."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.simt.dispatch import evaluates, locates
from smemlint.analysis.simt.domain.ctypes import (
    I64,
    U32,
    Member,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.environment import WARP, LValue, Variable, is_reference, type_of
from smemlint.analysis.simt.domain.scev import atom
from smemlint.analysis.simt.domain.values import (
    BEHIND_KEY,
    ORIGIN,
    AffineInt,
    Aggregate,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.pointers import dereference, vector_of_member
from smemlint.analysis.simt.types.statics import static_member
from smemlint.frontend import ir
from smemlint.frontend.heuristics import is_warp_size
from smemlint.hardware.arch import LARGEST_BLOCK
from smemlint.reasons import ReasonCode

_COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim", "clusterDim"))


def lvalue_of_value(ev: Evaluator, node: ir.Node) -> LValue | Unknown:
    """Returns what a reference value refers to, or a temporary that holds the value."""
    return place_of_value(ev, ev.evaluate(node), node)


def place_of_value(ev: Evaluator, value: Value, node: ir.Node) -> LValue | Unknown:
    """Returns what a reference value refers to, or a temporary that holds the value."""
    if isinstance(value, Pointer):
        return LValue(value.object, value.offset, value.target, value.is_volatile)
    if isinstance(value, Unknown):
        return value
    return LValue(
        ev.state.new_local("temporary", type_of(value), ev.state.key(node), value),
        ORIGIN,
        type_of(value),
    )


@locates(ir.Assignment)
def locate_assigned(ev: Evaluator, node: ir.Assignment) -> LValue | Unknown:
    """Assigns, and returns what was assigned to."""
    ev.evaluate(node)
    return ev.lvalue(node.lvalue)


@locates(ir.ExprList)
def locate_comma(ev: Evaluator, node: ir.ExprList) -> LValue | Unknown:
    """Evaluates all operands of a comma, and returns what the last one names."""
    for expr in node.exprs[:-1]:
        ev.evaluate(expr)
    return ev.lvalue(node.exprs[-1])


@locates(ir.Cast)
def locate_cast(ev: Evaluator, node: ir.Cast) -> LValue | Unknown:
    """Returns the same bytes as another type."""
    place = ev.lvalue(node.expr)
    if isinstance(place, LValue):
        ctype = ev.types.resolve(node.to_type)
        ctype = ctype.target if is_reference(ctype) else ctype  # type: ignore[union-attr]
        return LValue(place.object, place.offset, ctype, place.volatile)
    return place


def variable_lvalue(variable: Variable) -> LValue:
    """Returns the bytes of a variable, or what it refers to."""
    obj, ctype = variable.object, variable.type
    if ctype.__class__ is PointerType and ctype.is_reference:
        value = obj.cells.get(0)
        if isinstance(value, Pointer):
            return LValue(value.object, value.offset, value.target, value.is_volatile)
        hidden = (
            value
            if isinstance(value, Unknown)
            else Unknown.because(
                ReasonCode.UNKNOWN_ADDRESS, f"`{obj.name}` refers to nothing known"
            )
        )
        target = ctype.target
        return LValue(
            Object(obj.name, target, Space.LOCAL, obj.key, default=hidden), ORIGIN, target
        )
    return LValue(obj, ORIGIN, ctype, obj.is_volatile)


def _member_of_unread(base: LValue, name: str) -> LValue:
    """Returns a member of an object in shared memory of a class that was not read: it has no size.

    What reaches it is undecided.
    """
    return replace(base, type=OpaqueType(f"{base.type}::{name}"))


@locates(ir.StructRef)
def locate_member(ev: Evaluator, node: ir.StructRef) -> LValue | Unknown:
    """Returns the member that `s.m` or `p->m` names."""
    state = ev.state
    name = node.field.name
    if node.type == "->":
        value = ev.evaluate(node.name)
        if isinstance(value, Aggregate) and isinstance(node.name, ir.ID):
            arrow = ir.StructRef(node.name, ".", ir.ID("operator->", at=node.at), at=node.at)
            value = ev.evaluate(ir.FuncCall(arrow, (), at=node.at))
        if isinstance(value, Pointer) and isinstance(value.target, RecordType):
            return member_lvalue(ev, value, value.target, name)
        if isinstance(value, Pointer) and isinstance(value.target, OpaqueType):
            pointee = LValue(value.object, value.offset, value.target, value.is_volatile)
            if value.object.space is Space.SHARED:
                return _member_of_unread(pointee, name)
        return (
            value
            if isinstance(value, Unknown)
            else Unknown.because(
                ReasonCode.NOT_MODELLED, f"`{state.source_text(node)}` is not followed"
            )
        )
    if (
        isinstance(node.name, ir.ID)
        and node.name.name in _COORDINATES
        and not state.lookup(node.name.name)
    ):
        value = thread_coordinate(ev, node.name.name, name)
        return LValue(state.new_local(node.name.name, U32, "", value), ORIGIN, U32)
    base = ev.lvalue(node.name)
    if isinstance(base, Unknown):
        return base
    if isinstance(base.type, RecordType):
        return member_lvalue(ev, base.pointer(), base.type, name)
    if base.object.space is Space.SHARED and isinstance(base.type, OpaqueType):
        return _member_of_unread(base, name)
    default = base.object.default
    if isinstance(default, Unknown):
        return default
    return Unknown.because(
        ReasonCode.UNKNOWN_TYPE, f"the type of `{state.source_text(node.name)}` is not known"
    )


def member_lvalue(ev: Evaluator, base: Pointer, record: RecordType, name: str) -> LValue | Unknown:
    """Returns a member of the object that a pointer points to."""
    state = ev.state
    member = record.member(name)
    if member is None:
        value = static_member(ev, record, name)
        if isinstance(value, AffineInt):
            return LValue(state.new_local(name, value.type, name, value), ORIGIN, value.type)
        return Unknown.because(
            ReasonCode.NOT_DECLARED, f"`{record.name}` has no member `{name}` that was read"
        )
    ctype = member.type
    if member.behind and base.object.space is not Space.LOCAL:
        start = state.domain.symbol(
            f"{base.object.key}.{name}{BEHIND_KEY}{member.behind}",
            f"sizeof({member.behind})",
            I64,
            multiple=max(ctype.align, 1),
            nonnegative=True,
        )
        offset = state.domain.add(base.offset, start)
        return LValue(base.object, offset, ctype, base.is_volatile)
    whole = vector_of_member(ev, base, record)
    offset = state.domain.add(whole, AffineInt(member.offset, I64))
    if is_reference(ctype) and base.object.space is Space.LOCAL:
        content = state.memory.read(base.object, offset, ctype)
        return dereference(ev, content, ir.ID(name))
    return LValue(base.object, offset, ctype, base.is_volatile)


def part_of(ev: Evaluator, whole: LValue | Pointer, member: Member) -> LValue:
    """Returns the place of a member in an object, whatever it refers to."""
    at = ev.state.domain.add(whole.offset, offset_of(member.offset))
    return LValue(whole.object, at, member.type)


def thread_coordinate(ev: Evaluator, name: str, axis: str) -> Value:
    """Returns `threadIdx.x` and its kin."""
    state = ev.state
    g = state.geometry
    at = "xyz".find(axis)
    if at < 0:
        return Unknown.because(ReasonCode.NOT_DECLARED, f"`{name}.{axis}` does not exist")
    match name:
        case "threadIdx":
            lanes = (g.x, g.y, g.z)[at]
            one = isinstance(lanes, int) or g.block[at] == 1
            form = atom(f"{name}.{axis}", is_divergent=True, most=LARGEST_BLOCK[at] - 1)
            return AffineInt(0 if one else lanes, U32, form=form)
        case "blockDim":
            return AffineInt(g.block[at], U32, form=atom(f"{name}.{axis}"))
        case "clusterDim":
            return state.domain.symbol(f"{name}.{axis}", f"{name}.{axis}", U32)
    extent = state.extent_of(f"gridDim.{axis}")
    if extent is not None and (name == "gridDim" or extent.base == 1):
        return AffineInt(extent.base if name == "gridDim" else 0, U32, form=atom(f"{name}.{axis}"))
    return state.domain.symbol(f"{name}.{axis}", f"{name}.{axis}", U32, nonnegative=True)


@evaluates(ir.StructRef)
def evaluate_member(ev: Evaluator, node: ir.StructRef) -> Value:
    """Returns the value of a member; one named after the warp's size has that where it is open."""
    place = locate_member(ev, node)
    value = place if isinstance(place, Unknown) else read_lvalue(ev, place, node)
    is_open = isinstance(value, Unknown) or (isinstance(value, AffineInt) and bool(value.terms))
    return number(WARP) if is_open and is_warp_size(node.field.name) else value
