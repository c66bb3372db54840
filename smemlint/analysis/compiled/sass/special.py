"""Special registers, and instructions through which the lanes of a warp see each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.predicates import compare
from smemlint.analysis.compiled.sass.instructions import (
    Step,
    general_registers,
    predicates_written,
    sources,
    translates,
    writes,
)
from smemlint.analysis.compiled.sass.reading import BITS, TOP, predicate, reader
from smemlint.analysis.compiled.sass.targets import SHARED_WINDOW
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import DATA, ZERO, Value, is_uniform, top, uniform
from smemlint.frontend.sass.operands import Predicate, Word
from smemlint.frontend.sass.parser import Instruction

_LANE_BITS = 31
_THREAD = ("SR_TID.X", "SR_TID.Y", "SR_TID.Z")
_LANE_MASKS = {
    "SR_EQMASK": lambda lane: 1 << lane,
    "SR_LTMASK": lambda lane: (1 << lane) - 1,
    "SR_LEMASK": lambda lane: (2 << lane) - 1,
    "SR_GTMASK": lambda lane: ~((2 << lane) - 1),
    "SR_GEMASK": lambda lane: ~((1 << lane) - 1),
}
_BOUNDS = {"SR_CTAID.Y": 0xFFFF, "SR_CTAID.Z": 0xFFFF, "SR_CTAID.X": 0x7FFFFFFF}


@translates("S2R", "S2UR", "CS2R", "CS2UR")
def _special(instruction: Instruction) -> Step:
    source = instruction.operands[-1]
    name = source.text if isinstance(source, Word) else ""
    registers = general_registers(instruction)

    def step(state: State) -> None:
        value = special_register(state, name)
        for register in registers:
            state.set(register, value)

    return step


def special_register(state: State, name: str) -> Value:
    """Returns what a special register holds; of a cluster, what its first block sees."""
    if name in _THREAD:
        return state.geometry.thread[_THREAD.index(name)]
    if name == "SR_LANEID":
        return state.geometry.lane
    if name in ("SRZ", "SR_CgaCtaId"):
        return ZERO
    if name == "SR_SWINHI":
        return Value(SHARED_WINDOW)
    if name in _LANE_MASKS:
        lanes = np.asarray(state.geometry.lane.base, dtype=np.int64)
        one = np.vectorize(_LANE_MASKS[name], otypes=[np.int64])
        return Value(one(lanes) & 0xFFFFFFFF)
    return state.geometry.launch.get(name) or unknown_register(name)


@lru_cache(maxsize=256)
def unknown_register(name: str) -> Value:
    """Returns the unknown that a register is for the whole block."""
    return uniform(name, _BOUNDS.get(name, 0xFFFFFFFF))


@translates("SHFL")
def _shuffle(instruction: Instruction) -> Step:
    mode = instruction.modifiers[0] if instruction.modifiers else "IDX"
    data, lane, clamp = (reader(o) for o in sources(instruction)[:3])
    return _writes_both(instruction, lambda s: shuffled(s, mode, data(s), lane(s), clamp(s)))


def _writes_both(instruction: Instruction, results: Callable[[State], tuple[Value, Value]]) -> Step:
    """Returns the step that writes a value to the registers, and another one to the predicates."""
    names, conditions = general_registers(instruction), predicates_written(instruction)

    def step(state: State) -> None:
        value, condition = results(state)
        for name in names:
            state.set(name, value)
        for name in conditions:
            state.set(name, condition)

    return step


def shuffled(
    state: State, mode: str, data: Value, lane: Value, clamp: Value
) -> tuple[Value, Value]:
    """Returns what each lane gets from another one, and whether that one is in its segment.

    Args:
        state: the lanes.
        mode: `UP`, `DOWN`, `BFLY` or `IDX`.
        data: what is exchanged.
        lane: the second operand of `shfl.sync`.
        clamp: the third one: the segment's mask above the last lane.
    """
    if not lane.is_exact or clamp.constant is None:
        known = is_uniform(data)
        return (data if known else top(data.cause or DATA)), TOP
    own = np.asarray(state.geometry.lane.base, dtype=np.int64)
    other, valid = _partners(mode, own, np.asarray(lane.base), clamp.constant)
    predicate = Value(valid.astype(np.int64))
    if is_uniform(data):
        return data, predicate
    if data.known is not True:
        return top(data.cause or DATA), predicate
    base = np.broadcast_to(np.asarray(data.base, dtype=np.int64), own.shape)
    moved = np.take_along_axis(base, other, axis=1)
    return Value(moved, data.terms, data.bits), predicate


def _partners(
    mode: str, own: NDArray[np.int64], operand: NDArray[np.int64], clamp: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the lane that each lane reads, by the rules of `shfl.sync`."""
    segment = clamp >> 8 & _LANE_BITS
    last = (own & segment) | (clamp & _LANE_BITS & ~segment)
    operand = operand & _LANE_BITS
    if mode == "UP":
        other = own - operand
        valid = other >= last
    else:
        other = {
            "DOWN": own + operand,
            "BFLY": own ^ operand,
            "IDX": (own & segment) | (operand & ~segment & _LANE_BITS),
        }.get(mode, own)
        valid = other <= last
    return np.where(valid, other, own), valid


@translates("VOTE", "VOTEU")
def _vote(instruction: Instruction) -> Step:
    asked = instruction.operands[-1]
    condition = predicate(asked) if isinstance(asked, Predicate) else (lambda state: TOP)
    mode = instruction.modifiers[0] if instruction.modifiers else "ANY"
    return _writes_both(instruction, lambda state: _votes(state, condition(state), mode))


def _votes(state: State, condition: Value, mode: str) -> tuple[Value, Value]:
    is_certain = all(fork.cause is None for fork, _ in state.fragment.choices.values())
    if not condition.is_exact or not is_certain or mode not in ("ANY", "ALL"):
        return uniform(mask=0xFFFFFFFF), uniform(mask=1)
    truths = np.broadcast_to(np.asarray(condition.base) != 0, state.mask.shape)
    votes = truths & state.mask
    words = (votes * (1 << np.arange(votes.shape[1]))).sum(axis=1, keepdims=True)
    agreed = votes if mode == "ANY" else truths | ~state.mask
    decided = np.asarray(agreed.any(axis=1) if mode == "ANY" else agreed.all(axis=1))
    spread = np.ones_like(state.mask, dtype=np.int64)
    return Value(words * spread), Value(decided[:, None] * spread)


@translates("REDUX", "CREDUX")
def _reduce(instruction: Instruction) -> Step:
    return writes(instruction, lambda state: uniform(mask=0xFFFFFFFF))


@translates("ELECT")
def _elect(instruction: Instruction) -> Step:
    """Translates the choice of one lane; the hardware takes the first that is active."""

    def results(state: State) -> tuple[Value, Value]:
        return ZERO, compare("eq", state.geometry.lane, ZERO, BITS, is_signed=False)

    return _writes_both(instruction, results)
