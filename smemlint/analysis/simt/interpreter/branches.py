"""Branches: conditions known thread by thread split the mask, unknown ones are taken both ways.

Each way is run, rolled back, and the two are joined; accesses under it say what was assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import (
    I32,
)
from smemlint.analysis.simt.domain.masks import is_any, kept
from smemlint.analysis.simt.domain.values import (
    FloatValue,
    Int,
    Unknown,
    Value,
    bounds_of_truth,
)
from smemlint.analysis.simt.interpreter.declarations import Declarations, is_call
from smemlint.analysis.simt.state import Loop, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.domain.memory import Journal
    from smemlint.analysis.simt.state import Mask


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """What one alternative of an open condition leaves.

    Attributes:
        text: that it was taken, in words.
        mask: the threads that reach its end.
        journal: what it wrote.
        guards: what was assumed inside for them to reach it.
    """

    text: str
    mask: Mask
    journal: Journal
    guards: Sequence[str]


class Branches(Declarations):
    """Runs `if`, `switch` and jumps."""

    def _exec_If(self, node: c_ast.If) -> None:
        condition = _condition_of(node.cond)
        value = self.condition(self.evaluate(condition))
        mask = self.mask
        if isinstance(value, Int) and not value.terms:
            if isinstance(value.base, int):
                self.execute(node.iftrue if value.base else node.iffalse)
                return
            taken = mask & (value.base != 0)
            rest = mask & ~taken
            if not is_any(rest):
                self.execute(node.iftrue)
                return
            if not is_any(taken):
                self.execute(node.iffalse)
                return
            self.trace.fence("block")
            self.mask = taken
            self.execute(node.iftrue)
            alive = self.mask
            self.trace.fence("block")
            self.mask = rest
            self.execute(node.iffalse)
            self.trace.fence("block")
            self.mask = kept(mask, alive | self.mask)
            return
        assert isinstance(value, Unknown) or value.terms
        unknown = value if isinstance(value, Unknown) else Unknown("the condition is not known")
        text = self.source(node.cond)
        may_hold, holds = bounds_of_truth(unknown)
        self.both_ways(
            (f"`{text}` holds", mask & may_hold, node.iftrue),
            (f"`{text}` does not hold", mask & ~holds, node.iffalse),
            unknown,
            node,
        )

    def both_ways(
        self,
        first: tuple[str, Mask, c_ast.Node | None],
        second: tuple[str, Mask, c_ast.Node | None],
        condition: Unknown,
        node: c_ast.Node,
    ) -> None:
        """Runs two alternatives of an unknown condition and joins what they leave.

        Each alternative is a text, the threads that may take it, and a statement.
        """
        mask = self.mask
        for (_, ours, statement), (_, others, _) in ((first, second), (second, first)):
            if not is_any(others):
                self.mask = ours
                self.execute(statement)
                return
        loop = self.loops[-1] if self.loops else None
        left_before = (loop.broken, loop.continued) if loop else None
        ends: list[End] = []
        returned = len(self.frame.returns)
        self.trace.fence("block")
        self.note_data(condition, first[0], node.cond)
        for text, threads, statement in (first, second):
            self.mask = kept(mask, threads)
            if loop is not None and left_before is not None:
                loop.broken, loop.continued = left_before
            ends.append(self._taken(text, [statement], condition, node))
            self.trace.fence("block")
        if loop is not None and left_before is not None:
            loop.broken, loop.continued = left_before
        alive = [end for end in ends if is_any(end.mask)]
        if not alive:
            self.mask = self.none_active()
            return
        has_returned = len(self.frame.returns) > returned
        if len(alive) == 1:
            self.mask = alive[0].mask
            self.assume([alive[0].text, *alive[0].guards], has_returned)
            self._replay(alive[0].journal)
            return
        self.mask = kept(mask, ends[0].mask | ends[1].mask)
        for other, (_, began, _), end in zip(ends[::-1], (first, second), ends, strict=True):
            if is_any(mask & began & ~end.mask & self.mask):  # who left stays on the other way
                self.assume([other.text], has_returned)
                break
        self.assume([*ends[0].guards, *ends[1].guards], has_returned)
        self.join(ends[0].journal, ends[1].journal, condition, node)

    def _taken(
        self,
        text: str,
        statements: Sequence[c_ast.Node | None],
        condition: Unknown,
        node: c_ast.Node,
    ) -> End:
        """Runs one alternative of an open condition and undoes what it wrote."""
        self.store.begin()
        self.assumptions.append(text)
        self.frame.open.append((condition, node))
        depth = len(self.assumptions)
        try:
            for statement in statements:
                if not is_any(self.mask):
                    break
                self.execute(statement)
        finally:
            guards = self.assumptions[depth:]
            del self.assumptions[depth - 1 :]
            self.frame.open.pop()
            journal = self.store.rollback()
        return End(text, self.mask, journal, guards)

    def _replay(self, journal: Journal) -> None:
        for obj, offset, value in journal.values():
            self.store.set_cell(obj, offset, value)

    def _exec_Switch(self, node: c_ast.Switch) -> None:
        value = self.evaluate(node.cond)
        items = (
            list(node.stmt.block_items or ())
            if isinstance(node.stmt, c_ast.Compound)
            else [node.stmt]
        )
        flat = _flat_cases(items)
        outer, mask = self.loops, self.mask
        loop = Loop(self.none_active(), self.none_active(), breaks=self.exits())
        if outer:
            loop.continues = outer[-1].continues
        self.loops = [*self.loops, loop]
        self.frame.scopes.append({})
        try:
            if isinstance(value, Int) and value.constant is not None:
                self._run_cases(flat, value.constant)
            elif isinstance(value, Int) and value.is_concrete:
                self._run_cases_by_thread(flat, value, node)
            else:
                self._unknown_switch(flat, value, node)
        finally:
            self.frame.scopes.pop()
            self.loops = outer
        if outer:
            outer[-1].continued = outer[-1].continued | loop.continued
        self.mask = kept(mask, self.mask | (loop.broken & mask))
        self.arrive(loop.breaks)

    def _run_cases(
        self, flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]], value: int
    ) -> None:
        start = None
        for i, (label, is_default, _) in enumerate(flat):
            if label is not None:
                known = self.evaluate(label)
                if isinstance(known, Int) and known.constant == value:
                    start = i
                    break
            elif is_default and start is None:
                start = i
        for _, _, statement in flat[start:] if start is not None else ():
            self.execute(statement)

    def _run_cases_by_thread(
        self,
        flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
        value: Int,
        node: c_ast.Switch,
    ) -> None:
        """Every thread enters at its own case and falls through to what follows."""
        waiting = self.mask
        entering: dict[int, Mask] = {}
        for i, (label, _, _) in enumerate(flat):
            known = self.evaluate(label) if label is not None else None
            if label is not None and not (isinstance(known, Int) and known.constant is not None):
                self._unknown_switch(flat, value, node)
                return
            if isinstance(known, Int):
                entering[i] = waiting & (value.base == known.constant)
                waiting = waiting & ~entering[i]
        for i, (_, is_default, _) in enumerate(flat):
            if is_default:
                entering[i], waiting = waiting, self.none_active()
        self.mask = self.none_active()
        for i, (_, _, statement) in enumerate(flat):
            if i in entering:
                self.trace.fence("block")
                self.mask = self.mask | entering[i]
            if is_any(self.mask):
                self.execute(statement)
        self.trace.fence("block")
        self.mask = self.mask | waiting

    def _unknown_switch(
        self,
        flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
        value: Value,
        node: c_ast.Switch,
    ) -> None:
        """Every case is run from the same state; only what all agree on survives."""
        mask = self.mask
        loop = self.loops[-1]
        loop.breaks.around += 1
        condition = (
            value
            if isinstance(value, Unknown)
            else Unknown("the case is not known", is_uniform=True)
        )
        state: Journal | None = None
        subject = self.source(node.cond)
        ends: list[End] = []
        returned = len(self.frame.returns)
        for i, (label, is_default, _) in enumerate(flat):
            if label is None and not is_default:
                continue
            known = self.evaluate(label) if label is not None else None
            text = (
                f"`{subject}` is {self.source(label)}"
                if label is not None
                else f"`{subject}` is no case"
            )
            self.mask = mask
            loop.broken = self.none_active()
            self.refine(value, known)
            try:
                end = self._taken(text, [s for _, _, s in flat[i:]], condition, node)
            finally:
                self.refine(value, None)
            end = replace(end, mask=end.mask | loop.broken)
            ends.append(end)
            if is_any(end.mask):
                written = end.journal
                state = written if state is None else self.merged(state, written, condition, node)
        if not any(is_default for _, is_default, _ in flat):
            ends.insert(0, End(f"`{subject}` is no case", mask, {}, []))
        loop.broken = self.none_active()
        self._stay(mask, ends, len(self.frame.returns) > returned)
        if state is not None:
            self.join(state, {}, condition, node)

    def _stay(self, mask: Mask, ends: Sequence[End], has_returned: bool) -> None:
        """The threads that any case leaves behind it; where others lose some, it is assumed."""
        staying = self.none_active()
        for end in ends:
            staying = staying | end.mask
        self.mask = kept(mask, staying)
        if any(is_any(staying & ~end.mask) for end in ends):
            whole = [end.text for end in ends if not is_any(staying & ~end.mask)]
            self.assume([whole[0] if whole else ends[0].text], has_returned)
        self.assume([text for end in ends if is_any(end.mask) for text in end.guards], has_returned)

    def refine(self, value: Value, known: Value | None) -> None:
        """Inside a case the switched value is known; None ends that."""

    # ---- jumps

    def _exec_Return(self, node: c_ast.Return) -> None:
        value: Value = FloatValue(I32)
        if node.expr is not None:
            if self.frame.returns_reference:
                place = self.place(node.expr)
                value = place.pointer() if isinstance(place, Place) else place
            else:
                value = self.evaluate(node.expr)
        condition = self.open_condition(0) if self.frame.open else None
        self.frame.returns.append((self.mask, value, condition))
        if self.frame.call is not None:  # behind a kernel nothing arrives
            self.leave(self.frame.exits)
        self.mask = self.none_active()

    def _exec_Break(self, node: c_ast.Break) -> None:
        if self.loops:
            loop = self.loops[-1]
            loop.broken = loop.broken | self.mask
            loop.is_left_openly |= self.leave(loop.breaks)
        self.mask = self.none_active()

    def _exec_Continue(self, node: c_ast.Continue) -> None:
        if self.loops:
            loop = self.loops[-1]
            loop.continued = loop.continued | self.mask
            self.leave(loop.continues)
        self.mask = self.none_active()

    def _exec_Goto(self, node: c_ast.Goto) -> None:
        self.not_followed(node, "goto is not followed")


def _condition_of(cond: c_ast.Node) -> c_ast.Node:
    """The condition of an `if`, without the mark of `if constexpr`."""
    if isinstance(cond, c_ast.FuncCall) and is_call(cond, "__constexpr"):
        return cond.args.exprs[0]
    return cond


def _flat_cases(
    items: list[c_ast.Node],
) -> list[tuple[c_ast.Node | None, bool, c_ast.Node | None]]:
    """(label, is default, statement) in program order, so that cases fall through."""
    flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]] = []
    for item in items:
        if isinstance(item, c_ast.Case):
            flat.append((item.expr, False, None))
            flat += _flat_cases(list(item.stmts or ()))
        elif isinstance(item, c_ast.Default):
            flat.append((None, True, None))
            flat += _flat_cases(list(item.stmts or ()))
        else:
            flat.append((None, False, item))
    return flat
