"""Where the modules lie that a Python file imports from: read, never imported."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def files_of(home: str, name: str) -> Iterator[str]:
    """Yields the files that may define a dotted name which a file imports.

    Folders above the file are searched as roots of its package.
    """
    folder = posixpath.dirname(home)
    *package, last = name.lstrip(".").split(".")[:-1] or [""]
    if not last:
        return
    level = len(name) - len(name.lstrip("."))
    if level:
        up = [".."] * (level - 1)
        yield posixpath.normpath(posixpath.join(folder, *up, *package, f"{last}.py"))
        return
    yield posixpath.join(folder, *package, f"{last}.py")
    while package and folder not in ("", "/"):
        folder, _, base = folder.rpartition("/")
        if base == package[0]:
            yield posixpath.join(folder, *package, f"{last}.py")
