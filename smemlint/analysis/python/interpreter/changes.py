"""What a path changes besides variables: attributes of objects, and the items of containers.

Both sides of a branch begin with what was there in front of it, and are merged behind it; a loop of
any number of iterations leaves what covers all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.python.interpreter.constant_folding import forget
from smemlint.analysis.python.interpreter.values import Instance, Key, Scope, Value
from smemlint.lazy_dataclasses import dataclass

Container: TypeAlias = "list[Value] | dict[Key, Value]"
Merging: TypeAlias = Callable[[Scope, Scope], Scope]
"""Returns what covers the values of two paths; what only one of them has stays."""


@dataclass(slots=True, eq=False)
class Changes:
    """What one path changed, as it was before.

    Attributes:
        attributes: by object, those that were assigned; None for one that had no value of its own.
        containers: by identity, with a copy of the items that they had.
    """

    attributes: dict[int, tuple[Instance, dict[str, tuple[Value] | None]]] = field(
        default_factory=dict
    )
    containers: dict[int, tuple[Container, Container]] = field(default_factory=dict)

    def record(self, owner: Instance, name: str) -> None:
        """Keeps what an attribute is, unless that was done before."""
        _, held = self.attributes.setdefault(id(owner), (owner, {}))
        if name not in held:
            held[name] = (owner.attributes[name],) if name in owner.attributes else None

    def record_items(self, owner: Container) -> None:
        """Keeps the items of a container, unless that was done before."""
        if id(owner) not in self.containers:
            self.containers[id(owner)] = owner, owner.copy()

    def absorb(self, inner: Changes) -> None:
        """Keeps what a path inside this one changed, as it was before both."""
        for key, (owner, held) in inner.attributes.items():
            _, kept = self.attributes.setdefault(key, (owner, {}))
            for name, before in held.items():
                kept.setdefault(name, before)
        for key, kept_items in inner.containers.items():
            self.containers.setdefault(key, kept_items)

    def undo(self) -> Changes:
        """Gives everything back what it was before; returns what it was until now."""
        now = Changes()
        for owner, held in self.attributes.values():
            for name, before in held.items():
                now.record(owner, name)
                if before is not None:
                    owner.attributes[name] = before[0]
                else:
                    owner.attributes.pop(name, None)
        for items, kept in self.containers.values():
            now.record_items(items)
            _fill(items, kept)
        return now

    def values_of(self, owner: Instance) -> Scope:
        """Returns the values that attributes of an object had."""
        _, held = self.attributes.get(id(owner), (owner, {}))
        return {name: value[0] for name, value in held.items() if value is not None}


@dataclass(slots=True, eq=False)
class ChangeLog:
    """The changes of the paths around the current statement.

    Attributes:
        paths: the innermost last.
        unsettled: attributes of objects that a path changed which left its function or loop; they
            may keep that value whatever they are assigned later on.
    """

    paths: list[Changes] = field(default_factory=list)
    unsettled: dict[tuple[int, str], Instance] = field(default_factory=dict)

    @contextmanager
    def path(self) -> Iterator[Changes]:
        """Opens a path whose changes are recorded; what it leaves is one of the path around it."""
        changes = Changes()
        self.paths.append(changes)
        try:
            yield changes
        finally:
            self.paths.pop()
            if self.paths:
                self.paths[-1].absorb(changes)

    def assign(self, owner: Instance, name: str, value: Value, merge: Merging) -> None:
        """Gives an attribute its value."""
        if self.paths:
            self.paths[-1].record(owner, name)
        if (id(owner), name) in self.unsettled and name in owner.attributes:
            value = merge({name: owner.attributes[name]}, {name: value})[name]
        owner.assign(name, value)

    def record_items(self, owner: Container) -> None:
        """Keeps the items of a container that is about to be changed."""
        if self.paths:
            self.paths[-1].record_items(owner)

    def settle(self, one: Changes, other: Changes, merge: Merging) -> None:
        """Leaves what covers two paths, each undone before; `merge` covers two values."""
        for owner in _objects(one, other):
            names = {**one.attributes.get(id(owner), (owner, {}))[1]}
            names |= other.attributes.get(id(owner), (owner, {}))[1]
            before = {n: owner.attributes[n] for n in names if n in owner.attributes}
            found = merge(before | one.values_of(owner), before | other.values_of(owner))
            for name, value in found.items():
                self.assign(owner, name, value, merge)
        for items in _containers(one, other):
            a, b = (c.containers.get(id(items), (items, items.copy()))[1] for c in (one, other))
            self.record_items(items)
            if _is_same(a, b):
                _fill(items, a)
            else:
                forget(items)

    def leave(self, changes: Changes) -> None:
        """Takes note of what a path changed that left its function or loop."""
        for owner, held in changes.attributes.values():
            for name in held:
                self.unsettled[(id(owner), name)] = owner

    def widen(self, changes: Changes, merge: Merging) -> None:
        """Leaves what covers any number of iterations that make these changes."""
        now = changes.undo()
        for owner, _ in now.attributes.values():
            before = {n: v for n, v in owner.attributes.items() if n in now.values_of(owner)}
            owner.attributes.update(merge(before, before | now.values_of(owner)))
        for items, left in now.containers.values():
            if not _is_same(items, left):
                forget(items)


def _objects(*paths: Changes) -> list[Instance]:
    """Returns the objects that paths changed, each once."""
    return list({key: owner for p in paths for key, (owner, _) in p.attributes.items()}.values())


def _containers(*paths: Changes) -> list[Container]:
    return list({key: items for p in paths for key, (items, _) in p.containers.items()}.values())


def _fill(items: Container, content: Container) -> None:
    """Makes the items of a container equal to others."""
    content = content.copy()
    items.clear()
    if isinstance(items, dict) and isinstance(content, dict):
        items.update(content)
    elif isinstance(items, list) and isinstance(content, list):
        items.extend(content)


def _is_same(one: Container, other: Container) -> bool:
    """Returns whether two containers have the same items: equal numbers, or the same objects."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and _is_same(list(one.values()), list(other.values()))
    return len(one) == len(other) and all(
        a is b or (isinstance(a, int | str) and type(a) is type(b) and a == b)
        for a, b in zip(one, other, strict=True)
    )
