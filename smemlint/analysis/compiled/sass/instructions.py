"""The table of instructions: which function translates which opcode into a step.

A step changes the registers of a state. What has no entry leaves an unknown in every register that
it writes: one number a warp where all that it reads is so, and nothing known otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from smemlint.analysis.compiled.sass.reading import reader
from smemlint.analysis.compiled.sass.registers import (
    ONLY_PREDICATES,
    PREDICATES_AFTER_RESULT,
    results,
)
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import DATA, Value, top, weak
from smemlint.frontend.sass.operands import Operand, Predicate, Register
from smemlint.frontend.sass.parser import Instruction
from smemlint.registration import registers

Step: TypeAlias = "Callable[[State], None]"
Translate: TypeAlias = "Callable[[Instruction], Step]"
Read: TypeAlias = "Callable[[State], Value]"

_TABLE: dict[str, Translate] = {}
_LANE_WISE = frozenset(
    ["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA", "MATCH", "MOVM", "LDTM"]
)
"""Their results differ by lane even where all operands are uniform."""


def translates(*opcodes: str) -> Callable[[Translate], Translate]:
    """Registers the function that translates these opcodes."""
    return registers(_TABLE, opcodes)


def step_of(instruction: Instruction) -> Step:
    """Returns what an instruction does to a state, its guard left aside."""
    translate = _TABLE.get(instruction.opcode, opaque)
    try:
        return translate(instruction)
    except (IndexError, ValueError):  # operands in a form that no target here has
        return opaque(instruction)


def opaque(instruction: Instruction) -> Step:
    """Translates an instruction of which only the registers that it writes are known."""
    written = results(instruction)
    if not written:
        return lambda state: None
    if instruction.opcode in _LANE_WISE:
        nothing = top(DATA)
        return lambda state: _set_all(state, written, nothing)
    reads = [reader(o) for o in sources(instruction)]

    def step(state: State) -> None:
        value = weak(*[read(state) for read in reads])
        for name in written:
            state.set(name, value)

    return step


def _set_all(state: State, names: tuple[str, ...], value: Value) -> None:
    for name in names:
        state.set(name, value)


def writes(instruction: Instruction, value: Read) -> Step:
    """Returns the step that sets the first register that the instruction writes."""
    names = general_registers(instruction)
    if not names:
        return lambda state: None
    name = names[0]

    def step(state: State) -> None:
        state.set(name, value(state))

    return step


def general_registers(instruction: Instruction) -> list[str]:
    """Returns the registers that are written, `RZ` and predicates left out."""
    return [name for name in results(instruction) if "P" not in name]


def predicates_written(instruction: Instruction) -> tuple[str, ...]:
    """Returns the predicates that are written, `PT` left out."""
    return tuple(n for n in results(instruction) if "P" in n)


def sources(instruction: Instruction) -> tuple[Operand, ...]:
    """Returns what is read: the operands behind those that are written."""
    operands = instruction.operands
    place = 0
    while place < len(operands) and isinstance(operands[place], Predicate):
        place += 1
    if instruction.opcode in ONLY_PREDICATES:
        return operands[place:]
    if place < len(operands) and isinstance(operands[place], Register):
        place += 1
    if instruction.opcode in PREDICATES_AFTER_RESULT:
        while (
            place < len(operands)
            and isinstance(p := operands[place], Predicate)
            and not p.is_negated
        ):
            place += 1
    return operands[place:]


def numbers_and_predicates(instruction: Instruction) -> tuple[list[Operand], list[Predicate]]:
    """Returns what is read as numbers, and the predicates that are read behind them."""
    read = sources(instruction)
    numbers: list[Operand] = [o for o in read if not isinstance(o, Predicate)]
    return numbers, [o for o in read if isinstance(o, Predicate)]
