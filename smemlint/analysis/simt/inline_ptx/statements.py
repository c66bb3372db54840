"""`asm` statements: their instructions are run in order, under predicates and past jumps."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import FloatType
from smemlint.analysis.simt.domain.environment import LValue, Mask, is_any, kept
from smemlint.analysis.simt.domain.masking import truth_bounds
from smemlint.analysis.simt.domain.values import AffineInt, FloatValue, Space, Value, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.inline_ptx.arithmetic import (
    complement,
    computed,
    destinations,
    unpacked,
)
from smemlint.analysis.simt.inline_ptx.instruction import Instruction
from smemlint.analysis.simt.inline_ptx.memory import access_memory, is_memory
from smemlint.analysis.simt.inline_ptx.registers import RESULT, Registers
from smemlint.analysis.simt.inline_ptx.warp import exchanged
from smemlint.analysis.simt.interpreter.accesses import write_lvalue
from smemlint.analysis.simt.interpreter.conversions import to_condition
from smemlint.frontend import ir
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import Address, Body, Immediate, Label, Name, Operation, Vector
from smemlint.frontend.ptx.templates import instructions
from smemlint.reasons import Reason, ReasonCode, outcome

_BARRIERS = ("bar", "barrier", "fence", "membar", "mbarrier")
_WAITS = ("wait_group", "wait_all")
_BY_DESCRIPTOR = ("wgmma", "tcgen05")


def run_assembly(ev: Evaluator, node: ir.Assembly) -> Value:
    """Runs the instructions of inline PTX and writes its outputs."""
    registers = Registers(ev)
    first = len(node.outputs)
    immediates: dict[int, int] = {}
    for i, operand in enumerate(node.inputs, first):
        value = registers.values[f"%{i}"] = ev.evaluate(operand.expr)
        if operand.constraint == "n" and isinstance(value, AffineInt):
            immediates[i] = value.constant or 0
    for i, operand in enumerate(node.outputs):
        if operand.constraint.startswith("+"):
            registers.values[f"%{i}"] = ev.evaluate(operand.expr)
    if not node.outputs or "volatile" in ev.state.source_text(node):
        ev.state.trace.meet_effect()
    body = instructions(node.template, immediates)
    mask = ev.state.mask
    _Statement(node, registers).run(body)
    ev.state.mask = mask
    if body.unreadable is not None and "shared" in node.template:
        ev.state.note_unfollowed(node, body.unreadable.reason)
    _write_outputs(node, registers)
    return number(0)


def _write_outputs(node: ir.Assembly, registers: Registers) -> None:
    ev = registers.ev
    for i, operand in enumerate(node.outputs):
        place = ev.lvalue(operand.expr)
        if not isinstance(place, LValue) or place.object.space not in (Space.LOCAL, Space.SHARED):
            continue
        result = registers.values.get(f"%{i}", RESULT) if f"%{i}" in registers.written else RESULT
        if isinstance(place.type, FloatType) or operand.constraint.strip("=+&") in ("f", "d"):
            result = FloatValue(place.type)
        write_lvalue(ev, place, result, operand.expr)


class _Statement:
    """One `asm` statement under way."""

    def __init__(self, node: ir.Assembly, registers: Registers) -> None:
        self._node = node
        self._registers = registers
        self._ev = registers.ev
        self._waiting: dict[str, Mask] = {}

    def run(self, body: Body) -> None:
        """Runs the instructions; of a loop, one round."""
        state = self._ev.state
        for statement in body.statements:
            if isinstance(statement, Label):
                jumped = self._waiting.pop(statement.name, None)
                if jumped is not None:
                    state.mask = state.mask | jumped
            elif isinstance(statement, Operation) and is_any(state.mask):
                self._execute(statement)

    def _execute(self, operation: Operation) -> None:
        """Runs an instruction in the threads that its predicate leaves."""
        opcode = Opcode(operation.opcode[0], operation.opcode[1:])
        if not operation.guard:
            self._perform(Instruction(self._node, opcode, operation.operands))
            return
        state, before = self._ev.state, self._ev.state.mask
        truth = to_condition(self._registers.read(Name(operation.guard)))
        may_hold, holds = truth_bounds(truth)
        if operation.is_negated:
            may_hold, holds = ~holds, ~may_hold
        is_certain = isinstance(truth, AffineInt) and truth.is_concrete
        state.mask = kept(before, before & may_hold)
        if is_any(state.mask):
            if not is_certain:
                taken = outcome(f"@{operation.guard}", not operation.is_negated)
                state.assumptions.append(taken)
            guarded = Instruction(self._node, opcode, operation.operands, True, is_certain)
            self._perform(guarded)
            if not is_certain:
                state.assumptions.pop()
        state.mask = before & ~may_hold if opcode.name == "bra" and is_certain else before

    def _perform(self, instruction: Instruction) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        if opcode.name in _BARRIERS or _waits_for_copies(opcode):
            self._ev.state.trace.fence("barrier")
        if opcode.name == "bra":
            self._jump(instruction)
        elif is_memory(opcode):
            access_memory(self._registers, instruction)
        elif _moves_shared_memory(opcode):
            self._note(opcode)
        elif operands and not isinstance(operands[0], Address | Immediate):
            self._compute(instruction)

    def _jump(self, instruction: Instruction) -> None:
        target, *_ = instruction.operands or (None,)
        if isinstance(target, Name) and instruction.is_certain:
            waiting, mask = self._waiting.get(target.text), self._ev.state.mask
            self._waiting[target.text] = mask if waiting is None else waiting | mask
            self._ev.state.mask = self._ev.state.none_active()

    def _compute(self, instruction: Instruction) -> None:
        registers = self._registers
        given = exchanged(registers, instruction)
        value, predicate = given or (computed(registers, instruction), None)
        first, *second = destinations(instruction.operands[0])
        if isinstance(first, Vector):
            parts = unpacked(registers, value, instruction.opcode.type, len(first.items))
            for item, part in zip(first.items, parts, strict=True):
                registers.write_under(item, part, is_certain=instruction.is_certain)
            return
        registers.write_under(first, value, is_certain=instruction.is_certain)
        for other in second:
            if predicate is None:
                predicate = complement(registers, value, self._node)
            registers.write_under(other, predicate, is_certain=instruction.is_certain)

    def _note(self, opcode: Opcode) -> None:
        name = ".".join((opcode.name, *opcode.parts)).split(".shared")[0]
        text = f"`{name}` moves shared memory by descriptor"
        self._ev.state.note_unfollowed(self._node, Reason(ReasonCode.UNKNOWN_ADDRESS, text))


def _waits_for_copies(opcode: Opcode) -> bool:
    return opcode.name == "cp" and opcode.parts[:1] == ("async",) and opcode.has(*_WAITS)


def _moves_shared_memory(opcode: Opcode) -> bool:
    if not any(part.startswith("shared") for part in opcode.parts):
        return False
    bulk = opcode.name == "cp" and opcode.parts[:2] == ("async", "bulk")
    return bulk or opcode.name in _BY_DESCRIPTOR or opcode.parts[:1] == ("async",)
