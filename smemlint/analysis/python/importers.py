"""Which Python files of a run may import from another one: those whose imports name its module."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cached_property

from smemlint.lazy_patterns import pattern
from smemlint.sources.languages import is_python_path
from smemlint.sources.source import Source

_IMPORT = pattern(
    r"^[ \t]*+(?:from[ \t]++(?P<module>[\w.]++)[ \t]++import[ \t]*+(?P<names>\([^)]*+\)|[^\n]*+)"
    r"|import[ \t]++(?P<plain>[^\n]*+))",
    re.M,
)
_WORD = pattern(r"\w+")


class Importers:
    """The Python files of a run by the words of their imports."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = [s for s in sources if is_python_path(s.path)]

    def of(self, path: str) -> list[Source]:
        """Returns the files whose imports name the module of a file, the nearest first."""
        found = [s for s in self._by_word.get(module_of(path), ()) if s.path != path]
        return sorted(found, key=lambda s: -len(posixpath.commonprefix((s.path, path))))

    def through_packages(self, path: str) -> dict[str, list[Source]]:
        """Returns the files that may import a file, or a package that does, by what they import."""
        found: dict[str, list[Source]] = {}
        worklist = [path]
        for module in worklist:
            if module not in found:
                found[module] = [s for s in self.of(module) if s.path != path]
                worklist += (s.path for s in found[module] if s.path.endswith("/__init__.py"))
        return found

    @cached_property
    def _by_word(self) -> dict[str, list[Source]]:
        found: dict[str, list[Source]] = {}
        for source in self._sources:
            for word in _imported_words(source.text):
                found.setdefault(word, []).append(source)
        return found


def module_of(path: str) -> str:
    """Returns the last part of a module's name: a package is its folder's."""
    folder, _, base = path.rpartition("/")
    return posixpath.basename(folder) if base == "__init__.py" else base.removesuffix(".py")


def _imported_words(text: str) -> dict[str, None]:
    words: dict[str, None] = {}
    if "import" in text:
        for match in _IMPORT.finditer(text):
            for part in match.groups():
                words.update(dict.fromkeys(_WORD.findall(part or "")))
    return words
