"""`extend = "../smemlint.toml"`: the configuration file that another one begins with."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from smemlint.config.files import ConfigFile, read_config
from smemlint.errors import ConfigError
from smemlint.files.sandbox import AccessDenied, Sandbox
from smemlint.limits.budgets import MAX_EXTENDED_CONFIGS

KEY = "extend"
HELP = (
    "a configuration file of the same repository to begin with: keys of this one replace its own, "
    "lists of `extend-` keys are added to, kernels are those of both"
)


def chain(file: ConfigFile) -> list[ConfigFile]:
    """Returns the files that a file extends, outermost first, and the file itself.

    Raises:
        ConfigError: one cannot be read, lies where a file of the repository may not lead, extends
            itself, or there are too many.
    """
    found = [file]
    passed = {os.path.realpath(file.path)}
    while KEY in found[0].table:
        last = found[0]
        where = last.where(KEY)
        path = _extended(last, where)
        if path in passed:
            raise ConfigError("`extend` leads back to a file that it came from", where=where)
        if len(found) > MAX_EXTENDED_CONFIGS:
            raise ConfigError(
                f"`extend` leads through more than {MAX_EXTENDED_CONFIGS} files", where=where
            )
        passed.add(path)
        extended = read_config(Path(path), is_given=last.is_given)
        if extended is None:
            raise ConfigError("`extend`: the file has no table [tool.smemlint]", where=where)
        found.insert(0, extended)
    return found


def _extended(file: ConfigFile, where: str) -> str:
    """Returns where the file that another one extends lies, with links followed."""
    value = file.table[KEY]
    if not isinstance(value, str) or not value:
        raise ConfigError("`extend` is not the path of a file", where=where)
    joined = os.path.normpath(Path.cwd() / file.path.parent / value)
    try:
        if file.is_given:
            path = os.path.realpath(joined)
        else:
            path = Sandbox.around(str(file.path)).resolve(joined)
    except AccessDenied as error:
        hint = "name the file on the command line: --config"
        message = f"`extend` is not used: its path is {error.strerror}"
        raise ConfigError(message, where=where, hint=hint) from error
    except ValueError as error:
        raise ConfigError(f"`extend` is not the path of a file: {error}", where=where) from error
    if not Path(path).is_file():
        hint = "paths count from the folder of the file that names them"
        raise ConfigError(f"`extend`: there is no file `{value}`", where=where, hint=hint)
    return path


def rebased(globs: Iterable[str], folder: Path, root: Path) -> tuple[str, ...]:
    """Returns globs of a folder as they are spelled from a root below it.

    Globs without a slash match names anywhere. Where the root does not lie below the folder, all
    count from the root.
    """
    globs = tuple(globs)
    if root == folder or not root.is_relative_to(folder):
        return globs
    between = root.relative_to(folder).as_posix()
    found: list[str] = []
    for glob in globs:
        if "/" not in glob.rstrip("/") or glob.startswith("*"):
            found.append(glob)
        found += (
            glob[at + 1 :]
            for at, character in enumerate(glob)
            if character == "/" and glob[at + 1 :] and fnmatchcase(between, glob[:at])
        )
    return tuple(dict.fromkeys(found))
