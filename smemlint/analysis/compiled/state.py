"""The state of one evaluation of compiled code: registers and lanes of a whole block."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.predicates import select, truth
from smemlint.analysis.compiled.recorder import Fork, Recorder, Site
from smemlint.analysis.compiled.values import (
    DATA,
    UNSET,
    ZERO,
    Cause,
    Value,
    is_uniform,
    top,
    uniform,
)
from smemlint.hardware.arch import LANES
from smemlint.lazy_dataclasses import dataclass

Mask = NDArray[np.bool_]


Register: TypeAlias = "Hashable"
"""A tuple is a word of thread-local memory, which is live to the end of the kernel."""
Operand: TypeAlias = "Callable[[State], Value]"
"""Reads an operand."""
Effect: TypeAlias = "Callable[[State], None]"
"""Executes an instruction."""
_UNSET = top(UNSET)


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """The threads of a block.

    Attributes:
        block: extents in x, y and z.
        thread: the coordinates of every lane, each of shape (warps, 32).
        lane: the number in its warp.
        warp: the number of its warp.
        live: the lanes that are threads.
        launch: values that a launch gives, where they are known: arguments by name or place, and
            special registers of the grid by name.
    """

    block: tuple[int, int, int]
    thread: tuple[Value, Value, Value]
    lane: Value
    warp: Value
    live: Mask
    launch: Mapping[Hashable, Value] = field(default_factory=dict)

    @staticmethod
    def of(block: tuple[int, int, int], launch: Mapping[Hashable, Value] | None = None) -> Geometry:
        """Returns the geometry of a block shape, with what is known of its launch."""
        x, y, z = block
        count = x * y * z
        number = np.arange(-(-count // LANES) * LANES, dtype=np.int64).reshape(-1, LANES)
        coordinates = (number % x, number // x % y, number // (x * y))
        thread = tuple(
            Value(c) if extent > 1 else ZERO for c, extent in zip(coordinates, block, strict=True)
        )
        return Geometry(
            block,
            (thread[0], thread[1], thread[2]),
            Value(number % LANES),
            Value(number // LANES),
            number < count,
            launch or {},
        )


Choices: TypeAlias = "dict[Hashable, tuple[Fork, bool]]"
"""What a path took: by symbol, or by fork, the way that it went."""


@dataclass(slots=True, eq=False)
class Fragment:
    """Lanes that run together.

    Attributes:
        choices: the open conditions that led here.
    """

    mask: Mask
    registers: dict[Register, Value]
    choices: Choices = field(default_factory=dict)

    def copy(self, mask: Mask) -> Fragment:
        """Returns the fragment for some lanes."""
        return Fragment(mask, dict(self.registers), dict(self.choices))


@dataclass(slots=True, eq=False)
class State:
    """What instructions read and write.

    Attributes:
        mask: those of them that the current instruction is for.
        doubt: a condition of the current instruction that is not known.
    """

    geometry: Geometry
    recorder: Recorder
    fragment: Fragment
    mask: Mask
    doubt: Fork | None = None

    def get(self, register: Register) -> Value:
        """Returns what a register holds."""
        return self.fragment.registers.get(register, _UNSET)

    def set(self, register: Register, value: Value) -> None:
        """Writes a register in the active lanes; what the others hold is never read."""
        self.fragment.registers[register] = value

    def run_if(
        self, predicate: Value, effect: Effect, writes: Sequence[Register], place: str
    ) -> None:
        """Runs an instruction where a predicate, 0 or 1 by lane, holds."""
        predicate = self.decided(predicate)
        constant = predicate.constant
        if constant is not None:
            if constant:
                effect(self)
            return
        outer, doubt = self.mask, self.doubt
        old = [self.get(register) for register in writes]
        is_open = bool(predicate.terms) | ~np.asarray(predicate.known)
        self.mask = outer & (is_open | (np.asarray(predicate.base) != 0))
        if (self.mask & is_open).any():
            cause = None if is_uniform(predicate) else predicate.cause
            self.doubt = doubt or Fork(cause, place)
        if self.mask.any():
            effect(self)
            for register, before in zip(writes, old, strict=True):
                after = self.get(register)
                if before is not _UNSET:
                    self.set(register, select(predicate, after, before))
        self.mask, self.doubt = outer, doubt

    def decided(self, predicate: Value) -> Value:
        """Returns the predicate as the path's choices decide it."""
        found = truth(predicate)
        if found is None or found[0] not in self.fragment.choices:
            return predicate
        symbol, is_positive = found
        return Value(int(self.fragment.choices[symbol][1] == is_positive))

    def forget(self, registers: Sequence[Register], cause: Cause = DATA) -> None:
        """Writes what is not known."""
        value = top(cause)
        for register in registers:
            self.set(register, value)

    def access(
        self, site: Site | Sequence[Site], address: Value, source: Value | None = None
    ) -> None:
        """Records a shared access of the active lanes at one site or several.

        Args:
            site: the instruction, or what ptxas makes of it.
            address: bytes of shared memory.
            source: bytes of global memory that an asynchronous copy reads.
        """
        if self.mask.any():
            forks = [fork for fork, _ in self.fragment.choices.values()]
            if self.doubt is not None:
                forks.append(self.doubt)
            for one in (site,) if isinstance(site, Site) else site:
                self.recorder.record(one, address, self.mask, forks, source)

    def load(self, address: Value, width: int = 32) -> Value:
        """Returns what memory of unknown contents gives: one number a warp at one address."""
        return uniform(mask=(1 << width) - 1) if is_uniform(address) else top(DATA)
