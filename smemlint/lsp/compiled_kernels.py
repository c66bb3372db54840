"""The kernels that Triton has compiled of an open document, out of its cache.

The cache is the user's, and what it holds of a document may stand in any of its folders: it is
looked through only where the command that starts the server names it, which no file of a project
can do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from smemlint.frontend.ptx.locations import file_table
from smemlint.limits.budgets import MAX_CACHED_KERNELS
from smemlint.sources.languages import PTX_SUFFIX
from smemlint.sources.source import Source


def default_cache() -> str:
    """Returns the folder that Triton itself caches in."""
    return os.environ.get("TRITON_CACHE_DIR") or str(Path.home() / ".triton" / "cache")


class CompiledKernels:
    """What Triton's cache holds, read again only where it changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int], Source, frozenset[str]]] = {}

    def of(self, path: str, text: str) -> list[Source]:
        """Returns the PTX of the document's kernels: of each name, what was compiled last.

        There is none where the document is not what lies on disk, or was saved since: lines have
        moved.
        """
        try:
            saved = os.stat(path).st_mtime_ns  # noqa: PTH116 - as the entries of the cache
        except OSError:
            return []
        if Source(path).text != text:
            return []
        document = os.path.normpath(Path(path).absolute())
        newest = self._newest()
        self._known = {name: self._known[name] for name, _ in newest if name in self._known}
        found: dict[str, Source] = {}
        for compiled, stamp in newest:
            if stamp[0] < saved:
                break
            source, files = self._read(compiled, stamp)
            if document in files:
                found.setdefault(Path(compiled).name, source)
        return [found[name] for name in sorted(found)]

    def _newest(self) -> list[tuple[str, tuple[int, int]]]:
        """Returns the PTX files of the cache with time and size, the latest first."""
        entries = sorted(self._entries(), key=lambda entry: (-entry[1][0], entry[0]))
        return entries[:MAX_CACHED_KERNELS]

    def _entries(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder in _listed(self._folder):
            for entry in _listed(folder.path) if folder.is_dir() else ():
                if entry.name.endswith(PTX_SUFFIX) and entry.is_file():
                    status = entry.stat()
                    yield entry.path, (status.st_mtime_ns, status.st_size)

    def _read(self, path: str, stamp: tuple[int, int]) -> tuple[Source, frozenset[str]]:
        """Returns a file, and the paths of the sources that it was compiled from."""
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            source = Source(path)
            files = frozenset(map(os.path.normpath, file_table(source.text).values()))
            known = self._known[path] = (stamp, source, files)
        return known[1:]


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # there is no cache, or it is being cleared
