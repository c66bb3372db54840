"""Arithmetic of inline PTX: what an instruction's destination holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smemlint.analysis.simt.domain.applied_functions import applied
from smemlint.analysis.simt.domain.ctypes import BOOL, U64
from smemlint.analysis.simt.domain.integer_functions import FUNCTIONS
from smemlint.analysis.simt.domain.lanes import settled
from smemlint.analysis.simt.domain.masking import select
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    FloatValue,
    Pointer,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.inline_ptx.instruction import Instruction
from smemlint.analysis.simt.inline_ptx.registers import INTEGERS, RESULT, Registers, loaded
from smemlint.analysis.simt.interpreter.arithmetic import apply_binary
from smemlint.analysis.simt.interpreter.conversions import convert, pointer_to_int, to_condition
from smemlint.frontend import ir
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Operand, Pair

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "div": "/", "rem": "%",
}  # fmt: skip
_COMPARISONS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip
_FUNCTIONS = {
    "brev.b32": "__brev", "brev.b64": "__brevll", "clz.b32": "__clz", "clz.b64": "__clzll",
    "popc.b32": "__popc", "popc.b64": "__popcll", "sad.u32": "__usad", "sad.s32": "__sad",
    "shf.l.wrap.b32": "__funnelshift_l", "shf.l.clamp.b32": "__funnelshift_lc",
    "shf.r.wrap.b32": "__funnelshift_r", "shf.r.clamp.b32": "__funnelshift_rc",
    "mul.hi.u32": "__umulhi", "mul.hi.s32": "__mulhi", "mul.hi.u64": "__umul64hi",
    "mul.hi.s64": "__mul64hi", "mul24.lo.u32": "__umul24", "mul24.lo.s32": "__mul24",
    "dp4a.s32.s32": "dp4a.s32", "dp4a.u32.u32": "dp4a.u32",
}  # fmt: skip
"""Instructions that an intrinsic stands for; `bfe.u32` and others are in the table as they are."""


def computed(registers: Registers, instruction: Instruction) -> Value:
    """Returns what an instruction computes; `loaded` for one that is not followed."""
    opcode, node, operands = instruction.opcode, instruction.node, instruction.operands[1:]
    spelling = ".".join((opcode.name, *opcode.parts))
    name = _FUNCTIONS.get(spelling, spelling)
    if name in FUNCTIONS and len(operands) == len(FUNCTIONS[name].operands):
        kinds = FUNCTIONS[name].operands
        values = [
            _as(registers, registers.read(o), k) for o, k in zip(operands, kinds, strict=True)
        ]
        return applied(registers.ev.state.domain, name, FUNCTIONS[name], values)
    compute = _COMPUTE.get(opcode.name)
    least = _LEAST.get(opcode.name, 2)
    if compute is None or len(operands) < least or not _is_of_integers(opcode):
        return loaded(opcode.types[0] if opcode.types else "b32")
    return compute(registers, opcode, operands, node)


def _is_of_integers(opcode: Opcode) -> bool:
    return opcode.is_integer or opcode.name in ("mov", "selp", "setp")


def _as(registers: Registers, value: Value, kind: object) -> Value:
    """Returns an operand in a type of C."""
    if isinstance(value, Pointer):
        return pointer_to_int(registers.ev, value, U64)
    return convert(registers.ev, value, kind)  # type: ignore[arg-type]


def _binary(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    type_ = opcode.type
    amount = "u32" if opcode.name in ("shl", "shr") else type_
    a, b = registers.read_as(operands[0], type_), registers.read_as(operands[1], amount)
    if type_ == "pred":
        a, b = (to_condition(v) for v in (a, b))
    if opcode.has("wide"):
        a, b = (_widened(registers, v, type_) for v in (a, b))
    elif opcode.has("hi"):
        return RESULT
    result = apply_binary(registers.ev, _BINARY[opcode.name], a, b, node)
    ctype = INTEGERS.get(type_)
    if ctype is None or opcode.has("wide"):
        return result
    return convert(registers.ev, result, ctype) if isinstance(result, AffineInt) else result


def _widened(registers: Registers, value: Value, type_: str) -> Value:
    wide = INTEGERS.get(f"{type_[0]}{2 * int(type_[1:])}")
    return convert(registers.ev, value, wide) if wide is not None else RESULT


def _multiply_add(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    type_ = opcode.type
    product = _product(registers, opcode, operands[:2], node)
    wide = f"{type_[0]}{2 * int(type_[1:])}" if opcode.has("wide") else type_
    addend = registers.read_as(operands[2], wide)
    return apply_binary(registers.ev, "+", product, addend, node)


def _product(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    a, b = (registers.read_as(operand, opcode.type) for operand in operands)
    if opcode.has("hi"):
        return RESULT
    if opcode.has("wide"):
        a, b = (_widened(registers, v, opcode.type) for v in (a, b))
    return apply_binary(registers.ev, "*", a, b, node)


def _copied(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    """Evaluates `mov`, `cvta`: bits as they are. A number keeps the address that it is."""
    if not opcode.types or opcode.type == "pred":
        return registers.read(operands[0])
    return registers.read_as(operands[0], opcode.type)


def _converted(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    target, *source = opcode.types
    if target not in INTEGERS:
        return loaded(target)
    if source and source[0] not in INTEGERS:
        return RESULT
    value = registers.read_as(operands[0], source[0] if source else target)
    return convert(registers.ev, value, INTEGERS[target])


def _negated(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    """Evaluates `not`, `neg` and `abs`."""
    value = registers.read_as(operands[0], opcode.type)
    if opcode.type == "pred":
        truth = to_condition(value)
        return apply_binary(registers.ev, "==", truth, number(0), node)
    zero = number(0, INTEGERS[opcode.type])
    if opcode.name == "not":
        zero = number(-1, INTEGERS[opcode.type])
    elif opcode.name == "abs":
        if isinstance(value, AffineInt) and value.is_concrete:
            return AffineInt(settled(np.abs(value.base)), value.type)
        return value if isinstance(value, Unknown) else RESULT
    return apply_binary(registers.ev, "-", zero, value, node)


def _extreme(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    a, b = (registers.read_as(operand, opcode.type) for operand in operands[:2])
    if isinstance(a, AffineInt) and isinstance(b, AffineInt):
        return registers.ev.state.domain.extreme(opcode.name == "max", a, b)
    return a if isinstance(a, Unknown) else RESULT


def compared(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    """Returns the predicate of a `setp`, before it is combined with another."""
    relation = next((_COMPARISONS[p] for p in opcode.parts if p in _COMPARISONS), None)
    if relation is None or not opcode.is_integer:
        return RESULT
    a, b = (registers.read_as(operand, opcode.type) for operand in operands[:2])
    result = apply_binary(registers.ev, relation, a, b, node)
    if len(operands) > 2 and opcode.has("and", "or", "xor"):
        operator = next(_BINARY[p] for p in opcode.parts if p in ("and", "or", "xor"))
        result = apply_binary(
            registers.ev, operator, result, to_condition(registers.read(operands[2])), node
        )
    return result


def _selected(
    registers: Registers, opcode: Opcode, operands: Sequence[Operand], node: ir.Node
) -> Value:
    """Evaluates `selp d, a, b, p`."""
    a, b = (registers.read_as(operand, opcode.type) for operand in operands[:2])
    chosen = to_condition(registers.read(operands[2]))
    if isinstance(chosen, AffineInt) and chosen.is_concrete:
        if chosen.constant is not None:
            return a if chosen.constant else b
        return select(np.asarray(chosen.base) != 0, a, b)
    if isinstance(a, FloatValue) or isinstance(b, FloatValue):
        return loaded(opcode.type)
    return RESULT


_COMPUTE = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(("mov", "cvta"), _copied),
    **dict.fromkeys(("not", "neg", "abs"), _negated),
    **dict.fromkeys(("min", "max"), _extreme),
    "mad": _multiply_add,
    "cvt": _converted,
    "setp": compared,
    "selp": _selected,
}
_LEAST = {
    **dict.fromkeys(("mov", "cvta", "not", "neg", "abs", "cvt"), 1), "mad": 3, "selp": 3,
}  # fmt: skip


def complement(registers: Registers, value: Value, node: ir.Node) -> Value:
    """Returns the second predicate of `setp p|q`."""
    truth = to_condition(value)
    if isinstance(truth, AffineInt):
        return apply_binary(registers.ev, "==", truth, number(0, BOOL), node)
    return truth


def destinations(operand: Operand) -> tuple[Operand, ...]:
    """Returns what an instruction writes, `p|q` apart."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)


def unpacked(registers: Registers, value: Value, type_: str, count: int) -> list[Value]:
    """Returns the parts of a register that is taken apart, the lowest first."""
    whole = INTEGERS.get(type_)
    part = INTEGERS.get(f"{type_[0]}{whole.bits // count}") if whole is not None else None
    if part is None or not isinstance(value, AffineInt):
        return [value if isinstance(value, FloatValue) else RESULT] * count
    parts: list[Value] = [convert(registers.ev, value, part)]
    for k in range(1, count):
        high: Value = RESULT
        if value.is_concrete:
            bits = np.asarray(value.base) >> k * part.bits & (1 << part.bits) - 1
            high = AffineInt(settled(bits if bits.ndim else int(bits)), part)
        parts.append(high)
    return parts
