"""Work that may fail: the failure is an answer like another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from smemlint.limits.errors import LimitReached, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Failure:
    """What happened to a task without an answer."""

    reason: str
    is_crash: bool


def run_guarded(work: Callable[[Task], Answer], task: Task) -> Answer | Failure:
    """Returns the answer of `work` to a task, or how it failed."""
    try:
        return work(task)
    except (LimitReached, MemoryError) as stopped:
        return Failure(reason_of(stopped), is_crash=False)
    except Exception as error:
        return Failure(f"internal error: {type(error).__name__}: {error}", is_crash=True)
