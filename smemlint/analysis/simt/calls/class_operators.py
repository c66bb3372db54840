"""Operators that classes define whose objects hold addresses: iterators, and views of memory.

Those of other classes compute numbers that no address is made of; they are not called. Nor are
those of streams: what is read from one is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smemlint.analysis.simt.calls.candidates import find_candidates
from smemlint.analysis.simt.calls.inlining import inline_best, inline_member
from smemlint.analysis.simt.calls.unfollowed import forget_place, is_shared_address
from smemlint.analysis.simt.domain.ctypes import PointerType, RecordType
from smemlint.analysis.simt.domain.environment import LValue, Variable, type_of
from smemlint.analysis.simt.domain.values import Aggregate, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import read_lvalue
from smemlint.analysis.simt.types.specializations import class_fit
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode


def call_operator(
    ev: Evaluator, op: str, operands: Sequence[tuple[ir.Node, Value]], node: ir.Expression
) -> Value | None:
    """Returns what an operator gives that is defined for its operands, if objects; else None."""
    if not any(_holds_address(v) or _refers_to_object(v) for _, v in operands):
        return None
    name = f"operator{op}"
    if any(ev.policy.functions(ev, name)):
        with ev.state.frame.scoped():
            value = call_defined(ev, name, [named(ev, *operand) for operand in operands], node)
        if value is not None:
            return value
    if any(is_shared_address(ev.state, value) for _, value in operands):
        text = f"operator `{op}` of an object that holds a shared address is not followed"
        return ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))
    return None


def operated(ev: Evaluator, value: Value, node: ir.Expression) -> Value:
    """Returns the value of an operator that gives a reference."""
    if isinstance(value, Pointer) and value.is_reference:
        place = LValue(value.object, value.offset, value.target, value.is_volatile)
        return read_lvalue(ev, place, node)
    return value


def is_of_stream(ev: Evaluator, node: ir.BinaryOp) -> bool:
    """Returns whether a shift of what is not known gives that again, and has been followed.

    Host code that only writes a text is not asked for it: `std::cerr << "m: " << m`.
    """
    if node.op == ">>":
        return _is_read_from_stream(ev, node)
    if ev.policy.tracks_scev:
        return False
    effects = ev.state.node_facts.mod_ref(node.right)
    return (
        effects is not None and effects.is_arithmetic and not (effects.modified or effects.callees)
    )


def _is_read_from_stream(ev: Evaluator, node: ir.BinaryOp) -> bool:
    """Returns whether what is no number gives a variable its value: `std::cin >> threads`."""
    if not isinstance(node.right, ir.ID | ir.StructRef | ir.ArrayRef):
        return False
    place = ev.lvalue(node.right)
    if isinstance(place, Unknown) or place.object.space is not Space.LOCAL:
        return False
    if not ev.policy.may_write("operator>>", place.type, is_used=False):
        return False
    forget_place(ev, place, f"`{ev.state.source_text(node.right)}` is read from a stream")
    return True


def call_defined(
    ev: Evaluator, name: str, operands: Sequence[ir.Expression], node: ir.Expression
) -> Value | None:
    """Returns what a member or a free function of a name gives; None where none takes these."""
    called = ir.ID(name, at=node.at)
    place = ev.lvalue(operands[0])
    if isinstance(place, LValue):
        call = ir.FuncCall(called, tuple(operands[1:]), at=node.at)
        value = inline_member(ev, name, place, call)
        if value is not None:
            return value
    free = ir.FuncCall(called, tuple(operands), at=node.at)
    types = [place.type] if isinstance(place, LValue) else []
    found = [
        f for f in find_candidates(ev, name, None, free) if class_fit(ev, f, types) is not None
    ]
    return inline_best(ev, found, (), free, None, None) if found else None


def named(ev: Evaluator, node: ir.Node, value: Value) -> ir.Expression:
    """Returns a name for an operand that was evaluated, which is not evaluated again."""
    if isinstance(node, ir.ID):
        return node
    name, ctype = f"operand at {node.at}", type_of(value)
    if isinstance(value, Pointer) and value.is_reference:
        ctype = PointerType(value.target, is_reference=True)
    content = ev.state.new_local(name, ctype, ev.state.key(node, name), value)
    ev.state.bind(name, Variable(content, ctype))
    return ir.ID(name, at=node.at)


def _holds_address(value: Value) -> bool:
    if not isinstance(value, Aggregate) or not isinstance(value.type, RecordType):
        return False
    return value.type.record is not None and _leads_on(value.cells.values())


def _refers_to_object(value: Value) -> bool:
    return (
        isinstance(value, Pointer) and value.is_reference and isinstance(value.target, RecordType)
    )


def _leads_on(values: Iterable[Value]) -> bool:
    return any(
        isinstance(v, Pointer) or (isinstance(v, Aggregate) and _leads_on(v.cells.values()))
        for v in values
    )
