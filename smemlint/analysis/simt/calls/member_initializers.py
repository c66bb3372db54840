"""Constructors' lists: `: a(x), b(y)` initializes members and bases in front of the body."""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.calls.construction import (
    construct_at,
    fill_array,
    initialize_as_declared,
)
from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.calls.unfollowed import unfollowed_call, unfollowed_values
from smemlint.analysis.simt.dispatch import executes
from smemlint.analysis.simt.domain.ctypes import ArrayType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, is_reference
from smemlint.analysis.simt.domain.values import Pointer, Space, Unknown, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import write_lvalue
from smemlint.analysis.simt.interpreter.lvalues import member_lvalue, part_of
from smemlint.frontend import ir


@executes(ir.MemberInit)
def initialize_member(ev: Evaluator, node: ir.MemberInit) -> None:
    """Initializes a member or a base class in front of a constructor's body."""
    name, record, this = node.member.name, ev.state.frame.record, ev.state.frame.this
    place: LValue | Unknown | None = None
    if _bind_reference(ev, node):
        return
    if record is not None and this is not None:
        is_member = any(m.name == name for m in record.members)
        part = member_lvalue if is_member else _base
        place = part(ev, this, record, name)
    if isinstance(place, LValue) and isinstance(place.type, RecordType):
        construct_at(ev, place, node.args, node)
    elif isinstance(place, LValue) and isinstance(place.type, ArrayType):
        fill_array(ev, place, ir.InitList(node.args, at=node.at))
    elif isinstance(place, LValue) and len(node.args) == 1 and not is_reference(place.type):
        write_lvalue(ev, place, ev.evaluate(node.args[0]), node)
    else:
        call = ir.FuncCall(node.member, node.args, at=node.at)
        unfollowed_call(ev, f"the constructor of {name}", call)


def _bind_reference(ev: Evaluator, node: ir.MemberInit) -> bool:
    """Binds a member that is a reference; returns False of all others.

    To a value that has no place, none is bound.
    """
    record, this = ev.state.frame.record, ev.state.frame.this
    member = record.member(node.member.name) if record is not None else None
    is_bound = member is not None and is_reference(member.type) and len(node.args) == 1
    if not is_bound or member is None or this is None or this.object.space is not Space.LOCAL:
        return False
    operand = operand_of(ev, node.args[0])
    if operand.place is None:
        name, value = f"the constructor of {member.name}", operand_value(ev, operand)
        unfollowed_values(ev, name, [value], node, "it binds a reference to a value")
        return True
    write_lvalue(ev, part_of(ev, this, member), operand.place.pointer(), node)
    return True


def _base(ev: Evaluator, this: Pointer, record: RecordType, name: str) -> LValue | None:
    """Returns the part of an object that is of a base class; None for any other name."""
    ctype = record if name == record.name else ev.types.spelled(name)
    offset = record.base_offset(ctype) if isinstance(ctype, RecordType) else None
    if ctype is None or offset is None:
        return None
    return LValue(this.object, ev.state.domain.add(this.offset, offset_of(offset)), ctype)


@executes(ir.OtherMembers)
def initialize_others(ev: Evaluator, node: ir.OtherMembers) -> None:
    """Gives members their declared values that are of members which a constructor's list set.

    `struct S { S(int a) : n(a) {} int n; int twice = 2 * n; };`
    """
    record, this = ev.state.frame.record, ev.state.frame.this
    if record is None or this is None or this.object.space is not Space.LOCAL:
        return
    members = {member.name for member in record.members}
    place = LValue(this.object, this.offset, record)
    for member in record.members if members.intersection(node.named) else ():
        init = cast("ir.Node | None", record.initial.get(member.name))
        if init is None or member.name in node.named:
            continue
        if not members.isdisjoint(ev.state.node_facts.names_in(init)):
            initialize_as_declared(ev, place, record, member, init)
