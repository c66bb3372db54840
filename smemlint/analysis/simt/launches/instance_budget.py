"""How many instances of a kernel are evaluated: all, until they cost much and tell nothing new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from smemlint.facts import AccessKind, KernelFacts, Span

MAX_INSTANCES = 24
MAX_STEPS = 30_000
"""Statements after which no further instance of a kernel is evaluated."""
STEPS_TO_AGREE = 10_000
"""Statements after which instances of a block shape are left once two of that shape agreed."""
HOPELESS = 4
"""Instances of a kernel, none of whose accesses was decided, after which the others are left."""

_Figures: TypeAlias = "dict[tuple[Span, AccessKind], float | None]"


@dataclass(slots=True)
class Effort:
    """What the instances of one kernel have cost and told so far."""

    instances: int = 0
    steps: int = 0
    decided: bool = False
    left: int = 0
    _figures: dict[object, list[_Figures]] = field(default_factory=dict)

    def leaves(self, block: object) -> bool:
        """Returns whether an instance of this block shape is left; counts it if so."""
        seen = self._figures.get(block, [])
        is_spent = self.instances >= MAX_INSTANCES or self.steps > MAX_STEPS
        is_hopeless = not self.decided and self.instances >= HOPELESS
        is_settled = (
            self.steps > STEPS_TO_AGREE and len(seen) > 1 and all(f == seen[0] for f in seen)
        )
        is_left = is_spent or is_hopeless or is_settled
        self.left += is_left
        return is_left

    def add(self, facts: KernelFacts, steps: int) -> None:
        """Counts an instance; one without accesses tells nothing of the others."""
        self.instances += 1
        self.steps += steps
        is_decided = any(a.certainty.is_decided for a in facts.accesses)
        self.decided |= is_decided or not facts.accesses
        self._figures.setdefault(facts.instance.block, []).append(
            {
                (a.span, a.kind): a.wavefronts.mean / a.ideal.mean
                if a.wavefronts is not None and a.ideal is not None
                else None
                for a in facts.accesses
            }
        )
