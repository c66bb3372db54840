"""Loops: iteration by iteration while the condition is known, else generalized."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pycparser import c_ast

from smemlint.evaluate.ctypes import (
    FLOAT,
    ArrayType,
    PointerType,
)
from smemlint.evaluate.dry_runs import is_floating
from smemlint.evaluate.forms import Form, atom, form_of, power_of_two, sum_of
from smemlint.evaluate.generalize import Generalizing
from smemlint.evaluate.inert import Effects, effects_of
from smemlint.evaluate.intrinsics import PURE_FUNCTIONS
from smemlint.evaluate.machine import Loop, Variable
from smemlint.evaluate.masks import is_any, kept
from smemlint.evaluate.memory import Object, Space
from smemlint.evaluate.repeat import at_block, moved, put_in, repeats, step_between
from smemlint.evaluate.trace import Event, Fence
from smemlint.evaluate.types import CTYPES
from smemlint.evaluate.unroll import unrolled
from smemlint.evaluate.values import (
    Callable,
    FloatValue,
    Int,
    Pointer,
    Symbol,
    Unknown,
    Value,
    number,
    same,
    seen_by,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.evaluate.machine import Mask
    from smemlint.evaluate.memory import Journal


_TRIED = 2
"""Iterations that tell what one costs and changes."""
_FORESEEN = 8
"""Times as many iterations are counted from a header as are run."""
_REPEATED = 4
"""Blocks of a loop from which on they are not run one by one."""
_Carried: TypeAlias = dict[tuple[int, int], tuple[Object, int, int | None]]
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


class Loops(Generalizing):
    """Runs loops."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._together: dict[int, int] = {}  # loop node -> iterations in one basic block
        self._rolled: set[int] = set()  # loops of many blocks
        self._changes: dict[int, list[tuple[str, int, int | None]]] = {}
        self._effects: dict[int, Effects | None] = {}

    def _exec_For(self, node: c_ast.For) -> None:
        self.frame.scopes.append({})
        try:
            if node.init is not None:
                self.execute(node.init)
            self._loop(node, node.cond, node.next, node.stmt, first=False)
        finally:
            self.frame.scopes.pop()

    def _exec_While(self, node: c_ast.While) -> None:
        self._loop(node, node.cond, None, node.stmt, first=False)

    def _exec_DoWhile(self, node: c_ast.DoWhile) -> None:
        self._loop(node, node.cond, None, node.stmt, first=True)

    def _loop(
        self,
        node: c_ast.Node,
        cond: c_ast.Node | None,
        step: c_ast.Node | None,
        body: c_ast.Node,
        *,
        first: bool,
    ) -> None:
        """Runs a loop: iteration by iteration while its condition is known, else generalized.

        How many iterations the compiler puts together depends on what they cost, so a loop is tried
        first to learn that; where it stays a loop it is run with its variables marked as such. Two
        iterations tell it where the header alone says how many there are.
        """
        unroll, self.pragma = self.pragma, ""
        parts = LoopParts(node, cond, step, body, first, unroll)
        if self._is_inert(node):
            self._run_inert(parts)
            return
        if not self.follows_forms:  # nothing fuses there: the host's loops need no trial
            self._run_loop(parts, 1, {})
            return
        if self.trace.is_muted:
            self._run_blocks(parts, 1, {}, self._foreseen_trips(parts))
            return
        if id(node) in self._together:
            trips = self._foreseen_trips(parts) if id(node) in self._rolled else None
            self._run_blocks(parts, self._together[id(node)], self._carried_now(node), trips)
            return
        foreseen = self._foreseen_trips(parts)
        tried = _TRIED if foreseen is not None and foreseen > _TRIED else None
        mask, returned = self.mask, len(self.frame.returns)
        size, events = len(self.trace.items), self.trace.events
        costs = [loop.cost for loop in self.loops]
        self.store.begin()
        trips, together = self._run_loop(parts, None, {}, tried, foreseen)
        self._together[id(node)] = together
        was_cut_short = trips == tried
        is_whole = foreseen is not None and foreseen <= together
        if was_cut_short and is_whole and _barriers_part(self.trace.items[size:]):
            self._together[id(node)] = together = 1  # nothing fuses from one iteration to the next
        if trips <= together and not was_cut_short:
            self.store.commit()
            return
        ends = self.store.rollback()
        del self.trace.items[size:], self.frame.returns[returned:]
        self.trace.events, self.mask = events, mask
        for loop, cost in zip(self.loops, costs, strict=True):
            loop.cost = cost
        carried = {
            key: (o, at, _advance(o.cells.get(at), end, trips))
            for key, (o, at, end) in ends.items()
        }
        carried = {key: cell for key, cell in carried.items() if cell[2] is not None}
        if is_whole:
            carried = {}
        self._changes[id(node)] = [(o.key, at, by) for o, at, by in carried.values()]
        if foreseen is not None and foreseen // together >= _REPEATED:
            self._rolled.add(id(node))
        self._run_blocks(parts, together, carried, foreseen)

    def _run_blocks(
        self, parts: LoopParts, together: int, carried: _Carried, trips: int | None
    ) -> None:
        """Runs a loop; of many blocks that repeat each other only the first, one more and the last.

        Args:
            parts: of the loop.
            together: iterations of a block.
            carried: see `_run_loop`.
            trips: how many iterations there are, where the header tells.
        """
        done = 0
        for size in (together, 2 * together):
            blocks = ((trips or 0) - done) // size
            if blocks < _REPEATED:
                break
            if done:
                self.trace.fence("block")
            costs, start = [loop.cost for loop in self.loops], len(self.trace.items)
            self.store.begin()
            self._run_loop(parts, together, carried, size, done=done)
            changes = self.store.commit()
            done += size
            first = self.trace.items[start:]
            if self._repeat(parts, together, carried, changes, first, size, done, blocks):
                done += size * (blocks - 2)
                for loop, cost in zip(self.loops, costs, strict=True):
                    loop.cost = cost + (loop.cost - cost) * (blocks - 1)
                break
        if done:
            self.trace.fence("block")
        self._run_loop(parts, together, carried, done=done)

    def _repeat(
        self,
        parts: LoopParts,
        together: int,
        carried: _Carried,
        changes: Journal,
        first: list[Event | Fence],
        size: int,
        done: int,
        blocks: int,
    ) -> bool:
        """Runs a block that stands for all between the first and the last.

        False, and everything undone, where it does not stand for them.

        Args:
            parts: of the loop.
            together: see `_run_loop`.
            carried: see `_run_loop`.
            changes: what the first block changed.
            first: what it issued.
            size: iterations of a block.
            done: iterations that were run.
            blocks: how many blocks there are.
        """
        steps = self._steps(changes)
        if steps is None:
            return False
        self.trace.fence("block")
        start, events, mask = len(self.trace.items), self.trace.events, self.mask
        costs = [loop.cost for loop in self.loops]
        splits, notes = dict(self.split_requests), dict(self.unfollowed)
        block = Symbol(self.key(parts.node, "block"), "the iteration", 1, True, blocks - 3)
        begins: list[tuple[Object, int, Value, int]] = []
        self.store.begin()
        for obj, at, by in steps:
            begin = moved(obj.cells[at], block, by)
            begins.append((obj, at, begin, by))
            self.store.set_cell(obj, at, begin)
        for obj, at, _ in changes.values():  # what some threads hold, they need not hold later
            self.store.set_cell(obj, at, _for_all(obj.cells.get(at)))
        self._run_loop(parts, together, carried, size, done=done, is_certain=True)
        general = self.trace.items[start:]
        is_one = (
            self.split_requests == splits
            and kept(mask, self.mask) is mask
            and all(step_between(b, o.cells[at], self.algebra) == by for o, at, b, by in begins)
            and (self.trace.is_muted or repeats(first, general, block))
        )
        for loop, cost in zip(self.loops, costs, strict=True):
            loop.cost = cost
        del self.trace.items[start:]
        self.trace.events, self.mask = events, mask
        ends = self.store.rollback()
        known = {(id(o), at) for o, at, _, _ in begins}
        if not is_one or not all(
            key in known or _is_settled(o.cells.get(at), end) for key, (o, at, end) in ends.items()
        ):
            self.split_requests, self.unfollowed = splits, notes
            return False
        last = blocks - 3
        for obj, at, end in ends.values():
            value = put_in(end, block, last) if end is not None else None
            self.store.set_cell(obj, at, _for_all(value))
        for item in (
            *at_block(general, block, 0, 1),
            Fence("block"),
            *at_block(general, block, last, last),
        ):
            self.trace.put(item)
        return True

    def _steps(self, changes: Journal) -> list[tuple[Object, int, int]] | None:
        """What a block adds to each cell that it changes; None where that is not followed."""
        steps = []
        for obj, at, old in changes.values():
            now = obj.cells.get(at)
            if old is None or now is None or same(old, now) or not _is_followed(now):
                continue
            by = step_between(old, now, self.algebra)
            if by is None:
                return None
            steps.append((obj, at, by))
        return steps

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

    def _is_inert(self, node: c_ast.Node) -> bool:
        """Whether the loop only computes floating-point numbers and touches no shared memory."""
        if id(node) not in self._effects:
            self._effects[id(node)] = effects_of(node, PURE_FUNCTIONS)
        effects = self._effects[id(node)]
        if effects is None:
            return False
        return all(self._is_harmless(n, written=n in effects.writes) for n in effects.reads)

    def _is_harmless(self, name: str, *, written: bool) -> bool:
        binding = self.lookup(name)
        if not isinstance(binding, Variable):
            return not written and (binding is None or isinstance(binding, (*CTYPES, Int)))
        obj, kind = binding.object, binding.type
        held = obj.cells.get(0)
        if isinstance(held, Pointer):
            obj, kind = held.object, held.target
        elif isinstance(held, Unknown) and isinstance(kind, PointerType):
            return False
        while isinstance(kind, ArrayType):
            kind = kind.element
        if obj.space is Space.SHARED:
            return False
        return not written or obj.space is Space.GLOBAL or is_floating(kind)

    def _run_inert(self, parts: LoopParts) -> None:
        """Runs the body once and the header to its end, for what the iterations cost."""
        loop = Loop(self.none_active(), self.none_active(), _counter(parts.node))
        entry = self.mask
        before = [around.cost for around in self.loops]
        self.loops.append(loop)
        trips = 0
        try:
            while trips < self.max_trips and is_any(self.mask):
                value: Value = number(1)
                if parts.cond is not None and not (parts.first and not trips):
                    value = self.condition(self.evaluate(parts.cond))
                if not isinstance(value, Int) or value.constant in (0, None):
                    break
                if not trips:
                    self.execute(parts.body)
                if parts.step is not None:
                    self.evaluate(parts.step)
                trips += 1
        finally:
            self.loops.pop()
            self.mask = entry
        for around, cost in zip(self.loops, before, strict=True):
            around.cost = cost + (around.cost - cost) * max(trips, 1)
        effects = self._effects[id(parts.node)]
        for name in effects.writes if effects is not None else ():
            binding = self.lookup(name)
            if isinstance(binding, Variable) and binding.object.default is None:
                binding.object.default = FloatValue(FLOAT)

    def _carried_now(self, node: c_ast.Node) -> _Carried:
        """What the loop changes, in the objects that exist this time."""
        found: _Carried = {}
        for key, at, by in self._changes.get(id(node), ()):
            obj = self.latest.get(key)
            if obj is not None:
                found[id(obj), at] = obj, at, by
        return found

    def _run_loop(
        self,
        parts: LoopParts,
        together: int | None,
        carried: _Carried,
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
        name = _counter(parts.node)
        loop = Loop(self.none_active(), self.none_active(), name, uncertain=self.frame.uncertain)
        self.loops.append(loop)
        assumed = len(self.assumptions)
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
                    self.generalized(parts.node, None, parts.step, parts.body)
                    break
        finally:
            self.loops.pop()
            del self.assumptions[assumed:]
        self.mask = kept(entry, self.mask | left | loop.broken)
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
            self.generalized(parts.node, parts.cond, parts.step, parts.body)
            return None
        value = self.condition(self.evaluate(parts.cond))
        if isinstance(value, Unknown) or value.terms:
            self.generalized(parts.node, parts.cond, parts.step, parts.body)
            return None
        self.loops[-1].is_run_time |= bool(form_of(value).terms)
        if isinstance(value.base, int):
            return self.mask if value.base else None
        going = self.mask & (value.base != 0)
        return kept(self.mask, going)

    def _mark_carried(self, carried: _Carried, node: c_ast.Node, together: int, trip: int) -> None:
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


def _barriers_part(iterations: Sequence[Event | Fence]) -> bool:
    """Whether iterations end at a barrier, so that no access of one meets one of the next."""
    last = iterations[-1] if iterations else None
    return isinstance(last, Fence) and last.kind == "barrier"


def _for_all(value: Value | None) -> Value | None:
    return None if value is None else seen_by(None, value)


def _is_settled(old: Value | None, end: Value | None) -> bool:
    """Whether a cell that a block writes needs no step: new in it, unchanged, or not followed."""
    return old is None or end is None or same(old, end) or not _is_followed(end)


def _is_followed(value: Value) -> bool:
    """Whether it is more than some floating-point or unknown value."""
    return not isinstance(value, FloatValue | Unknown | Callable)


def _advance(begin: Value | None, end: Value | None, trips: int) -> int | None:
    """What a cell changes by each iteration; 0 when not by a constant, None for no number."""
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        begin, end = begin.offset, end.offset
    if not isinstance(begin, Int) or not isinstance(end, Int):
        return None
    if not isinstance(begin.base, int) or not isinstance(end.base, int):
        change = np.unique(np.asarray(end.base) - np.asarray(begin.base))
        if len(change) != 1 or not same(Int(0, terms=begin.terms), Int(0, terms=end.terms)):
            return 0
        total = int(change[0])
    else:
        total = end.base - begin.base
    return total // trips if total % trips == 0 else 0


def _counter(node: c_ast.Node) -> str:
    init = getattr(node, "init", None)
    if isinstance(init, c_ast.DeclList) and init.decls:
        return init.decls[0].name or ""
    if isinstance(init, c_ast.Decl):
        return init.name or ""
    if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name  # type: ignore[no-any-return]
    return ""
