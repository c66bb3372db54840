"""Runs the tasks of a run: a few in this process, many in others, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from smemlint.driver.failures import Failure, run_guarded
from smemlint.limits.budgets import TASK_PATIENCE

Task = TypeVar("Task")
Answer = TypeVar("Answer")

IN_PROCESS = -1
"""A number of processes: all tasks run in this one, which can be asked to stop at any time."""
_FEW = 3
"""So many tasks run in this process; more are worth processes of their own."""


def run_tasks(
    tasks: Sequence[Task],
    work: Callable[[Task], Answer],
    jobs: int,
    limit: float,
    *,
    name_of: Callable[[Task], str] = str,
    size_of: Callable[[Task], int] = lambda task: 0,
    what: str = "",
) -> Iterator[tuple[Task, Answer | Failure]]:
    """Yields tasks with their answers in the order of completion.

    Args:
        tasks: what `work` is called with.
        work: bounds its own processor time.
        jobs: processes at a time; 0 for one a processor, `IN_PROCESS` for none but this.
        limit: seconds of processor time that `work` allows itself.
        name_of: what the progress bar calls a task.
        size_of: how much there is to read for a task; processes begin with the largest, so that
            none is left with a long one at the end.
        what: what it says is done to them.
    """
    from smemlint.driver.progress import Progress

    progress = Progress(len(tasks), what=what)

    def begun(task: Task) -> Task:
        progress.begin(name_of(task))
        return task

    seconds = TASK_PATIENCE * limit + 1
    try:
        if jobs == IN_PROCESS or len(tasks) <= _FEW:
            answers: Iterator[tuple[int, Answer | Failure]] = (
                (index, run_guarded(work, begun(task))) for index, task in enumerate(tasks)
            )
        else:
            from smemlint.driver.workers import processors, spread

            count = jobs or processors()
            order = sorted(range(len(tasks)), key=lambda index: -size_of(tasks[index]))
            queue = [tasks[index] for index in order]
            answered = spread(queue, work, jobs=count, seconds=seconds, tick=progress.wait)
            answers = ((order[place], answer) for place, answer in answered)
        for index, answer in answers:
            progress.step(name_of(tasks[index]))
            yield tasks[index], answer
    finally:
        progress.close()
