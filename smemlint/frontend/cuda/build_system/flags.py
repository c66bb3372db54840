"""Reads what a compiler's arguments say about a source: those of nvcc, clang and gcc."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BUILD_ARGUMENTS

_TAKES_NEXT = {
    "-D": "define", "--define-macro": "define",
    "-U": "undefine", "--undefine-macro": "undefine",
    "-I": "include", "--include-path": "include",
    "-isystem": "include", "--system-include": "include", "-iquote": "include",
    "-include": "forced", "--pre-include": "forced",
    "-arch": "arch", "--gpu-architecture": "arch",
    "--cuda-gpu-arch": "arch", "--offload-arch": "arch",
    "-gencode": "arch", "--generate-code": "arch",
    "-std": "std", "--std": "std",
    "-optf": "file", "--options-file": "file",
    "-Xcompiler": "host", "--compiler-options": "host", "-Xptxas": "host", "-Xlinker": "host",
    "-Xclang": "host", "-o": "host", "-ccbin": "host", "-x": "host", "-MF": "host", "-MT": "host",
}  # fmt: skip
"""Option -> what its value is; the value is the next argument, or stands behind `=`."""
_JOINED = ("-isystem", "-iquote", "-D", "-U", "-I")
_TARGET = re.compile(r"(?:sm|compute)_(\d+[af]?)")
_STANDARD = {"03": "199711L", "11": "201103L", "14": "201402L", "17": "201703L", "20": "202002L"}


@dataclass(frozen=True, slots=True)
class BuildFlags:
    """What one command line defines.

    Attributes:
        defines: macro -> replacement text.
        undefines: names that it undefines.
        include_dirs: folders, as written.
        forced_includes: files included in front of the source, as written.
        archs: targets as `sm_90`, in the order of the command.
    """

    defines: Mapping[str, str] = field(default_factory=dict)
    undefines: frozenset[str] = frozenset()
    include_dirs: tuple[str, ...] = ()
    forced_includes: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()

    def arch(self, preferred: str) -> str:
        """Returns the target to analyse: the preferred one if it is built, else the newest.

        Args:
            preferred: as of the settings; taken if the command names none.
        """
        if not self.archs or preferred in self.archs:
            return preferred
        return max(self.archs, key=lambda arch: (int(re.sub(r"\D", "", arch)), arch))


def flags_of(
    arguments: Sequence[str], read: Callable[[str], str | None] = lambda path: None
) -> BuildFlags:
    """Reads the arguments of a compiler."""
    defines: dict[str, str] = {}
    undefines: set[str] = set()
    include_dirs, forced, archs = [], [], []
    for what, value in _values(iter(arguments[:MAX_BUILD_ARGUMENTS]), read):
        match what:
            case "define":
                name, equals, text = value.partition("=")
                defines[name] = text if equals else "1"
                undefines.discard(name)
            case "undefine":
                undefines.add(value)
                defines.pop(value, None)
            case "include":
                include_dirs.append(value)
            case "forced":
                forced.append(value)
            case "arch":
                archs += [f"sm_{number}" for number in _TARGET.findall(value)]
            case "std" if value[-2:] in _STANDARD:
                defines["__cplusplus"] = _STANDARD[value[-2:]]
    return BuildFlags(
        defines,
        frozenset(undefines),
        tuple(dict.fromkeys(include_dirs)),
        tuple(dict.fromkeys(forced)),
        tuple(dict.fromkeys(archs)),
    )


def _values(
    arguments: Iterator[str], read: Callable[[str], str | None] | None
) -> Iterator[tuple[str, str]]:
    """Yields (what it is, value) of every option that is known."""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument in _TAKES_NEXT:
            what, value = _TAKES_NEXT[argument], next(arguments, "")
        elif equals and name in _TAKES_NEXT:
            what = _TAKES_NEXT[name]
        else:
            joined = next((o for o in _JOINED if argument.startswith(o)), "")
            what, value = _TAKES_NEXT.get(joined, ""), argument.removeprefix(joined)
        if what == "file" and read is not None:  # such a file names no further one
            words = split_command(read(value) or "")[:MAX_BUILD_ARGUMENTS]
            yield from _values(iter(words), None)
        elif what and what not in ("host", "file") and value:
            yield what, value


def split_command(text: str) -> list[str]:
    """Returns the arguments of a command as a shell splits them; none if quotes do not close."""
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return []
