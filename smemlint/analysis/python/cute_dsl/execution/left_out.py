"""What executing a file left out for its number: launches, choices, functions, files."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from smemlint.facts import NotAnalysed, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from smemlint.analysis.python.cute_dsl.execution.state import Execution


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
        """Adds something that is said of the whole file."""
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
