"""A limit on processor time: what runs over it is left, and said to be not analysed."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class OutOfTime(BaseException):
    """The time for a file is spent; no `except Exception` on the way holds it up."""


def broke_off(error: BaseException | None) -> bool:
    """Whether the time ended, and what was left half done then raised an error of its own."""
    while error is not None and not isinstance(error, OutOfTime):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `OutOfTime` in the block after so much processor time of this process.

    It is raised again after every further tenth: a kernel that is left gives its place to the next,
    and what was raised where nothing can be raised, as in a destructor, was not the last of it.
    Without effect where there are no timers (Windows) and outside the main thread.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise OutOfTime(f"evaluation stopped after {seconds:g} s")

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is not OutOfTime:
            hook(lost)

    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, max(seconds / 10, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        sys.unraisablehook = hook
