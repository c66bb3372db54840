"""A limit on processor time: what runs over it is left, and reported as not analysed."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType

from smemlint.limits.errors import LimitReached, OutOfTime

HAS_TIMER = hasattr(signal, "setitimer") and hasattr(signal, "SIGPROF")
"""Whether the system can interrupt work by its processor time; Windows cannot."""
_UNINTERRUPTED = frozenset(("__enter__", "__exit__"))
_IMPORTS = "<frozen importlib"


class TimeLimit:
    """Raises `OutOfTime` in its `with` block after so much processor time of this process.

    It is raised again after every further tenth: a kernel that is left gives its place to the next,
    and what was raised where nothing can be raised, as in a destructor, was not the last of it.
    Nothing is raised while a block is entered or left, this one or any inside, so that each undoes
    what it did, nor while a module is imported, which happens once. Where there is no timer, and
    outside of the main thread, only `check` raises.

    Attributes:
        has_struck: the time was spent; what was found depends on the machine.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._again = max(seconds / 10, 0.01)
        self._has_timer = HAS_TIMER and threading.current_thread() is threading.main_thread()
        self._began = self._end = 0.0
        self.has_struck = False

    def __enter__(self) -> TimeLimit:
        """Starts the timer."""
        self._began = time.process_time()
        self._end = self._began + self._seconds
        if self._has_timer:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
            self._before = signal.signal(signal.SIGPROF, self._tick)
            signal.setitimer(signal.ITIMER_PROF, self._seconds, self._again)
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the timer."""
        if self._has_timer:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._before)
            sys.unraisablehook = self._hook

    @property
    def spent(self) -> float:
        """Seconds of processor time since the block was entered."""
        return time.process_time() - self._began

    def check(self) -> None:
        """Does what the timer does, for systems without one; to be called now and then.

        Raises:
            OutOfTime: the time is spent.
        """
        if not self._has_timer and time.process_time() >= self._end:
            self._end = time.process_time() + self._again
            raise self._error()

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if not is_uninterrupted(frame):
            raise self._error()

    def _error(self) -> OutOfTime:
        self.has_struck = True
        return OutOfTime(f"evaluation stopped after {self._seconds:g} s")

    def _unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, LimitReached):
            self._hook(lost)


def is_uninterrupted(frame: FrameType | None) -> bool:
    """Returns whether code is under way that must not be left half done.

    That is what undoes a `with` block, and the import of a module: extension modules cannot be
    loaded twice.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name in _UNINTERRUPTED or code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False
