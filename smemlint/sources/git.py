"""Asks git which files a folder holds, without any setting or program of the repository.

A repository may be hostile down to its `.git`: `core.fsmonitor` of its configuration is a command
that `git ls-files` runs, and committed files can make a folder look like a bare repository. So git
is given a git folder of our own, which is empty, with the repository's index and work tree beside
it: it looks for no repository, and reads neither configuration nor hooks nor objects of one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from smemlint.files.programs import find_program
from smemlint.files.sandbox import read_regular, repository_of
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_GIT_SECONDS

_POINTER = b"gitdir:"
_LONG_HASHES = re.compile(rb'^\s*objectformat\s*=\s*"?sha256', re.I | re.M)
_CONFIG = "[core]\n\trepositoryformatversion = {}\n\tbare = false\n"
_EXTENSION = "[extensions]\n\tobjectFormat = sha256\n"


class CannotList(Exception):
    """Git cannot say which files there are; the reason."""


def listed_files(folder: str) -> list[str]:
    """Returns the files below a folder that git tracks or does not ignore, relative to it, sorted.

    Raises:
        CannotList: there is no git, or it fails.
    """
    root = repository_of(folder)
    git = find_program("git", root)
    if git is None:
        raise CannotList("git is not installed")
    try:
        repository = _read_repository(root)
    except OSError as error:
        raise CannotList(f"`.git` cannot be read: {error.strerror}") from error
    with TemporaryDirectory(prefix="smemlint-git-") as own:
        _make_git_folder(Path(own), repository)
        answer = _run(git, folder, root, own, repository.index)
    if answer is None:
        raise CannotList("git cannot read the index of the repository")
    return sorted(set(answer.decode("utf-8", "surrogateescape").split("\0")) - {""})


@dataclass(frozen=True, slots=True)
class _Repository:
    """What decides which files git lists.

    Attributes:
        index: its path; git reads it, and an index that it shares beside it.
        exclude: the ignore patterns of `info/exclude`.
        has_long_hashes: the index holds SHA-256: read as SHA-1, it has other files.
    """

    index: str
    exclude: bytes
    has_long_hashes: bool


def _read_repository(root: str) -> _Repository:
    place = os.path.join(root, ".git")
    if os.path.isfile(place):  # of a submodule or a further work tree
        pointer = read_regular(os.path.realpath(place), 1 << 12)
        if not pointer.startswith(_POINTER):
            raise OSError(0, "it is no git folder")
        name = os.fsdecode(pointer.removeprefix(_POINTER).strip())
        place = os.path.join(root, name)
    if not os.path.isdir(place):
        raise OSError(0, "there is no git folder where it points")
    index = os.path.realpath(os.path.join(place, "index"))
    if os.path.lexists(index) and not os.path.isfile(index):
        raise OSError(0, "its index is no regular file")
    common = os.path.join(
        place, os.fsdecode(_read(os.path.join(place, "commondir"), 1 << 12)).strip()
    )
    exclude = _read(os.path.join(common, "info", "exclude"), 1 << 20)
    config = _read(os.path.join(common, "config"), 1 << 20)
    return _Repository(index, exclude, bool(_LONG_HASHES.search(config)))


def _read(path: str, most: int) -> bytes:
    try:
        return read_regular(path, most)
    except OSError:
        return b""


def _make_git_folder(place: Path, repository: _Repository) -> None:
    for name in ("objects", "refs", "info"):
        (place / name).mkdir()
    config = _CONFIG.format(int(repository.has_long_hashes))
    config += _EXTENSION if repository.has_long_hashes else ""
    (place / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (place / "config").write_text(config, encoding="ascii")
    (place / "info" / "exclude").write_bytes(repository.exclude)


def _run(git: str, folder: str, root: str, own: str, index: str) -> bytes | None:
    """Returns what `git ls-files` prints; None where it fails."""
    environment = {k: v for k, v in os.environ.items() if not k.upper().startswith("GIT_")}
    environment |= {
        "GIT_DIR": own,
        "GIT_WORK_TREE": root,
        "GIT_INDEX_FILE": index,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    ignores_case = "true" if sys.platform in ("win32", "darwin") else "false"
    settings = ("fsmonitor=false", "untrackedCache=false", f"hooksPath={os.devnull}")
    command = [git]
    for setting in (*settings, f"ignoreCase={ignores_case}"):
        command += ["-c", f"core.{setting}"]
    command += ["ls-files", "-co", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=MAX_GIT_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CannotList(f"git takes longer than {MAX_GIT_SECONDS} seconds") from None
    except OSError as error:
        raise CannotList(f"git cannot be run: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None
