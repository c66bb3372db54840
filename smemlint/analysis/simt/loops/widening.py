"""Loops without known bounds: one iteration stands for all.

What every iteration adds becomes a multiple of an unknown iteration number, what changes otherwise
becomes unknown.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from smemlint.analysis.simt.domain.ctypes import (
    I32,
)
from smemlint.analysis.simt.domain.masks import is_any, kept
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    FloatValue,
    Int,
    PartlyKnown,
    Pointer,
    Unknown,
    Value,
    blended,
    same,
    seen_by,
)
from smemlint.analysis.simt.loops.modified import DryRuns
from smemlint.analysis.simt.state import Loop, Variable

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.analysis.simt.state import Mask


_ROUNDS = 4
"""Attempts to find what a loop with unknown bounds changes."""


class Generalizing(DryRuns):
    """Runs one iteration that stands for all."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._returned_inside = False  # the last dry run reached a return

    def iteration(self, name: str, step: c_ast.Node | None, body: c_ast.Node, loop: Loop) -> None:
        """Runs body and step once; the counter's value is kept for messages."""
        counter = self.lookup(name) if name else None
        shown = counter.object.cells.get(0) if isinstance(counter, Variable) else None
        pushed = isinstance(shown, Int) and shown.constant is not None
        if pushed:
            self.loop_values.append((name, shown.constant))  # type: ignore[union-attr, arg-type]
        before = self.mask
        for exits in (loop.breaks, loop.continues):
            exits.depth, exits.around = self.store.depth, len(self.frame.open)
        try:
            self.execute(body)
        finally:
            if pushed:
                self.loop_values.pop()
        self.arrive(loop.continues)
        if is_any(loop.continued):
            self.mask = kept(before, self.mask | loop.continued)
            loop.continued = self.none_active()
        if step is not None and is_any(self.mask):
            self.evaluate(step)

    def generalized(
        self,
        node: c_ast.Node,
        cond: c_ast.Node | None,
        step: c_ast.Node | None,
        body: c_ast.Node,
        *,
        is_uniform: bool,
    ) -> None:
        """One iteration that stands for all: see the module's docstring.

        `is_uniform`: the condition keeps the threads of a block together. Where it does not, what
        the loop changes is one number inside, and another for each thread behind it.
        """
        loop = self.loops[-1]
        mask = self.mask
        trip = self.algebra.symbol(
            self.key(node, "iteration"), "the iteration", I32, nonnegative=True
        )
        forms: dict[tuple[int, int], tuple[Object, int, Value]] = {}
        text = f"`{self.source(cond)}` holds" if cond is not None else ""
        assumed, gone = len(self.assumptions), self.none_active()
        if text:
            self.assumptions.append(text)
        trips = Unknown("how often the loop runs is not known", is_uniform=is_uniform)
        self.frame.open.append((trips, node))
        self.store.begin()
        broken = len(loop.breaks.ways)
        try:
            for _ in range(_ROUNDS):
                del loop.breaks.ways[broken:]
                if not self._find_changes(forms, trip, step, body, loop, mask):
                    break
            self._set_forms(forms)
            if not self.trace.is_muted or self._returned_inside:
                self.trace.fence("block")
                self.mask = mask
                del loop.breaks.ways[broken:]
                self.iteration("", step, body, loop)
                gone = mask & ~(self.mask | loop.broken)
                self.trace.fence("block")
                self._set_forms(forms)
        finally:
            self.frame.open.pop()
            self.store.commit()
            if text:
                del self.assumptions[assumed]
        if not (is_uniform and loop.breaks.is_uniform):
            for obj, offset, value in forms.values():
                why = Unknown(f"threads leave a loop with different values of `{obj.name}`")
                if isinstance(value, Pointer):
                    self.store.set_cell(obj, offset, self.moved_away(value, why))
                elif isinstance(value, Int):
                    self.store.set_cell(obj, offset, why)
        loop.broken = self.none_active()
        self.mask = mask
        if is_any(gone) and cond is not None:  # the loop may as well not be entered
            self.assume([f"`{self.source(cond)}` does not hold"], has_returned=True)

    def _set_forms(self, forms: dict[tuple[int, int], tuple[Object, int, Value]]) -> None:
        for obj, offset, value in forms.values():
            self.store.set_cell(obj, offset, value)

    def _moved_together(self, begin: Int, delta: Int, obj: Object, trip: Int) -> Int | None:
        """What all threads move by the same unknown; None where `begin` says so already."""
        key = f"steps:{obj.key}:{trip.terms[0][0].key if trip.terms else ''}"
        steps = [int(delta.base), *(int(c) * s.multiple for s, c in delta.terms)]
        moved = self.algebra.symbol(key, f"steps of {obj.name}", begin.type, multiple=gcd(*steps))
        if {s.key for s, _ in moved.terms} & {s.key for s, _ in begin.terms}:
            return None
        return self.algebra.add(begin, moved)

    def _find_changes(
        self,
        forms: dict[tuple[int, int], tuple[Object, int, Value]],
        trip: Int,
        step: c_ast.Node | None,
        body: c_ast.Node,
        loop: Loop,
        mask: Mask,
    ) -> bool:
        """A dry run of one iteration; updates the general forms, says whether any changed."""
        starts = set(forms)
        self._set_forms(forms)
        self.trace.mute()
        self.store.begin()
        self.mask = mask
        notes = dict(self.unfollowed)
        returned, left = len(self.frame.returns), len(self.frame.exits.ways)
        try:
            self.iteration("", step, body, loop)
        finally:
            self.trace.unmute()
            ends = self.store.rollback()
            self.mask = mask
            self.unfollowed = notes
            self._returned_inside = len(self.frame.returns) > returned
            del self.frame.returns[returned:]
            del self.frame.exits.ways[left:]
            loop.continues.ways.clear()
            loop.broken = self.none_active()
            loop.continued = self.none_active()
        changed = False
        for key, (obj, offset, end) in ends.items():
            begin = obj.cells.get(offset)
            if begin is None or end is None or same(begin, end):
                continue
            inside, then = seen_by(mask, begin), seen_by(mask, end)
            if begin is inside and isinstance(begin, Unknown):  # and so it is behind the loop
                forms.setdefault(key, (obj, offset, begin))
                continue
            general = self._general(inside, then, trip, obj, key in starts)
            if general is not None and isinstance(begin, PartlyKnown):
                general = blended(mask, general, begin)
            if general is not None and not (key in forms and same(forms[key][2], general)):
                forms[key] = (obj, offset, general)
                changed = True
        return changed

    def _general(
        self, begin: Value, end: Value, trip: Int, obj: Object, seen: bool
    ) -> Value | None:
        """The value at the start of any iteration; None when the form that is set holds."""
        if isinstance(begin, FloatValue) and isinstance(end, FloatValue):
            return None
        if isinstance(begin, Int) and isinstance(end, Int):
            delta = self.algebra.add(end, begin, -1)
            if not delta.terms:
                if not seen:
                    advance = self.algebra.multiply(Int(delta.base, begin.type), trip)
                    if isinstance(advance, Int):
                        general = self.algebra.add(begin, advance)
                        return Int(general.base, begin.type, general.terms, general.form)
                elif any(s.key == t.key for s, _ in begin.terms for t, _ in trip.terms):
                    return None  # begin + delta * trip became begin + delta * (trip + 1)
            if begin.is_uniform and end.is_uniform:
                key = f"loop:{obj.key}:{trip.terms[0][0].key if trip.terms else ''}"
                floor = _is_nonnegative(begin) and _is_nonnegative(end)
                return self.algebra.symbol(key, obj.name, begin.type, nonnegative=floor)
            if delta.is_uniform:
                return self._moved_together(begin, delta, obj, trip)
            return Unknown(f"`{obj.name}` changes in a loop in a way that is not followed")
        if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
            offset = self._general(begin.offset, end.offset, trip, obj, seen)
            if offset is None:
                return None
            if isinstance(offset, Int):
                return Pointer(begin.object, offset, begin.target, begin.is_volatile)
            return self.moved_away(begin, offset) if isinstance(offset, Unknown) else None
        if isinstance(begin, Unknown):
            return begin
        if _points_somewhere(begin):
            return None
        if isinstance(end, Unknown) or _points_somewhere(end):
            return end
        if (
            isinstance(begin, Pointer)
            and isinstance(end, Pointer)
            and begin.object.space is not Space.SHARED
            and end.object.space is not Space.SHARED
        ):
            return None
        return Unknown(f"`{obj.name}` changes in a loop in a way that is not followed")


def _points_somewhere(value: Value) -> bool:
    """Whether it points into a shared array at an offset that is not known."""
    if not isinstance(value, Pointer) or value.object.space is not Space.SHARED:
        return False
    return isinstance(value.object.default, Unknown)


def _is_nonnegative(value: Int) -> bool:
    base = value.base if isinstance(value.base, int) else int(value.base.min())
    return base >= 0 and all(
        s.nonnegative and (c >= 0 if isinstance(c, int) else c.min() >= 0) for s, c in value.terms
    )
