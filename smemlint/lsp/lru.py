"""What was used lately, by key, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class LruCache(Generic[Entry]):
    """What was used lately: what was not used for longest goes when the rest is too large.

    Args:
        limit: of the sizes of all entries together; one that exceeds it is kept until the next.
        size_of: the size of an entry.
    """

    def __init__(self, limit: int, size_of: Callable[[Entry], int]) -> None:
        self._limit = limit
        self._size_of = size_of
        self._entries: dict[Hashable, Entry] = {}  # the latest stands last
        self._size = 0

    def __iter__(self) -> Iterator[Entry]:
        """Yields the entries."""
        return iter(self._entries.values())

    def get(self, key: Hashable) -> Entry | None:
        """Returns the entry, which is in use now."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._entries[key] = entry
        return entry

    def keep(self, key: Hashable, entry: Entry) -> None:
        """Adds or replaces an entry."""
        self._drop(key)
        self._entries[key] = entry
        self._size += self._size_of(entry)
        while self._size > self._limit and len(self._entries) > 1:
            self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forgets everything."""
        self._entries.clear()
        self._size = 0

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= self._size_of(entry)
