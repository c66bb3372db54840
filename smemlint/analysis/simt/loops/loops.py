"""Loops: tried for what an iteration costs, then run as the compiler lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import (
    Int,
    Pointer,
    Value,
    same,
)
from smemlint.analysis.simt.loops.known_trips import Carried, LoopParts
from smemlint.analysis.simt.loops.periodic import REPEATED, RepeatedBlocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pycparser import c_ast


_TRIED = 2
"""Iterations that tell what one costs and changes."""


class Loops(RepeatedBlocks):
    """Runs loops."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._together: dict[int, int] = {}  # loop node -> iterations in one basic block
        self._rolled: set[int] = set()  # loops of many blocks
        self._changes: dict[int, list[tuple[str, int, int | None]]] = {}

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
        mask, returned, left = self.mask, len(self.frame.returns), len(self.frame.exits.ways)
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
        del self.trace.items[size:], self.frame.returns[returned:], self.frame.exits.ways[left:]
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
        if foreseen is not None and foreseen // together >= REPEATED:
            self._rolled.add(id(node))
        self._run_blocks(parts, together, carried, foreseen)

    def _carried_now(self, node: c_ast.Node) -> Carried:
        """What the loop changes, in the objects that exist this time."""
        found: Carried = {}
        for key, at, by in self._changes.get(id(node), ()):
            obj = self.latest.get(key)
            if obj is not None:
                found[id(obj), at] = obj, at, by
        return found


def _barriers_part(iterations: Sequence[Event | Fence]) -> bool:
    """Whether iterations end at a barrier, so that no access of one meets one of the next."""
    last = iterations[-1] if iterations else None
    return isinstance(last, Fence) and last.kind == "barrier"


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
