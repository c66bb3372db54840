"""Inline PTX: which shared bytes an `asm` statement touches, and what its outputs hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from smemlint.analysis.simt.builtins import atomics
from smemlint.analysis.simt.builtins.async_copies import record_copy
from smemlint.analysis.simt.dispatch import evaluates
from smemlint.analysis.simt.domain.ctypes import I64, FloatType
from smemlint.analysis.simt.domain.environment import WARP, LValue
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Space,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.interpreter.accesses import emit_event, write_lvalue
from smemlint.analysis.simt.interpreter.conversions import shared_pointer
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.evaluator import Evaluator

_INSTRUCTION = re.compile(r"(?:@!?%?\w+\s+)?([a-z][\w.:]*)\s*([^;]*)(?:;|$)")
_OPERAND = re.compile(r"%(\d{1,4})")
_NUMBER = re.compile(r"[0-9]{1,18}")
_ADDRESS = re.compile(r"\[\s*([^\]]*?)\s*\]")
_BITS = re.compile(r"\.[busf]x?(8|16|32|64|128)\b")
_SHARED_MEMORY = re.compile(
    r"^(?P<op>ld|st|ldmatrix|stmatrix|atom|red|cp\.async(?!\.(?:commit|wait|bulk|mbarrier)))\b(?P<rest>.*)$"
)


@evaluates(ir.Assembly)
def evaluate_assembly(ev: Evaluator, node: ir.Assembly) -> Value:
    """Records the shared accesses of inline PTX, and makes its outputs unknown."""
    state = ev.state
    outputs = node.outputs
    operands = [*outputs, *node.inputs]
    values: dict[int, Value] = {
        i + len(outputs): ev.evaluate(operand.expr) for i, operand in enumerate(node.inputs)
    }
    for i, operand in enumerate(outputs):
        if operand.constraint.startswith("+"):
            values[i] = ev.evaluate(operand.expr)
    for opcode, rest in _instructions(_unescaped(node.template)):
        if opcode.startswith(("bar.", "barrier", "fence", "membar", "mbarrier", "cp.async.wait")):
            state.trace.fence("barrier")
        if _is_special_register(opcode, rest):
            _assign(ev, outputs, state.geometry.linear, rest)
            return number(0)
        found = _SHARED_MEMORY.match(opcode)
        if found is not None:
            _access(ev, node, opcode, found["op"], rest, values, len(operands))
        elif ".shared" in opcode and opcode.startswith(
            ("cp.async.bulk", "wgmma", "tcgen05", "red.async")
        ):
            state.note_unfollowed(
                node,
                Reason(
                    ReasonCode.UNKNOWN_ADDRESS,
                    f"`{opcode.split('.shared')[0]}` moves shared memory by descriptor",
                ),
            )
    for operand in outputs:
        place = ev.lvalue(operand.expr)
        if isinstance(place, LValue) and place.object.space is Space.LOCAL:
            kind = place.type
            result: Value = Unknown(
                Reason(ReasonCode.DATA, "the result of inline PTX"), is_data=True
            )
            if isinstance(kind, FloatType) or operand.constraint.strip("=+&") in ("f", "d"):
                result = FloatValue(kind)
            write_lvalue(ev, place, result, operand.expr)
    return number(0)


def _unescaped(template: str) -> str:
    return template.replace("\\n", "\n").replace("\\t", " ").replace("%%", "%")


def _instructions(template: str) -> list[tuple[str, str]]:
    found = []
    for line in re.split(r"[;\n]", template):
        line = line.strip().lstrip("{").strip()
        match = _INSTRUCTION.match(line)
        if match is not None:
            found.append((match[1], match[2]))
    return found


def _is_special_register(opcode: str, rest: str) -> bool:
    return opcode.startswith("mov") and ("%laneid" in rest or "%warpid" in rest)


def _assign(
    ev: Evaluator, outputs: Sequence[ir.AssemblyOperand], linear: object, rest: str
) -> None:
    lanes = (
        ev.state.geometry.linear % WARP if "%laneid" in rest else ev.state.geometry.linear // WARP
    )
    for operand in outputs[:1]:
        place = ev.lvalue(operand.expr)
        if isinstance(place, LValue):
            write_lvalue(ev, place, AffineInt(lanes, I64), operand.expr)


def _access(
    ev: Evaluator,
    node: ir.Assembly,
    opcode: str,
    op: str,
    rest: str,
    values: dict[int, Value],
    count: int,
) -> None:
    """Records one PTX memory instruction if it touches shared memory."""
    state = ev.state
    brackets = _ADDRESS.findall(rest)
    if not brackets or (op in ("ld", "st", "atom", "red") and ".shared" not in opcode):
        return
    pointer = _address(ev, brackets[0], values, count)
    if op == "cp.async":
        _copy(ev, node, opcode, rest, pointer, values)
        return
    matrices = 0
    if op in ("ldmatrix", "stmatrix"):
        found = re.search(r"\.x([124])\b", opcode)
        matrices = int(found[1]) if found else 1
        width, kind = 16, AccessKind.LDMATRIX if op == "ldmatrix" else AccessKind.STMATRIX
    else:
        bits = _BITS.findall(opcode)
        vector = re.search(r"\.v([248])\b", opcode)
        width = (int(bits[-1]) // 8 if bits else 0) * (int(vector[1]) if vector else 1)
        kind = {"ld": AccessKind.LOAD, "st": AccessKind.STORE}.get(op, AccessKind.ATOMIC)
    operation, mask = "", state.mask
    if kind is AccessKind.ATOMIC:
        operand, is_used = _operand(rest, values), op != "red"
        operation = atomics.compiled(_operation(opcode), operand, is_used=is_used)
        if isinstance(pointer, Pointer):
            state.mask = atomics.issuing(mask, operation, pointer.offset, operand, is_used=is_used)
    if isinstance(pointer, Pointer):
        if pointer.object.space is Space.SHARED:
            emit_event(ev, 
                kind, pointer.object, pointer.offset, width, node,
                matrices=matrices, operation=operation, volatile=True,
            )  # fmt: skip
        state.mask = mask
    elif width:
        emit_event(ev, kind, None, pointer, width, node, matrices=matrices, operation=operation)


def _copy(
    ev: Evaluator,
    node: ir.Assembly,
    opcode: str,
    rest: str,
    target: Pointer | Unknown,
    values: dict[int, Value],
) -> None:
    """Records `cp.async.cg.shared.global [to], [from], bytes[, source bytes];`."""
    sizes = [s.strip() for s in rest.split("]")[-1].split(",") if s.strip()]
    width = _size_of(sizes[0] if sizes else "", values)
    brackets = _ADDRESS.findall(rest)
    source: Pointer | Unknown = Unknown(
        Reason(ReasonCode.UNKNOWN_ADDRESS, "its address was not found")
    )
    if len(brackets) > 1:
        source = _address(ev, brackets[1], values, len(values))
    size: Value | None = None
    if len(sizes) > 1:
        found = _OPERAND.fullmatch(sizes[1])
        size = values.get(int(found[1])) if found else number(_size_of(sizes[1], values))
    form = "cg" if opcode.startswith("cp.async.cg") else "ca"
    record_copy(ev, node, target, source, width, form=form, size=size)


def _operand(rest: str, values: dict[int, Value]) -> Value:
    """Returns what an atomic works with: the first operand behind its address."""
    text = rest.split("]", 1)[-1].lstrip(" ,").split(",")[0].strip(" ;")
    found = _OPERAND.fullmatch(text)
    if found is not None:
        return values.get(
            int(found[1]), Unknown(Reason(ReasonCode.NOT_MODELLED, "an operand that was not found"))
        )
    return (
        AffineInt(int(text))
        if _NUMBER.fullmatch(text)
        else Unknown(Reason(ReasonCode.NOT_MODELLED, "an operand that is not followed"))
    )


def _operation(opcode: str) -> str:
    words = [w for w in opcode.split(".") if w in _ATOMIC_WORDS]
    bits = re.search(r"\.([usbf]x?\d+(?:x2)?)", opcode)
    return f"{words[0] if words else 'add'}.{bits[1] if bits else 'b32'}"


_ATOMIC_WORDS = frozenset(("add", "exch", "min", "max", "inc", "dec", "cas", "and", "or", "xor"))


def _size_of(text: str, values: dict[int, Value]) -> int:
    found = _OPERAND.fullmatch(text)
    if found is not None:
        value = values.get(int(found[1]))
        return (value.constant or 0) if isinstance(value, AffineInt) else 0
    return int(text) if _NUMBER.fullmatch(text) else 0


def _address(ev: Evaluator, text: str, values: dict[int, Value], count: int) -> Pointer | Unknown:
    """Returns the pointer behind `%3`, `%3 + 16` or `%3+%4`."""
    total: Pointer | Unknown | None = None
    for part in text.split("+"):
        part = part.strip()
        found = _OPERAND.fullmatch(part)
        if found is not None:
            value = values.get(
                int(found[1]),
                Unknown(Reason(ReasonCode.NOT_MODELLED, "an operand that was not found")),
            )
            if total is None:
                total = shared_pointer(ev, value)
            elif isinstance(total, Pointer) and isinstance(value, AffineInt):
                total = Pointer(
                    total.object, ev.state.domain.add(total.offset, value), total.target
                )
        elif re.fullmatch(r"-?\w+", part) and part[-1:].isdigit() and isinstance(total, Pointer):
            try:
                total = Pointer(
                    total.object,
                    ev.state.domain.add(total.offset, AffineInt(int(part, 0), I64)),
                    total.target,
                )
            except ValueError:
                return Unknown(
                    Reason(ReasonCode.UNKNOWN_ADDRESS, f"the address `{text}` is not followed")
                )
        else:
            return Unknown(
                Reason(ReasonCode.UNKNOWN_ADDRESS, f"the address `{text}` is not followed")
            )
    return (
        total
        if total is not None
        else Unknown(Reason(ReasonCode.UNKNOWN_ADDRESS, f"the address `{text}` is not followed"))
    )
