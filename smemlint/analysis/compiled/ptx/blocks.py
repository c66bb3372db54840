"""From the statements of a PTX kernel to a program of the abstract machine."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.analysis.compiled.bits import bitwise
from smemlint.analysis.compiled.demangle import kernel_name
from smemlint.analysis.compiled.predicates import compare
from smemlint.analysis.compiled.program import Block, Exit, Instruction, Program, program
from smemlint.analysis.compiled.ptx import fragments, integers, memory, warp
from smemlint.analysis.compiled.ptx.lowering import Lowering
from smemlint.analysis.compiled.ptx.registry import HANDLERS, Call, Lowered
from smemlint.analysis.compiled.state import Operand as Reader
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import ONE, Cause, Value, top
from smemlint.frontend.ptx.opcode import Opcode
from smemlint.frontend.ptx.syntax import (
    Address,
    Label,
    Name,
    Operation,
    Registers,
    Scope,
    Statement,
    Targets,
    names_in,
)
from smemlint.reasons import Reason, ReasonCode

HANDLER_MODULES = (fragments, integers, memory, warp)
"""Importing them registers their handlers."""
_BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_NO_EFFECT = frozenset((
    "bar", "barrier", "membar", "fence", "griddepcontrol", "prefetch", "prefetchu", "discard",
    "applypriority", "setmaxnreg", "nanosleep", "pmevent", "brkpt", "stackrestore", "cluster",
    "multimem", "createpolicy", "tensormap", "clusterlaunchcontrol",
))  # fmt: skip
_CALL = Cause(Reason(ReasonCode.NOT_MODELLED, "the result of a call is not known"))


def kernel_program(statements: Sequence[Statement], lowering: Lowering) -> Program:
    """Lowers a kernel."""
    parts, labels = _cut(statements)
    lists = {s.name: s.labels for s in statements if isinstance(s, Targets)}
    blocks = []
    for index, part in enumerate(parts):
        block = Block()
        for statement in part:
            match statement:
                case Scope(is_open):
                    lowering.names.scope(is_open=is_open)
                case Registers():
                    lowering.names.declare(statement)
                case Operation(opcode) if opcode[0] in _BRANCHES:
                    block.exits += _exits(statement, lowering, labels, lists)
                case Operation():
                    instruction = lowered(statement, lowering)
                    if instruction is not None:
                        block.code.append(instruction)
        if not block.exits or block.exits[-1].condition is not None:
            block.exits.append(Exit(index + 1 if index + 1 < len(parts) else None))
        blocks.append(block)
    return program(blocks, lowering.names.widths)


def _cut(statements: Sequence[Statement]) -> tuple[list[list[Statement]], dict[str, int]]:
    """Cuts before labels and after branches; labels with the block that they begin."""
    parts: list[list[Statement]] = [[]]
    labels: dict[str, int] = {}
    for statement in statements:
        if isinstance(statement, Label):
            if parts[-1] or len(parts) == 1:  # nothing branches to the entry
                parts.append([])
            labels[statement.name] = len(parts) - 1
        else:
            parts[-1].append(statement)
            if isinstance(statement, Operation) and statement.opcode[0] in _BRANCHES:
                parts.append([])
    return parts, labels


def _exits(
    operation: Operation,
    lowering: Lowering,
    labels: dict[str, int],
    lists: dict[str, tuple[str, ...]],
) -> list[Exit]:
    guard, reads = _guard(operation, lowering)
    place = _place(operation, lowering)
    names = [o.text for o in operation.operands if isinstance(o, Name)]
    head = operation.opcode[0]
    if head == "bra" and names:
        return [Exit(labels.get(names[0]), guard, reads, place)]
    if head == "brx" and len(names) == 2:
        index = lowering.names.reader(operation.operands[0])
        register = lowering.names.registers(operation.operands[0])
        targets = [labels.get(label) for label in lists.get(names[1], ())]
        ways = [
            Exit(target, _equals(index, number), register, place)
            for number, target in enumerate(targets[:-1])
        ]
        return [*ways, Exit(targets[-1] if targets else None)]
    return [Exit(None, guard, reads, place)]


def _equals(read: Reader, number: int) -> Reader:
    expected = Value(number)
    return lambda state: compare("eq", read(state), expected, 32, is_signed=False)


def _guard(operation: Operation, lowering: Lowering) -> tuple[Reader | None, tuple[str, ...]]:
    if not operation.guard:
        return None, ()
    name = Name(operation.guard)
    read = lowering.names.reader(name)
    registers = lowering.names.registers(name)
    if operation.is_negated:
        return (lambda state: bitwise("xor", read(state), ONE, 1)), registers
    return read, registers


def _place(operation: Operation, lowering: Lowering) -> str:
    span = lowering.span_of(operation)
    return f"{span.path.rpartition('/')[2]}:{span.line}"


def lowered(operation: Operation, lowering: Lowering) -> Instruction | None:
    """Returns the instruction that an operation becomes; None for one without an effect here."""
    head = operation.opcode[0]
    call = Call(Opcode(head, operation.opcode[1:]), operation, lowering)
    handler = HANDLERS.get(head)
    try:
        result = handler(call) if handler is not None else _unknown(call)
    except (IndexError, ValueError, TypeError, AttributeError, AssertionError):
        # Operands that the opcode does not take: PTX that no compiler wrote.
        text = f"`{operation.spelling}` does not have the operands it takes"
        lowering.note(operation, Reason(ReasonCode.SYNTAX, text))
        result = _unknown(call)
    if result is None:
        return None
    guard, reads = _guard(operation, lowering)
    reads += _sources(call, result)
    if guard is None:
        return Instruction(result.run, reads, result.writes, result.is_kept)
    place = _place(operation, lowering)
    predicate, effect, writes = guard, result.run, result.writes

    def run(state: State) -> None:
        state.run_if(predicate(state), effect, writes, place)

    return Instruction(run, (*reads, *writes), writes, result.is_kept)


def _sources(call: Call, result: Lowered) -> tuple[str, ...]:
    """Returns the registers that an instruction reads: all but the first, its destination."""
    operands = call.operands
    if result.writes and operands and not isinstance(operands[0], Address):
        operands = operands[1:]
    return tuple(r for operand in operands for r in call.lowering.names.registers(operand))


def _note_call(call: Call) -> None:
    """Notes a call of a function that may access shared memory, which is not followed."""
    names = [name for operand in call.operands for name in names_in(operand)]
    for name in names:
        if name in call.lowering.sharing:
            text = f"the function `{kernel_name(name)[0]}` is not followed"
            call.lowering.note(call.operation, Reason(ReasonCode.NOT_MODELLED, text))
            return
    targets = [o for o in call.operands if isinstance(o, Name)]
    if call.lowering.arrays and any(o.text.startswith("%") for o in targets):
        by_address = Reason(ReasonCode.NOT_MODELLED, "a call by address is not followed")
        call.lowering.note(call.operation, by_address)


def _unknown(call: Call) -> Lowered | None:
    """Returns an instruction that is not modelled: what it may write is not known."""
    head, operands = call.opcode.name, call.operands
    if head in _NO_EFFECT or not operands:
        return None
    if head == "call":
        cause = _CALL
        _note_call(call)
    else:
        cause = Cause(
            Reason(ReasonCode.NOT_MODELLED, f"`{call.operation.spelling}` is not modelled")
        )
        if call.opcode.space in ("shared", "cluster"):
            call.lowering.note(call.operation, cause.reason)
    targets = () if isinstance(operands[0], Address) else call.written()

    def run(state: State) -> None:
        for target in targets:
            state.set(target, top(cause))

    return Lowered(run, targets)
