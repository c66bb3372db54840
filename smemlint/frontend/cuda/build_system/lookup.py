"""Finds how a source is built: in a compilation database, else in the build files around it."""

from __future__ import annotations

import os
import posixpath
from dataclasses import field, replace
from typing import TYPE_CHECKING

from smemlint.config.build_database import FILE_NAME
from smemlint.frontend.cuda.build_system import makefile
from smemlint.frontend.cuda.build_system.flags import BuildFlags, flags_of
from smemlint.frontend.folders import folders_above
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BUILD_FOLDERS_UP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from smemlint.frontend.cuda.build_system.compile_commands import Command

    Read = Callable[[str], str | None]

_CMAKE, _SETUP = "CMakeLists.txt", "setup.py"


@dataclass(frozen=True, slots=True)
class Build:
    """How a source is built.

    Attributes:
        flags: with include folders and forced includes as paths, spelled as that of the source.
        origin: the file that says so, as a message names it; empty if none does.
        others: how many more commands compile the source with other flags.
        problem: why the database that was found is not used; empty if it is.
    """

    flags: BuildFlags = field(default_factory=BuildFlags)
    origin: str = ""
    others: int = 0
    problem: str = ""


def build_of(path: str, database: str, read: Read, number: int = 0) -> Build:
    """Returns how a source is built: the build of that number, from 0, else the last one."""
    problem = ""
    if database:
        try:
            found = _in_database(path, database, read, number)
        except ValueError as error:
            problem, found = str(error), None
        if found is not None:
            return found
    return replace(_in_build_files(path, read), problem=problem)


def number_of_builds(path: str, database: str, read: Read) -> int:
    """Returns how many commands with different flags a database has for a source; at least 1."""
    try:
        commands = _commands(path, database, read)
        is_one = len(commands) < 2  # as nearly always: splitting a command takes long
        return 1 if is_one else len(_distinct_flags(commands, path, read))
    except ValueError:
        return 1


def _in_database(path: str, database: str, read: Read, number: int) -> Build | None:
    distinct = _distinct_flags(_commands(path, database, read), path, read)
    if not distinct:
        return None
    return Build(distinct[min(number, len(distinct) - 1)], FILE_NAME, len(distinct) - 1)


def _commands(path: str, database: str, read: Read) -> Sequence[Command]:
    from smemlint.frontend.cuda.build_system.compile_commands import commands_of

    text = read(database)
    if text is None:
        raise ValueError("is not read")
    return commands_of(text, _absolute(posixpath.dirname(database))).get(_absolute(path), ())


def _distinct_flags(commands: Sequence[Command], path: str, read: Read) -> list[BuildFlags]:
    distinct: list[BuildFlags] = []
    for command in commands:
        flags = _flags_of(command, path, read)
        if flags not in distinct:
            distinct.append(flags)
    return distinct


def _flags_of(command: Command, path: str, read: Read) -> BuildFlags:
    def spelled(name: str) -> str:
        return _spelled(posixpath.join(command.directory, name), path)

    flags = flags_of(command.arguments[1:], lambda name: read(spelled(name)))
    folders = tuple(map(spelled, flags.include_dirs))
    forced = (
        next(
            (p for p in (spelled(name), *(f"{f}/{name}" for f in folders)) if read(p) is not None),
            spelled(name),
        )
        for name in flags.forced_includes
    )
    return replace(flags, include_dirs=folders, forced_includes=tuple(forced))


def _in_build_files(path: str, read: Read) -> Build:
    """Reads the Makefile beside the source, or the files of CMake or setuptools around it."""
    folder = posixpath.dirname(path)
    texts = (read(posixpath.join(folder, name)) for name in makefile.NAMES)
    text = next((t for t in texts if t is not None), "")
    beside = BuildFlags(
        makefile.macros_of(text),
        include_dirs=tuple(posixpath.join(folder, f) for f in makefile.folders_of(text)),
    )
    if beside.defines:
        return Build(beside, "the Makefile")
    found = _around(path, read)
    return replace(found, flags=_joined(beside, found.flags))


def _around(path: str, read: Read) -> Build:
    """Reads setup.py, or CMake's files up to that of the project: outer ones hold, too."""
    folders = list(folders_above(path, MAX_BUILD_FOLDERS_UP))
    found = Build()
    for k, below in enumerate(folders):
        source = path[len(below) :].lstrip("/")
        for file in (_CMAKE, _SETUP):
            text = read(posixpath.join(below, file))
            if text is None:
                continue
            flags = _literal_flags(file, text, source, _root(folders[k:], read))
            if flags != BuildFlags():
                dirs = tuple(
                    posixpath.normpath(posixpath.join(below, f)) for f in flags.include_dirs
                )
                flags = _joined(found.flags, replace(flags, include_dirs=dirs))
                found = Build(flags, found.origin or file)
        if found.origin and _root(folders[k : k + 1], read):
            break
    return found


def _root(folders: Sequence[str], read: Read) -> str:
    """Returns the path from the first of some folders to the one of its project; empty if none."""
    from smemlint.frontend.cuda.build_system import cmake

    for folder in folders:
        text = read(posixpath.join(folder, _CMAKE))
        if text is not None and cmake.is_project(text):
            return posixpath.relpath(folder or ".", folders[0] or ".")
    return ""


def _joined(inner: BuildFlags, outer: BuildFlags) -> BuildFlags:
    return BuildFlags(
        {**outer.defines, **inner.defines},
        outer.undefines - inner.defines.keys() | inner.undefines,
        tuple(dict.fromkeys((*inner.include_dirs, *outer.include_dirs))),
        (*outer.forced_includes, *inner.forced_includes),
        inner.archs or outer.archs,
    )


def _literal_flags(file: str, text: str, source: str, root: str) -> BuildFlags:
    """Returns what a build file says of a source; loads its reader where there is one."""
    if file == _SETUP:
        from smemlint.frontend.cuda.build_system import setup_py

        return setup_py.flags_for(text, source)
    from smemlint.frontend.cuda.build_system import cmake

    return cmake.flags_for(text, source, root)


def _absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join(_working_directory(), path.replace("\\", "/")))


def _spelled(path: str, source: str) -> str:
    """Spells an absolute path as the run does: from the working directory, if possible."""
    absolute, here = _absolute(path), _working_directory()
    is_below = absolute == here or absolute.startswith(here.rstrip("/") + "/")
    if source.startswith("/") or not is_below:
        return absolute
    return posixpath.relpath(absolute, here)


def _working_directory() -> str:
    return os.getcwd().replace("\\", "/")  # noqa: PTH109 - of strings
