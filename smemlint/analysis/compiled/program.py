"""Compiled kernels as basic blocks of closures, what a front end hands to the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from smemlint.analysis.compiled.control_flow import LoopNest, loop_nest
from smemlint.analysis.compiled.state import Effect, Operand, Register
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        run: reads and writes the state.
        is_kept: it does more than write registers: a shared or local access, a note.
    """

    run: Effect
    reads: tuple[Register, ...] = ()
    writes: tuple[Register, ...] = ()
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out of a block, tried in order.

    Attributes:
        target: index of a block; None leaves the kernel.
        condition: a predicate; None takes all lanes that are left.
        reads: the registers of the condition.
        reason: names the condition where it is not known, e.g. `line 12`.
    """

    target: int | None
    condition: Operand | None = None
    reads: tuple[Register, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class Block:
    """A basic block; the last exit has no condition."""

    code: list[Instruction] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel that is ready to run.

    Attributes:
        blocks: the first is the entry.
        nest: order of the blocks and loops.
        live: by block, the registers that later code may read.
        widths: of registers in bits, where they are not 32.
    """

    blocks: tuple[Block, ...]
    nest: LoopNest
    live: tuple[frozenset[Register], ...]
    widths: Mapping[Register, int]


def program(blocks: Sequence[Block], widths: Mapping[Register, int]) -> Program:
    """Prepares blocks, the entry first, to run, but for what no address or branch depends on."""
    needed = _needed_registers(blocks)
    kept = tuple(
        Block([i for i in b.code if i.is_kept or not needed.isdisjoint(i.writes)], b.exits)
        for b in blocks
    )
    successors = [[e.target for e in b.exits if e.target is not None] for b in kept]
    return Program(kept, loop_nest(successors), _live_registers(kept, successors), widths)


def _needed_registers(blocks: Sequence[Block]) -> set[Register]:
    """Returns the registers that an effect or a branch depends on, directly or not."""
    readers: dict[Register, list[Instruction]] = {}
    worklist: list[Register] = []
    for block in blocks:
        for instruction in block.code:
            if instruction.is_kept:
                worklist += instruction.reads
            for register in instruction.writes:
                readers.setdefault(register, []).append(instruction)
        worklist += (register for way in block.exits for register in way.reads)
    needed: set[Register] = set()
    while worklist:
        register = worklist.pop()
        if register not in needed:
            needed.add(register)
            for instruction in readers.get(register, ()):
                worklist += instruction.reads
    return needed


def _live_registers(
    blocks: Sequence[Block], successors: Sequence[Sequence[int]]
) -> tuple[frozenset[Register], ...]:
    """Computes by block the registers that are live on entry."""
    numbers: dict[Register, int] = {}
    used, defined = [], []
    for block in blocks:
        reads = writes = 0
        for instruction in block.code:
            for register in instruction.reads:
                bit = 1 << numbers.setdefault(register, len(numbers))
                reads |= bit & ~writes
            for register in instruction.writes:
                writes |= 1 << numbers.setdefault(register, len(numbers))
        for way in block.exits:
            for register in way.reads:
                reads |= (1 << numbers.setdefault(register, len(numbers))) & ~writes
        used.append(reads)
        defined.append(writes)
    live = _solved(used, defined, successors)
    names = list(numbers)
    return tuple(frozenset(_members(bits, names)) for bits in live)


def _solved(
    used: Sequence[int], defined: Sequence[int], successors: Sequence[Sequence[int]]
) -> list[int]:
    live = list(used)
    predecessors: list[list[int]] = [[] for _ in used]
    for at, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(at)
    worklist = list(range(len(used)))
    while worklist:
        at = worklist.pop()
        after = 0
        for target in successors[at]:
            after |= live[target]
        before = used[at] | (after & ~defined[at])
        if before != live[at]:
            live[at] = before
            worklist += predecessors[at]
    return live


def _members(bits: int, names: Sequence[Register]) -> list[Register]:
    found = []
    while bits:
        low = bits & -bits
        found.append(names[low.bit_length() - 1])
        bits ^= low
    return found
