"""Main files: the translation units in which the kernels of each file are evaluated."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import TypeAlias

from smemlint.analysis.program.units import ProgramIndex, reachable
from smemlint.frontend.heuristics import KERNEL_LAUNCHERS, calls_hip_alone, is_hip_file
from smemlint.frontend.line_searches import LAUNCH
from smemlint.frontend.text_heuristics import instantiated_includes, may_touch_shared
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_MAIN_FILES
from smemlint.sources.languages import is_python_path

_OF_NVCC = ".cu"
"""How the names of files end that a compiler takes for CUDA without an option."""
_LAUNCHES = re.compile(
    "|".join((LAUNCH, r"cudaLaunch\w*Kernel", "hipLaunchKernelGGL", *sorted(KERNEL_LAUNCHERS)))
)
_WORD = re.compile(r"\w+")
_Rank: TypeAlias = tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class MainFiles:
    """The main files of the units to evaluate.

    Attributes:
        of: for every file with shared memory the main files of the units to evaluate it in; so for
            files with kernels that are in none of these units and include such a file.
        includers: of each file that is included, the files that do so.
    """

    of: Mapping[str, tuple[str, ...]]
    includers: Mapping[str, Sequence[str]]

    @property
    def paths(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(main for mains in self.of.values() for main in mains))

    def place_of(self, main: str, path: str) -> int | None:
        """Returns the place of a main file among those that a file's kernels are evaluated with.

        None where it is none of them. A file that holds no shared memory itself goes with every
        unit that includes it. The last is the file itself, where a condition keeps it out of the
        units of all others.
        """
        mains = (*self.of.get(path, (main,)), path)
        return mains.index(main) if main in mains else None

    def beginning_with(self, main: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields the included files whose first main file this is, each with all of them."""
        for path, mains in self.of.items():
            if mains[0] == main and path != main:
                yield path, mains

    def evaluating(self, path: str) -> list[str]:
        """Returns the main files of all units in which a file's kernels are evaluated."""
        if path in self.of:
            return list(self.of[path])
        known = set(self.paths)
        return [main for main in _not_included(path, self.includers) if main in known]


def main_files(index: ProgramIndex, only: str | None = None) -> MainFiles:
    """Returns the main files of a run: of all files that may touch shared memory, or of one."""
    if only is not None:
        shared = [posixpath.normpath(only)]
    else:
        names = {posixpath.basename(p) for p in index.sources}
        shared = [p for p in index.sources if _is_of_interest(p, index.read(p) or "", names)]
    includers: dict[str, list[str]] = {}
    for path in index.sources if shared else ():
        for target in index.includes(path):
            includers.setdefault(target, []).append(path)

    @cache  # most headers have main files in common
    def rank(main: str) -> _Rank:
        text = index.read(main) or ""
        return _is_for_amd(main, text), not _LAUNCHES.search(text)

    chosen = {path: _first_mains(path, rank, includers) for path in shared}
    below = set(reachable({m for mains in chosen.values() for m in mains}, index.includes))
    including = reachable(chosen, lambda p: includers.get(p, ())) if only is None else []
    for path in sorted(p for p in including if "__global__" in (index.read(p) or "")):
        if path not in below:
            chosen[path] = _first_mains(path, rank, includers)
            below.update(reachable(chosen[path], index.includes))
    return MainFiles(chosen, includers)


def _first_mains(
    path: str, rank: Callable[[str], _Rank], includers: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Returns the main files to evaluate a file in: for CUDA, that launch, and near, come first."""
    distances = _not_included(path, includers)
    mains = [m for m in distances if m.endswith(_OF_NVCC)] or list(distances)
    mains.sort(key=lambda p: (rank(p), distances[p], p))
    return tuple(mains[:MAX_MAIN_FILES]) or (path,)


def _not_included(path: str, includers: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Returns the files that include a file and that none includes, with the includes between.

    A file that is included through fewer others is more likely what the includer is about.
    """
    found = reachable((path,), lambda p: includers.get(p, ()))
    return {p: distance for p, distance in found.items() if not includers.get(p)}


def _is_for_amd(path: str, text: str) -> bool:
    """Returns whether a main file is for AMD's GPUs only, as far as its text tells."""
    return is_hip_file(path) or ("hip" in text and calls_hip_alone(_WORD.findall(text)))


def _is_of_interest(path: str, text: str, names: Set[str]) -> bool:
    """Returns whether a file's own code may declare or touch shared memory.

    A file that only instantiates templates stands for headers that are not of the run.
    """
    if is_python_path(path) or may_touch_shared(text):
        return True
    headers = instantiated_includes(text)
    return bool(headers) and names.isdisjoint(map(posixpath.basename, headers))
