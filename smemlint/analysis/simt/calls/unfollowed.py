"""Calls of functions and macros whose definition was not read."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.calls.operands import operand_of, operand_value
from smemlint.analysis.simt.cute.values import shared_tensor_of
from smemlint.analysis.simt.domain.ctypes import CType, RecordType, is_opaque
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.state import State
from smemlint.frontend import ir
from smemlint.frontend.heuristics import is_copy_instruction, is_macro_name
from smemlint.reasons import Reason, ReasonCode


def unfollowed_call(ev: Evaluator, name: str, node: ir.FuncCall) -> Value:
    """Returns a call of what is not known: its value, and what it may have changed."""
    takes_places = is_macro_name(name) or is_copy_instruction(name)
    values, is_shared = given_values(ev, node.args, takes_places=takes_places)
    _forget_references(ev, name, node)
    if is_shared:
        note_shared_argument(ev, name, node)
    return unfollowed_values(ev, name, values, node, "no definition was read")


_WRITERS = frozenset(("swap", "iter_swap", "exchange", "tie", "getline", "ref"))
"""Functions of the standard library that take numbers by reference to change them."""


def _forget_references(ev: Evaluator, name: str, node: ir.FuncCall) -> None:
    """Forgets what unread code may take by reference: of host code objects of classes, too."""
    is_writer = name.split("<", 1)[0].rpartition("::")[2] in _WRITERS
    if not (is_writer or ev.policy.follows_lists):
        return
    for argument in node.args:
        place = ev.lvalue(argument) if isinstance(argument, _PLACES) else None
        if not isinstance(place, LValue) or place.object.space is not Space.LOCAL:
            continue
        if is_writer or isinstance(place.type, RecordType):
            ev.state.memory.forget(place.object, f"was given to `{name}`")


_PLACES = (ir.ID, ir.StructRef, ir.ArrayRef)


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
        if shared_tensor_of(value) is not None:
            note_shared_argument(ev, name, node)
        if isinstance(value, Pointer):
            if value.object.space is Space.SHARED:
                note_shared_argument(ev, name, node)
            elif value.object.space is Space.LOCAL:
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
    if is_shared or any(_is_shared_address(state, value) for value in values):
        text = f"{what} is given shared memory and is not followed"
        state.note_unfollowed(node, Reason(ReasonCode.NOT_MODELLED, text))
    return Unknown.because(ReasonCode.NOT_MODELLED, f"{what} is not followed")


def _is_shared_address(state: State, value: Value) -> bool:
    """Returns whether a value leads to shared memory: an address, a pointer or a tensor."""
    if isinstance(value, Pointer):
        return value.object.space is Space.SHARED
    is_address = isinstance(value, AffineInt) and any(s.key in state.bases for s, _ in value.terms)
    return is_address or shared_tensor_of(value) is not None


def note_shared_argument(ev: Evaluator, name: str, node: ir.Node) -> None:
    """Notes that an unread function is given shared memory."""
    text = f"`{name}` is given shared memory and its definition was not read"
    ev.state.note_unfollowed(node, Reason(ReasonCode.NOT_DECLARED, text))


def given_values(
    ev: Evaluator, arguments: Sequence[ir.Expression], *, takes_places: bool = False
) -> tuple[list[Value], bool]:
    """Returns what is given to unread code, and whether places in shared memory are, not read.

    Macros often view their argument as something wider (`FLOAT4(s[i])`), copies and what takes
    objects of classes take references.
    """
    values, is_shared = [], False
    for argument in arguments:
        operand = operand_of(ev, argument)
        place = operand.place
        lies_shared = place is not None and place.object.space is Space.SHARED
        if lies_shared and (takes_places or _is_of_class(operand.type)):
            is_shared = True
        else:
            values.append(operand_value(ev, operand))
    return values, is_shared


def _is_of_class(ctype: CType) -> bool:
    """Returns whether a type is a class or may be one; built-in vectors are as numbers."""
    return is_opaque(ctype) or (isinstance(ctype, RecordType) and ctype.record is not None)
