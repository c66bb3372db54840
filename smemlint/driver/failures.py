"""Work that may fail: the failure is an answer like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.errors import LimitReached, crash_reason, stop_reason
from smemlint.limits.frame_stack import with_deep_stack
from smemlint.reasons import Reason, ReasonCode

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Failure:
    """What happened to a task without an answer."""

    reason: Reason

    @property
    def is_crash(self) -> bool:
        """Returns whether a defect of smemlint ended it."""
        return self.reason.code is ReasonCode.INTERNAL_ERROR


@with_deep_stack
def run_guarded(work: Callable[[Task], Answer], task: Task) -> Answer | Failure:
    """Returns the answer of `work` to a task, or how it failed."""
    try:
        return work(task)
    except (LimitReached, MemoryError) as stopped:
        return Failure(stop_reason(stopped))
    except Exception as error:
        return Failure(crash_reason(error))
