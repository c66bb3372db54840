"""A guard around evaluations: what one costs that fails or runs over a limit is one note."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from smemlint.analysis.simt.budget import BudgetExceeded
from smemlint.facts import NotAnalysed, Span
from smemlint.limits.errors import LimitReached, OutOfSteps, broke_off, crash_reason, stop_reason
from smemlint.reasons import Reason, ReasonCode

_TOO_MANY_BITS = Reason(ReasonCode.TOO_LARGE, "evaluation stopped: a number has more than 64 bits")
_STOPPED_BEFORE = Reason(ReasonCode.STEP_LIMIT, "evaluation stopped before")


class Guard:
    """Converts failures of evaluations into notes.

    Args:
        crashed: called with a note on every internal error; without it, they are raised.

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
    def protect(
        self, span: Span, kernel: str = "", leave: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Notes what ends the block early as the cost of one kernel, or of a file.

        Args:
            span: of the kernel, or of the file.
            kernel: its name.
            leave: called in place of the note where the file's steps do not suffice for the block,
                and it is one of many alike.
        """

        def note(reason: Reason) -> None:
            self._notes.append(NotAnalysed(span, kernel, reason))

        try:
            yield
        except LimitReached as spent:
            self.has_run_out = True
            if leave is not None and isinstance(spent, OutOfSteps):
                leave()
            else:
                note(stop_reason(spent))
        except (MemoryError, RecursionError) as spent:
            note(stop_reason(spent))
        except OverflowError:
            note(_TOO_MANY_BITS)
        except BudgetExceeded as spent:
            note(spent.reason)
        except Exception as error:
            self.has_run_out |= broke_off(error)
            if self.has_run_out:  # it broke off anywhere, and left things half done
                note(_STOPPED_BEFORE)
                return
            if self.crashed is None:
                raise
            self.crashed(NotAnalysed(span, kernel, crash_reason(error)))
