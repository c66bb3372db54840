"""Configuration files: where they lie, what they hold, and on which line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smemlint.errors import ConfigError
from smemlint.files.sandbox import Sandbox, resolve_given
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_CONFIG_BYTES
from smemlint.limits.documents import check_toml
from smemlint.limits.errors import TooLarge

FILE_NAMES = ("smemlint.toml", ".smemlint.toml", "pyproject.toml")
"""In this order in one folder."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file's settings, before anything is known of their meaning.

    Attributes:
        table: its keys and values.
        prefix: the table of the file that the settings are, e.g. ("tool", "smemlint").
        is_given: the user named it, or wrote it in an editor's settings: its paths may lead
            anywhere. Those of a file that was found stay in its repository.
    """

    path: Path
    table: Mapping[str, Any]
    text: str
    prefix: tuple[str, ...] = ()
    is_given: bool = True

    def where(self, *keys: str) -> str:
        """Returns `path:line` of a key, given from the outermost; of none found the path alone."""
        line = _line_of(self.text, (*self.prefix, *keys))
        return f"{self.path}:{line}" if line else str(self.path)


def read_config(path: Path, *, is_given: bool = False) -> ConfigFile | None:
    """Returns a file's settings; None when a pyproject.toml has none.

    Args:
        path: of the file.
        is_given: the command line names it; its own paths may lead anywhere.

    Raises:
        ConfigError: it cannot be read, or is not TOML.
    """
    try:
        text = _data(str(path), is_given=is_given).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        if isinstance(error, UnicodeDecodeError):
            reason = "not UTF-8"
        raise ConfigError(f"cannot be read: {reason}", where=str(path)) from error
    is_shared = path.name == "pyproject.toml"
    if is_shared and "smemlint" not in text:
        return None
    data = parse_toml(text, str(path))
    if not is_shared:
        return ConfigFile(path, data, text, is_given=is_given)
    tool = data.get("tool")
    table = tool.get("smemlint") if isinstance(tool, dict) else None
    if table is None:
        return None
    found = ConfigFile(path, table, text, ("tool", "smemlint"), is_given)
    if not isinstance(table, dict):
        raise ConfigError("`tool.smemlint` is not a table", where=found.where())
    return found


def _data(path: str, *, is_given: bool) -> bytes:
    if is_given:  # by whoever may read it, e.g. through a FIFO
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(MAX_CONFIG_BYTES)
    return Sandbox.around(path, path).read(resolve_given(path), MAX_CONFIG_BYTES)


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Returns TOML as a dict.

    Raises:
        ConfigError: it is not TOML; `where` and the line say of what.
    """
    import tomllib

    try:
        check_toml(text)
        return tomllib.loads(text)
    except TooLarge as error:
        raise ConfigError(str(error), where=where) from error
    except (ValueError, RecursionError) as error:  # a number may have more digits than Python reads
        message, _, place = str(error).partition(" (at line ")
        line, _, column = place.rstrip(")").partition(", column ")
        if line.isdigit() and where:
            where = f"{where}:{line}:{column}"
        raise ConfigError(f"is not TOML: {message if line else error}", where=where) from error


def is_repository(folder: Path) -> bool:
    """Returns whether a folder is the root of a repository that may be looked into."""
    return os.path.exists(folder / ".git")  # noqa: PTH110 - says no instead of raising


def config_in(folder: Path) -> ConfigFile | None:
    """Returns the configuration file of one folder."""
    for name in FILE_NAMES:
        path = folder / name
        if os.path.isfile(path):  # noqa: PTH113 - a folder that nobody may look into has none
            found = read_config(path)
            if found is not None:
                return found
    return None


def _line_of(text: str, keys: Sequence[str]) -> int:
    """Returns the line that sets a key or opens its table, or the nearest; 0 for none.

    Every line is read as `a.b = ..` below the last `[table]`; a key inside a value that spans lines
    is found at the value's first line.
    """
    table: tuple[str, ...] = ()
    best, most = 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("["):
            table = path = _dotted(line.strip("[").partition("]")[0])
        elif "=" in line and not line.startswith("#"):
            path = (*table, *_dotted(line.partition("=")[0]))
        else:
            continue
        common = 0
        while common < min(len(path), len(keys)) and path[common] == keys[common]:
            common += 1
        if common > most and common == min(len(path), len(keys)):
            best, most = number, common
    return best


def _dotted(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
