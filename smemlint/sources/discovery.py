"""Which files a run looks at: named ones as they are, directories walked.

Paths are strings here: a tree of thousands of files is walked in a third of the time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

from smemlint.config.files import is_repository
from smemlint.config.settings import Configuration, Settings
from smemlint.errors import SourceError
from smemlint.files.sandbox import AccessDenied, repository_of, resolve_given
from smemlint.limits.budgets import MAX_LIST
from smemlint.sources.gitignore import IgnoredPaths
from smemlint.sources.languages import CUBIN_SUFFIX, PTX_SUFFIX, PYTHON_SUFFIXES, TEMPLATE_SUFFIXES
from smemlint.sources.source import Source

_CUDA = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx")
SUFFIXES = frozenset((*_CUDA, *PYTHON_SUFFIXES, *TEMPLATE_SUFFIXES, PTX_SUFFIX))
"""What is read in a directory: kernels, and the host code that launches them."""
_LISTED = frozenset((*SUFFIXES, CUBIN_SUFFIX))
_GLOB_TOKEN = re.compile(r"\*+|\[!?\]?[^\]]*\]|.", re.S)
_VERSION_CONTROL = (".git", ".hg", ".svn")


def find_sources(
    paths: Sequence[str],
    configuration: Configuration | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> list[Source]:
    """Finds the sources of a run, each once however it is named, in the order of their paths.

    Which of several files gives a shared header its launches hangs on their order, so that the one
    in which they are named has no say.

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
                problem = "a link that leads out of the repository"
                raise SourceError(problem, where=given, hint="name the folder that it leads to")
            for file in _walk(path, excluded, warn):
                add(file, below)
        elif not _exists(path):
            hint = "check the spelling, or name a directory to search"
            raise SourceError("no such file or directory", where=given, hint=hint)
        elif not excluded.forces(given):
            add(_slashes(given), below)
    return sorted(found.values(), key=lambda source: source.path)


def _trusted(given: str) -> str:
    """Returns a path of the command line; empty where a link of the repository leads elsewhere."""
    try:
        resolve_given(given)
    except AccessDenied:
        return ""
    return given


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SourceError(problem, where=str(path)) from error


def is_excluded(path: str, settings: Settings) -> bool:
    """Returns whether a path is one that the settings exclude, wherever a walk would begin."""
    relative = _relative(path, settings.root)
    is_outside = relative.startswith("../") or (
        os.path.isabs(path) and not os.path.isabs(settings.root)  # from where, nobody said
    )
    above = relative.rpartition("/")[0] if is_outside else ""
    return _has_match(relative, (*settings.exclude, *settings.extend_exclude), above)


def matches(path: str, patterns: Sequence[str], root: str = "") -> bool:
    """Returns whether a glob matches a path from `root`, a folder around it, or a name of them.

    `*` matches any characters, slashes included; a pattern without a slash is tried on names too.
    """
    return _has_match(_relative(path, root), patterns)


def _has_match(relative: str, patterns: Sequence[str], above: str = "") -> bool:
    """Returns whether a glob matches a path, or a folder above it and below `above`."""
    while relative and relative != above:
        name = relative.rpartition("/")[2]
        for pattern in patterns:
            expected = pattern.rstrip("/")
            if _matches(relative, expected) or _matches(name, expected):
                return True
        relative = relative.rpartition("/")[0]
    return False


def _matches(text: str, pattern: str) -> bool:
    """Returns whether a glob matches a text as a whole, without going back over a star."""
    return _compiled(pattern).match(text) is not None


@lru_cache(maxsize=4 * MAX_LIST)
def _compiled(pattern: str) -> re.Pattern[str]:
    segments = [""]
    for token in _GLOB_TOKEN.findall(pattern):
        if token[0] == "*":
            segments.append("")
        else:
            segments[-1] += translate(token)[len("(?s:") : -len(r")\Z")]
    first, *others = segments
    inner = (f"(?>.*?{segment})" for segment in others[:-1])
    last = f".*?{others[-1]}" if others else ""
    return re.compile(rf"{first}{''.join(inner)}{last}\Z", re.S)


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
        """Returns whether a path met on the way down from `above` is passed over."""
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
            _matches(name, p) or _matches(_relative(path, settings.root), p) for p in patterns
        )

    def forces(self, path: str) -> bool:
        """Returns whether a file or directory is passed over although it was named."""
        settings = self.settings(path)
        return settings.force_exclude and is_excluded(path, settings)

    def respects_gitignore(self, folder: Path) -> bool:
        return self.settings(f"{folder}/").respect_gitignore


def _walk(root: Path, excluded: _Excluded, warn: Callable[[str], None]) -> Iterator[str]:
    if excluded.forces(str(root)):
        return
    respects = excluded.respects_gitignore(root)
    folder = os.path.abspath(root)
    top = repository_of(folder) or folder
    above = _below(folder, top)
    ignored = IgnoredPaths(top, warn)
    if respects:
        _read_above(ignored, above)
    is_ignored = _covers_folder(ignored, above)
    if is_ignored:  # but named: what is in it is meant, and only the `.gitignore` files in it count
        ignored = IgnoredPaths(top, warn)
    files: Iterable[str] | None = None
    if respects and not is_ignored:
        files = _listed_by_git(root, warn)
    if files is None:
        files = _walked(root, excluded, ignored, above, reads_gitignore=respects)
    cubins: set[str] = set()
    for file in sorted(files):  # in a repository or not, one order
        stem, suffix = os.path.splitext(file)
        if suffix == CUBIN_SUFFIX:
            cubins.add(stem)
        elif suffix == PTX_SUFFIX:  # the same code, as Triton's cache has it
            cubins.discard(stem)
        is_source = suffix in SUFFIXES or file.endswith("/")
        if is_source and not excluded.covers(file.rstrip("/"), str(root)):
            yield file.rstrip("/") or "."
    if cubins:
        warn(f"{root}: holds {len(cubins)} cubins, which are read only where they are named")


def _walked(
    root: Path, excluded: _Excluded, ignored: IgnoredPaths, above: str, *, reads_gitignore: bool
) -> Iterator[str]:
    """Returns files below a folder, and the folders that cannot be read, with a slash.

    Args:
        root: the folder.
        excluded: what the configuration passes over.
        ignored: what `.gitignore` files above the folder name.
        above: the folder relative to the top of `ignored`, with a slash at its end.
        reads_gitignore: those below count, too.
    """
    closed: list[str] = []
    for folder, folders, files in os.walk(root, onerror=lambda e: closed.append(e.filename)):
        shown = "" if folder == "." else _slashes(folder).removeprefix("./") + "/"
        inner = above + _below(os.path.abspath(folder), os.path.abspath(root))
        if reads_gitignore and ".gitignore" in files:
            ignored.read(inner)
        folders[:] = sorted(
            f
            for f in folders
            if f not in _VERSION_CONTROL
            and not excluded.covers(shown + f, str(root))
            and not ignored.covers(f"{inner}{f}/")
        )
        for file in sorted(files):
            if not ignored.covers(inner + file) and _is_file(shown + file):
                yield shown + file
    for folder in closed:
        yield _slashes(folder).removeprefix("./") + "/"


def _covers_folder(ignored: IgnoredPaths, folder: str) -> bool:
    """Returns whether a folder, with a slash at its end, is ignored or lies in one that is."""
    return any(ignored.covers(folder[: k + 1]) for k, c in enumerate(folder) if c == "/")


def _below(folder: str, top: str) -> str:
    """Returns a folder relative to one above it, with a slash; empty for that one."""
    return "" if folder == top else _slashes(os.path.relpath(folder, top)) + "/"


def _read_above(ignored: IgnoredPaths, folder: str) -> None:
    """Reads the patterns of all folders above one."""
    for end, character in enumerate(f"/{folder}"):
        if character == "/" and end < len(folder):
            ignored.read(folder[:end])


def _listed_by_git(root: Path, warn: Callable[[str], None]) -> list[str] | None:
    """Returns what git tracks or does not ignore below a folder; None outside of git."""
    if not any(map(is_repository, (root.absolute(), *root.absolute().parents))):
        return None
    from smemlint.sources.git import CannotList, listed_files

    try:
        names = listed_files(os.path.abspath(root))
    except CannotList as reason:
        warn(f"{root}: {reason}: what .gitignore names is passed over even where it is tracked")
        return None
    prefix = "" if str(root) == "." else _slashes(str(root)).rstrip("/") + "/"
    found = (prefix + n for n in names if os.path.splitext(n)[1] in _LISTED)
    return [f for f in found if _is_file(f)]


def _is_file(path: str) -> bool:
    """Returns whether it is a file itself: what a link leads to is found where it lies."""
    return os.path.isfile(path) and not os.path.islink(path)


def _relative(path: str, root: str) -> str:
    """Returns a path as it is spelled from a root; both count from the working directory."""
    path = _slashes(path)
    if os.path.isabs(root) and not os.path.isabs(path):
        path = _slashes(os.path.abspath(path))
    path = _slashes(os.path.normpath(path)) if path else path
    if os.path.isabs(path) and not os.path.isabs(root):
        path = path.removeprefix(_slashes(os.getcwd()).rstrip("/") + "/")
    return path.removeprefix(root.rstrip("/") + "/") if root else path


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
