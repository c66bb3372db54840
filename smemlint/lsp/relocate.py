"""Facts and edits of a text whose tokens moved: the same, where the tokens are now."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from smemlint.facts import (
    Access,
    Caller,
    CallLine,
    DotUse,
    Facts,
    Fusion,
    Instance,
    KernelFacts,
    LayoutUse,
    NotAnalysed,
    SharedArray,
    Span,
)
from smemlint.finding import Edit
from smemlint.lsp.token_text import Movement
from smemlint.reasons import Assumption, Line

_TREES = (
    Access, Assumption, Caller, CallLine, DotUse, Edit, Facts, Fusion, Instance, KernelFacts,
    LayoutUse, NotAnalysed, SharedArray,
)  # fmt: skip
_WITHOUT_PLACES = frozenset(("patterns", "expression", "spelled", "template", "block", "passed"))

Tree = TypeVar("Tree")


class Relocation:
    """Moves facts and edits; what two of them share stays shared.

    Args:
        movement: of their places.
        instance: at its new place, where it is known; else it is moved like all else.
        assumptions: what was assumed of a whole instance, before and now, where that is known.
    """

    def __init__(
        self,
        movement: Movement,
        instance: Instance | None = None,
        assumptions: tuple[tuple[Assumption, ...], tuple[Assumption, ...]] = ((), ()),
    ) -> None:
        self._movement = movement
        self._instance = instance
        self._before, self._now = assumptions
        self._done: dict[int, tuple[object, object]] = {}

    def moved(self, value: Tree) -> Tree:
        """Returns a value with all places in it moved.

        Raises:
            CannotMove: one of them is no place of a token.
        """
        known = self._done.get(id(value))
        if known is None:
            known = self._done[id(value)] = value, self._moved(value)
        return known[1]  # type: ignore[return-value]

    def _moved(self, value: object) -> object:
        if isinstance(value, Span):
            return self._movement.span(value)
        if isinstance(value, Line):
            return replace(value, line=self._movement.line(value.path, value.line))
        if isinstance(value, Instance) and self._instance is not None:
            return self._instance
        if isinstance(value, tuple):
            return tuple([self.moved(item) for item in value])
        if not isinstance(value, _TREES):
            return value
        names = (f.name for f in fields(value))
        changes = {n: self._field(value, n) for n in names if n not in _WITHOUT_PLACES}
        if isinstance(value, Access) and value.line:
            changes["line"] = self._movement.line(value.span.path, value.line)
        return replace(value, **changes)  # type: ignore[arg-type]

    def _field(self, owner: object, name: str) -> object:
        value = getattr(owner, name)
        if name == "assumptions" and value[: len(self._before)] == self._before:
            own = value[len(self._before) :]
            return (*self._now, *(self.moved(assumption) for assumption in own))
        return self.moved(value)
