"""What one evaluation may spend: steps, and shares of them for loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_IDLE_STEPS, MAX_STEPS, MAX_TRIPS
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    pass


_SHARES = 4
"""A loop may spend one of so many parts of what is left of the budget."""


class BudgetExceeded(Exception):
    """The kernel's budget of steps or events is spent."""

    def __init__(self, text: str, code: ReasonCode = ReasonCode.STEP_LIMIT) -> None:
        super().__init__(text)
        self.reason = Reason(code, f"evaluation stopped: {text}")


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one loop may spend of the budget.

    Attributes:
        begun: steps that were spent before it.
        steps: that it may take.
        idle: that it may take in a row without an access at a known address.
    """

    begun: int
    steps: int
    idle: int


@dataclass(slots=True, eq=False)
class Budget:
    """What one evaluation may spend.

    Attributes:
        has_shares: each loop has a share of what is left.
        steps: statements executed so far.
        last_progress: the step of the latest access whose address was known.
        cells_noted: cells written before jumps under open conditions, noted so far.
    """

    max_steps: int = MAX_STEPS
    max_trips: int = MAX_TRIPS
    has_shares: bool = False
    steps: int = 0
    last_progress: int = 0
    cells_noted: int = 0

    @property
    def idle(self) -> int:
        """Statements since the latest access whose address was known."""
        return self.steps - self.last_progress

    def renewed(self) -> Budget:
        """Returns the same budget with nothing spent."""
        return Budget(self.max_steps, self.max_trips, self.has_shares)

    def holds(self, steps: int) -> bool:
        """Returns whether so many further statements are within the budget."""
        return self.steps + steps <= self.max_steps and self.idle + steps <= MAX_IDLE_STEPS

    def share(self) -> Share | None:
        """Returns the share of a loop that begins: a part of what is left, so that some is left."""
        if not self.has_shares:
            return None
        left, idle_left = self.max_steps - self.steps, MAX_IDLE_STEPS - self.idle
        return Share(self.steps, left // _SHARES, idle_left // _SHARES)

    def has_spent(self, share: Share | None) -> bool:
        """Returns whether a loop has taken its share."""
        if share is None:
            return False
        unproductive = self.steps - max(self.last_progress, share.begun)
        return self.steps - share.begun > share.steps or unproductive > share.idle
