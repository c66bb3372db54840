"""Joins: what alternatives of open conditions wrote is put together where they meet.

They meet behind the statement, or where a jump out of it ends: behind a loop, at the end of an
iteration, in the caller. What follows is evaluated as if no jump was taken; behind the block it is
said where the block has written something that outlives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.values import FloatValue, Unknown, same
from smemlint.analysis.simt.interpreter.conditional import Choices
from smemlint.analysis.simt.state import BudgetExceeded, Exits
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pycparser import c_ast

    from smemlint.analysis.simt.domain.memory import Journal, Object
    from smemlint.analysis.simt.domain.values import Value

_CELLS_A_STEP = 8
_MOST_NOTED = 1_000_000
"""Cells that jumps of one evaluation note: each takes some 100 bytes and a microsecond."""


class Joins(Choices):
    """Joins what alternatives and jumps leave."""

    noted = 0

    def join(self, left: Journal, right: Journal, condition: Unknown, node: c_ast.Node) -> None:
        """Writes what two alternatives wrote, put together."""
        for _, (obj, offset, value) in self._cell_by_cell(left, right, condition, node):
            self.store.set_cell(obj, offset, value)

    def merged(
        self, left: Journal, right: Journal, condition: Unknown, node: c_ast.Node
    ) -> Journal:
        """What two alternatives wrote, put together as what one did."""
        return dict(self._cell_by_cell(left, right, condition, node))

    def _cell_by_cell(
        self, left: Journal, right: Journal, condition: Unknown, node: c_ast.Node
    ) -> Iterator[tuple[tuple[int, int], tuple[Object, int, Value | None]]]:
        """Cell by cell; one that an alternative left alone is as it is now."""
        keys = {**left, **right}
        spend(len(keys) // _CELLS_A_STEP)
        for key in keys:
            obj, offset, _ = left.get(key) or right[key]
            now = obj.cells.get(offset)
            a = left[key][2] if key in left else now
            b = right[key][2] if key in right else now
            if a is None or b is None:
                value = a if b is None else b
            else:
                value = self.joined(a, b, condition, node)
            yield key, (obj, offset, value)

    def exits(self) -> Exits:
        """The ways out of a block of code that begins here."""
        return Exits(self.store.depth, len(self.frame.open))

    def leave(self, exits: Exits) -> bool:
        """Notes what was written before a jump; whether an open condition decides about it."""
        if len(self.frame.open) <= exits.around:
            return False
        condition = self.open_condition(exits.around)
        exits.is_uniform &= condition.is_uniform
        if written := self.store.since(exits.depth):
            self.noted += len(written)
            if self.noted > _MOST_NOTED:
                raise BudgetExceeded("too much is written before jumps under open conditions")
            exits.ways.append((written, condition, self.frame.open[-1][1]))
        return True

    def open_condition(self, around: int) -> Unknown:
        """The innermost open condition, uniform if all but the first `around` ones are."""
        inner = self.frame.open[-1][0]
        is_uniform = all(condition.is_uniform for condition, _ in self.frame.open[around:])
        return Unknown(inner.reason, inner.is_data, is_uniform)

    def assume(self, texts: Sequence[str], has_returned: bool) -> None:
        """Notes what holds for the threads that stay; of those that returned, none comes back."""
        self.assumptions += [text for text in texts if text not in self.assumptions]
        if has_returned:
            self.frame.guards |= dict.fromkeys(texts)

    def leave_guards(
        self,
        assumed: int,
        before: Journal,
        *,
        reached: frozenset[int] = frozenset(),
        own: frozenset[int] = frozenset(),
    ) -> None:
        """Drops the conditions of a block that ends, unless what it wrote hangs on them.

        Those under which threads returned stay.

        Args:
            assumed: conditions that were assumed before it.
            before: what it wrote, with the values from before.
            reached: ids of objects that outlive it, if they had a value or not.
            own: ids of objects that do not, though they had one.
        """
        guards = self.assumptions[assumed:]
        del self.assumptions[assumed:]
        self.assume([text for text in guards if text in self.frame.guards], has_returned=False)
        for obj, offset, old in before.values():
            now = obj.cells.get(offset)
            outlives = id(obj) not in own and (old is not None or id(obj) in reached)
            if outlives and not isinstance(now, FloatValue) and not same(old, now):
                self.assume(guards, has_returned=False)
                break

    def arrive(self, exits: Exits) -> None:
        """Joins what was written before the jumps to this place with what is there without them."""
        for written, condition, node in exits.ways:
            self.join(written, {}, condition, node)
        exits.ways.clear()
