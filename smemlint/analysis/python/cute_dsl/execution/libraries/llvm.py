"""Inline PTX of the DSL: loads and stores of shared memory at the addresses that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, method
from smemlint.analysis.python.cute_dsl.execution.copies import access_pointer
from smemlint.analysis.python.cute_dsl.execution.left_out import note_unfollowed
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Cute,
    Opaque,
    Pointer,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import DType, Value
from smemlint.facts import AccessKind
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Address, Name, Operation
from smemlint.frontend.ptx.templates import instructions
from smemlint.layout import cute

_BYTE = DType("Uint8", 8)
_KINDS = {"ld": AccessKind.LOAD, "st": AccessKind.STORE}


@function("ptrtoint")
def pointer_to_integer(call: Call) -> Value:
    """Evaluates `llvm.ptrtoint(type, pointer)`."""
    return address_of(call.value(1, "arg"))


@method("toint")
def to_integer(call: Call) -> Value:
    """Evaluates `pointer.toint()`."""
    return address_of(call.owner)


def address_of(value: Value) -> Value:
    """Returns an address as a number: of shared memory, a pointer to bytes."""
    pointer = payload_of(value)
    if not isinstance(pointer, Pointer) or pointer.space is not cute.Space.SHARED:
        return Opaque("address")
    return Cute(replace(pointer, origin=replace(pointer.origin, dtype=_BYTE), swizzle=None))


@function("inline_asm")
def inline_assembly(call: Call) -> Value:
    """Evaluates `llvm.inline_asm(type, operands, text, constraints, ..)`."""
    names = ("operands_", "asm_string", "constraints")
    operands, text, constraints = (call.value(at, name) for at, name in enumerate(names, 1))
    if (
        not isinstance(operands, list | tuple)
        or not isinstance(text, str)
        or not isinstance(constraints, str)
    ):
        note_unfollowed(call.run, call.name, call.given.positional, call.node)
        return DATA
    values = {f"%{at}": v for at, v in enumerate(operands, constraints.count("="))}
    body = instructions(text.replace("$", "%"), {})
    operations = [s for s in body.statements if isinstance(s, Operation)]
    if any(o.opcode[0] in ("bra", "brx") for o in operations):
        values = {}  # which threads come to an access, and how often, is not known
    if body.unreadable is not None or not all(_follow(call, o, values) for o in operations):
        note_unfollowed(call.run, call.name, operands, call.node)
    return DATA


def _follow(call: Call, operation: Operation, values: Mapping[str, Value]) -> bool:
    """Records what an instruction accesses; returns whether that is known.

    Args:
        call: the call of `inline_asm`.
        operation: the instruction.
        values: of operands by name.
    """
    opcode = Opcode(operation.opcode[0], operation.opcode[1:])
    address = next((o for o in operation.operands if isinstance(o, Address)), None)
    if address is None or opcode.space == "global" or opcode.name == "mbarrier":
        return True  # barriers have no lane addresses
    base = values.get(address.base.text) if isinstance(address.base, Name) else None
    pointer = payload_of(base)
    if not isinstance(pointer, Pointer) or operation.guard or opcode.has("async"):
        return False
    if opcode.name not in _KINDS or opcode.space != "shared":
        return False
    vector = DType(opcode.type, 8 * opcode.bytes * opcode.elements)
    pointer = replace(
        pointer,
        base=pointer.base + 8 * address.offset,
        origin=replace(pointer.origin, dtype=vector),
    )
    access_pointer(call.run, pointer, _KINDS[opcode.name], call.node, is_assembly=True)
    return True
