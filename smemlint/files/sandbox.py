"""The one way in which smemlint opens a file that it was not given by the command line itself.

A linted file, a configuration, a Makefile, an import or a `.gitignore` may name any path. What it
names is read only where it lies, with links followed, below the repository of the file that names
it, below a path of the command line, or below one of its include folders. It must be a regular
file of bounded size; devices and FIFOs are never opened, and no file of version control is read.
A path that is spelled outside is refused without touching the disk, so that nobody learns from
the answer whether it exists.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from functools import lru_cache

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FILE_BYTES

_VERSION_CONTROL = frozenset((".git", ".hg", ".svn"))
_VIRTUAL = ("/dev", "/proc", "/sys")
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)  # Windows has the last only


class AccessDenied(OSError):
    """A file is not read; `strerror` is the reason, which says nothing of its text.

    Attributes:
        is_spelled: the path itself says so; nobody looked whether the file exists.
    """

    def __init__(self, reason: str, path: str, *, is_spelled: bool = False) -> None:
        super().__init__(errno.EACCES, reason, path)
        self.is_spelled = is_spelled
        self.strerror: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Folders, or single files, below which files may be read.

    Attributes:
        spelled: absolute paths as the user or the file system spells them.
        real: the same with links followed.
    """

    spelled: tuple[str, ...]
    real: tuple[str, ...]

    @staticmethod
    def around(path: str, *named: str) -> Sandbox:
        """Returns what the file at `path` may read: its repository, or its folder without one."""
        folder = os.path.dirname(os.path.abspath(path))
        return _around(folder, os.getcwd(), tuple(os.path.abspath(n) for n in named if n))

    @staticmethod
    def joined(parts: Iterable[Sandbox], *named: str) -> Sandbox:
        """Returns what any of the parts may read, and what lies below the named folders."""
        spelled = [os.path.abspath(name) for name in named if name]
        real = [os.path.realpath(name) for name in spelled]
        for part in {id(p): p for p in parts}.values():
            spelled += part.spelled
            real += part.real
        return Sandbox(_outermost(spelled), _outermost(real))

    def spells(self, path: str) -> bool:
        """Returns whether a path is spelled as one inside; the disk is not touched."""
        absolute = os.path.abspath(path)
        return any(is_below(absolute, r) for r in (*self.spelled, *self.real))

    def resolve(self, path: str) -> str:
        """Returns the path with links followed.

        Raises:
            AccessDenied: it leads outside, or into the files of version control.
        """
        if "\0" in path:
            raise AccessDenied("no path", path, is_spelled=True)
        if not self.spells(path):
            raise AccessDenied("outside of the repository", path, is_spelled=True)
        real = os.path.realpath(path)
        if not any(is_below(real, root) for root in self.real):
            raise AccessDenied("a link that leads out of the repository", path)
        if is_of_version_control(real) or any(is_below(real, top) for top in _VIRTUAL):
            raise AccessDenied("no source file", path)
        return real

    def read(self, path: str, most: int = MAX_FILE_BYTES) -> bytes:
        """Returns the bytes of a file.

        Raises:
            AccessDenied: it may not be read, is no regular file, or holds more than `most` bytes.
            OSError: it is not there, or cannot be read.
        """
        return read_regular(self.resolve(path), most)

    def text(self, path: str, most: int = MAX_FILE_BYTES) -> str | None:
        """Returns the text of a file, replacing what is not UTF-8; None where it cannot be read."""
        try:
            return self.read(path, most).decode("utf-8", "replace")
        except OSError:
            return None

    def refusal(self, path: str) -> str:
        """Returns why a file is not read that is spelled as one inside; empty where it is not."""
        if not self.spells(path) or not os.path.lexists(path):
            return ""
        try:
            self.read(path)
        except AccessDenied as denied:
            return denied.strerror
        except OSError:
            pass
        return ""

    def stamp(self, path: str) -> tuple[int, int] | None:
        """Returns time of change in nanoseconds and size; None where no regular file is inside."""
        if not self.spells(path) or "\0" in path:
            return None
        try:
            status = os.stat(path)  # thousands of them
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def read_regular(path: str, most: int = MAX_FILE_BYTES) -> bytes:
    """Returns the bytes of a regular file, without waiting for a writer and without following it.

    Raises:
        AccessDenied: it is no regular file, or holds more than `most` bytes.
        OSError: it is not there, or cannot be read.
    """
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        os.scandir(path).close()  # says so if nobody may look into it
    if not stat.S_ISREG(mode):  # opening a device may do something
        raise AccessDenied("no regular file", path)
    number = os.open(path, _OPEN)
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise AccessDenied("no regular file", path)
        with open(number, "rb", closefd=False) as file:
            data = file.read(min(status.st_size, most) + 1)
    finally:
        os.close(number)
    if len(data) > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise AccessDenied(f"larger than {size}", path)
    return data


def resolve_given(path: str) -> str:
    """Returns where a path of the command line leads, with links followed.

    The user may name any path, but not mean what a link in the repository makes of it: pre-commit
    and CI name files that others have written.

    Raises:
        AccessDenied: it lies in a repository, or below the working directory, and leads out of it
            or into its `.git`.
    """
    absolute = os.path.abspath(path)
    real = os.path.realpath(absolute)
    root = project_root(os.path.dirname(absolute))
    if root and not is_below(real, os.path.realpath(root)):
        raise AccessDenied("a link that leads out of the repository", path)
    if is_of_version_control(real) and not is_of_version_control(absolute):
        raise AccessDenied("a link into the files of version control", path)
    return real


def is_below(path: str, root: str) -> bool:
    """Returns whether an absolute path is a root itself or lies below it."""
    path, root = os.path.normcase(path), os.path.normcase(root)
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def is_of_version_control(path: str) -> bool:
    """Returns whether a path leads through a folder like `.git`, however its case is spelled."""
    return not _VERSION_CONTROL.isdisjoint(path.lower().replace("\\", "/").split("/"))


def project_root(folder: str) -> str:
    """Returns the repository of a folder, or the working directory if it lies below; else empty."""
    found = repository_of(folder)
    if found:
        return found
    here = os.getcwd()
    return here if is_below(folder, here) and not _is_wide(here) else ""


@lru_cache(maxsize=4096)
def repository_of(folder: str) -> str:
    """Returns the nearest folder with a `.git` at or above an absolute folder; else empty."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return folder
    above = os.path.dirname(folder)
    return repository_of(above) if above != folder else ""


def _outermost(folders: Sequence[str]) -> tuple[str, ...]:
    """Returns the folders that lie below none of the others."""
    kept: list[str] = []
    for folder in sorted(set(folders), key=len):
        if not any(is_below(folder, above) for above in kept):
            kept.append(folder)
    return tuple(kept)


@lru_cache(maxsize=1024)
def _around(folder: str, here: str, named: tuple[str, ...]) -> Sandbox:
    own = repository_of(folder)
    tops = [own] if own else [folder] if not _is_wide(folder) else []
    base = repository_of(here)
    if is_below(folder, base or here) and (base or not _is_wide(here)):
        tops.append(base or here)
    spelled = tuple(dict.fromkeys((*tops, *named)))
    return Sandbox(spelled, tuple(os.path.realpath(top) for top in spelled))


def _is_wide(folder: str) -> bool:
    """Returns whether a folder holds far more than one project: the top of the disk, or a home."""
    return folder in (os.path.dirname(folder), os.path.expanduser("~"))
