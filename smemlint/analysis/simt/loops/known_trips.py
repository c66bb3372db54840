"""Turns: a loop runs iteration by iteration as long as its condition is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pycparser import c_ast

from smemlint.analysis.simt.codegen.unroll import unrolled
from smemlint.analysis.simt.domain.masks import is_any, kept
from smemlint.analysis.simt.domain.memory import Object
from smemlint.analysis.simt.domain.scev import Form, atom, form_of, power_of_two, sum_of
from smemlint.analysis.simt.domain.values import (
    Int,
    Pointer,
    Unknown,
)
from smemlint.analysis.simt.loops.widening import Generalizing
from smemlint.analysis.simt.state import Loop, Variable

if TYPE_CHECKING:
    from smemlint.analysis.simt.state import Mask

_FORESEEN = 8
"""Times as many iterations are counted from a header as are run."""
Carried: TypeAlias = dict[tuple[int, int], tuple[Object, int, int | None]]
"""Cells that a loop changes: object, byte offset, change per iteration (0: by no constant)."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopParts:
    """The parts of a loop; `first`: the body runs before the condition."""

    node: c_ast.Node
    cond: c_ast.Node | None
    step: c_ast.Node | None
    body: c_ast.Node
    first: bool
    unroll: str


class Turns(Generalizing):
    """Runs the iterations of a loop."""

    def _run_loop(
        self,
        parts: LoopParts,
        together: int | None,
        carried: Carried,
        most: int | None = None,
        foreseen: int | None = None,
        *,
        done: int = 0,
        is_certain: bool = False,
    ) -> tuple[int, int]:
        """Runs a loop once; returns its trips and how many iterations form one basic block.

        Args:
            parts: of the loop.
            together: that number where it is known.
            carried: what the loop changes, to be marked as variable at the head of each block.
            most: iterations to run at the most.
            foreseen: how many there would be.
            done: iterations that were run before.
            is_certain: the condition is known to hold for all of them.
        """
        entry = self.mask
        left = self.none_active()
        name = counter_of(parts.node)
        loop = Loop(self.none_active(), self.none_active(), name)
        self.loops.append(loop)
        assumed = len(self.assumptions)
        self.store.begin()
        head = self.frame.scopes[-1] if isinstance(parts.node, c_ast.For) else {}
        own = frozenset(id(b.object) for b in head.values() if isinstance(b, Variable))
        starts: list[int] = []
        is_constant = True
        try:
            while is_any(self.mask) and len(starts) != most:
                if not is_certain and not (parts.first and not starts and not done):
                    going = self._going(parts, len(starts))
                    if going is None:
                        break
                    if going is not self.mask:
                        is_constant = False
                        left = left | (self.mask & ~going)
                        self.mask = going
                        if not is_any(going):
                            break
                if together is not None and len(starts) % together == 0:
                    self._mark_carried(carried, parts.node, together, done + len(starts))
                loop.copy = len(starts) % together if together is not None else len(starts)
                starts.append(len(self.trace.items))
                self.iteration(name, parts.step, parts.body, loop)
                if loop.is_left_openly and _is_endless(parts.cond):
                    self.generalized(parts.node, None, parts.step, parts.body, is_uniform=True)
                    break
        finally:
            self.loops.pop()
            self.leave_guards(assumed, self.store.commit(), own=own)
        self.mask = kept(entry, self.mask | left | loop.broken)
        self.arrive(loop.breaks)
        if together is None:
            trips = len(starts) if foreseen is None else foreseen
            cost = loop.cost * trips // max(len(starts), 1)
            together = unrolled(
                trips,
                cost,
                parts.unroll,
                is_constant=is_constant and not loop.is_run_time,
                is_countable=not _is_geometric(parts.step),
            )
        self.trace.fence_between(starts[together::together])
        return len(starts), together

    def _going(self, parts: LoopParts, trips: int) -> Mask | None:
        """Threads that go on; None when the loop ends for all or was generalized."""
        if parts.cond is None or trips >= self.max_trips:
            self.generalized(parts.node, parts.cond, parts.step, parts.body, is_uniform=True)
            return None
        value = self.condition(self.evaluate(parts.cond))
        if isinstance(value, Unknown) or value.terms:
            is_uniform = value.is_uniform or self._counts_alike(parts)
            self.generalized(parts.node, parts.cond, parts.step, parts.body, is_uniform=is_uniform)
            return None
        self.loops[-1].is_run_time |= bool(form_of(value).terms)
        if isinstance(value.base, int):
            return self.mask if value.base else None
        going = self.mask & (value.base != 0)
        return kept(self.mask, going)

    def _counts_alike(self, parts: LoopParts) -> bool:
        """Whether a head of constants counts, `for (float x = -3; x <= 3; x++)`: alike for all."""
        counter, init = counter_of(parts.node), getattr(parts.node, "init", None)
        heads = [part for part in (init, parts.cond, parts.step) if part is not None]
        writes = self.writes_of(parts.body)
        return (
            bool(counter)
            and all(self.names_in(head) <= {counter} for head in heads)
            and writes is not None
            and counter not in writes.names
        )

    def _mark_carried(self, carried: Carried, node: c_ast.Node, together: int, trip: int) -> None:
        """Gives what the loop changes a form of its own: the compiler sees a variable there."""
        for obj, at, advance in carried.values():
            value = obj.cells.get(at)
            number = value.offset if isinstance(value, Pointer) else value
            if not isinstance(number, Int) or advance is None:
                continue
            alignment = power_of_two(advance * together) if advance else 1
            before = form_of(number)
            key = self.key(node, f"{obj.key}+{at}#{trip}")
            form = sum_of(before, atom(key, alignment))
            if trip:
                form = Form(((key, 1),), form.alignment, form.hangs_on_lane)
            marked = Int(number.base, number.type, number.terms, form)
            if isinstance(value, Pointer):
                self.store.set_cell(obj, at, replace(value, offset=marked))
            else:
                self.store.set_cell(obj, at, marked)

    def _foreseen_trips(self, parts: LoopParts) -> int | None:
        """How often a loop runs, from its header alone; None where the body may have a say."""
        if parts.cond is None or parts.step is None or parts.first:
            return None
        writes = self.writes_of(parts.body)
        header = self.names_in(parts.cond) | self.names_in(parts.step)
        if writes is None or writes.names & header:
            return None
        if any(g.name in header and not self.is_idle_gift(g) for g in writes.given):
            return None
        mask, trips = self.mask, 0
        costs = [loop.cost for loop in self.loops]
        self.trace.mute()
        self.store.begin()
        try:
            while trips < _FORESEEN * self.max_trips:
                value = self.condition(self.evaluate(parts.cond))
                if not isinstance(value, Int) or value.terms:
                    return None
                going = self.mask & (np.asarray(value.base) != 0)
                if not is_any(going):
                    return trips
                self.mask = going
                self.evaluate(parts.step)
                trips += 1
            return None
        finally:
            self.store.rollback()
            self.trace.unmute()
            self.mask = mask
            for loop, cost in zip(self.loops, costs, strict=True):
                loop.cost = cost


def _is_endless(cond: c_ast.Node | None) -> bool:
    """Whether only the body can end the loop: `for (;;)`, `while (true)`."""
    is_true = isinstance(cond, c_ast.ID) and cond.name == "true"
    return cond is None or is_true or isinstance(cond, c_ast.Constant)


def _is_geometric(step: c_ast.Node | None) -> bool:
    """Whether the counter doubles or halves, so that no division tells how often a loop runs."""
    if not isinstance(step, c_ast.Assignment):
        return False
    if step.op in ("<<=", ">>=", "*=", "/="):
        return True
    return isinstance(step.rvalue, c_ast.BinaryOp) and step.rvalue.op in ("<<", ">>", "*", "/")


def counter_of(node: c_ast.Node) -> str:
    """The name of the variable that a loop declares or sets first; empty without one."""
    init = getattr(node, "init", None)
    if isinstance(init, c_ast.DeclList) and init.decls:
        return init.decls[0].name or ""
    if isinstance(init, c_ast.Decl):
        return init.name or ""
    if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name  # type: ignore[no-any-return]
    return ""
