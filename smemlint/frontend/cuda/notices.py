"""Places that are not read: the first ones each, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from smemlint.facts import Span
from smemlint.frontend.program import Dropped
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode


@dataclass(slots=True)
class Notices:
    """A list that hostile input cannot make long, and that loses no count.

    Attributes:
        most: places that are named one by one.
    """

    most: int
    _found: list[Dropped] = field(default_factory=list)
    _further: int = 0
    _next: Callable[[], Span] | None = None

    def add(self, span: Callable[[], Span], reason: Reason) -> None:
        """Notes a place; `span` is computed only where it is shown."""
        if len(self._found) < self.most:
            self._found.append(Dropped(span(), reason))
            return
        self._next = self._next or span
        self._further += 1

    def __iter__(self) -> Iterator[Dropped]:
        """Yields the places, and at the first of the others their number."""
        yield from self._found
        if self._next is not None:
            places = "place is" if self._further == 1 else "places are"
            text = f"from here on {self._further} more {places} not read"
            yield Dropped(self._next(), Reason(ReasonCode.LEFT_OUT, text))
