"""Analyses run one by one in the main thread, the only one that a signal can interrupt.

So the limit on time holds in the editor as it does in `check`, and an analysis of a text that was
edited meanwhile is left at once. The event loop lives in another thread and only waits.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from smemlint.lazy_dataclasses import dataclass

Answer = TypeVar("Answer")

_IDLE = 1.0
"""Seconds without a job after which garbage is collected."""
_COLLECT_AFTER = 100
"""Jobs after which it is in any case."""


class Stopped(BaseException):
    """Nobody waits for the answer any more; no `except Exception` on the way holds it up."""


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    is_unwanted: bool = False

    def deliver(self, answer: Any, error: BaseException | None = None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the client is gone
            self.loop.call_soon_threadsafe(self._settle, answer, error)

    def _settle(self, answer: Any, error: BaseException | None) -> None:
        if self.answer.done():
            return
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(answer)


class Worker:
    """The main thread's queue of jobs."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._current: _Job | None = None
        self._is_stopping = False
        self._done = 0

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Returns what `work` returns in the main thread; cancelling the wait stops the work."""
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future())
        self._jobs.put(job)
        try:
            answer: Answer = await job.answer
        except asyncio.CancelledError:
            self._stop(job)
            raise
        return answer

    def serve(self) -> None:
        """Works until `close`; to be called from the main thread.

        Raises:
            KeyboardInterrupt: somebody pressed Ctrl-C.
        """
        before = signal.signal(signal.SIGINT, self._interrupted)
        gc.freeze()  # modules stay
        gc.disable()
        try:
            while (job := self._next()) is not None:
                self._do(job)
        finally:
            gc.enable()
            signal.signal(signal.SIGINT, before)

    def close(self) -> None:
        """Lets `serve` return; a job that runs is stopped."""
        self._jobs.put(None)
        if self._current is not None:
            self._stop(self._current)

    def _next(self) -> _Job | None:
        """Returns the next job; garbage is collected while there is none, and nobody waits."""
        if self._done < _COLLECT_AFTER:
            with contextlib.suppress(Empty):
                return self._jobs.get(timeout=_IDLE if self._done else None)
        self._done = 0
        gc.collect()
        return self._jobs.get()

    def _do(self, job: _Job) -> None:
        self._done += 1
        try:
            try:
                self._current = job
                answer = None if job.is_unwanted else job.work()
            finally:
                self._current = None
        except Stopped:
            return
        except Exception as error:
            job.deliver(None, error)
        else:
            job.deliver(answer)

    def _stop(self, job: _Job) -> None:
        job.is_unwanted = True
        if self._current is job:
            self._is_stopping = True
            _thread.interrupt_main()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        was_asked, self._is_stopping = self._is_stopping, False
        if not was_asked:
            raise KeyboardInterrupt
        job = self._current
        if job is not None and job.is_unwanted and not _is_importing(frame):
            raise Stopped


def _is_importing(frame: FrameType | None) -> bool:
    """Returns whether a module is being loaded: extension modules cannot be loaded twice."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
