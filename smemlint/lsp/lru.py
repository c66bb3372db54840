"""What was used lately, by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Entry = TypeVar("Entry")

_GENERATION = 64
"""Analyses, those of fixes included, after which what none of them used is old."""


class LruCache(Generic[Entry]):
    """What was used lately: what two generations of analyses did not use is gone."""

    def __init__(self) -> None:
        self._young: dict[Hashable, Entry] = {}
        self._old: dict[Hashable, Entry] = {}
        self._analyses = 0

    def get(self, key: Hashable) -> Entry | None:
        """The entry, which is in use now."""
        if key in self._old:
            self._young.setdefault(key, self._old.pop(key))
        return self._young.get(key)

    def keep(self, key: Hashable, entry: Entry) -> None:
        """Adds or replaces an entry."""
        self._young[key] = entry

    def entries(self) -> list[Entry]:
        """All entries."""
        return [*self._young.values(), *self._old.values()]

    def drop(self, key: Hashable) -> None:
        """Forgets an entry."""
        self._young.pop(key, None)
        self._old.pop(key, None)

    def age(self) -> None:
        """Another analysis begins."""
        self._analyses += 1
        if self._analyses % _GENERATION == 0:
            self._old, self._young = self._young, {}

    def clear(self) -> None:
        """Forgets everything."""
        self._old, self._young = {}, {}
