"""Launches of one block and template that pass other numbers, where accesses hang on these."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from smemlint.analysis.simt.kernel.consensus import are_alike
from smemlint.analysis.simt.kernel.task import KernelTask, Passed
from smemlint.facts import KernelFacts
from smemlint.limits.budgets import MAX_FURTHER_LAUNCHES, MAX_STEPS_OF_INSTANCES
from smemlint.limits.steps import current
from smemlint.reasons import Topic


def further_launches(
    first: KernelFacts, task: KernelTask, evaluate: Callable[[KernelTask], KernelFacts], cost: int
) -> tuple[list[KernelFacts], int, int]:
    """Returns the facts of launches whose figures differ from those of the first.

    The number of launches that were left out, and the statements that were run, stand behind them.
    Where what all launches pass decides as much as the first one's numbers do, none differs.

    Args:
        first: what was found for the first launch.
        task: that it was found for.
        evaluate: gives the facts of a task.
        cost: of doing so, in steps of the file's budget; where less is left, launches are left out.
    """
    passed = task.arguments() if first.hangs_on_launch else ()
    if len(passed) < 2:
        return [], 0, 0
    launch, *others = passed
    items = launch.numbers.items()
    common = items & set.intersection(*(set(other.numbers.items()) for other in others))
    shared = {name: launch.values[name] for name, number in items if (name, number) in common}
    steps = 0
    if shared and cost <= current().left:
        alike = Passed(shared, launch.place)
        facts = evaluate(replace(task, arguments=lambda: (alike,), needs_arguments=True))
        steps += facts.steps
        if facts.decided >= first.decided:
            return [], 0, steps
    found: list[KernelFacts] = []
    left = len(others)
    for other in _spread(others):
        if steps > MAX_STEPS_OF_INSTANCES or cost > current().left:
            break
        facts = evaluate(_task_of(task, other, shared.keys()))
        steps += facts.steps
        left -= 1
        if not any(are_alike(facts, known) for known in (first, *found)):
            found.append(facts)
    return found, left, steps


def _task_of(task: KernelTask, passed: Passed, shared: Set[str]) -> KernelTask:
    """Returns the instance that a launch of what is passed makes."""
    own = tuple((name, n) for name, n in passed.numbers.items() if name not in shared)
    before = task.instance.place
    place = passed.place if before is not None else None
    return replace(
        task,
        instance=replace(task.instance, passed=own, place=place),
        assumptions=tuple(
            replace(a, place=place) if a.topic is Topic.BLOCK and a.place == before else a
            for a in task.assumptions
        ),
        arguments=lambda: (passed,),
        needs_arguments=True,
    )


def _spread(launches: Sequence[Passed]) -> list[Passed]:
    """Returns as many launches as are evaluated, the last among them, at equal distances."""
    count = min(len(launches), MAX_FURTHER_LAUNCHES)
    return [launches[(k + 1) * len(launches) // count - 1] for k in range(count)]
