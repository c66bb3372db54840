"""Memory instructions of inline PTX: which shared bytes they touch."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.simt.builtins import atomics
from smemlint.analysis.simt.builtins.async_copies import record_copy
from smemlint.analysis.simt.domain.ctypes import I64
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Space, Unknown, Value
from smemlint.analysis.simt.inline_ptx.instruction import Instruction
from smemlint.analysis.simt.inline_ptx.registers import Registers, loaded
from smemlint.analysis.simt.interpreter.accesses import emit_event
from smemlint.analysis.simt.interpreter.conversions import shared_pointer
from smemlint.facts import AccessKind
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Address, Operand
from smemlint.reasons import ReasonCode

_KINDS = {
    "ld": AccessKind.LOAD, "st": AccessKind.STORE, "ldmatrix": AccessKind.LDMATRIX,
    "stmatrix": AccessKind.STMATRIX, "atom": AccessKind.ATOMIC, "red": AccessKind.ATOMIC,
}  # fmt: skip
_ATOMIC_WORDS = frozenset(("add", "exch", "min", "max", "inc", "dec", "cas", "and", "or", "xor"))
_OF_MATRICES = ("ldmatrix", "stmatrix")
_ROW_BYTES = 16
_VOLATILE = ("volatile", "relaxed", "acquire", "release", "mmio")
_OTHER_COPIES = ("commit_group", "wait_group", "wait_all", "bulk", "mbarrier")


def is_memory(opcode: Opcode) -> bool:
    """Returns whether an instruction reads or writes memory at an address of its own."""
    if opcode.name == "cp":
        return opcode.parts[:1] == ("async",) and not opcode.has(*_OTHER_COPIES)
    return opcode.name in _KINDS and not opcode.has("async", "bulk")


def access_memory(registers: Registers, instruction: Instruction) -> None:
    """Records an instruction if it touches shared memory, and writes what it loads."""
    opcode, operands = instruction.opcode, instruction.operands
    at = next((i for i, o in enumerate(operands) if isinstance(o, Address)), None)
    if at is None:
        return
    address = operands[at]
    assert isinstance(address, Address)
    rest = operands[at + 1 :]
    if opcode.name == "cp":
        _copy(registers, instruction, address, rest)
    elif opcode.name in _OF_MATRICES or opcode.space in ("shared", "cluster"):
        _record(registers, instruction, address, rest)
    for destination in operands[:at]:
        value = loaded(opcode.type)
        registers.write_under(destination, value, is_certain=instruction.is_certain)


def _record(
    registers: Registers, instruction: Instruction, address: Address, rest: Sequence[Operand]
) -> None:
    opcode, node = instruction.opcode, instruction.node
    state = registers.ev.state
    kind = _KINDS[opcode.name]
    pointer = _pointer(registers, address)
    matrices = max(opcode.matrices, 1) if opcode.name in _OF_MATRICES else 0
    width = _ROW_BYTES if matrices else opcode.bytes * opcode.elements
    operation, mask = "", state.mask
    if kind is AccessKind.ATOMIC:
        operand = registers.read(rest[0]) if rest else AffineInt(0)
        is_used = opcode.name != "red"
        arch = state.geometry.arch
        operation = atomics.compiled(_operation(opcode), operand, is_used=is_used, arch=arch)
        if isinstance(pointer, Pointer):
            state.mask = atomics.issuing(
                mask, operation, pointer.offset, operand, is_used=is_used, arch=arch
            )
    extra = {"matrices": matrices, "operation": operation, "is_assembly": True}
    if isinstance(pointer, Unknown):
        emit_event(registers.ev, kind, None, pointer, width, node, **extra)
    elif pointer.object.space is Space.SHARED:
        emit_event(
            registers.ev, kind, pointer.object, pointer.offset, width, node,
            volatile=_is_kept(instruction), **extra,
        )  # fmt: skip
    state.mask = mask


def _is_kept(instruction: Instruction) -> bool:
    """Returns whether ptxas keeps it as it is (nvcc 13.0.88: `@p st`, `@p st` stay two)."""
    opcode = instruction.opcode
    extends = opcode.name == "ld" and opcode.is_signed and opcode.bytes < 4
    is_plain = opcode.name in ("ld", "st") and not opcode.has(*_VOLATILE)
    return extends or instruction.is_guarded or not is_plain


def _operation(opcode: Opcode) -> str:
    word = next((p for p in opcode.parts if p in _ATOMIC_WORDS), "add")
    return f"{word}.{opcode.type}"


def _copy(
    registers: Registers, instruction: Instruction, target: Address, rest: Sequence[Operand]
) -> None:
    """Records `cp.async.cg.shared.global [to], [from], bytes[, source bytes];`."""
    source: Value = Unknown.because(ReasonCode.UNKNOWN_ADDRESS, "its address was not found")
    if rest and isinstance(rest[0], Address):
        source = _pointer(registers, rest[0])
    sizes = [registers.read(operand) for operand in rest[1:] if not isinstance(operand, Address)]
    width = sizes[0].constant if sizes and isinstance(sizes[0], AffineInt) else None
    record_copy(
        registers.ev,
        instruction.node,
        _pointer(registers, target),
        source,
        width or 0,
        form="cg" if instruction.opcode.has("cg") else "ca",
        size=sizes[1] if len(sizes) > 1 else None,
    )


def _pointer(registers: Registers, address: Address) -> Pointer | Unknown:
    """Returns what `[%3 + 16]` points to."""
    pointer = shared_pointer(registers.ev, registers.read(address.base))
    if not isinstance(pointer, Pointer) or not address.offset:
        return pointer
    offset = registers.ev.state.domain.add(pointer.offset, AffineInt(address.offset, I64))
    return Pointer(pointer.object, offset, pointer.target)
