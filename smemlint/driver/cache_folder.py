"""The folder of the cache: entries of our own that nobody else can make, and nothing else.

An attacker who controls the repository can commit a folder that looks like a cache, with any bytes
in it, and name any folder as `cache-dir`. No entry of his is believed, because each carries a
keyed hash of its name and text, and the key is made at random on the machine, kept in the user's
cache folder outside of the repository, and read by nobody but the user. Nor is anything of others
written or deleted, because a folder is used only if it is new, empty or tagged as ours, lies where
no link leads elsewhere, and of it only names of our own pattern are replaced and removed.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress

from smemlint.digests import blake2b, compare_digest
from smemlint.files.sandbox import AccessDenied, is_below, project_root, read_regular, resolve_given
from smemlint.limits.budgets import MAX_CACHE_BYTES, MAX_CACHE_ENTRIES

_TAG = "CACHEDIR.TAG"
_ABOUT = {
    _TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# made by smemlint\n",
    ".gitignore": b"*\n",
}
_OURS = re.compile(r"[0-9a-f]{24}(?:\.units)?\.json(?:\.[0-9a-f]{12}\.tmp)?")
_KEY_BYTES = 32
_SEAL_BYTES = 65  # hexadecimal digits and the end of their line
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _NEW |= getattr(os, _flag, 0)


class CacheFolder:
    """A folder of authenticated entries.

    Args:
        path: of the folder; need not exist.

    Attributes:
        refused: why it is not used; empty when it is.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._key = b""
        self.refused = ""
        try:
            self._require_ours()
            self._key = machine_key(self._path)
        except OSError as error:
            self.refused = error.strerror or str(error)

    def load(self, name: str) -> bytes | None:
        """Returns the text of an entry; None where there is none that was made by this user."""
        if self.refused:
            return None
        try:
            data = read_regular(os.path.join(self._path, name), MAX_CACHE_BYTES + _SEAL_BYTES)
        except OSError:
            return None
        seal, _, body = data.partition(b"\n")
        return body if compare_digest(seal, self._seal(name, body)) else None

    def save(self, name: str, body: bytes) -> None:
        """Writes an entry as a whole, makes the folder first, and removes the oldest entries.

        Raises:
            OSError: the folder cannot be written.
        """
        if self.refused or len(body) > MAX_CACHE_BYTES:
            return
        os.makedirs(self._path, exist_ok=True)
        for about, text in _ABOUT.items():
            with suppress(FileExistsError):  # a dangling link exists, too
                _write_new(os.path.join(self._path, about), text)
        place = os.path.join(self._path, name)
        beside = f"{place}.{os.urandom(6).hex()}.tmp"
        try:
            _write_new(beside, self._seal(name, body) + b"\n" + body)
            os.replace(beside, place)
        except OSError:
            with suppress(OSError):
                os.unlink(beside)
            raise
        self._prune()

    def _seal(self, name: str, body: bytes) -> bytes:
        seal = blake2b(name.encode() + b"\0", key=self._key, digest_size=32)
        seal.update(body)
        return seal.hexdigest().encode()

    def _require_ours(self) -> None:
        """Raises AccessDenied for a folder that we did not make, or that a link leads to."""
        real, top = resolve_given(self._path), project_root(os.path.dirname(self._path))
        straight = os.path.join(os.path.realpath(top), os.path.relpath(self._path, top or None))
        if os.path.islink(self._path) or (top and real != straight):
            raise AccessDenied("a link leads to it", self._path)
        if not os.path.lexists(self._path):
            return
        with os.scandir(self._path) as entries:
            is_empty = next(entries, None) is None
        if is_empty:
            return
        try:
            tag = read_regular(os.path.join(self._path, _TAG), 1 << 10)
        except OSError:
            tag = b""
        if tag != _ABOUT[_TAG]:
            raise AccessDenied(f"not made by smemlint: it has files and no {_TAG}", self._path)

    def _prune(self) -> None:
        """Removes the entries that have not been written for longest."""
        ages: list[tuple[int, str]] = []
        with os.scandir(self._path) as entries:
            for entry in entries:
                if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    ages.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
        for _, path in sorted(ages, reverse=True)[MAX_CACHE_ENTRIES:]:
            with suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)


def machine_key(folder: str) -> bytes:
    """Returns the user's key for cache entries, made at random at the first call.

    Args:
        folder: of the cache: a key in its repository is one that others may know.

    Raises:
        OSError: there is no place that is the user's alone.
    """
    home = user_cache_home()
    if not os.path.isabs(home):
        raise AccessDenied("there is no home folder for its key", home)
    real = os.path.realpath(home)
    tops = filter(None, map(project_root, (folder, os.getcwd())))
    if any(is_below(real, os.path.realpath(top)) for top in tops):
        raise AccessDenied("its key would lie in the repository", home)
    path = os.path.join(real, "smemlint", "cache.key")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        _write_new(path, os.urandom(_KEY_BYTES))
    key = read_regular(path, _KEY_BYTES)
    status = os.lstat(path)
    is_mine = sys.platform == "win32" or (
        status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
    )
    if len(key) != _KEY_BYTES or not is_mine:
        raise AccessDenied("its key is not the user's alone", path)
    return key


def user_cache_home() -> str:
    """Returns the folder in which programs of the user keep what they can make again."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches")
    given = os.environ.get("XDG_CACHE_HOME", "")
    return given if os.path.isabs(given) else os.path.join(home, ".cache")


def _write_new(path: str, data: bytes) -> None:
    """Writes a file that does not exist, not even as a link; readable by the user alone."""
    with open(os.open(path, _NEW, 0o600), "wb") as file:
        file.write(data)
