"""Work spread over processes, each watched: one that crashes, hangs or swells costs one task.

`concurrent.futures` gives up all work when one of its processes dies; here the process is replaced
and the task answered with what happened.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from smemlint.driver.failures import Failure, run_guarded
from smemlint.limits.memory import memory_limit
from smemlint.reasons import Reason, ReasonCode

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def processors() -> int:
    """Returns how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_seconds(pid: int | None) -> float | None:
    """Returns processor time of a process; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def spread(
    tasks: Sequence[Task],
    work: Callable[[Task], Answer],
    *,
    jobs: int,
    seconds: float,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Answer | Failure]]:
    """Answers of `work`, with the index of their tasks, in the order of completion.

    Args:
        tasks: what `work` is called with; they are sent to the processes.
        work: given to each process once; where processes cannot be forked it must be picklable.
        jobs: processes at a time.
        seconds: processor time after which a task's process is ended; one that takes none at all
            waits for something, and is given ten times as much on the clock. However little of a
            busy machine a process gets, its task is not lost.
        tick: called about once a second.
    """
    waiting = deque(range(len(tasks)))
    crew = [_Worker(work) for _ in range(min(jobs, len(tasks)))]
    try:
        for worker in crew:
            worker.take(waiting, tasks)
        while any(w.index is not None for w in crew):
            busy = {w.connection: w for w in crew if w.index is not None}
            ready = wait(list(busy), timeout=min(seconds / 4, 1.0))
            tick()
            for connection in ready:
                worker = busy[connection]
                index, answer = worker.index, worker.answer()
                if isinstance(answer, Failure):
                    worker.restart()
                worker.take(waiting, tasks)
                if index is not None:
                    yield index, answer
            for worker in crew:
                if worker.index is not None and worker.is_overdue(seconds):
                    index = worker.index
                    worker.restart()
                    worker.take(waiting, tasks)
                    yield (
                        index,
                        Failure(
                            Reason(ReasonCode.TIME_LIMIT, f"evaluation stopped after {seconds:g} s")
                        ),
                    )
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """One process and the task that it is at."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self.index: int | None = None
        self._since = 0.0  # when it was last seen to work
        self._spent_before = self._spent = 0.0
        self._start()

    def _start(self) -> None:
        can_fork = sys.platform == "linux"  # elsewhere system libraries forbid it
        context: Any = multiprocessing.get_context("fork" if can_fork else "spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._work), daemon=True)
        self._process.start()
        theirs.close()

    def take(self, waiting: deque[int], tasks: Sequence[Any]) -> None:
        """Begins the next task, if there is one."""
        self.index = None
        if waiting:
            self.index = waiting.popleft()
            self._since = time.monotonic()
            self._spent_before = self._spent = processor_seconds(self._process.pid) or 0.0
            try:
                self.connection.send(tasks[self.index])
            except OSError:
                return  # the process is gone, as its silence will show

    def answer(self) -> Any:
        """Returns what the process sent, or that it is gone."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self._process.join(1)
            code = self._process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return Failure(
                Reason(ReasonCode.INTERNAL_ERROR, f"internal error: the process ended with {how}")
            )

    def is_overdue(self, seconds: float) -> bool:
        """Returns whether the task has had its time."""
        now = time.monotonic()
        spent = processor_seconds(self._process.pid)
        if spent is not None and spent > self._spent:
            self._since, self._spent = now, spent
            return spent - self._spent_before >= seconds
        return now - self._since >= 10 * seconds

    def restart(self) -> None:
        """Ends the process and starts another."""
        self.end()
        self._start()

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Any], Any]) -> None:
    """Answers tasks until the other end closes."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            with memory_limit():
                answer = run_guarded(work, task)
        except KeyboardInterrupt:
            return
        connection.send(answer)


def _leave_with_parent() -> None:
    """Ends this process with the one that began it: forked brothers hold its connection open."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
