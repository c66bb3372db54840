"""From the instructions of a function to basic blocks that the machine runs."""

from __future__ import annotations

from collections.abc import Mapping

# The modules below register what they translate.
from smemlint.analysis.compiled.program import Block, Exit, Program, program
from smemlint.analysis.compiled.program import Instruction as Operation
from smemlint.analysis.compiled.sass import conditions, floats, integer, logic, memory, special  # noqa: F401
from smemlint.analysis.compiled.sass.branches import (
    JUMPS,
    TABLES,
    call,
    is_branch,
    without_jumping_calls,
)
from smemlint.analysis.compiled.sass.conditions import conjunction
from smemlint.analysis.compiled.sass.instructions import Read, step_of
from smemlint.analysis.compiled.sass.reading import TOP, predicate, registers_read
from smemlint.analysis.compiled.sass.registers import results
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import uniform
from smemlint.frontend.sass.operands import Label, Predicate
from smemlint.frontend.sass.parser import Function, Instruction

_KEPT = frozenset(
    ["LDS", "STS", "LDSM", "STSM", "ATOMS", "LDGSTS", "LD", "ST", "ATOM", "STL", "CALL"]
)


def translate(function: Function) -> Program:
    """Returns a kernel as a program."""
    function = without_jumping_calls(function)
    code = function.instructions
    if not code:
        return program([Block([], [Exit(None)])], {})
    starts = _block_starts(function)
    numbers = {at: number for number, at in enumerate(starts)}
    labels = {name: numbers.get(at) for name, at in function.labels.items()}
    blocks = [
        _block(function, start, end, labels, numbers)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True)
    ]
    return program(blocks, {f"{p}{i}": 1 for p in ("P", "UP") for i in range(8)})


def _block_starts(function: Function) -> list[int]:
    starts = {0, *function.labels.values()}
    starts.update(i + 1 for i, each in enumerate(function.instructions) if is_branch(each))
    return sorted(at for at in starts if at < len(function.instructions))


def _block(
    function: Function,
    start: int,
    end: int,
    labels: Mapping[str, int | None],
    numbers: Mapping[int, int],
) -> Block:
    block = Block()
    for instruction in function.instructions[start:end]:
        if is_branch(instruction):
            block.exits += _exits(instruction, labels)
        elif (operation := _operation(function, instruction)) is not None:
            block.code.append(operation)
    if not block.exits or block.exits[-1].condition is not None:
        block.exits.append(Exit(numbers.get(end)))
    return block


def _exits(instruction: Instruction, labels: Mapping[str, int | None]) -> list[Exit]:
    """Returns where a branch goes, and under which conditions."""
    named = [o for o in instruction.operands if isinstance(o, Predicate)]
    asked = [
        p for p in (instruction.guard, *named) if p is not None and p.name not in ("PT", "UPT")
    ]
    never = [p for p in (instruction.guard, *named) if p is not None and p.is_constant]
    if any(p.is_negated for p in never):
        return []
    condition = conjunction(*(predicate(p) for p in asked)) if asked else None
    reads = tuple(p.name for p in asked)
    reason = _place(instruction)
    if instruction.opcode in TABLES:
        return _table_exits(instruction, labels, condition, reads)
    target = None
    if instruction.opcode in JUMPS:
        label = next((o for o in instruction.operands if isinstance(o, Label)), None)
        target = labels.get(label.name) if label else None
        if any(str(getattr(o, "name", "")).startswith("UR") for o in instruction.operands):
            condition = lambda state: uniform(mask=1)  # noqa: E731
    return [Exit(target, condition, reads, reason)]


def _table_exits(
    instruction: Instruction,
    labels: Mapping[str, int | None],
    condition: Read | None,
    reads: tuple[str, ...],
) -> list[Exit]:
    """Returns a jump by a table: any of its targets, by lane."""
    targets = [labels[name] for name in instruction.targets if labels.get(name) is not None]
    exits = [Exit(t, lambda state: TOP, reads, _place(instruction)) for t in targets[:-1]]
    return (
        [*exits, *(Exit(t) for t in targets[-1:])]
        if condition is None
        else [*(Exit(t, lambda state: TOP, reads, _place(instruction)) for t in targets)]
    )


def _place(instruction: Instruction) -> str:
    return f"line {instruction.line.line}" if instruction.line else f"{instruction.offset:#x}"


def _operation(function: Function, instruction: Instruction) -> Operation | None:
    guard = instruction.guard
    if guard is not None and guard.is_constant:
        if guard.is_negated:
            return None
        guard = None
    if instruction.opcode == "CALL":
        return call(function, instruction)
    written = results(instruction)
    is_kept = instruction.opcode in _KEPT
    if not written and not is_kept:
        return None
    step = step_of(instruction)
    reads = registers_read(instruction)
    if guard is None:
        return Operation(step, reads, written, is_kept)
    condition, place = predicate(guard), _place(instruction)

    def run(state: State) -> None:
        state.run_if(condition(state), step, written, place)

    return Operation(run, (*reads, guard.name, *written), written, is_kept)
