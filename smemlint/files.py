"""Which files a run looks at: named ones as they are, directories walked.

Paths are strings here: a tree of thousands of files is walked in a third of the time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.errors import SourceError
from smemlint.source import PYTHON_SUFFIXES, Source

if TYPE_CHECKING:
    from smemlint.config import Configuration, Settings

_CUDA = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx")
SUFFIXES = frozenset((*_CUDA, *PYTHON_SUFFIXES))
"""What is read in a directory: kernels, and the host code that launches them."""
ALWAYS_EXCLUDED = (".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "build")


def find_sources(paths: Sequence[str], configuration: Configuration | None = None) -> list[Source]:
    """The sources of a run, in a stable order, each once.

    Args:
        paths: files and directories; directories are walked without following links.
        configuration: says per file what is excluded; nothing is without it.

    Raises:
        SourceError: a named path does not exist.
    """
    excluded = _Excluded(configuration)
    found: dict[str, Source] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for file in _walk(path, excluded):
                found.setdefault(file, Source(file))
        elif not path.exists():
            hint = "check the spelling, or name a directory to search"
            raise SourceError("no such file or directory", where=given, hint=hint)
        elif not excluded.forces(given):
            found.setdefault(_slashes(given), Source(_slashes(given)))
    return list(found.values())


def matches(path: str, patterns: Sequence[str], root: str = "") -> bool:
    """Whether a glob matches a path from `root`, a folder that it lies in, or one of their names.

    `*` matches any characters, slashes included; a pattern without a slash is tried on names too.
    """
    relative = _relative(path, root)
    while relative:
        name = relative.rpartition("/")[2]
        for pattern in patterns:
            wanted = pattern.rstrip("/")
            if fnmatchcase(relative, wanted) or fnmatchcase(name, wanted):
                return True
        relative = relative.rpartition("/")[0]
    return False


class _Excluded:
    """What the nearest configuration of each file excludes; asked once a folder."""

    def __init__(self, configuration: Configuration | None) -> None:
        self._configuration = configuration
        self._folders: dict[str, bool] = {}

    def settings(self, path: str) -> Settings | None:
        return self._configuration.for_file(path) if self._configuration is not None else None

    def covers(self, path: str) -> bool:
        """Whether a file that was met is passed over."""
        folder, _, name = path.rpartition("/")
        settings = self.settings(path)
        if settings is None:
            return False
        patterns = (*settings.exclude, *settings.extend_exclude)
        if not patterns:
            return False
        if folder not in self._folders:
            self._folders[folder] = matches(folder, patterns, settings.root)
        return self._folders[folder] or any(
            fnmatchcase(name, p) or fnmatchcase(_relative(path, settings.root), p) for p in patterns
        )

    def forces(self, path: str) -> bool:
        """Whether a file is passed over although it was named."""
        settings = self.settings(path)
        return bool(settings and settings.force_exclude) and self.covers(_slashes(path))

    def respects_gitignore(self, folder: Path) -> bool:
        settings = self.settings(f"{folder}/")
        return settings is None or settings.respect_gitignore


def _walk(root: Path, excluded: _Excluded) -> Iterator[str]:
    respects = excluded.respects_gitignore(root)
    listed = _listed_by_git(root) if respects else None
    candidates = listed if listed is not None else _walked(root, excluded, respects)
    for file in candidates:
        if os.path.splitext(file)[1] in SUFFIXES and not excluded.covers(file):
            yield file


def _walked(root: Path, excluded: _Excluded, respects_gitignore: bool) -> Iterator[str]:
    ignored = _Gitignores() if respects_gitignore else None
    for folder, folders, files in os.walk(root, followlinks=False):
        shown = "" if folder == "." else _slashes(folder).removeprefix("./") + "/"
        if ignored is not None and ".gitignore" in files:
            ignored.read(shown)
        folders[:] = sorted(
            f
            for f in folders
            if f not in ALWAYS_EXCLUDED
            and not excluded.covers(shown + f)
            and not (ignored is not None and ignored.covers(f"{shown}{f}/"))
        )
        for file in sorted(files):
            path = shown + file
            if os.path.isfile(path) and not (ignored is not None and ignored.covers(path)):
                yield path


class _Gitignores:
    """The .gitignore files of a tree that is no repository; the deepest one that says decides."""

    def __init__(self) -> None:
        self._specs: list[tuple[str, Callable[[str], bool | None]]] = []

    def read(self, folder: str) -> None:
        from pathspec import GitIgnoreSpec

        try:
            text = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace")
            spec = GitIgnoreSpec.from_lines(text.splitlines())
        except (OSError, ValueError):
            return
        self._specs.append((folder, lambda path: spec.check_file(path).include))

    def covers(self, path: str) -> bool:
        for folder, says in reversed(self._specs):
            if path.startswith(folder):
                verdict = says(path[len(folder) :])
                if verdict is not None:
                    return verdict
        return False


def _listed_by_git(root: Path) -> list[str] | None:
    """Files that git tracks or does not ignore below a directory; None outside a repository."""
    if not any((p / ".git").exists() for p in (root.absolute(), *root.absolute().parents)):
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
    found = (prefix + n for n in names if os.path.splitext(n)[1] in SUFFIXES)
    return [f for f in found if os.path.isfile(f) and not os.path.islink(f)]


def _relative(path: str, root: str) -> str:
    path = _slashes(path)
    if root and os.path.isabs(root) != os.path.isabs(path):
        path = _slashes(os.path.abspath(path)) if os.path.isabs(root) else path
    path = _slashes(os.path.normpath(path)) if path else path
    return path.removeprefix(root.rstrip("/") + "/") if root else path


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
