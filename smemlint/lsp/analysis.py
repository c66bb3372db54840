"""What is known of one open document, seen together with the files of its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from smemlint.facts import Access, Facts
from smemlint.finding import Finding
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_NEIGHBOURS
from smemlint.sources.discovery import SUFFIXES
from smemlint.sources.source import Source

_SUFFIXES = tuple(SUFFIXES)


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What was found in one document.

    Attributes:
        findings: that are shown, in order of place.
        accesses: to shared memory, of all kernel instances.
        facts: everything that was evaluated for it.
        text_of: the text of a file that spans lie in.
        has_fixes: fixes were looked for.
        refines: something of the same version was shown before.
    """

    path: str
    findings: tuple[Finding, ...]
    accesses: tuple[Access, ...]
    facts: Facts
    text_of: Callable[[str], str]
    has_fixes: bool = False
    refines: bool = False


class Folders:
    """The files beside documents, read again only when they changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Source]] = {}

    def sources(self, path: str, opened: Mapping[str, Source]) -> list[Source]:
        """Returns the document and its folder's files in order, open ones as edited."""
        folder = path.rpartition("/")[0]
        found = {path: opened[path]}
        try:
            with os.scandir(folder or ".") as entries:
                files = [e for e in entries if e.name.endswith(_SUFFIXES)]
        except OSError:
            files = []  # a document that was never saved
        for entry in sorted(files, key=lambda e: e.name)[:MAX_NEIGHBOURS]:
            beside = f"{folder.rstrip('/')}/{entry.name}" if folder else entry.name
            source = opened.get(beside) or self._read(beside, entry)
            if source is not None:
                found[beside] = source
        return [found[name] for name in sorted(found)]

    def _read(self, path: str, entry: os.DirEntry[str]) -> Source | None:
        try:
            if not entry.is_file():
                return None
            status = entry.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = (stamp, Source(path))
        return known[1]
