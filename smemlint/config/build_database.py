"""Finds the compilation database of a folder: `compile_commands.json`, as clangd looks for it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from smemlint.config.files import is_repository
from smemlint.errors import ConfigError
from smemlint.limits.budgets import MAX_BUILD_NAMES

FILE_NAME = "compile_commands.json"
NONE = "none"
"""The value of the setting that uses no database."""


def named_database(path: str) -> str:
    """Returns the database that a setting names, by its own path or by that of its folder.

    Raises:
        ConfigError: there is none.
    """
    file = os.path.join(path, FILE_NAME) if os.path.isdir(path) else path  # noqa: PTH112, PTH118
    if not os.path.isfile(file):  # noqa: PTH113
        hint = "let CMake write it: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
        raise ConfigError(f"there is no {FILE_NAME}", where=path, hint=hint)
    return file


def database_above(folder: Path, known: dict[Path, str]) -> str:
    """Returns the nearest database at or above a folder, or in `build*` there; empty for none.

    The search ends at the root of the repository. Outside of any, the folder alone is looked at.
    """
    folders = [folder, *folder.parents]
    root = next((k for k, here in enumerate(folders) if is_repository(here)), 0)
    for here in folders[: root + 1]:
        if here not in known:
            known[here] = _database_in(here)
        if known[here]:
            return known[here]
    return ""


def _database_in(folder: Path) -> str:
    for place in (folder, *_build_folders(folder)):
        if os.path.isfile(place / FILE_NAME):  # noqa: PTH113 - says no instead of raising
            return _shown(place / FILE_NAME)
    return ""


def _build_folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in islice(entries, MAX_BUILD_NAMES) if e.name.startswith("build")]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _shown(path: Path) -> str:
    """Returns a path from the working directory where it lies below it."""
    here = path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
