"""How many instances of a kernel are evaluated: all, until they cost much and tell nothing new.

Sizes of types decide widths and strides, so that the instances of one block shape whose types are
as large are a family; each family is looked at before any gets a second instance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.domain.ctypes import FloatType, IntType
from smemlint.analysis.simt.domain.environment import CTYPES
from smemlint.analysis.simt.kernel.task import KernelTask
from smemlint.analysis.simt.launches.bindings import type_text
from smemlint.facts import AccessKind, KernelFacts, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_HOPELESS,
    MAX_INSTANCES,
    MAX_STEPS_OF_INSTANCES,
    MAX_STEPS_TO_AGREE,
)
from smemlint.limits.steps import current

Family: TypeAlias = "tuple[object, tuple[object, ...]]"
_Figures: TypeAlias = "dict[tuple[Span, AccessKind], float | None]"


@dataclass(slots=True)
class InstanceBudget:
    """What the instances of one kernel have cost and shown so far.

    Attributes:
        steps: statements that were run for them.
        cost: of the costliest one, in steps of the file's budget.
        decided: whether an access of any was, or one had none.
    """

    instances: int = 0
    steps: int = 0
    cost: int = 0
    decided: bool = False
    left: int = 0
    _figures: dict[Family, list[_Figures]] = field(default_factory=dict)

    def leaves(self, task: KernelTask) -> bool:
        """Returns whether an instance is left; counts it if so.

        One that another was evaluated for costs nothing.
        """
        if task.alike is not None and task.alike.is_known and self.instances < MAX_INSTANCES:
            return False
        seen = self._figures.get(family_of(task), [])
        is_spent = self.instances >= MAX_INSTANCES or self.steps > MAX_STEPS_OF_INSTANCES
        is_hopeless = not self.decided and self.instances >= MAX_HOPELESS
        is_settled = (
            self.steps > MAX_STEPS_TO_AGREE and len(seen) > 1 and all(f == seen[0] for f in seen)
        )
        is_left = is_spent or is_hopeless or is_settled or self.cost > current().left
        if is_left:
            self.leave()
        return is_left

    def leave(self) -> None:
        """Counts an instance, or what is known of others beside it, as not evaluated."""
        self.left += 1

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Notes what an instance cost that the block evaluates."""
        before = current().spent
        yield
        self.cost = max(self.cost, current().spent - before)

    def add(self, task: KernelTask, facts: KernelFacts, steps: int) -> None:
        """Counts an instance; one without accesses tells nothing of the others."""
        self.instances += 1
        self.steps += steps
        is_decided = any(a.certainty.is_decided for a in facts.accesses)
        self.decided |= is_decided or not facts.accesses
        self._figures.setdefault(family_of(task), []).append(
            {
                (a.span, a.kind): a.wavefronts.mean / a.ideal.mean
                if a.wavefronts is not None and a.ideal is not None
                else None
                for a in facts.accesses
            }
        )


def family_of(task: KernelTask) -> Family:
    """Returns the block shape and the types among the template arguments, numbers by their size."""
    types = (bound for bound in task.scope.values() if isinstance(bound, CTYPES))
    sizes = (t.size if isinstance(t, IntType | FloatType) else type_text(t) for t in types)
    return task.instance.block, tuple(sizes)


def by_family(groups: Sequence[list[KernelTask]]) -> list[list[KernelTask]]:
    """Returns the instances in the order to evaluate them: first one of each family.

    Blocks that a launch tells come before guesses. Types take turns, so that the block shapes of
    one leave room for those of the others. Of a family those come first that have the most
    arguments not met before: where not all are evaluated, each arm that an argument chooses is
    seen in one of them.
    """
    left = [(family_of(tasks[0]), frozenset(tasks[0].instance.template), tasks) for tasks in groups]
    rounds: Counter[Family] = Counter()
    turns: Counter[object] = Counter()
    seen: set[tuple[str, str]] = set()
    first: list[list[KernelTask]] = []
    while left and len(first) < MAX_INSTANCES:
        ranks = [
            (
                len(tasks) == 1,
                not rounds[family],
                -turns[family[1]],
                -rounds[family],
                len(arguments - seen),
            )
            for family, arguments, tasks in left
        ]
        family, arguments, tasks = left.pop(ranks.index(max(ranks)))
        rounds[family] += 1
        turns[family[1]] += 1
        seen |= arguments
        first.append(tasks)
    return first + [tasks for _, _, tasks in left]
