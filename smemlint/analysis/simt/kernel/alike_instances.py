"""Which instances of a kernel are alike but for the names of floating-point types."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from smemlint.analysis.simt.kernel.alike import Alike, Anonymous, Trials, anonymous
from smemlint.analysis.simt.kernel.task import KernelTask


def with_alike(groups: Sequence[list[KernelTask]]) -> list[list[KernelTask]]:
    """Returns the instances of one kernel, those that are alike with what they share."""
    found = {id(task): anonymous(task.scope) for tasks in groups for task in tasks}
    sharing: dict[Hashable, list[Anonymous]] = {}
    for tasks in groups:
        for task in tasks:
            scope = found[id(task)]
            if scope is not None:
                sharing.setdefault(_key(task, scope), []).append(scope)
    trials = Trials()
    alike = {
        key: Alike(scopes[0].scope, trials) for key, scopes in sharing.items() if len(scopes) > 1
    }
    return [[_sharing(task, found[id(task)], alike) for task in tasks] for tasks in groups]


def _sharing(task: KernelTask, scope: Anonymous | None, alike: dict[Hashable, Alike]) -> KernelTask:
    """Returns an instance with what it shares with others."""
    shared = alike.get(_key(task, scope)) if scope is not None else None
    if scope is None or shared is None:
        return task
    return replace(task, alike=shared, names=scope.names)


def _key(task: KernelTask, scope: Anonymous) -> Hashable:
    return task.instance.block, task.shared, scope.key
