"""A guard around evaluations: what one costs that fails or runs over a limit is one note."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from smemlint.analysis.simt.state import BudgetExceeded
from smemlint.facts import NotAnalysed, Span
from smemlint.limits.errors import LimitReached, broke_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Guard:
    """Turns failures of evaluations into notes.

    Args:
        crashed: told of every internal error; without it, they are raised.

    Attributes:
        has_run_out: a limit struck, and left things half done.
    """

    def __init__(self, crashed: Callable[[NotAnalysed], None] | None) -> None:
        self.crashed = crashed
        self.has_run_out = False
        self._notes: list[NotAnalysed] = []

    def taken_notes(self) -> list[NotAnalysed]:
        """Returns the notes since the last call."""
        notes, self._notes = self._notes, []
        return notes

    @contextmanager
    def protect(self, span: Span, kernel: str = "") -> Iterator[None]:
        """Notes what ends the block early as the cost of one kernel, or of a file."""

        def note(reason: str) -> None:
            self._notes.append(NotAnalysed(span, kernel, reason))

        try:
            yield
        except LimitReached as spent:
            self.has_run_out = True
            note(str(spent))
        except MemoryError:
            note("evaluation stopped: out of memory")
        except OverflowError:
            note("evaluation stopped: a number has more than 64 bits")
        except BudgetExceeded as spent:
            note(f"evaluation stopped: {spent}")
        except RecursionError:
            note("evaluation stopped: the code is nested too deeply")
        except Exception as error:
            self.has_run_out |= broke_off(error)
            if self.has_run_out:  # it broke off anywhere, and left things half done
                note("evaluation stopped before")
                return
            if self.crashed is None:
                raise
            message = f"internal error: {type(error).__name__}: {error}"
            self.crashed(NotAnalysed(span, kernel, message))
