"""Reads `compile_commands.json`, which CMake, Ninja, Meson and Bear write.

The format is Clang's, "JSON Compilation Database Format Specification".
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from functools import lru_cache

from smemlint.frontend.cuda.build_system.flags import split_command
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BUILD_ENTRIES
from smemlint.limits.documents import check_json
from smemlint.limits.errors import TooLarge


@dataclass(frozen=True, slots=True)
class Command:
    """How a file is compiled.

    Attributes:
        directory: where the command runs; relative paths of the arguments start there.
        words: the arguments, the compiler first; or the command as a shell takes it.
    """

    directory: str
    words: tuple[str, ...] | str

    @property
    def arguments(self) -> Sequence[str]:
        """Returns the arguments, the compiler first. Splitting takes long: a database has many."""
        return split_command(self.words) if isinstance(self.words, str) else self.words


@lru_cache(4)
def commands_of(text: str, folder: str) -> Mapping[str, tuple[Command, ...]]:
    """Reads a database.

    Returns:
        Absolute path of a source -> its commands, in the order of the file.

    Raises:
        ValueError: the text is no database; with the reason.
    """
    try:
        check_json(text)
        entries = json.loads(text)
    except (TooLarge, ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from error
    if not isinstance(entries, list):
        raise ValueError("is no list of commands")
    found: dict[str, list[Command]] = {}
    for entry in entries[:MAX_BUILD_ENTRIES]:
        command = _command(entry, folder)
        if command is not None and isinstance(entry.get("file"), str):
            path = posixpath.normpath(posixpath.join(command.directory, _slashed(entry["file"])))
            found.setdefault(path, []).append(command)
    return {path: tuple(dict.fromkeys(commands)) for path, commands in found.items()}


def _command(entry: object, folder: str) -> Command | None:
    if not isinstance(entry, dict):
        return None
    directory, arguments, text = (entry.get(k) for k in ("directory", "arguments", "command"))
    if isinstance(arguments, list) and all(isinstance(a, str) for a in arguments):
        words: tuple[str, ...] | str = tuple(arguments)
    elif isinstance(text, str):
        words = text
    else:
        return None
    below = posixpath.join(folder, _slashed(directory) if isinstance(directory, str) else "")
    return Command(posixpath.normpath(below), words)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")
