"""What is raised where a limit strikes."""

from __future__ import annotations


class LimitReached(BaseException):
    """The work on a file ends here; no `except Exception` on the way catches it."""


class OutOfSteps(LimitReached):
    """The step budget of a file is spent: on every machine at the same place."""


class OutOfTime(LimitReached):
    """The processor time of a file is spent: on another machine elsewhere, or not at all."""


class TooLarge(Exception):
    """A value would be larger than what is worth computing; it is not computed."""


def broke_off(error: BaseException | None) -> bool:
    """Returns whether a limit struck and what it left half done raised an error of its own."""
    while error is not None and not isinstance(error, LimitReached):
        error = error.__cause__ or error.__context__
    return error is not None


def reason_of(error: BaseException) -> str:
    """Returns what a report says of work that a limit ended."""
    return "evaluation stopped: out of memory" if isinstance(error, MemoryError) else str(error)
