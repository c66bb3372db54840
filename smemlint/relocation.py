"""Facts and findings at other places: of tokens that moved, of a notebook's cell, of a string."""

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
from smemlint.finding import Edit, Finding, Fix
from smemlint.reasons import Assumption, Line, Reason

_TREES = (
    Access, Assumption, Caller, CallLine, DotUse, Facts, Finding, Fix, Fusion, Instance,
    KernelFacts, LayoutUse, NotAnalysed, Reason, SharedArray,
)  # fmt: skip
_WITHOUT_PLACES = frozenset(
    ("patterns", "expression", "spelled", "template", "block", "passed", "after")
)
"""Fields; what a fix makes of its access stands in no text that there is."""
_TEXTS = {
    Assumption: ("wording",),
    Reason: ("text",),
    Finding: ("message", "notes", "help", "related"),
}
"""Fields whose texts name places."""

Tree = TypeVar("Tree")


class Places:
    """Where what stands in one text stands in another; this class leaves all where it is."""

    def span(self, span: Span) -> Span:
        """Returns the new place of an old one."""
        return span

    def line(self, line: Line) -> Line:
        """Returns the new place of a line."""
        span = self.span(Span(line.path, line.line, 1, line.line, 1))
        return Line(span.path, span.line)

    def row(self, access: Access) -> int:
        """Returns the new line of an access that a profiler shows."""
        return self.line(Line(access.span.path, access.line)).line

    def text(self, text: str) -> str:
        """Returns a text for people with the places that it names."""
        return text

    def edit(self, edit: Edit) -> Edit:
        """Returns an edit at its new place."""
        return replace(edit, span=self.span(edit.span))


class Relocation:
    """Moves facts, findings and edits; what two of them share stays shared."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._done: dict[int, tuple[object, object]] = {}

    def moved(self, value: Tree) -> Tree:
        """Returns a value with all places in it moved."""
        known = self._done.get(id(value))
        if known is None:
            known = self._done[id(value)] = value, self._moved(value)
        return known[1]  # type: ignore[return-value]

    def _moved(self, value: object) -> object:
        if isinstance(value, Span):
            return self._places.span(value)
        if isinstance(value, Line):
            return self._places.line(value)
        if isinstance(value, Edit):
            return self._places.edit(value)
        if isinstance(value, tuple):
            return tuple([self.moved(item) for item in value])
        if not isinstance(value, _TREES):
            return value
        names = (f.name for f in fields(value))
        changes = {n: self._field(value, n) for n in names if n not in _WITHOUT_PLACES}
        if isinstance(value, Access) and value.line:
            changes["line"] = self._places.row(value)
        return replace(value, **changes)  # type: ignore[arg-type]

    def _field(self, owner: object, name: str) -> object:
        value = getattr(owner, name)
        return self._worded(value) if name in _TEXTS.get(type(owner), ()) else self.moved(value)

    def _worded(self, value: object) -> object:
        """Returns a text, or what holds texts, with the places that they name."""
        if isinstance(value, tuple):
            return tuple(map(self._worded, value))
        return self._places.text(value) if isinstance(value, str) else self.moved(value)
