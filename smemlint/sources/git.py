"""Asks git which files a folder holds, without any setting or program of the repository.

A repository may be hostile down to its `.git`: `core.fsmonitor` of its configuration is a command
that `git ls-files` runs, and committed files can make a folder look like a bare repository. So git
is given a git folder of our own, which is empty, with the repository's index and work tree beside
it: it looks for no repository, and reads neither configuration nor hooks nor objects of one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from smemlint.files.sandbox import is_below, read_regular, repository_of

_SECONDS = 60
_POINTER = b"gitdir:"
_FORMATS = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
    "[extensions]\n\tobjectFormat = sha256\n",
)
"""Of the hashes that an index may hold."""


class CannotList(Exception):
    """Git cannot say which files there are; the reason."""


def listed_files(folder: str) -> list[str]:
    """Returns the files below a folder that git tracks or does not ignore, relative to it, sorted.

    Args:
        folder: absolute, inside a repository.

    Raises:
        CannotList: there is no git, or it fails.
    """
    root = repository_of(folder)
    git = find_git(root)
    if git is None:
        raise CannotList("git is not installed")
    try:
        index, exclude = _index_and_exclude(root)
    except OSError as error:
        raise CannotList(f"`.git` cannot be read: {error.strerror}") from error
    for config in _FORMATS:
        with TemporaryDirectory(prefix="smemlint-git-") as own:
            _make_git_folder(Path(own), config, exclude)
            answer = _run(git, folder, root, own, index)
        if answer is not None:
            names = answer.decode("utf-8", "surrogateescape").split("\0")
            return sorted(set(names) - {""})
    raise CannotList("git cannot read the index of the repository")


def find_git(*never: str) -> str | None:
    """Returns git's absolute path, from no folder of PATH that is relative or in the repository.

    Args:
        never: folders besides the working directory whose programs are not run.
    """
    names = ("git.exe",) if sys.platform == "win32" else ("git",)
    closed = [os.path.realpath(f) for f in (*never, os.getcwd()) if f]
    closed = [f for f in closed if f != os.path.dirname(f)]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder) or any(is_below(os.path.realpath(folder), c) for c in closed):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def _index_and_exclude(root: str) -> tuple[str, bytes]:
    """The path of the index, and the ignore patterns of `.git/info/exclude`."""
    place = os.path.join(root, ".git")
    if os.path.isfile(place):  # of a submodule or a further work tree
        pointer = read_regular(os.path.realpath(place), 1 << 12)
        if not pointer.startswith(_POINTER):
            raise OSError(0, "it is no git folder")
        name = os.fsdecode(pointer.removeprefix(_POINTER).strip())
        place = os.path.join(root, name)
    index = os.path.realpath(os.path.join(place, "index"))
    if os.path.lexists(index) and not os.path.isfile(index):
        raise OSError(0, "its index is no regular file")
    try:
        common = os.fsdecode(read_regular(os.path.join(place, "commondir"), 1 << 12).strip())
    except OSError:
        common = "."
    try:
        exclude = read_regular(os.path.join(place, common, "info", "exclude"), 1 << 20)
    except OSError:
        exclude = b""
    return index, exclude


def _make_git_folder(place: Path, config: str, exclude: bytes) -> None:
    for name in ("objects", "refs", "info"):
        (place / name).mkdir()
    (place / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (place / "config").write_text(config, encoding="ascii")
    (place / "info" / "exclude").write_bytes(exclude)


def _run(git: str, folder: str, root: str, own: str, index: str) -> bytes | None:
    """What `git ls-files` prints; None where it fails."""
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
            capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CannotList(f"git takes longer than {_SECONDS} seconds") from None
    except OSError as error:
        raise CannotList(f"git cannot be run: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None
