"""Loads and stores: shared memory, generic addresses into it, spills, constants."""

from __future__ import annotations

import numpy as np

from smemlint.analysis.compiled.joins import pick
from smemlint.analysis.compiled.recorder import Site
from smemlint.analysis.compiled.sass.instructions import (
    Step,
    general_registers,
    opaque,
    predicates_written,
    translates,
)
from smemlint.analysis.compiled.sass.reading import TOP, Read, address, reader
from smemlint.analysis.compiled.sass.targets import SHARED_WINDOW
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import DATA, UNSET, ZERO, Value, top
from smemlint.facts import AccessKind, Span
from smemlint.frontend.sass.operands import Address, Constant, Operand, next_register
from smemlint.frontend.sass.parser import Instruction

_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_ROW_OF_MATRIX = 16
_KINDS = {
    "LDS": AccessKind.LOAD, "STS": AccessKind.STORE, "LDSM": AccessKind.LDMATRIX,
    "STSM": AccessKind.STMATRIX, "ATOMS": AccessKind.ATOMIC, "LDGSTS": AccessKind.ASYNC_COPY,
    "LD": AccessKind.LOAD, "ST": AccessKind.STORE, "ATOM": AccessKind.ATOMIC,
}  # fmt: skip


def site_of(instruction: Instruction) -> Site:
    """Returns the site that a memory instruction is."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    matrices = 0
    width = next((_WIDTHS[m] for m in modifiers if m in _WIDTHS), 4)
    if opcode in ("LDSM", "STSM"):
        width = _ROW_OF_MATRIX
        matrices = int(modifiers[-1]) if modifiers[-1] in ("2", "4") else 1
    operation = _operation(modifiers) if opcode in ("ATOMS", "ATOM") else ""
    if opcode == "LDGSTS":
        operation = f"cp.async.{'cg' if 'BYPASS' in modifiers else 'ca'}"
    return Site(
        _KINDS[opcode],
        width,
        span_of(instruction),
        instruction.mnemonic,
        matrices,
        operation,
        call=_call_of(instruction),
        is_partial="ZFILL" in modifiers,
    )


def _call_of(instruction: Instruction) -> Span | None:
    """Returns the line of the call that an instruction begins, where it is another one."""
    call = instruction.call
    if call is None or call == instruction.line:
        return None
    return Span(call.path, call.line, 1, call.line + 1, 1)


def span_of(instruction: Instruction) -> Span:
    """Returns the source line of an instruction; without a line table, its place in the code."""
    line = instruction.line
    if line is None:
        return Span("", 0, instruction.offset, 0, instruction.offset)
    return Span(line.path, line.line, 1, line.line + 1, 1)


def _operation(modifiers: tuple[str, ...]) -> str:
    """Returns the name that the bank model has for an atomic."""
    if "POPC" in modifiers:
        return "add.u32.one.red"
    if "CAST" in modifiers:
        return "add.f64" if "64" in modifiers else "add.f32"
    name = next((m.lower() for m in modifiers if m.isalpha()), "add")
    return f"{name}.{'u64' if '64' in modifiers else 'u32'}"


def _memory(instruction: Instruction) -> Operand:
    return next((o for o in instruction.operands if isinstance(o, Address)), ZERO_ADDRESS)


_CONTENTS = top(DATA)
ZERO_ADDRESS = Address((), 0)


@translates("LDGSTS")
def _copy(instruction: Instruction) -> Step:
    """Translates an asynchronous copy, of which the first address is the one in shared memory."""
    site = site_of(instruction)
    to, *read = [address(o) for o in instruction.operands if isinstance(o, Address)]
    source = read[0] if read else None
    return lambda state: state.access(site, to(state), source(state) if source else None)


@translates("STS", "STSM")
def _store(instruction: Instruction) -> Step:
    site, target = site_of(instruction), address(_memory(instruction))
    return lambda state: state.access(site, target(state))


@translates("LDS", "LDSM", "ATOMS")
def _load(instruction: Instruction) -> Step:
    site, source = site_of(instruction), address(_memory(instruction))
    names = (*general_registers(instruction), *predicates_written(instruction))
    is_plain = instruction.opcode == "LDS"

    def step(state: State) -> None:
        place = source(state)
        state.access(site, place)
        _set_loaded(state, names, place, is_plain=is_plain)

    return step


def _set_loaded(
    state: State, names: tuple[str, ...] | list[str], place: Value, *, is_plain: bool
) -> None:
    for name in names:
        state.set(name, state.load(place) if is_plain else _CONTENTS)


@translates("LDG")
def _load_global(instruction: Instruction) -> Step:
    low, names = address(_memory(instruction)), general_registers(instruction)
    return lambda state: _set_loaded(state, names, low(state), is_plain=True)


@translates("LD", "ST", "ATOM")
def _generic(instruction: Instruction) -> Step:
    """Translates an access by a generic address; one with the window's upper word is shared."""
    site, memory = site_of(instruction), _memory(instruction)
    low = address(memory)
    high = _upper(memory)
    names = (*general_registers(instruction), *predicates_written(instruction))
    is_plain = instruction.opcode == "LD"

    def step(state: State) -> None:
        place = low(state)
        upper = high(state)
        if upper.is_exact and np.all(np.asarray(upper.base) == SHARED_WINDOW):
            state.access(site, place)
        _set_loaded(state, names, place, is_plain=is_plain)

    return step


def _upper(memory: Operand) -> Read:
    if not isinstance(memory, Address) or not memory.pair:
        return lambda state: ZERO
    name = next_register(memory.pair)
    return lambda state: state.get(name)


@translates("LDC", "LDCU", "ULDC")
def _load_constant(instruction: Instruction) -> Step:
    names = general_registers(instruction)
    source = instruction.operands[-1]
    if not isinstance(source, Constant):
        return opaque(instruction)
    reads = [reader(source, word) for word in range(len(names))]

    def step(state: State) -> None:
        values = [read(state) for read in reads]
        for name, value in zip(names, values, strict=True):
            state.set(name, value)

    return step


def _local(place: int) -> tuple[str, int]:
    """Returns the register that stands for a word of local memory."""
    return ("local", place & 0xFFFFFFFF)


@translates("LDL")
def _reload(instruction: Instruction) -> Step:
    source, names = address(_memory(instruction)), general_registers(instruction)
    is_word = site_width(instruction) >= 4

    def step(state: State) -> None:
        place = source(state).constant
        for i, name in enumerate(names):
            known = place is not None and is_word
            state.set(name, state.get(_local((place or 0) + 4 * i)) if known else TOP)

    return step


@translates("STL")
def _spill(instruction: Instruction) -> Step:
    target, value = address(_memory(instruction)), instruction.operands[-1]
    words = max(site_width(instruction) // 4, 1)
    reads = [reader(value, word) for word in range(words)]
    is_word = site_width(instruction) >= 4

    def step(state: State) -> None:
        place = target(state).constant
        if place is None or not is_word:
            for register in [r for r in state.fragment.registers if isinstance(r, tuple)]:
                if register[0] == "local":
                    state.set(register, top(UNSET))
            return
        for i, read in enumerate(reads):
            register = _local(place + 4 * i)
            state.set(register, _written(state, read(state), state.get(register)))

    return step


def _written(state: State, new: Value, old: Value) -> Value:
    """Returns a word of local memory after a store: lanes that do not store keep theirs."""
    if state.doubt is not None:
        return top(state.doubt.cause or UNSET)
    if not (state.fragment.mask & ~state.mask).any():
        return new
    return pick(np.asarray(state.mask), new, old)


def site_width(instruction: Instruction) -> int:
    """Returns how many bytes a lane moves."""
    return next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 4)
