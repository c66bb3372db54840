"""Roots: the translation units in which the kernels of each file are evaluated."""

from __future__ import annotations

import posixpath
import re
from functools import cached_property
from typing import TYPE_CHECKING

from smemlint.analysis.program.user_input import RunPragmas
from smemlint.sources.source import is_python_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_SHARED = re.compile(r"__shared__|\bldmatrix|\.shared\b|__cvta_generic_to_shared")
_LAUNCHES = re.compile(r"<<<|cudaLaunch\w*Kernel")
_MAX_ROOTS = 3
"""Translation units that one file is evaluated in at the most."""


class Roots(RunPragmas):
    """Chooses the units to evaluate."""

    @cached_property
    def _chosen(self) -> dict[str, tuple[str, ...]]:
        """For every file with shared memory the roots of the units to evaluate it in."""
        if self._part is not None:
            shared = [posixpath.normpath(self._part.path)]
        else:
            shared = [p for p in self.sources if _holds_shared(p, self.read(p) or "")]
        includers: dict[str, list[str]] = {}
        for path in self.sources if shared else ():
            for target in self.includes(path):
                includers.setdefault(target, []).append(path)
        chosen: dict[str, tuple[str, ...]] = {}
        for path in shared:
            tops = self._tops(path, includers)
            tops.sort(key=lambda p: (not _LAUNCHES.search(self.read(p) or ""), p))
            chosen[path] = tuple(tops[:_MAX_ROOTS]) or (path,)
        return chosen

    @cached_property
    def _roots(self) -> dict[str, None]:
        return dict.fromkeys(root for roots in self._chosen.values() for root in roots)

    def roots(self) -> list[str]:
        """Roots of the units to evaluate."""
        return list(self._roots)

    def is_evaluated_in(self, path: str, root: str) -> bool:
        """Whether the kernels of a file are evaluated in the unit with this root.

        A file that holds no shared memory itself goes with every unit that includes it.
        """
        return root in self._chosen.get(path, (root,))

    def _tops(self, path: str, includers: Mapping[str, Sequence[str]]) -> list[str]:
        seen, tops, work = {path}, [], [path]
        while work:
            current = work.pop()
            above = [p for p in includers.get(current, ()) if p not in seen]
            if not includers.get(current):
                tops.append(current)
            seen.update(above)
            work.extend(above)
        return tops


def _holds_shared(path: str, text: str) -> bool:
    """Whether a file's own code may declare or touch shared memory."""
    return is_python_path(path) or _SHARED.search(text) is not None
