"""What executing a file left out: for its number, or calls that may access shared memory."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING

from smemlint.analysis.python.cute_dsl.execution.storage import StorageField
from smemlint.analysis.python.cute_dsl.execution.values import (
    Pointer,
    UnknownTensor,
    array_of,
    payload_of,
)
from smemlint.facts import NotAnalysed, Span
from smemlint.frontend.heuristics import has_no_lanes
from smemlint.layout import cute
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from smemlint.analysis.python.cute_dsl.execution.state import Execution
    from smemlint.analysis.python.interpreter.values import Value
    from smemlint.analysis.simt.domain.values import Object


@dataclass(slots=True)
class LeftOut:
    """How much of each kind was left out, at its place; of several executions the most.

    Attributes:
        path: the executed file.
    """

    path: str
    _counts: dict[tuple[Span, str, str], int] = field(default_factory=dict)

    def add_run(self, run: Execution) -> None:
        """Adds launches that an execution left out, and files that it did not read."""
        for function, count in run.left_out.items():
            self._add(run.span_of_name(function), function.name, "launches are not executed", count)
        self.add("imported files are not read", len(run.texts.left_out))

    def add(self, what: str, count: int) -> None:
        """Adds a note on the file."""
        self._add(Span(self.path, 1, 1, 1, 1), "", what, count)

    def _add(self, where: Span, kernel: str, what: str, count: int) -> None:
        key = where, kernel, what
        self._counts[key] = max(count, self._counts.get(key, 0))

    def notes(self) -> list[NotAnalysed]:
        """Returns a note for each kind of which anything was left out."""
        return [
            NotAnalysed(where, kernel, Reason(ReasonCode.LEFT_OUT, f"{count} further {what}"))
            for (where, kernel, what), count in self._counts.items()
            if count
        ]


def note_unfollowed(run: Execution, name: str, given: Iterable[Value], node: ast.Call) -> None:
    """Notes a call that is not followed if it is given shared memory, which it may access.

    Args:
        run: the execution.
        name: of what is called.
        given: the arguments.
        node: the call.
    """
    if has_no_lanes(name) or has_no_lanes(ast.unparse(node.func)):
        return
    arrays = list(dict.fromkeys(_arrays(given)))
    if arrays:
        first = arrays[0]
        given_array = f"`{first.name}`" if first is not None and first.name else "shared memory"
        text = f"`{name}` is not followed, and is given {given_array}"
        run.note(node, text, first if len(arrays) == 1 else None)


def _arrays(values: Iterable[Value]) -> Iterator[Object | None]:
    """Yields the shared arrays among values; None for one that is not known."""
    for value in values:
        payload = payload_of(value)
        if isinstance(value, tuple | list):
            yield from _arrays(value)
        elif isinstance(payload, cute.Tensor | UnknownTensor):
            if payload.space is cute.Space.SHARED:
                yield array_of(payload)
        elif isinstance(payload, Pointer | StorageField):
            pointer = payload if isinstance(payload, Pointer) else payload.pointer
            if pointer.space is cute.Space.SHARED:
                yield pointer.origin.object
