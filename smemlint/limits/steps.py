"""The step budget of a file: a deterministic measure of work that every analysis spends from.

A step is the evaluation of one expression, or work that takes about as long. State of the process,
as the processor time is: an analysis spends wherever it is, in however many objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from smemlint.limits.errors import OutOfSteps

TOKENS_A_STEP = 32
"""Tokens that are read or expanded in the time of a step: 5.1 million of TransformerEngine's nested
dispatch macros took 1.6 s, a step some 15 microseconds."""
_UNLIMITED = 1 << 62
_BETWEEN_CHECKS = 4_096


class StepBudget:
    """Counts the steps of the work under way.

    Attributes:
        total: steps that the work may take.
        checks: called now and then while steps are spent, to look at other limits.
    """

    __slots__ = ("_at_hand", "_in_reserve", "checks", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.checks: tuple[Callable[[], None], ...] = ()
        self._at_hand = 0
        self._in_reserve = total

    @property
    def left(self) -> int:
        """Steps that may still be taken."""
        return self._in_reserve + self._at_hand

    @property
    def spent(self) -> int:
        """Steps taken so far."""
        return self.total - self.left

    def spend(self, steps: int = 1) -> None:
        """Counts steps.

        Raises:
            OutOfSteps: they are more than what is left; so is every step from then on.
        """
        self._at_hand -= steps
        if self._at_hand < 0:
            self._refill()

    def _refill(self) -> None:
        left = self.left
        self._at_hand = min(left, _BETWEEN_CHECKS)
        self._in_reserve = left - self._at_hand
        if left < 0:
            raise OutOfSteps(f"evaluation stopped after {self.total:,} steps")
        for check in self.checks:
            check()


_current = StepBudget(_UNLIMITED)


def current() -> StepBudget:
    """Returns the budget of the work under way; one without an end outside of `step_limit`."""
    return _current


def spend(steps: int = 1) -> None:
    """Counts steps of the work under way; see `StepBudget.spend`."""
    budget = _current
    budget._at_hand -= steps  # as `StepBudget.spend` does: this is called for every expression
    if budget._at_hand < 0:
        budget._refill()


@contextmanager
def step_limit(total: int) -> Iterator[StepBudget]:
    """Gives the block a step budget of its own."""
    global _current
    outer, _current = _current, StepBudget(total)
    try:
        yield _current
    finally:
        _current = outer
