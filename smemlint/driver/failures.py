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
class Lost:
    """What happened to a task without an answer."""

    reason: str
    is_crash: bool


def attempt(work: Callable[[Task], Answer], task: Task) -> Answer | Lost:
    """What `work` says of a task, or how it failed."""
    try:
        return work(task)
    except (LimitReached, MemoryError) as stopped:
        return Lost(reason_of(stopped), is_crash=False)
    except Exception as error:
        return Lost(f"internal error: {type(error).__name__}: {error}", is_crash=True)
