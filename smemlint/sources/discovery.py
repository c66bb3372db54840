"""Which files a run looks at: named ones as they are, directories walked.

Paths are strings here: a tree of thousands of files is walked in a third of the time.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from smemlint.config.files import is_repository
from smemlint.errors import SourceError
from smemlint.files.sandbox import AccessDenied, Sandbox, resolve_given
from smemlint.sources.languages import PTX_SUFFIX, PYTHON_SUFFIXES
from smemlint.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.config.settings import Configuration, Settings

_CUDA = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx")
SUFFIXES = frozenset((*_CUDA, *PYTHON_SUFFIXES, PTX_SUFFIX))
"""What is read in a directory: kernels, and the host code that launches them."""
_VERSION_CONTROL = (".git", ".hg", ".svn")
_MOST_GITIGNORE = 1 << 18
"""Bytes of one .gitignore file; larger ones are not read, which is said."""
_MOST_PATTERNS = 4_000
_LONGEST_PATTERN = 1_000
_MOST_STARS = 4


def find_sources(
    paths: Sequence[str],
    configuration: Configuration | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> list[Source]:
    """The sources of a run, in a stable order, each once however often and however it is named.

    Args:
        paths: files and directories; directories are walked without following links.
        configuration: says per file what is excluded; without it, what is by default.
        warn: takes what keeps the files from being exactly those that git knows.

    Raises:
        SourceError: a named path does not exist, or nobody may look at it, or it is a folder that
            a link of the repository puts elsewhere.
    """
    excluded = _Excluded(configuration)
    found: dict[str, Source] = {}

    def add(file: str, below: str) -> None:
        place = file if len(paths) == 1 else os.path.abspath(file)
        found.setdefault(place, Source(file, below=below))

    for given in paths:
        path = Path(given)
        below = _trusted(given)
        if os.path.isdir(given):
            if not below:
                said = "a link that leads out of the repository"
                raise SourceError(said, where=given, hint="name the folder that it leads to")
            for file in _walk(path, excluded, warn):
                add(file, below)
        elif not _exists(path):
            hint = "check the spelling, or name a directory to search"
            raise SourceError("no such file or directory", where=given, hint=hint)
        elif not excluded.forces(given):
            add(_slashes(given), below)
    return list(found.values())


def _trusted(given: str) -> str:
    """A path of the command line; empty where a link of the repository leads elsewhere."""
    try:
        resolve_given(given)
    except AccessDenied:
        return ""
    return given


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        raise SourceError(said, where=str(path)) from error


def is_excluded(path: str, settings: Settings) -> bool:
    """Whether a path is one that the settings exclude, wherever a walk would begin."""
    relative = _relative(path, settings.root)
    is_outside = os.path.isabs(relative) or relative.startswith("../")
    above = relative.rpartition("/")[0] if is_outside else ""
    return _has_match(relative, (*settings.exclude, *settings.extend_exclude), above)


def matches(path: str, patterns: Sequence[str], root: str = "") -> bool:
    """Whether a glob matches a path from `root`, a folder that it lies in, or one of their names.

    `*` matches any characters, slashes included; a pattern without a slash is tried on names too.
    """
    return _has_match(_relative(path, root), patterns)


def _has_match(relative: str, patterns: Sequence[str], above: str = "") -> bool:
    """Whether a glob matches a path, or a folder that it lies in and that lies below `above`."""
    while relative and relative != above:
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
        self._folders: dict[tuple[str, str], bool] = {}

    def settings(self, path: str) -> Settings:
        if self._configuration is None:
            from smemlint.config.settings import Configuration

            self._configuration = Configuration(isolated=True)
        return self._configuration.for_file(path)

    def covers(self, path: str, above: str) -> bool:
        """Whether a file or folder that was met on the way down from `above` is passed over."""
        folder, _, name = path.rpartition("/")
        settings = self.settings(path)
        patterns = (*settings.exclude, *settings.extend_exclude)
        if not patterns:
            return False
        if (folder, above) not in self._folders:
            top = _relative(above, settings.root)
            is_inside = _has_match(_relative(folder, settings.root), patterns, top)
            self._folders[folder, above] = is_inside
        return self._folders[folder, above] or any(
            fnmatchcase(name, p) or fnmatchcase(_relative(path, settings.root), p) for p in patterns
        )

    def forces(self, path: str) -> bool:
        """Whether a file or directory is passed over although it was named."""
        settings = self.settings(path)
        return settings.force_exclude and is_excluded(path, settings)

    def respects_gitignore(self, folder: Path) -> bool:
        return self.settings(f"{folder}/").respect_gitignore


def _walk(root: Path, excluded: _Excluded, warn: Callable[[str], None]) -> Iterator[str]:
    if excluded.forces(str(root)):
        return
    respects = excluded.respects_gitignore(root)
    listed = _listed_by_git(root, warn) if respects else None
    candidates = listed if listed is not None else _walked(root, excluded, respects, warn)
    for file in sorted(candidates):  # in a repository or not, one order
        is_source = os.path.splitext(file)[1] in SUFFIXES or file.endswith("/")
        if is_source and not excluded.covers(file.rstrip("/"), str(root)):
            yield file.rstrip("/") or "."


def _walked(
    root: Path, excluded: _Excluded, respects_gitignore: bool, warn: Callable[[str], None]
) -> Iterator[str]:
    """Files below a folder, and with a slash at the end the folders that cannot be looked into."""
    ignored = _Gitignores(str(root), warn) if respects_gitignore else None
    closed: list[str] = []
    for folder, folders, files in os.walk(root, onerror=lambda e: closed.append(e.filename)):
        shown = "" if folder == "." else _slashes(folder).removeprefix("./") + "/"
        if ignored is not None and ".gitignore" in files:
            ignored.read(shown)
        folders[:] = sorted(
            f
            for f in folders
            if f not in _VERSION_CONTROL
            and not excluded.covers(shown + f, str(root))
            and not (ignored is not None and ignored.covers(f"{shown}{f}/"))
        )
        for file in sorted(files):
            path = shown + file
            is_ignored = ignored is not None and ignored.covers(path)
            if not is_ignored and _is_file(path):
                yield path
    for folder in closed:
        yield _slashes(folder).removeprefix("./") + "/"


class _Gitignores:
    """The .gitignore files of a tree that is no repository; the deepest one that says decides."""

    def __init__(self, root: str, warn: Callable[[str], None]) -> None:
        self._sandbox = Sandbox.around(os.path.join(root, ".gitignore"), root)
        self._warn = warn
        self._specs: list[tuple[str, Callable[[str], bool | None]]] = []

    def read(self, folder: str) -> None:
        """Reads the patterns of a folder; without them, more files are looked at."""
        from pathspec import GitIgnoreSpec

        path = f"{folder}.gitignore"
        try:
            data = self._sandbox.read(path, _MOST_GITIGNORE)
            lines = data.decode("utf-8", "replace").splitlines()
            if len(lines) > _MOST_PATTERNS or any(_is_costly(line) for line in lines):
                raise AccessDenied("its patterns take too long to match", path)
            spec = GitIgnoreSpec.from_lines(lines)
        except AccessDenied as error:
            self._warn(f"{path}: is not read: {error.strerror}")
            return
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


def _is_costly(pattern: str) -> bool:
    """Whether a glob becomes a regular expression that backtracks over many stars."""
    return len(pattern) > _LONGEST_PATTERN or len(re.findall(r"\*+", pattern)) > _MOST_STARS


def _listed_by_git(root: Path, warn: Callable[[str], None]) -> list[str] | None:
    """Files that git tracks or does not ignore below a directory; None outside a repository."""
    if not any(map(is_repository, (root.absolute(), *root.absolute().parents))):
        return None
    from smemlint.sources.git import CannotList, listed_files

    try:
        names = listed_files(os.path.abspath(root))
    except CannotList as reason:
        warn(f"{root}: {reason}: what .gitignore names is passed over even where it is tracked")
        return None
    prefix = "" if str(root) == "." else _slashes(str(root)).rstrip("/") + "/"
    found = (prefix + n for n in names if os.path.splitext(n)[1] in SUFFIXES)
    return [f for f in found if _is_file(f)]


def _is_file(path: str) -> bool:
    """Whether it is a file itself: what a link leads to is found where it lies."""
    return os.path.isfile(path) and not os.path.islink(path)


def _relative(path: str, root: str) -> str:
    path = _slashes(path)
    if root and os.path.isabs(root) != os.path.isabs(path):
        path = _slashes(os.path.abspath(path)) if os.path.isabs(root) else path
    path = _slashes(os.path.normpath(path)) if path else path
    return path.removeprefix(root.rstrip("/") + "/") if root else path


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
