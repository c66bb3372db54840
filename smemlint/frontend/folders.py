"""Folders around a file, in which it names others."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator


def folders_above(path: str, most: int) -> Iterator[str]:
    """Yields the folder of a file and those above it that its path names, at most so many."""
    folder = posixpath.dirname(path)
    for _ in range(most):
        yield folder
        if folder in ("", "/") or folder.endswith(".."):
            return
        folder = posixpath.dirname(folder)
