"""Blocks and declarations: variables, shared arrays, references, and how they are initialized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from smemlint.analysis.simt.budget import BudgetExceeded
from smemlint.analysis.simt.builtins.containers import list_type, set_list_size
from smemlint.analysis.simt.calls.class_deduction import deduced_class
from smemlint.analysis.simt.calls.construction import (
    construct_at,
    fill_array,
    first_argument,
    init_arguments,
    with_extent,
    zero_value,
)
from smemlint.analysis.simt.calls.float_constants import as_constant
from smemlint.analysis.simt.calls.packs import expanded_list
from smemlint.analysis.simt.calls.unfollowed import (
    given_values,
    is_shared_address,
    note_shared_argument,
)
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.ctypes import (
    AnonymousFloat,
    ArrayType,
    CType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticType,
    UnreadTemplate,
    array_member,
    is_sized,
)
from smemlint.analysis.simt.domain.environment import LValue, Variable, is_reference, type_of
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    CallableValue,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.interpreter.conversions import binds_temporary, convert
from smemlint.analysis.simt.interpreter.initializers import initialize
from smemlint.analysis.simt.types.overloads import constancy_of, type_words
from smemlint.analysis.simt.types.records import declared_alignment
from smemlint.facts import SharedArray
from smemlint.frontend import ir
from smemlint.frontend.program import Record
from smemlint.limits.budgets import MAX_ARRAY_BYTES
from smemlint.reasons import ReasonCode


@executes(ir.Typedef)
def execute_typedef(ev: Evaluator, node: ir.Typedef) -> None:
    """Declares a local name of a type."""
    ev.state.bind(node.name, ev.types.resolve(node.type))


@executes(ir.Decl)
def execute_declaration(ev: Evaluator, node: ir.Decl) -> None:
    """Executes a declaration."""
    declare(ev, node)


def declare(ev: Evaluator, node: ir.Decl) -> None:
    """Declares a variable, a shared array, or a local type."""
    state = ev.state
    storage = set(node.storage)
    if isinstance(node.type, ir.FuncDecl):
        return
    if isinstance(node.init, ir.InitList):
        items = expanded_list(ev, node.init.exprs)
        if items is not node.init.exprs:
            node = replace(node, init=ir.InitList(items, at=node.init.at))
    ctype = with_extent(ev.types.resolve(node.type), node.init)
    if not node.name:
        return
    if isinstance(ctype, RecordType) and node.init is not None:
        ctype = deduced_class(ev, ctype, init_arguments(node.init) or ())
    if "__shared__" in storage:
        state.bind(node.name, Variable(shared_object(ev, node, ctype), ctype))
        return
    if is_reference(ctype):
        _declare_reference(ev, node, ctype)
        return
    if ev.policy.follows_lists and _declare_list(ev, node, ctype):
        return
    value: Value | None = None
    if isinstance(ctype, OpaqueType) and isinstance(node.init, ir.InitList):
        _note_shared_parts(ev, node.init.exprs[1:] and node.init.exprs, ctype, node)
    if isinstance(ctype, OpaqueType) and node.init is not None and not _is_braced(node.init):
        value = _initial_value(ev, node.init, ctype)
        ctype = type_of(value) if not isinstance(value, Unknown) else ctype
    obj = state.new_local(node.name, ctype, state.key(node, node.name))
    variable = as_constant(ev, Variable(obj, ctype, constancy_of(ev, node, ctype)), node.init)
    state.bind(node.name, variable)
    if value is not None:
        state.memory.write(obj, ORIGIN, ctype, convert(ev, value, ctype), state.mask)
    elif node.init is not None:
        initialize(ev, variable, node.init)
    elif isinstance(ctype, StaticType):
        state.memory.write(obj, ORIGIN, ctype, zero_value(ctype), state.mask)
    elif isinstance(ctype, RecordType) and ctype.record is not None:
        construct_at(ev, LValue(obj, ORIGIN, ctype), [], node)


def _declare_list(ev: Evaluator, node: ir.Decl, ctype: CType) -> bool:
    """Declares a `std::vector` that begins with a list or empty; returns False for all others."""
    listed = list_type(ev, ctype, node.init)
    elements = array_member(listed) if listed is not None else None
    if listed is None or elements is None:
        return False
    obj = ev.state.new_local(node.name, listed, ev.state.key(node, node.name))
    ev.state.bind(node.name, Variable(obj, listed))
    items = node.init.exprs if isinstance(node.init, ir.InitList) else ()
    if items:
        fill_array(ev, LValue(obj, ORIGIN, elements), ir.InitList(items, at=node.at))
    set_list_size(ev, LValue(obj, ORIGIN, listed), len(items))
    return True


def _declare_reference(ev: Evaluator, node: ir.Decl, ctype: CType) -> None:
    state = ev.state
    assert isinstance(ctype, PointerType)
    init = first_argument(node.init)
    place = (
        ev.lvalue(init)
        if init is not None
        else Unknown.because(ReasonCode.NO_VALUE, f"`{node.name}` has no initializer")
    )
    target = ctype.target
    if init is not None and isinstance(place, LValue) and binds_temporary(place.type, target):
        held = convert(ev, read_lvalue(ev, place, init), target)
        local = state.new_local(node.name, target, state.key(node, f"held {node.name}"), held)
        place = LValue(local, ORIGIN, target)
    value: Value
    if isinstance(place, Unknown):
        function = ev.evaluate(init) if isinstance(init, ir.ID) else None
        if isinstance(function, CallableValue):
            state.bind(node.name, function)
            return
        value = place
    else:
        if isinstance(target, OpaqueType | ArrayType) or isinstance(place.type, RecordType):
            target = place.type
        value = Pointer(place.object, place.offset, target, place.volatile or ctype.is_volatile)
    obj = Object(
        node.name, ctype, Space.LOCAL, state.key(node, node.name), {0: value}, born=state.mask
    )
    state.bind(node.name, Variable(obj, PointerType(target, True), constancy_of(ev, node, target)))


def _initial_value(ev: Evaluator, init: ir.Node, ctype: OpaqueType) -> Value:
    argument = first_argument(init)
    if argument is None:
        return zero_value(ctype)
    if isinstance(init, ir.DirectInit) and ctype.spelling != "auto":
        values, is_shared = given_values(ev, init.args)
        is_unknown = isinstance(ctype, UnreadTemplate) or len(values) < len(init.args)
        given = values if is_unknown else values[1:]
        if is_shared or any(is_shared_address(ev.state, value) for value in given):
            note_shared_argument(ev, ctype.spelling, init)
        if is_unknown:
            return Unknown.because(ReasonCode.UNKNOWN_TYPE, f"`{ctype.spelling}` is not known")
        return values[0]
    return ev.evaluate(argument)


def _note_shared_parts(
    ev: Evaluator, parts: Sequence[ir.Expression], ctype: OpaqueType, node: ir.Node
) -> None:
    """Notes shared memory that an object of a class is made of that was not read."""
    values, is_shared = given_values(ev, parts)
    if is_shared or any(is_shared_address(ev.state, value) for value in values):
        note_shared_argument(ev, ctype.spelling, node)


def shared_object(ev: Evaluator, node: ir.Decl, ctype: CType) -> Object:
    """Returns the shared array of a declaration: one for all calls and iterations."""
    state = ev.state
    key = (
        state.key(node, f"shared {node.name} ")
        if not state.frames
        else f"shared {node.name}:{node.at}"
    )
    if key in state.arrays:
        return state.arrays[key]
    dims: list[int | None] = []
    element = ctype
    while isinstance(element, ArrayType):
        dims.append(element.count)
        element = element.element
    size = ctype.size if is_sized(ctype) else None
    is_dynamic = "extern" in node.storage and size is None  # nvcc defines `extern .. s[64]` (13.5)
    if size is not None and size > MAX_ARRAY_BYTES:
        raise BudgetExceeded(f"`{node.name}` has {size:.2g} bytes", ReasonCode.MEMORY_LIMIT)
    shared = SharedArray(
        node.name,
        state.unit.span(node),
        _spelled(element),
        element.size,
        tuple(dims),
        0,
        size,
        max(declared_alignment(ev, node), 16 if is_dynamic else ctype.align),
        is_dynamic,
    )
    volatile = "volatile" in node.quals
    obj = Object(
        node.name,
        ctype,
        Space.SHARED,
        key,
        shared=shared,
        is_volatile=volatile,
        conditions=tuple(dict.fromkeys(_conditions_of_type(ev, node.type, ctype, set()))),
    )
    state.arrays[key] = obj
    return obj


def _conditions_of_type(
    ev: Evaluator, node: ir.Node | None, ctype: CType, seen: set[int]
) -> Iterator[str]:
    """Yields the assumed `#if` conditions that the layout of a declared type hangs on.

    They stand around the alias that names it, and around members of its classes.
    """
    unit = ev.state.unit
    words = type_words(node)
    declared = unit.declarations.get(words[-1], ()) if words else ()
    yield from next((d.conditions for d in declared if d.kind == "alias"), ())
    while isinstance(ctype, ArrayType):
        ctype = ctype.element
    if not isinstance(ctype, RecordType) or id(ctype.record) in seen:
        return
    seen.add(id(ctype.record))
    tree = cast("Record", ctype.record).parse() if ctype.record is not None else None
    types = {member.name: member.type for member in ctype.members}
    for member in (tree.decls or ()) if tree is not None else ():
        if isinstance(member, ir.Decl) and member.name in types:
            yield from unit.conditions(member)
            yield from _conditions_of_type(ev, member.type, types[member.name], seen)


def _spelled(ctype: CType) -> str:
    if isinstance(ctype, IntType):
        return ("" if ctype.signed else "u") + f"int{ctype.bits}" if not ctype.is_bool else "bool"
    if isinstance(ctype, AnonymousFloat):
        return repr(ctype)
    return getattr(ctype, "name", None) or getattr(ctype, "spelling", "") or "pointer"


def _is_braced(init: ir.Node) -> bool:
    return isinstance(init, ir.InitList) and len(init.exprs) != 1
