"""What is raised where a limit strikes."""

from __future__ import annotations

from smemlint.reasons import Reason, ReasonCode


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


def stop_reason(error: BaseException) -> Reason:
    """Returns why work was ended by a limit of steps, time, memory or depth."""
    match error:
        case OutOfTime():
            return Reason(ReasonCode.TIME_LIMIT, str(error))
        case MemoryError():
            return Reason(ReasonCode.MEMORY_LIMIT, "evaluation stopped: out of memory")
        case RecursionError():
            return Reason(
                ReasonCode.NESTING_LIMIT, "evaluation stopped: the code is nested too deeply"
            )
    return Reason(ReasonCode.STEP_LIMIT, str(error))


def crash_reason(error: BaseException, where: str = "") -> Reason:
    """Returns what a report says of an error that is a defect of smemlint; logs its traceback."""
    import logging  # takes milliseconds of every start, and is needed after a defect only

    logging.getLogger("smemlint").debug("internal error", exc_info=error)
    place = f" in {where}" if where else ""
    text = f"internal error{place}: {type(error).__name__}: {error}"
    return Reason(ReasonCode.INTERNAL_ERROR, text)
