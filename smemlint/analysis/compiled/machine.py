"""Runs a compiled kernel for all threads of a block at once.

Lanes that run together are a fragment. A known condition splits its lanes, an unknown one sends
them both ways; fragments meet again where their paths do. Loops whose trip count is known run to
their end; of all others the second iteration stands for every further one (widening).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.compiled.control_flow import Loop
from smemlint.analysis.compiled.joins import includes, join, widen
from smemlint.analysis.compiled.predicates import truth
from smemlint.analysis.compiled.program import Exit, Program
from smemlint.analysis.compiled.recorder import Fork, Recorder
from smemlint.analysis.compiled.state import Choices, Fragment, Geometry, Register, State
from smemlint.analysis.compiled.values import PATHS, Cause, Value, is_uniform, top
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_COMPILED_STEPS,
    MAX_COMPILED_WIDENINGS,
    MAX_LOOP_STEPS,
    MAX_OPEN_ROUNDS,
    MAX_ROUNDS,
)
from smemlint.limits.steps import spend

Mask = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class _Visit:
    """One entry of a loop.

    Attributes:
        head: the fragment at its head, for all iterations so far once it was widened; a copy, since
            the block that runs writes its own.
        steps: the count of instructions when it was entered.
        is_counted: the latest iteration took a known decision to stay or leave.
        is_open: some iteration had a condition to leave that is not known.
    """

    head: Fragment
    steps: int
    rounds: int = 0
    widenings: int = 0
    is_counted: bool = False
    is_open: bool = False


@dataclass(slots=True, eq=False)
class _Pending:
    """A fragment that waits at a block; `entered` if some of it did not come around the loop."""

    fragment: Fragment
    entered: bool


@dataclass(slots=True, eq=False)
class Machine:
    """One evaluation.

    Attributes:
        is_spent: the budget ended the evaluation.
    """

    program: Program
    geometry: Geometry
    recorder: Recorder = field(default_factory=Recorder)
    max_steps: int = MAX_COMPILED_STEPS
    steps: int = 0
    is_spent: bool = False
    _pending: dict[int, _Pending] = field(default_factory=dict)
    _heap: list[tuple[int, int]] = field(default_factory=list)
    _visits: dict[Loop, _Visit] = field(default_factory=dict)

    def run(self) -> None:
        """Runs the kernel from its entry to all of its ends."""
        self._arrive(0, Fragment(self.geometry.live, {}), is_back_edge=False)
        while self._heap:
            _, at = heapq.heappop(self._heap)
            waiting = self._pending.pop(at, None)
            if waiting is None:
                continue
            fragment = self._at_head(at, waiting)
            if fragment is None:
                continue
            self._run_block(at, fragment)
            if self.steps > self.max_steps:
                self.is_spent = True
                return

    def _run_block(self, at: int, fragment: Fragment) -> None:
        block = self.program.blocks[at]
        state = State(self.geometry, self.recorder, fragment, fragment.mask)
        for instruction in block.code:
            instruction.run(state)
        self.steps += len(block.code) + 1
        spend(len(block.code) + 1)
        self._leave(at, block.exits, state)

    # ---- branches

    def _leave(self, at: int, exits: Iterable[Exit], state: State) -> None:
        fragment = state.fragment
        rest = fragment.mask
        choices = fragment.choices
        for way in exits:
            if way.condition is None:
                self._send(at, way.target, fragment, rest, choices)
                return
            condition = state.decided(way.condition(state))
            yes, no, fork = _split(condition, rest, way.reason)
            self._note_exit(at, exits, is_known=fork is None)
            if fork is None:
                self._send(at, way.target, fragment, yes, choices)
                rest = no
            else:
                key, positive = truth(condition) or (fork, True)
                self._send(at, way.target, fragment, yes, {**choices, key: (fork, positive)})
                rest, choices = no, {**choices, key: (fork, not positive)}
            if not rest.any():
                return

    def _send(
        self, at: int, target: int | None, fragment: Fragment, mask: Mask, choices: Choices
    ) -> None:
        if target is None or not mask.any():
            return
        live = self.program.live[target]
        registers = {
            r: v for r, v in fragment.registers.items() if r in live or isinstance(r, tuple)
        }
        is_back_edge = self.program.nest.is_back_edge(at, target)
        self._arrive(target, Fragment(mask, registers, choices), is_back_edge=is_back_edge)

    def _arrive(self, target: int, fragment: Fragment, *, is_back_edge: bool) -> None:
        waiting = self._pending.get(target)
        if waiting is None:
            self._pending[target] = _Pending(fragment, not is_back_edge)
            heapq.heappush(self._heap, (self.program.nest.order[target], target))
        else:
            waiting.fragment = merged(waiting.fragment, fragment)
            waiting.entered |= not is_back_edge

    # ---- loops

    def _note_exit(self, at: int, exits: Iterable[Exit], *, is_known: bool) -> None:
        loop = self.program.nest.loops[at]
        targets = [e.target for e in exits]
        while loop is not None:
            inside = [t is not None and t in loop.blocks for t in targets]
            if any(inside) and not all(inside) and loop in self._visits:
                visit = self._visits[loop]
                visit.is_counted |= is_known
                visit.is_open |= not is_known
            loop = loop.outer

    def _at_head(self, at: int, waiting: _Pending) -> Fragment | None:
        """Returns the fragment to run from a block on; None if its loop was run to the end."""
        loop = self.program.nest.heads[at]
        fragment = waiting.fragment
        if loop is None:
            return fragment
        visit = self._visits.get(loop)
        if visit is None or waiting.entered:
            self._visits[loop] = _Visit(fragment.copy(fragment.mask), self.steps)
            return fragment
        visit.rounds += 1
        is_counted, visit.is_counted = visit.is_counted, False
        most = MAX_OPEN_ROUNDS if visit.is_open else MAX_ROUNDS
        is_short = visit.rounds < most and self.steps - visit.steps < MAX_LOOP_STEPS
        if is_counted and is_short and not visit.widenings:
            visit.head = fragment.copy(fragment.mask)
            return fragment
        return self._widened(loop, visit, fragment)

    def _widened(self, loop: Loop, visit: _Visit, fragment: Fragment) -> Fragment | None:
        head = visit.head
        mask = head.mask | fragment.mask
        registers: dict[Register, Value] = {}
        choices = {
            k: c
            for k, c in fragment.choices.items()
            if c[0].cause is not None or head.choices.get(k) == c
        }
        is_stable = not (fragment.mask & ~head.mask).any()
        if not visit.widenings and choices.keys() - head.choices.keys():
            is_stable = False  # from now on, which lanes take part is not known
        for register, old in head.registers.items():
            new = fragment.registers.get(register)
            if new is None or includes(old, new, fragment.mask):
                registers[register] = old
                continue
            is_stable = False
            if visit.widenings >= MAX_COMPILED_WIDENINGS:
                registers[register] = top(new.cause or PATHS)
            else:
                width = self.program.widths.get(register, 32)
                registers[register] = widen(old, new, fragment.mask, width)
        if is_stable:
            return None
        visit.widenings += 1
        visit.head = Fragment(mask, registers, choices)
        return visit.head.copy(mask)


def _split(condition: Value, mask: Mask, place: str) -> tuple[Mask, Mask, Fork | None]:
    """Returns the lanes that go, those that stay, and the fork if some are not known."""
    truths = np.broadcast_to(np.asarray(condition.base) != 0, mask.shape)
    if not condition.terms:
        open_lanes = mask & ~np.asarray(condition.known)
        if not open_lanes.any():
            return mask & truths, mask & ~truths, None
        known = np.asarray(condition.known)
        fork = Fork(condition.cause or PATHS, place)
        return mask & (~known | truths), mask & (~known | ~truths), fork
    cause = None if is_uniform(condition) else (condition.cause or PATHS)
    return mask, mask, Fork(cause, place)


def merged(a: Fragment, b: Fragment) -> Fragment:
    """Joins two fragments that meet: choices common to both stay, those that part them end."""
    choices = {k: c for k, c in a.choices.items() if b.choices.get(k) == c}
    parted = [c[0] for f in (a, b) for k, c in f.choices.items() if k not in choices]
    cause: Cause | None = next((f.cause for f in parted if f.cause is not None), None)
    registers: dict[Register, Value] = {}
    for register, x in a.registers.items():
        y = b.registers.get(register)
        if y is None or x is y:
            registers[register] = x
        else:
            registers[register] = join(
                x, y, a.mask, b.mask, by_lane=cause is not None, cause=cause or PATHS
            )
    for register, y in b.registers.items():
        registers.setdefault(register, y)
    return Fragment(a.mask | b.mask, registers, choices)
