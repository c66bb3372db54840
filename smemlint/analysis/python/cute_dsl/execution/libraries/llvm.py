"""Inline PTX of the DSL: loads and stores of shared memory at the addresses that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, method
from smemlint.analysis.python.cute_dsl.execution.copies import note_without_lanes
from smemlint.analysis.python.cute_dsl.execution.left_out import note_unfollowed
from smemlint.analysis.python.cute_dsl.execution.recording.elements import issue_assembly
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Cute,
    Opaque,
    Pointer,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import DType, Value
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Address, Immediate, Name, Operation
from smemlint.frontend.ptx.templates import instructions
from smemlint.layout import cute
from smemlint.layout.cute import CopiedFrom

_BYTE = DType("Uint8", 8)
_OPS = {"ld": "load", "st": "store"}
_OF_MATRICES = ("ldmatrix", "stmatrix")
_ROW_BYTES = 16


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
    if not isinstance(pointer, Pointer) or operation.guard:
        return False
    if opcode.has("bulk"):
        note_without_lanes(call, "bulk copy", pointer.origin.object)
        return True
    pointer = replace(pointer, base=pointer.base + 8 * address.offset)
    if opcode.name in _OF_MATRICES:
        matrices = max(opcode.matrices, 1)
        issue_assembly(call.run, pointer, opcode.name, _ROW_BYTES, call.node, matrices=matrices)
        return True
    if opcode.name == "cp" and opcode.parts[:1] == ("async",):
        return _follow_copy(call, operation, pointer)
    if opcode.name not in _OPS or opcode.space != "shared" or opcode.has("async"):
        return False
    vector = DType(opcode.type, 8 * opcode.bytes * opcode.elements)
    pointer = replace(pointer, origin=replace(pointer.origin, dtype=vector))
    width = opcode.bytes * opcode.elements
    issue_assembly(call.run, pointer, _OPS[opcode.name], width, call.node)
    return True


def _follow_copy(call: Call, operation: Operation, target: Pointer) -> bool:
    """Records `cp.async.cg.shared.global [to], [from], bytes[, source bytes];`."""
    sizes = [o for o in operation.operands if not isinstance(o, Address)]
    width = sizes[0].value if sizes and isinstance(sizes[0], Immediate) else None
    if width not in (4, 8, 16):
        return False
    form = "cg" if "cg" in operation.opcode else "ca"
    copied = CopiedFrom(None, None, form, is_zero_filling=len(sizes) > 1)
    issue_assembly(call.run, target, "cp.async", width, call.node, copied=copied)
    return True
