"""The limits of the work on one file, together: in one process or many, command or editor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits import memory, time_limit
from smemlint.limits.budgets import CLOCK_FACTOR, STEPS_PER_SECOND
from smemlint.limits.memory import memory_limit
from smemlint.limits.steps import StepBudget, step_limit
from smemlint.limits.time_limit import TimeLimit


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the work on one file may take, all phases together.

    Attributes:
        steps: see `smemlint.limits.steps`; they decide what is reported.
        seconds: of processor time, the last resort.
    """

    steps: int
    seconds: float

    @staticmethod
    def of(time_limit: float) -> Allowance:
        """Returns the allowance of the option `time-limit`: steps, and a clock behind them."""
        return Allowance(int(time_limit * STEPS_PER_SECOND), CLOCK_FACTOR * time_limit)

    def after(self, *spent: Allowance) -> Allowance:
        """Returns what earlier phases leave; of time always a tenth, since steps decide."""
        steps = self.steps - sum(s.steps for s in spent)
        seconds = self.seconds - sum(s.seconds for s in spent)
        return Allowance(max(steps, 0), max(seconds, self.seconds / 10))

    def most(self, *others: Allowance) -> Allowance:
        """Returns the most of each."""
        every = (self, *others)
        return Allowance(max(a.steps for a in every), max(a.seconds for a in every))


NOTHING = Allowance(0, 0.0)


def missing_guards() -> str:
    """Returns what this system cannot bound as Linux and macOS do; empty where it can.

    Steps are counted everywhere, and decide what is reported.
    """
    missing = []
    if not memory.HAS_RESOURCE:
        missing.append("memory is not bounded")
    if not time_limit.HAS_TIMER:
        missing.append("time is looked at between steps only")
    return " and ".join(missing)


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures the work in a `limited` block."""

    steps: StepBudget
    clock: TimeLimit

    @property
    def spent(self) -> Allowance:
        """What the work took so far."""
        return Allowance(self.steps.spent, self.clock.spent)


@contextmanager
def limited(allowance: Allowance) -> Iterator[Meter]:
    """Bounds the steps, processor time and memory of the block.

    Raises:
        LimitReached: steps or time are spent.
        MemoryError: memory is.
    """
    with (
        memory_limit() as memory,
        step_limit(allowance.steps) as steps,
        TimeLimit(allowance.seconds) as clock,
    ):
        steps.checks = (clock.check, memory.check)
        yield Meter(steps, clock)
