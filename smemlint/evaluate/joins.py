"""Joins: what alternatives of open conditions wrote is put together where they meet.

They meet behind the statement, or where a jump out of it ends: behind a loop, at the end of an
iteration, in the caller. Jumps that wrote nothing under the condition are guards: what follows is
evaluated as if they were not taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.evaluate.choices import Choices
from smemlint.evaluate.machine import BudgetExceeded, Exits

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.evaluate.memory import Journal
    from smemlint.evaluate.values import Unknown

_MOST_NOTED = 1_000_000
"""Cells that jumps of one evaluation note: each takes some 100 bytes and a microsecond."""


class Joins(Choices):
    """Joins what alternatives and jumps leave."""

    noted = 0

    def join(self, left: Journal, right: Journal, condition: Unknown, node: c_ast.Node) -> None:
        """Puts together what two alternatives wrote; a cell that one left alone is as it is now."""
        for key in {**left, **right}:
            obj, offset, _ = left.get(key) or right[key]
            now = obj.cells.get(offset)
            a = left[key][2] if key in left else now
            b = right[key][2] if key in right else now
            if a is None or b is None:
                value = a if b is None else b
            else:
                value = self.joined(a, b, condition, node)
            self.store.set_cell(obj, offset, value)

    def exits(self) -> Exits:
        """The ways out of a block of code that begins here."""
        return Exits(self.store.depth, len(self.frame.open))

    def leave(self, exits: Exits) -> bool:
        """Notes what was written before a jump; whether an open condition decides about it."""
        is_open = len(self.frame.open) > exits.around
        if is_open and (written := self.store.since(exits.depth)):
            self.noted += len(written)
            if self.noted > _MOST_NOTED:
                raise BudgetExceeded("too much is written before jumps under open conditions")
            exits.ways.append((written, *self.frame.open[-1]))
        return is_open

    def arrive(self, exits: Exits) -> None:
        """Joins what was written before the jumps to this place with what is there without them."""
        for written, condition, node in exits.ways:
            self.join(written, {}, condition, node)
        exits.ways.clear()
