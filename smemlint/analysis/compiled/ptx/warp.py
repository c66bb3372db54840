"""Instructions by which the lanes of a warp exchange values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.predicates import compare
from smemlint.analysis.compiled.ptx.integers import assign
from smemlint.analysis.compiled.ptx.registry import Call, Lowered, executes
from smemlint.analysis.compiled.state import State
from smemlint.analysis.compiled.values import (
    DATA,
    ZERO,
    Value,
    both_known,
    is_uniform,
    top,
    uniform,
    weak,
)
from smemlint.frontend.ptx.syntax import Pair
from smemlint.hardware.arch import LANES

_Lanes = NDArray[np.int64]


def shuffled(x: Value, lane: Value, clamp: Value, mode: str) -> Value:
    """Computes `shfl`: every lane reads the register of another.

    Args:
        x: what is read.
        lane: the operand that chooses the other lane.
        clamp: the operand that holds the segment mask and the bound.
        mode: `idx`, `up`, `down` or `bfly`.
    """
    bound = clamp.constant
    if is_uniform(x):
        return x
    if bound is None or not lane.is_exact:
        return weak(x, lane, clamp)
    if mode == "idx" and bound & 0x1F1F == 0x1F and is_uniform(lane) and x.known is not True:
        return uniform()
    number = np.arange(LANES)
    segment, most = bound >> 8 & 0x1F, bound & 0x1F
    low = number & segment
    high = low | (most & ~segment & 0x1F)
    shape = np.broadcast_shapes(*map(np.shape, (x.base, x.known, lane.base)), (1, LANES))
    b = np.broadcast_to(np.asarray(lane.base), shape) & 0x1F
    source, is_inside = {
        "idx": lambda: _within(low | (b & ~segment & 0x1F), high, upper=True),
        "up": lambda: _within(number - b, high, upper=False),
        "down": lambda: _within(number + b, high, upper=True),
        "bfly": lambda: _within(number ^ b, high, upper=True),
    }[mode]()
    source = np.where(is_inside, source, number)
    base = np.take_along_axis(np.broadcast_to(x.base, source.shape), source, axis=1)
    if isinstance(x.known, bool):
        return top(x.cause or DATA) if x.is_top else Value(base, x.terms, x.bits)
    known = np.take_along_axis(np.broadcast_to(x.known, source.shape), source, axis=1)
    return Value(base, x.terms, x.bits, both_known(True, known), x.cause)


def _within(source: _Lanes, high: _Lanes, *, upper: bool) -> tuple[_Lanes, NDArray[np.bool_]]:
    return source, np.asarray(source <= high if upper else source >= high)


@executes("shfl")
def shuffle(call: Call) -> Lowered:
    """Executes `shfl.sync.mode.b32 d|p, a, b, c, members`."""
    mode = next((p for p in call.opcode.parts if p in ("idx", "up", "down", "bfly")), "")
    target = call.operands[0]
    names = call.lowering.names
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    value, lane, clamp = (call.read(i) for i in (1, 2, 3))
    into = names.registers(first)
    flag = names.registers(second) if second is not None else ()

    def run(state: State) -> None:
        for register in into:
            result = shuffled(value(state), lane(state), clamp(state), mode) if mode else top(DATA)
            state.set(register, result)
        for register in flag:
            state.set(register, top(DATA))

    return Lowered(run, (*into, *flag))


@executes("vote")
def vote(call: Call) -> Lowered:
    """Executes `vote.ballot`, `.any`, `.all`, `.uni`: one result a warp."""
    mode = next((p for p in call.opcode.parts if p in ("ballot", "any", "all", "uni")), "")

    def voted(predicate: Value, *_: Value) -> Value:
        constant = predicate.constant
        if mode == "ballot":
            return uniform(mask=0xFFFFFFFF) if constant is None else Value(-constant & 0xFFFFFFFF)
        if constant is not None and mode in ("any", "all"):
            return predicate
        return uniform(mask=1)

    return assign(call, voted)


@executes("redux")
def reduce(call: Call) -> Lowered:
    """Returns a result that all lanes of a warp share."""
    return assign(call, lambda *_: uniform())


@executes("activemask")
def active_lanes(call: Call) -> Lowered:
    """Executes `activemask.b32 d`: the lanes that run together, where no condition is open."""
    targets = call.written()

    def run(state: State) -> None:
        lanes = (state.mask * (1 << np.arange(LANES))).sum(axis=1, keepdims=True)
        is_certain = state.doubt is None and all(
            fork.cause is None for fork, _ in state.fragment.choices.values()
        )
        value = Value(np.broadcast_to(lanes, state.mask.shape)) if is_certain else uniform()
        for register in targets:
            state.set(register, value)

    return Lowered(run, targets)


@executes("match", "movmatrix")
def match(call: Call) -> Lowered:
    """Executes instructions whose results hang on what other lanes hold."""
    target = call.operands[0]
    names = call.lowering.names
    items = (target.first, target.second) if isinstance(target, Pair) else (target,)
    targets = tuple(r for item in items for r in names.registers(item))

    return Lowered(lambda state: state.forget(targets), targets)


@executes("elect")
def elect(call: Call) -> Lowered:
    """Executes `elect.sync d|p, members`: the first lane of the members is elected."""
    target = call.operands[0]
    names = call.lowering.names
    leader, flag = (target.first, target.second) if isinstance(target, Pair) else (target, target)
    into, elected = names.registers(leader), names.registers(flag)

    def run(state: State) -> None:
        for register in into:
            state.set(register, ZERO)
        for register in elected:
            state.set(register, compare("eq", state.geometry.lane, ZERO, 32, is_signed=False))

    return Lowered(run, (*into, *elected))


@executes("mbarrier")
def barrier_object(call: Call) -> Lowered | None:
    """Tests of an mbarrier give a predicate that a warp shares; the rest has no effect here."""
    is_test = call.opcode.has("try_wait", "test_wait")
    targets = call.written() if is_test or call.opcode.has("arrive") else ()

    def run(state: State) -> None:
        for register in targets:
            state.set(register, uniform(mask=1 if is_test else -1))

    return Lowered(run, targets)
