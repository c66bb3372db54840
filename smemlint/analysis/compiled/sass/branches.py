"""Where control goes: jumps, ends and calls of a function's machine code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemlint.analysis.compiled.program import Instruction as Operation
from smemlint.analysis.compiled.sass.registers import results
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import Cause, top
from smemlint.frontend.sass.operands import Label
from smemlint.frontend.sass.parser import Function, Instruction
from smemlint.reasons import Reason, ReasonCode

JUMPS = frozenset({"BRA", "JMP"})
TABLES = frozenset({"BRX", "JMX"})
_ENDS = frozenset({"EXIT", "RET", "KILL", "BPT"})
_FALLBACKS = frozenset({"DIV", "CONV"})
"""Branches to code for warps that diverged where `*_sync` needs them together."""
_FROM_CALLEE = top(
    Cause(Reason(ReasonCode.NOT_MODELLED, "a function that is not inlined computes it"))
)
_CLOBBERED_BY_CALLS = (*(f"R{i}" for i in (*range(16), 20, 21)), *(f"P{i}" for i in range(7)))
"""What functions of the CUDA ABI, such as `vprintf`, need not keep: code that ptxas makes keeps its
values in R16 to R31 across calls, R20 and R21 aside, which hold the return address."""


def is_branch(instruction: Instruction) -> bool:
    """Returns whether an instruction ends a basic block."""
    if instruction.opcode in JUMPS:
        return not _FALLBACKS & set(instruction.modifiers)
    return instruction.opcode in _ENDS or instruction.opcode in TABLES


def without_jumping_calls(function: Function) -> Function:
    """Returns the function with a jump in the place of every call that never returns.

    For sm_80 to sm_89 ptxas closes some loops with `CALL.REL.NOINC`.
    """
    called = {
        start
        for instruction in function.instructions
        if instruction.opcode == "CALL" and (start := _callee(function, instruction)) is not None
    }
    jumps = {start for start in called if not _returns(function, start)}
    if not jumps:
        return function
    code = tuple(
        replace(i, opcode="BRA") if i.opcode == "CALL" and _callee(function, i) in jumps else i
        for i in function.instructions
    )
    return replace(function, instructions=code)


def call(function: Function, instruction: Instruction) -> Operation:
    """Returns a call that was not inlined: what the callee may write is not known afterwards."""
    start = _callee(function, instruction)
    written = _CLOBBERED_BY_CALLS if start is None else _written_from(function, start)

    def run(state: State) -> None:
        for register in written:
            state.set(register, _FROM_CALLEE)

    return Operation(run, (), written, is_kept=True)


def _callee(function: Function, instruction: Instruction) -> int | None:
    """Returns the index of the first instruction that is called, if that is in the same section."""
    label = next((o for o in instruction.operands if isinstance(o, Label)), None)
    return function.labels.get(label.name) if label is not None else None


def _returns(function: Function, start: int) -> bool:
    return any(i.opcode == "RET" for i in _reached(function, start))


def _written_from(function: Function, start: int) -> tuple[str, ...]:
    """Returns the registers that a subroutine of the same section writes until it returns."""
    written: dict[str, None] = {}
    for instruction in _reached(function, start):
        if instruction.opcode == "CALL":
            written.update(dict.fromkeys(_CLOBBERED_BY_CALLS))
        written.update(dict.fromkeys(results(instruction)))
    return tuple(written)


def _reached(function: Function, start: int) -> Iterator[Instruction]:
    """Yields the instructions that may run from one on, calls stepped over."""
    seen: set[int] = set()
    worklist = [start]
    while worklist:
        at = worklist.pop()
        if at in seen or at >= len(function.instructions):
            continue
        seen.add(at)
        instruction = function.instructions[at]
        yield instruction
        labels = [o.name for o in instruction.operands if isinstance(o, Label)]
        if is_branch(instruction) and instruction.opcode not in _ENDS:
            worklist += [
                function.labels[n] for n in (*labels, *instruction.targets) if n in function.labels
            ]
        if not (is_branch(instruction) and instruction.guard is None):
            worklist.append(at + 1)
