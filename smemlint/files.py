"""Which files a run looks at: named ones as they are, directories walked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from smemlint.errors import SourceError
from smemlint.source import Source

SUFFIXES = frozenset(
    (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx")
)
"""What is read in a directory: kernels, and the host code that launches them."""
ALWAYS_EXCLUDED = (".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "build")


def find_sources(
    paths: Sequence[str], exclude: Sequence[str] = (), *, force_exclude: bool = False
) -> list[Source]:
    """The sources of a run, in a stable order, each once.

    Args:
        paths: files and directories; directories are walked without following links.
        exclude: glob patterns on paths and on their parts.
        force_exclude: patterns also keep out files that were named.

    Raises:
        SourceError: a named path does not exist or cannot be read.
    """
    found: dict[str, Source] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for file in _walk(path, exclude):
                found.setdefault(file, Source(file))
        elif not path.exists():
            hint = "check the spelling, or name a directory to search"
            raise SourceError("no such file or directory", where=given, hint=hint)
        elif not (force_exclude and is_excluded(given, exclude)):
            found.setdefault(_slashes(given), Source(_slashes(given)))
    return list(found.values())


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the path, its end, or one of its parts."""
    parts = _slashes(path).split("/")
    return any(
        fnmatch(_slashes(path), pattern)
        or fnmatch(_slashes(path), f"*/{pattern}")
        or any(fnmatch(part, pattern) for part in parts)
        for pattern in patterns
    )


def _walk(root: Path, exclude: Sequence[str]) -> Iterator[str]:
    listed = _listed_by_git(root)
    if listed is not None:
        candidates: Iterator[str] = iter(listed)
    else:
        candidates = _walked(root, exclude)
    for file in candidates:
        if Path(file).suffix in SUFFIXES and not is_excluded(file, exclude):
            yield file


def _walked(root: Path, exclude: Sequence[str]) -> Iterator[str]:
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(
            f for f in folders if f not in ALWAYS_EXCLUDED and not is_excluded(f, exclude)
        )
        for file in sorted(files):
            path = Path(folder) / file
            if path.is_file():
                yield _slashes(str(path))


def _listed_by_git(root: Path) -> list[str] | None:
    """Files that git tracks or does not ignore below a directory; None outside a repository."""
    if not any((p / ".git").exists() for p in (root.resolve(), *root.resolve().parents)):
        return None
    import subprocess

    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    names = sorted(set(done.stdout.decode("utf-8", "surrogateescape").split("\0")) - {""})
    prefix = "" if str(root) == "." else _slashes(str(root)).rstrip("/") + "/"
    return [prefix + n for n in names if (root / n).is_file() and not (root / n).is_symlink()]


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
