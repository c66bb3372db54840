"""Where compiled instructions stand for the user: a line of a source, or of the PTX itself."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence

from smemlint.facts import Span
from smemlint.frontend.ptx.syntax import Frame, Location
from smemlint.lazy_dataclasses import dataclass

_LIBRARY_FOLDERS = (
    "/site-packages/", "/dist-packages/", "/cutlass/include/", "/cutlass/tools/", "/cub/",
    "/thrust/", "/libcudacxx/", "/cccl/", "/include/crt/", "/triton/language/",
)  # fmt: skip
_LIBRARY_PREFIXES = ("/usr/include/", "/usr/local/cuda", "/opt/cuda", "/opt/nvidia")
_LIBRARY_FILES = (
    "cuda_fp16.hpp", "cuda_bf16.hpp", "cuda_fp8.hpp", "sm_32_intrinsics.hpp", "mma.hpp",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Places:
    """Maps the places that a PTX file names to those that the user knows.

    Attributes:
        ptx: the path of the PTX file.
        files: its source files by number.
        run: the paths of the run by the absolute path and by the base name.
    """

    ptx: str
    files: Mapping[int, str]
    run: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(ptx: str, files: Mapping[int, str], paths: Sequence[str]) -> Places:
        """Returns the mapping for one PTX file among the files of a run."""
        run: dict[str, tuple[str, ...]] = {}
        for path in paths:
            for key in _keys(path):
                run[key] = (*run.get(key, ()), path)
        return Places(ptx, files, run)

    def span(self, location: Location, line: int) -> Span:
        """Returns the innermost place outside of libraries.

        Of code that is a library's alone, the innermost of all, where profilers show it; without
        any place, the line of the PTX text.
        """
        named = (f for f in location if f.line and self.files.get(f.file))
        frame = self.frame(location) or next(named, None)
        if frame is None:
            return Span(self.ptx, max(line, 1), 1, max(line, 1), 2)
        column = max(frame.column, 1)
        return Span(self.path(frame), frame.line, column, frame.line, column + 1)

    def frame(self, location: Location) -> Frame | None:
        """Returns the innermost frame outside of libraries."""
        for frame in location:
            if frame.line and not is_library(self.files.get(frame.file, "")):
                return frame
        return None

    def path(self, frame: Frame) -> str:
        """Returns the path of a frame's file: as the run names it, if it is one of the run's."""
        return self.path_of(self.files.get(frame.file, ""))

    def path_of(self, named: str) -> str:
        """Returns the path of a file that compiled code names, as the run names it where it can."""
        for key in _keys(named):
            found = self.run.get(key, ())
            if len(found) == 1:
                return found[0]
            best = max((_common_tail(path, named) for path in found), default=0)
            likeliest = [path for path in found if _common_tail(path, named) == best]
            if len(likeliest) == 1:
                return likeliest[0]
        shown = posixpath.normpath(named.replace("\\", "/")) if named else ""
        return f"/{shown.lstrip('/')}" if shown.startswith("//") else shown

    def is_of_run(self, path: str) -> bool:
        """Returns whether a path is one of the run's files."""
        return path in self.run.get(base_name(path), ())


def is_library(path: str) -> bool:
    """Returns whether a file is one of a compiler or library, not of the user."""
    path = path.replace("\\", "/")
    return (
        not path
        or path.startswith(_LIBRARY_PREFIXES)
        or any(folder in path for folder in _LIBRARY_FOLDERS)
        or base_name(path) in _LIBRARY_FILES
    )


def _keys(path: str) -> tuple[str, str]:
    return os.path.abspath(path), base_name(path)  # noqa: PTH100 - the disk is not touched


def base_name(path: str) -> str:
    """Returns the name of a file without its folders."""
    return path.replace("\\", "/").rpartition("/")[2]


def _common_tail(path: str, other: str) -> int:
    """Returns how many parts two paths share at their ends."""
    count = 0
    for a, b in zip(reversed(path.split("/")), reversed(other.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count
