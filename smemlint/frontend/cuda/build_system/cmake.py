"""Reads what a `CMakeLists.txt` defines for every build, where it says so literally."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from smemlint.frontend.cuda.build_system.flags import BuildFlags, flags_of, split_command
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BUILD_COMMANDS

_TOKEN = re.compile(
    r"\#\[(=*)\[.*?(?:\]\1\]|\Z) | \#[^\n]* | \[(=*)\[(?P<bracket>.*?)\]\2\]"
    r" | \"(?P<quoted>(?:[^\"\\]|\\.)*)\""
    r" | (?P<open>\" | \#?\[=*\[) | (?P<parenthesis>[()]) | (?P<word>[^\s()\"\#]+)",
    re.X | re.S,
)
_OPENS = ("if", "foreach", "while", "function", "macro", "block")
_CLOSES = tuple(f"end{name}" for name in _OPENS)
_SCOPES = (
    "PRIVATE", "PUBLIC", "INTERFACE", "SYSTEM", "BEFORE", "AFTER", "STATIC", "SHARED", "MODULE",
)  # fmt: skip
_TARGETS = (
    "add_executable", "add_library", "cuda_add_executable", "cuda_add_library", "target_sources",
)  # fmt: skip
_HERE = ("CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR")
_ROOT = ("CMAKE_SOURCE_DIR", "PROJECT_SOURCE_DIR")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    arguments: tuple[str, ...]


def flags_for(text: str, source: str, root: str = "") -> BuildFlags:
    """Returns what the file defines for a source.

    Commands inside of conditions, loops and functions do not count, nor values that CMake would
    have to compute. Definitions of a target count for the sources that its command lists.

    Args:
        text: of the file.
        source: path of the source from its folder.
        root: path of the project's folder from there; empty if it is not known.
    """
    arguments: list[str] = []
    targets = set()
    commands = [(c.name, _expanded(c.arguments, _variables(text, root))) for c in _commands(text)]
    for command in commands:
        match command:
            case name, (target, *sources) if name in _TARGETS:
                if any(posixpath.normpath(s) == source for s in sources):
                    targets.add(target)
            case (("add_definitions" | "add_compile_options"), given):
                arguments += given
            case "add_compile_definitions", given:
                arguments += _defined(given)
            case "include_directories", given:
                arguments += _folders(given)
            case "set", ("CMAKE_CUDA_FLAGS", *given):
                arguments += _split(given)
            case "string", ("APPEND", "CMAKE_CUDA_FLAGS", *given):
                arguments += _split(given)
    for command in commands:
        match command:
            case "target_compile_definitions", (target, *given) if target in targets:
                arguments += _defined(given)
            case "target_include_directories", (target, *given) if target in targets:
                arguments += _folders(given)
            case "target_compile_options", (target, *given) if target in targets:
                arguments += given
    return flags_of([a for a in arguments if "$" not in a])


def is_project(text: str) -> bool:
    """Returns whether the file is that of a project, which may be built by itself."""
    return any(command.name == "project" for command in _commands(text))


@lru_cache(64)
def _variables(text: str, root: str) -> Mapping[str, tuple[str, ...]]:
    """Returns what is known of variables: those of folders, and those that are set once."""
    known: dict[str, tuple[str, ...]] = dict.fromkeys(_HERE, (".",))
    if root:
        known.update((name, (root,)) for name in _ROOT)
    values: dict[str, list[tuple[str, ...]]] = {}
    for command in islice(_all_commands(text), MAX_BUILD_COMMANDS):
        if command.name in ("set", "list", "string", "option", "foreach"):
            for name in command.arguments[:2]:
                values.setdefault(name, []).append(command.arguments)
    for command in _commands(text):
        name, *given = command.arguments or ("",)
        if command.name == "set" and len(values[name]) == 1 and "CACHE" not in given:
            known[name] = _expanded(given, known)
    return known


def _expanded(given: Sequence[str], variables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns arguments with the variables that are known."""

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1], ())
        return found[0] if len(found) == 1 else match[0]

    found: list[str] = []
    for argument in given:
        whole = _VARIABLE.fullmatch(argument)
        listed = variables.get(whole[1], ()) if whole else ()
        found += listed if len(listed) > 1 else [_VARIABLE.sub(value, argument)]
    return tuple(found)


def _defined(given: Sequence[str]) -> list[str]:
    return [f"-D{name.removeprefix('-D')}" for name in given if name not in _SCOPES]


def _folders(given: Sequence[str]) -> list[str]:
    return [f"-I{posixpath.normpath(name)}" for name in given if name not in _SCOPES]


def _split(given: Sequence[str]) -> list[str]:
    texts = (text.replace("${CMAKE_CUDA_FLAGS}", "") for text in given)
    return [word for text in texts for word in split_command(text)]


@lru_cache(64)
def _commands(text: str) -> tuple[_Command, ...]:
    """Returns the commands that every configuration carries out."""
    found = []
    depth = 0
    for command in _all_commands(text):
        depth -= command.name in _CLOSES
        if depth == 0 and command.name not in _CLOSES:
            found.append(command)
        depth += command.name in _OPENS
        if len(found) == MAX_BUILD_COMMANDS:
            break
    return tuple(found)


def _all_commands(text: str) -> Iterator[_Command]:
    name, arguments, depth = "", list[str](), 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            return  # it does not end: nothing behind it is a command
        words = (match["word"], match["quoted"], match["bracket"])
        word = next((w for w in words if w is not None), None)
        if match["parenthesis"] == "(":
            depth += 1
        elif match["parenthesis"] == ")":
            depth -= 1
            if depth == 0 and name:
                yield _Command(name, tuple(arguments))
                name, arguments = "", []
            depth = max(depth, 0)
        elif word is not None and depth == 0:
            name, arguments = word.lower(), []
        elif word is not None:
            arguments.append(word)
