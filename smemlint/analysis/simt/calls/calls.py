"""Calls: which function a call means, among overloads, methods and what cannot be followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from smemlint.analysis.simt.builtins.call import call_builtin
from smemlint.analysis.simt.builtins.containers import call_container_method, elements_of_unread
from smemlint.analysis.simt.builtins.cooperative_groups import call_group_method
from smemlint.analysis.simt.builtins.cute_front import call_array_method, called_tensor_or_layout
from smemlint.analysis.simt.builtins.cute_types import uses_cute
from smemlint.analysis.simt.calls.candidates import find_candidates, with_bases
from smemlint.analysis.simt.calls.class_operators import operated
from smemlint.analysis.simt.calls.construction import construct
from smemlint.analysis.simt.calls.inlining import (
    WHICH,
    declares_shared,
    inline_best,
    inline_member,
    inline_named,
)
from smemlint.analysis.simt.calls.lambdas import Closure, call_lambda
from smemlint.analysis.simt.calls.operands import argument_values, operand_of, operand_values
from smemlint.analysis.simt.calls.packs import expanded
from smemlint.analysis.simt.calls.unfollowed import (
    forget_place,
    forget_written,
    is_shared_address,
    note_shared_argument,
    prototypes_of,
    unfollowed_call,
)
from smemlint.analysis.simt.calls.virtual_calls import dispatched
from smemlint.analysis.simt.dispatch import evaluates, executes, locates, refers
from smemlint.analysis.simt.domain.ctypes import (
    I64,
    OpaqueType,
    RecordType,
    StaticType,
    is_opaque,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import CTYPES, WARP, LValue, Variable, type_of
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    CallableValue,
    Cute,
    Pointer,
    Space,
    Unknown,
    UnknownTensor,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.globals import find_global
from smemlint.analysis.simt.interpreter.lvalues import member_lvalue, place_of_value
from smemlint.analysis.simt.interpreter.pointers import dereference
from smemlint.analysis.simt.shared_functions import touches_shared
from smemlint.analysis.simt.types.statics import static_value
from smemlint.analysis.simt.types.template_packs import expanded_arguments
from smemlint.frontend import ir
from smemlint.frontend.heuristics import has_no_lanes, is_extent, is_warp_size
from smemlint.reasons import Reason, ReasonCode


@executes(ir.FuncCall)
def execute_call(ev: Evaluator, node: ir.FuncCall) -> None:
    """Evaluates a call whose value is not used."""
    evaluate_call(ev, node, is_used=False)


@locates(ir.FuncCall)
def locate_call(ev: Evaluator, node: ir.FuncCall) -> LValue | Unknown:
    """Returns the element that `t(i, j)` names of a CuTe tensor, or what a call gives."""
    value = called_tensor_or_layout(ev, node)
    if value is not None:
        from smemlint.analysis.simt.builtins.cute_functions import locate_coordinate

        place = locate_coordinate(ev, value, node)
        if place is not None:
            return place
    return place_of_value(ev, evaluate_reference(ev, node), node)


@evaluates(ir.FuncCall)
def evaluate_call(ev: Evaluator, node: ir.FuncCall, *, is_used: bool = True) -> Value:
    """Returns the value of a call; what a reference refers to is read."""
    value = evaluate_reference(ev, node, is_used=is_used)
    return operated(ev, value, node) if is_used else value


@refers(ir.FuncCall)
def evaluate_reference(ev: Evaluator, node: ir.FuncCall, *, is_used: bool = True) -> Value:
    """Returns the value of a call, or of an element of a CuTe tensor; a reference is not read."""
    value = called_tensor_or_layout(ev, node)
    if value is not None:
        from smemlint.analysis.simt.builtins.cute_functions import evaluate_coordinate

        return evaluate_coordinate(ev, value, node)
    return call(ev, node, is_used=is_used)


def call(ev: Evaluator, node: ir.FuncCall, *, is_used: bool = True) -> Value:
    """Returns the value of a call; a reference comes back as a pointer to what it refers to."""
    state = ev.state
    value = ev.policy.intercept_call(ev, node)
    if value is not None:
        return value
    node = expanded(ev, node)
    callee = node.name
    if isinstance(callee, ir.StructRef):
        return _call_method(ev, callee, node, is_used=is_used)
    if not isinstance(callee, ir.ID):
        return _call_object(ev, node, is_used=is_used)
    spelling = callee.name
    local = state.lookup(spelling)
    if local is not None and not isinstance(local, CTYPES):
        return _call_object(ev, node, is_used=is_used)
    this = state.frame.this
    owner = this.target if this is not None and local is None else None
    member = owner.member(spelling) if isinstance(owner, RecordType) else None
    if member is not None and not is_opaque(unreferenced(member.type)):
        return _call_object(ev, node, is_used=is_used)
    name, arguments = state.unit.template_arguments(spelling)
    arguments = expanded_arguments(ev, arguments)
    found = call_builtin(ev, name, arguments, node, is_used=is_used)
    if found is not None:
        return found
    if isinstance(local, CTYPES):
        return construct(ev, local, node.args, node)
    value = _inline_by_name(ev, name, arguments, node)
    if value is not None:
        return value
    ctype = ev.types.spelled(spelling)
    if ctype is not None and not is_opaque(ctype):
        return construct(ev, ctype, node.args, node)
    if not node.args and is_warp_size(name):
        return number(WARP)
    binding = find_global(ev, name)
    if isinstance(binding, Variable):
        return _call_object(ev, node, is_used=is_used)
    this, enclosing = state.frame.this, state.frame.record
    if this is not None and enclosing is not None and "::" not in name:
        place = LValue(this.object, this.offset, enclosing)
        _forget_object(ev, place, name, node, is_used=is_used)
    return unfollowed_call(ev, name, node, is_used=is_used)


def _inline_by_name(
    ev: Evaluator, name: str, arguments: tuple[str, ...], node: ir.FuncCall
) -> Value | None:
    """Calls a method of the class around or of the named class, or a function; else None."""
    prefix, _, last = name.rpartition("::")
    frame = ev.state.frame
    owner = ev.types.spelled(prefix) if prefix else None
    record = owner if isinstance(owner, RecordType) and owner.record is not None else None
    enclosing = frame.record
    if record is None and enclosing is not None and enclosing.record is not None and name == last:
        this, seen = frame.this, enclosing
        if this is not None:
            own = dispatched(ev, last, LValue(this.object, this.offset, enclosing))
            if own is None:
                return unfollowed_call(ev, name, node)
            this, seen = own.pointer(), cast("RecordType", own.type)
        for each in with_bases(seen):
            value = inline_named(ev, last, each, node, this, arguments)
            if value is not None:
                return value
    named: Iterable[RecordType | None] = with_bases(record) if record is not None else (None,)
    for owned in named:
        value = inline_named(ev, last, owned, node, _this_as(ev, owned), arguments)
        if value is not None:
            return value
    return None


def _this_as(ev: Evaluator, base: RecordType | None) -> Pointer | None:
    """Returns the part of the method's own object that is of a base class; None for no base."""
    this = ev.state.frame.this
    if this is None or base is None or not isinstance(this.target, RecordType):
        return None
    begin = this.target.base_offset(base)
    if begin is None:
        return None
    return Pointer(this.object, ev.state.domain.add(this.offset, offset_of(begin)), base)


@evaluates(ir.Launch)
def evaluate_launch(ev: Evaluator, node: ir.Launch) -> Value:
    """Evaluates what a launch passes; what the kernel does is not followed."""
    if ev.policy.intercept_launch(ev, node):
        return number(0)
    for part in node.configuration:
        ev.evaluate(part)
    call = ir.FuncCall(node.kernel, node.args, at=node.at)
    return unfollowed_call(ev, ev.state.source_text(node.kernel), call)


# ---- what is called


def _call_object(ev: Evaluator, node: ir.FuncCall, *, is_used: bool) -> Value:
    """Calls what an expression gives; an object of a class in its place, without a copy of it."""
    place = ev.lvalue(node.name) if ir.names_place(node.name) else None
    if isinstance(place, LValue):
        found = inline_member(ev, "operator()", place, node)
        if found is not None:
            return found
    return _call_value(ev, ev.evaluate(node.name), node, is_used=is_used)


def _call_value(ev: Evaluator, value: Value, node: ir.FuncCall, *, is_used: bool) -> Value:
    if isinstance(value, CallableValue) and isinstance(value.payload, Closure):
        return call_lambda(ev, value.payload, node)
    if isinstance(value, CallableValue) and isinstance(value.payload, CTYPES):
        return construct(ev, value.payload, node.args, node)
    if isinstance(value, CallableValue) and value.name and value.payload is None:
        return call(ev, ir.FuncCall(ir.ID(value.name, at=node.at), node.args, at=node.at))
    if isinstance(value, Aggregate) and isinstance(value.type, RecordType):
        return _call_operator(ev, value, node)
    if isinstance(value, Cute):
        from smemlint.analysis.simt.builtins.cute_functions import evaluate_coordinate

        return evaluate_coordinate(ev, value, node)
    if isinstance(value, UnknownTensor):
        from smemlint.analysis.simt.builtins.cute_functions import coordinate_of_unknown

        return coordinate_of_unknown(ev, value, node)
    return unfollowed_call(ev, ev.state.source_text(node.name), node, is_used=is_used)


def _call_operator(ev: Evaluator, value: Aggregate, node: ir.FuncCall) -> Value:
    record = value.type
    assert isinstance(record, RecordType)
    if record.record is not None:
        candidates = find_candidates(ev, "operator()", record, node)
        if candidates:
            place = place_of_value(ev, value, node)
            this = place.pointer() if isinstance(place, LValue) else None
            return inline_best(ev, candidates, (), node, this, record)
    return unfollowed_call(ev, f"{record.name}::operator()", node)


def _call_method(ev: Evaluator, callee: ir.StructRef, node: ir.FuncCall, *, is_used: bool) -> Value:
    state = ev.state
    found = call_array_method(ev, callee)
    if found is not None:
        return found
    name, arguments = state.unit.template_arguments(callee.field.name)
    if name == "operator()":
        called = ev.evaluate(callee.name)
        if isinstance(called, CallableValue) and isinstance(called.payload, Closure):
            return call_lambda(ev, called.payload, node, arguments)
    place = _receiver(ev, callee, name)
    if isinstance(place, Pointer):
        return place
    if isinstance(place, Unknown):
        return _call_on_unknown(ev, place, callee, node, is_used=is_used)
    record = place.type
    found = call_container_method(ev, place, name, node)
    if found is not None:
        return found
    if isinstance(record, OpaqueType) or (isinstance(record, RecordType) and record.record is None):
        value = static_value(record) if isinstance(record, StaticType) else None
        if place.object.space is Space.LOCAL:
            value = read_lvalue(ev, place, callee.name)
        if isinstance(value, Aggregate):
            found = call_group_method(ev, value, name, node)
        elif isinstance(value, Cute):
            from smemlint.analysis.simt.builtins.cute_functions import call_method_of_cute

            found = call_method_of_cute(ev, value, name, arguments, node)
        if found is not None:
            return found
    prefix, _, last = name.rpartition("::")
    receiver = _as_class_named(ev, place, prefix) if prefix else dispatched(ev, last, place)
    if receiver is None:
        return _unread_method(ev, place, callee, node, is_used=is_used)
    value = inline_member(ev, last, receiver, node, arguments)
    if value is not None:
        return value
    elements = elements_of_unread(ev, name, arguments, node)
    if elements is not None:
        return elements
    return _unread_method(ev, place, callee, node, is_used=is_used)


def _as_class_named(ev: Evaluator, place: LValue, prefix: str) -> LValue:
    """Returns the part of an object that is of the base class which stands in front of a method.

    The object itself where that is no base of it.
    """
    owner = ev.types.spelled(prefix)
    if not isinstance(owner, RecordType) or not isinstance(place.type, RecordType):
        return place
    begin = place.type.base_offset(owner)
    if begin is None:
        return place
    return LValue(place.object, ev.state.domain.add(place.offset, offset_of(begin)), owner)


def _call_member(ev: Evaluator, place: LValue, name: str, node: ir.FuncCall) -> Value | None:
    """Calls an object that is a member of a class; None where that has no such member."""
    record = place.type
    if not isinstance(record, RecordType) or record.member(name) is None:
        return None
    member = member_lvalue(ev, place.pointer(), record, name)
    return inline_member(ev, "operator()", member, node) if isinstance(member, LValue) else None


def _call_on_unknown(
    ev: Evaluator, of: Unknown, callee: ir.StructRef, node: ir.FuncCall, *, is_used: bool
) -> Value:
    """Calls a method of what is not known: what it is given is evaluated, which it may write."""
    name, arguments = ev.state.unit.template_arguments(callee.field.name)
    if _binds_to_atom(ev, name):
        return of
    elements = elements_of_unread(ev, name, arguments, node)
    if elements is not None:
        return elements
    operands = [operand_of(ev, argument) for argument in node.args]
    values = operand_values(ev, operands)
    spelling = ev.state.source_text(callee)
    if any(is_shared_address(ev.state, value) for value in values):
        note_shared_argument(ev, spelling, node)
    for value in values:
        if isinstance(value, Pointer) and value.object.space is Space.LOCAL:
            ev.state.memory.forget(value.object, f"was given to `{spelling}`")
    forget_written(ev, spelling, node, operands, is_used=is_used)
    return of


def _binds_to_atom(ev: Evaluator, name: str) -> bool:
    """Returns whether a method is CuTe's `with`: it takes barriers and descriptors by reference."""
    return name == "with" and uses_cute(ev)


def _unread_method(
    ev: Evaluator, place: LValue, callee: ir.StructRef, node: ir.FuncCall, *, is_used: bool
) -> Value:
    """Calls a member, or a method that was not read; an extent of what threads share they share."""
    called = _call_member(ev, place, callee.field.name, node)
    if called is not None:
        return called
    spelling = ev.state.source_text(callee)
    unread = place.type.spelling if isinstance(place.type, OpaqueType) else ""
    named = ev.state.unit.template_arguments(unread)[0].rpartition("::")[2]
    if named and declares_shared(ev, callee.field.name, named):
        why = f"the call of `{spelling}` is not followed: {WHICH}"
        return ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, why))
    if named and _may_touch_shared(ev, callee.field.name, named):
        why = f"the call of `{spelling}` is not followed: what class `{named}` is is not known"
        ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, why))
    if _binds_to_atom(ev, callee.field.name):
        text = f"the call of `{spelling}` is not followed: no definition was read"
        return Unknown.because(ReasonCode.NOT_DECLARED, text)
    is_local = place.object.space is Space.LOCAL
    of = read_lvalue(ev, place, callee) if is_local and is_extent(callee.field.name) else None
    if isinstance(of, Unknown) and of.is_uniform:
        values = argument_values(ev, node)
        uniform = [v for v in values if isinstance(v, AffineInt) and v.is_uniform]
        if len(uniform) == len(values):
            operands = ",".join(v.identity() for v in uniform)
            key = f"{place.object.key}+{place.offset.identity()}.{spelling}({operands})"
            text = ev.state.source_text(node)
            return ev.state.domain.symbol(key, text, I64, nonnegative=True)
    is_shared = place.object.space is Space.SHARED and not has_no_lanes(f"{unread}.{spelling}")
    if is_shared or _refers_to_shared(ev, place):
        note_shared_argument(ev, spelling, node)
    value = unfollowed_call(ev, spelling, node, is_used=is_used)
    _forget_object(ev, place, spelling, node, is_used=is_used)
    return value


def _may_touch_shared(ev: Evaluator, name: str, opaque: str) -> bool:
    """Returns whether a method of a type that is open is shared memory's in some class."""
    unit, key = ev.state.unit, ("touches shared", name)
    if opaque in unit.records:
        return False
    if key not in unit.memory:
        methods = [f for f in ev.policy.functions(ev, name) if f.record]
        unit.memory[key] = any(touches_shared(f, unit) for f in methods)
    return bool(unit.memory[key])


def _forget_object(
    ev: Evaluator, place: LValue, name: str, node: ir.FuncCall, *, is_used: bool
) -> None:
    """Forgets an object of a class that was read, of which a method was not."""
    record = place.type
    if place.object.space is not Space.LOCAL or not isinstance(record, RecordType):
        return
    classes = {owner.name for owner in record.with_bases() if owner.record is not None}
    declared = [p for p in prototypes_of(ev, node) if p.scope and p.scope[-1] in classes]
    may_write = any(not p.keeps_object for p in declared)
    if not declared and classes and isinstance(node.name, ir.StructRef):
        may_write = ev.policy.may_write(name, record, is_used=is_used)
    if may_write:
        forget_place(ev, place, f"the call of `{name}` is not followed")


def _refers_to_shared(ev: Evaluator, place: LValue) -> bool:
    """Returns whether an object or a member of it refers or points to shared memory.

    Of an object whose class was not read, what constructs it is noted already.
    """
    if place.object.space is not Space.LOCAL or is_opaque(place.type):
        return False
    return any(is_shared_address(ev.state, held) for held in place.object.cells.values())


def _receiver(ev: Evaluator, callee: ir.StructRef, name: str) -> LValue | Pointer | Unknown:
    """Returns what a method is called on.

    A pointer is the result of `get()` of a class that is a pointer here, as `v.data().get()`.
    """
    if callee.type == "->":
        return dereference(ev, ev.evaluate(callee.name), callee)
    if name == "get" and isinstance(callee.name, ir.FuncCall | ir.Construct):
        called = ev.evaluate(callee.name)
        return called if isinstance(called, Pointer) else _temporary(ev, called, callee.name)
    return ev.lvalue(callee.name)


def _temporary(ev: Evaluator, value: Value, node: ir.Node) -> LValue | Unknown:
    """Returns a place that holds a value."""
    if isinstance(value, Unknown):
        return value
    content = ev.state.new_local("temporary", type_of(value), ev.state.key(node), value)
    return LValue(content, ORIGIN, type_of(value))
