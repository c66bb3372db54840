"""Where the modules lie that a Python file imports from: read, never imported."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import count

from smemlint.limits.budgets import MAX_PACKAGE_FOLDERS_UP


def files_of(home: str, name: str) -> Iterator[str]:
    """Yields the files that may define a dotted name which a file imports.

    Folders above the file are searched as roots of its package, the nearest for packages beside
    them, too: tests and benchmarks stand there. The working folder is one, for a relative path.
    """
    folder = posixpath.dirname(home)
    *package, last = name.lstrip(".").split(".")[:-1] or [""]
    if not last:
        return
    level = len(name) - len(name.lstrip("."))
    if level:
        up = [".."] * (level - 1)
        yield from _of_module(posixpath.normpath(posixpath.join(folder, *up, *package, last)))
        return
    yield from _of_module(posixpath.join(folder, *package, last))
    for height in count(1):
        folder, slash, base = folder.rpartition("/")
        if not folder and (slash or not base):
            return
        if height <= MAX_PACKAGE_FOLDERS_UP or base == (package or [last])[0]:
            yield from _of_module(posixpath.join(folder, *package, last))


def _of_module(path: str) -> tuple[str, str]:
    """Returns the files that a module may be: its own, or that of its package."""
    return f"{path}.py", f"{path}/__init__.py"
