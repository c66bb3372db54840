"""Calls of functions and macros whose definition was not read."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.codegen.slow_paths import fetch_path
from smemlint.analysis.simt.domain.ctypes import CType, IntType, PointerType, RecordType, is_opaque
from smemlint.analysis.simt.domain.environment import LValue, Operand, Variable
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    Cute,
    Pointer,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.interpreter.accesses import unknown_argument
from smemlint.analysis.simt.loops.mod_ref import root_of
from smemlint.analysis.simt.shared_functions import leads_to_shared
from smemlint.analysis.simt.state import State
from smemlint.analysis.simt.types.template_arguments import type_argument
from smemlint.frontend import ir
from smemlint.frontend.heuristics import (
    is_copy_instruction,
    is_format,
    is_macro_name,
    only_reads_ranges,
)
from smemlint.frontend.program import Prototype
from smemlint.reasons import Reason, ReasonCode


def unfollowed_call(ev: Evaluator, name: str, node: ir.FuncCall, *, is_used: bool = True) -> Value:
    """Returns a call of what is not known: its value, and what it may have changed."""
    ev.state.trace.part(fetch_path(name))
    takes_places = is_macro_name(name) or is_copy_instruction(name)
    values, is_shared, operands = _given(ev, node.args, takes_places=takes_places)
    if is_shared:
        note_shared_argument(ev, name, node)
    value = unfollowed_values(ev, name, values, node, "no definition was read")
    forget_written(ev, name, node, operands, is_used=is_used)
    return _declared_pointer(ev, node) or value


def _declared_pointer(ev: Evaluator, node: ir.FuncCall) -> Value | None:
    """Returns the pointer that host code is given by a function whose declaration was read.

    What it points to tells template arguments: `run(input.float_pointer())`.
    """
    owners = _owners(ev, node) if not ev.policy.tracks_scev else ()
    found = [p for p in prototypes_of(ev, node) if p.scope[-1:] in owners] if owners else []
    fitting = [p for p in found if len(p.writes) == len(node.args)] or found
    results = {p.result for p in fitting}
    result = results.pop() if len(results) == 1 else ""
    ctype = type_argument(ev, result) if result.endswith("*") else None
    if not isinstance(ctype, PointerType) or is_opaque(ctype.target):
        return None
    ev.state.sequence += 1
    key = ev.state.key(node, f"call{ev.state.sequence}")
    return unknown_argument(ev, ctype, key, ev.state.source_text(node))


def _owners(ev: Evaluator, node: ir.FuncCall) -> Sequence[tuple[str, ...]]:
    """Returns the scopes, by their last names, that a function may be declared in that is called.

    Empty where a method is called on what has no class that was read.
    """
    callee, state = node.name, ev.state
    if isinstance(callee, ir.StructRef):
        if not isinstance(callee.name, ir.ID | ir.StructRef):
            return ()
        ctype = operand_of(ev, callee.name).type
        ctype = ctype.target if isinstance(ctype, PointerType) else ctype
        return [(c.name,) for c in ctype.with_bases()] if isinstance(ctype, RecordType) else ()
    if not isinstance(callee, ir.ID):
        return ()
    *prefix, _ = state.unit.template_arguments(callee.name)[0].split("::")
    if prefix:
        return [tuple(prefix[-1:])] if prefix[-1] else [()]
    record = state.frame.record
    classes = [(c.name,) for c in record.with_bases()] if record is not None else []
    return [(), *((name,) for name in state.place if name not in state.unit.records), *classes]


def forget_written(
    ev: Evaluator, name: str, node: ir.FuncCall, operands: Sequence[Operand], *, is_used: bool
) -> None:
    """Forgets the numbers and objects that a function may write which takes them by reference.

    Args:
        ev: the evaluator.
        name: of the function.
        node: the call.
        operands: what it is given.
        is_used: whether its value is.
    """
    ev.policy.on_unread(ev, name, operands)
    declared = [p for p in prototypes_of(ev, node) if len(p.writes) >= len(operands)]
    if not declared and any(is_format(ev.state.source_text(o.node)) for o in operands[:3]):
        return
    for i, operand in enumerate(operands):
        place = operand.place
        if place is None or place.object.space is not Space.LOCAL:
            continue
        if not isinstance(place.type, IntType | RecordType) or _is_constant(ev, operand.node):
            continue
        if declared:
            is_written = any(prototype.writes[i] for prototype in declared)
        else:
            is_written = ev.policy.may_write(name, place.type, is_used=is_used)
        if is_written:
            forget_place(ev, place, f"`{ev.state.source_text(operand.node)}` was given to `{name}`")


def _is_constant(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether an argument is a variable that is declared constant, which none may write."""
    found = ev.state.lookup(node.name) if isinstance(node, ir.ID) else None
    return isinstance(found, Variable) and found.is_constant is True


def forget_place(ev: Evaluator, place: LValue, why: str) -> None:
    """Makes what lies in a place unknown."""
    unknown = Unknown.because(ReasonCode.NOT_DECLARED, why)
    ev.state.memory.write(place.object, place.offset, place.type, unknown, ev.state.mask)


def prototypes_of(ev: Evaluator, node: ir.FuncCall) -> list[Prototype]:
    """Returns the declarations without a body that a call may mean by its function's name."""
    callee = node.name.field if isinstance(node.name, ir.StructRef) else node.name
    if not isinstance(callee, ir.ID):
        return []
    last = ev.state.unit.template_arguments(callee.name)[0].rsplit("::", 1)[-1]
    return [p for unit in ev.policy.units(ev) for p in unit.prototypes(last)]


def unfollowed_values(
    ev: Evaluator, name: str, values: Sequence[Value], node: ir.Node, why: str
) -> Value:
    """Returns the value of a call that is not followed, and notes what it may change.

    Args:
        ev: the evaluator.
        name: of the function.
        values: the arguments.
        node: the call.
        why: it is not followed.
    """
    state = ev.state
    text = f"the call of `{name}` is not followed: {why}"
    for value in values:
        if isinstance(value, AffineInt) and any(s.key in state.bases for s, _ in value.terms):
            text = f"`{name}` is given a shared address and its definition was not read"
            state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, text))
        if _is_shared_tensor(value):
            note_shared_argument(ev, name, node)
        written = value.payload if isinstance(value, CallableValue) else None
        body = getattr(getattr(written, "node", None), "body", None)  # of a lambda
        if isinstance(body, ir.Node) and leads_to_shared(ev, body):
            note_shared_argument(ev, name, node)
        if isinstance(value, Aggregate) and is_shared_address(state, value):
            note_shared_argument(ev, name, node)
        if isinstance(value, Pointer):
            if value.object.space is Space.SHARED:
                note_shared_argument(ev, name, node)
            elif value.object.space is Space.LOCAL and not only_reads_ranges(name):
                state.memory.forget(value.object, f"was given to `{name}`")
    return Unknown.because(ReasonCode.NOT_DECLARED, text)


def unfollowed_construct(
    ev: Evaluator, what: str, parts: Sequence[ir.Expression], node: ir.Node
) -> Value:
    """Returns a construct that is not followed: its value, and what it may have changed."""
    state = ev.state
    values, is_shared = given_values(ev, parts)
    for value in values:
        if isinstance(value, Pointer) and value.object.space is Space.LOCAL:
            state.memory.forget(value.object, f"was given to {what}")
    if is_shared or any(is_shared_address(state, value) for value in values):
        text = f"{what} is given shared memory and is not followed"
        state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))
    return Unknown.because(ReasonCode.NOT_MODELLED, f"{what} is not followed")


def is_shared_address(state: State, value: Value) -> bool:
    """Returns whether a value leads to shared memory: an address, a tensor, or what holds one."""
    if isinstance(value, Pointer):
        return value.object.space is Space.SHARED
    if isinstance(value, Aggregate):
        return any(is_shared_address(state, held) for held in value.cells.values())
    is_address = isinstance(value, AffineInt) and any(s.key in state.bases for s, _ in value.terms)
    return is_address or _is_shared_tensor(value)


def _is_shared_tensor(value: Value) -> bool:
    if not isinstance(value, Cute):
        return False
    from smemlint.analysis.simt.cute.values import shared_tensor_of

    return shared_tensor_of(value) is not None


def note_shared_argument(ev: Evaluator, name: str, node: ir.Node) -> None:
    """Notes that an unread function is given shared memory."""
    text = f"`{name}` is given shared memory and its definition was not read"
    ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, text))


def given_values(ev: Evaluator, arguments: Sequence[ir.Expression]) -> tuple[list[Value], bool]:
    """Returns what is given to unread code, and whether places in shared memory are, not read.

    What takes objects of classes takes references.
    """
    values, is_shared, _ = _given(ev, arguments)
    return values, is_shared


def _given(
    ev: Evaluator, arguments: Sequence[ir.Expression], *, takes_places: bool = False
) -> tuple[list[Value], bool, list[Operand]]:
    """Returns the same, and the operands.

    Macros often view their argument as something wider (`FLOAT4(s[i])`), and copies take
    references: of theirs, no element is read.
    """
    values, is_shared, operands = [], False, []
    for argument in arguments:
        operand = operand_of(ev, argument)
        operands.append(operand)
        place = operand.place
        lies_shared = place is not None and place.object.space is Space.SHARED
        if lies_shared and (takes_places or _is_of_class(operand.type)):
            is_shared = True
            continue
        values.append(operand_value(ev, operand))
        if isinstance(values[-1], Unknown) and place is None:
            is_shared |= _is_part_of_unread(ev, argument)
    return values, is_shared, operands


def _is_part_of_unread(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether an expression names a part of a shared object of a class not read."""
    root = root_of(node)
    variable = ev.state.lookup(root) if root is not None else None
    if not isinstance(variable, Variable) or variable.object.space is not Space.SHARED:
        return False
    return is_opaque(variable.type)


def _is_of_class(ctype: CType) -> bool:
    """Returns whether a type is a class or may be one; built-in vectors are as numbers."""
    return is_opaque(ctype) or (isinstance(ctype, RecordType) and ctype.record is not None)
