"""Facts and edits of a text whose tokens moved: the same, where the tokens are now."""

from __future__ import annotations

from dataclasses import replace

from smemlint import relocation
from smemlint.facts import Instance, Span
from smemlint.lsp.token_text import Movement
from smemlint.reasons import Assumption, Line


class _Tokens(relocation.Places):
    def __init__(self, movement: Movement) -> None:
        self._movement = movement

    def span(self, span: Span) -> Span:
        return self._movement.span(span)

    def line(self, line: Line) -> Line:
        return replace(line, line=self._movement.line(line.path, line.line))


class Relocation(relocation.Relocation):
    """Moves facts and edits; `CannotMove` is raised where a place is none of a token.

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
        super().__init__(_Tokens(movement))
        self._instance = instance
        self._before, self._now = assumptions

    def _moved(self, value: object) -> object:
        if isinstance(value, Instance) and self._instance is not None:
            return self._instance
        return super()._moved(value)

    def _field(self, owner: object, name: str) -> object:
        value = getattr(owner, name)
        if name == "assumptions" and value[: len(self._before)] == self._before:
            own = value[len(self._before) :]
            return (*self._now, *(self.moved(assumption) for assumption in own))
        return super()._field(owner, name)
