"""Facts of a kernel whose text moved as a whole: the same facts, some lines up or down."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from smemlint.facts import (
    Access,
    Caller,
    CallLine,
    Fusion,
    Instance,
    KernelFacts,
    LayoutUse,
    NotAnalysed,
    SharedArray,
    Span,
)
from smemlint.reasons import Assumption, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES_A_LINE = re.compile(r"line \d|:\d")
_TREES = (
    Access, Assumption, Caller, CallLine, Fusion, KernelFacts, LayoutUse, NotAnalysed, Reason,
    SharedArray,
)  # fmt: skip

Tree = TypeVar("Tree")


class NamesALine(Exception):
    """A text names a line, so that it cannot be moved."""


def relocated(
    facts: KernelFacts,
    instance: Instance,
    assumptions: tuple[tuple[Assumption, ...], tuple[Assumption, ...]],
    moved: Callable[[Span], Span],
) -> KernelFacts:
    """The facts as an evaluation at the new place would give them.

    Args:
        facts: of the old place.
        instance: at the new place.
        assumptions: what was assumed of the whole instance, before and now.
        moved: gives the new place of an old one.

    Raises:
        NamesALine: a text does, other than those assumptions.
    """
    return _Mover(instance, *assumptions, moved).moved(facts)


class _Mover:
    """Walks facts once; what two of them share stays shared."""

    def __init__(
        self,
        instance: Instance,
        before: tuple[Assumption, ...],
        now: tuple[Assumption, ...],
        place: Callable[[Span], Span],
    ) -> None:
        self._instance = instance
        self._before = before
        self._now = now
        self._place = place
        self._done: dict[int, object] = {}

    def moved(self, value: Tree) -> Tree:
        """A value with all places in it moved."""
        if id(value) not in self._done:
            self._done[id(value)] = self._moved(value)
        return self._done[id(value)]  # type: ignore[return-value]

    def _moved(self, value: object) -> object:
        if isinstance(value, Span):
            return self._place(value)
        if isinstance(value, Instance):
            return self._instance
        if isinstance(value, tuple):
            return tuple([self.moved(item) for item in value])
        if not isinstance(value, _TREES):
            return value
        changes = {
            f.name: self._field(value, f.name)
            for f in fields(value)
            if f.name not in ("patterns", "expression", "spelled")  # have no place or are source
        }
        if isinstance(value, Access) and value.line:
            row = replace(value.span, line=value.line, end_line=value.line)
            changes["line"] = self._place(row).line
        return replace(value, **changes)  # type: ignore[arg-type]

    def _field(self, owner: object, name: str) -> object:
        value = getattr(owner, name)
        if name == "assumptions" and value[: len(self._before)] == self._before:
            own = value[len(self._before) :]
            return (*self._now, *(self.moved(assumption) for assumption in own))
        if isinstance(value, str) and name != "path":
            _require_no_line(value)
        return self.moved(value)


def _require_no_line(text: str) -> None:
    if _NAMES_A_LINE.search(text):
        raise NamesALine
