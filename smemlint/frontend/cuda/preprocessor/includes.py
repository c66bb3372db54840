"""Finds the files of a unit through `#include`, and keeps them prepared for other units."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from smemlint.frontend.cuda.preprocessor.directives import PreparedFile, prepare
from smemlint.frontend.cuda.preprocessor.system_headers import is_of_system
from smemlint.frontend.folders import folders_above
from smemlint.limits.budgets import MAX_CACHED_CHARACTERS, MAX_INCLUDE_FOLDERS_UP

_INCLUDE_FOLDERS = ("", "include", "inc", "Common", "common", "src")


class PreparedFiles:
    """Included files as tokens, kept for other units, which are likely to include them too.

    What the unit under way or the one before it includes is kept before what comes new: units that
    include more than there is room for, one after another, would find nothing of each other.

    Args:
        room: characters of the files that are kept.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._unit = 0
        self._files: dict[tuple[str, str], tuple[int, PreparedFile]] = {}  # latest use last

    def begin_unit(self) -> None:
        """Begins a unit: what it and the one before it include is kept."""
        self._unit += 1

    def get(self, path: str, text: str) -> PreparedFile:
        """Returns a file, prepared now or for an earlier unit."""
        key = (path, text)
        _, found = self._files.pop(key, (0, None))
        if found is None:
            found = prepare(path, text)
            if not self._has_room(len(text)):
                return found
            self._room -= len(text)
        self._files[key] = (self._unit, found)
        return found

    def _has_room(self, needed: int) -> bool:
        """Returns whether there is room, made by files that the latest units did not include."""
        while self._room < needed and self._files:
            key = next(iter(self._files))
            if self._files[key][0] >= self._unit - 1:
                break
            del self._files[key]
            self._room += len(key[1])
        return self._room >= needed


PREPARED = PreparedFiles(MAX_CACHED_CHARACTERS)


class Includes:
    """Finds includes of the project: beside the includer, in the given folders, near the root."""

    def __init__(
        self, root: str, folders: tuple[str, ...], read: Callable[[str], str | None]
    ) -> None:
        self._given = folders
        self._folders = [*folders, *nearby(root)]
        self._read = read
        self._texts: dict[str, str | None] = {}

    def add_folder(self, folder: str) -> bool:
        """Searches one more folder from now on; returns whether it was not searched before."""
        if folder in self._given:
            return False
        self._folders.insert(len(self._given), folder)
        self._given = (*self._given, folder)
        return True

    def candidates(self, name: str, includer: str) -> Iterator[str]:
        """Yields where an include may lie, the place that it names first."""
        name = name.replace("\\", "/")
        for folder in (posixpath.dirname(includer.replace("\\", "/")), *self._folders):
            yield posixpath.normpath(posixpath.join(folder, name))

    def is_of_library(self, name: str, includer: str) -> bool:
        """Returns whether an include in brackets is one of the toolkit or of the C++ library.

        Names without a suffix, as `<vector>`, are unless a folder of the build has them; those that
        name a folder of another library are not, whether they are found or not.
        """
        if is_of_system(name) or "/" in name:
            return is_of_system(name)
        if "." in name:
            return self.find(name, includer) is None
        return all(
            self._text(posixpath.normpath(posixpath.join(folder, name))) is None
            for folder in self._given
        )

    def find(self, name: str, includer: str) -> tuple[str, str] | None:
        """Returns the path and text of an included file."""
        for path in self.candidates(name, includer):
            text = self._text(path)
            if text is not None:
                return path, text
        return None

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]


def nearby(root: str) -> Iterator[str]:
    """Yields the folders that are searched for the includes of a root, its own first."""
    for folder in folders_above(root.replace("\\", "/"), MAX_INCLUDE_FOLDERS_UP):
        for name in _INCLUDE_FOLDERS:
            yield posixpath.join(folder, name)
