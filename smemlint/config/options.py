"""Every setting once: the command line, the configuration files and the help come from this table.

An option is one row: `read` says how its text is read, `commands` where it is a flag, `key` whether
configuration files may set it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from sys import float_info
from typing import Any

from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_LIST, MAX_LIST_ITEM

Block = tuple[int, int, int]
_OF_RULES = (
    "select", "ignore", "extend-select", "extend-ignore", "per-file-ignores", "max-ways",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        name: as in configuration files, with dashes; `--name` on the command line.
        default: its value when nothing sets it.
        read: text or TOML value -> value; raises ValueError with what is wrong.
        metavar: placeholder in help; empty for a switch.
        short: a one-letter flag.
        repeated: may be given more than once; values add up.
        key: configuration files may set it.
        commands: sub-commands that have the flag.
        is_path: in a file, relative to the folder of the file.
        implied: the value of the flag given bare, where that is allowed.
        denied: what `--no-NAME` does, of a switch that is on by default.
    """

    name: str
    default: Any
    read: Callable[[Any], Any]
    help: str
    metavar: str = ""
    short: str = ""
    repeated: bool = False
    key: bool = True
    commands: tuple[str, ...] = ("check", "analyze")
    choices: tuple[str, ...] = ()
    is_path: bool = False
    implied: str = ""
    denied: str = ""

    @property
    def names_rules(self) -> bool:
        """Whether rules stand in its value."""
        return self.name in _OF_RULES

    @property
    def attribute(self) -> str:
        """Its name in `Settings`."""
        return self.name.replace("-", "_")


def read_block(value: Any) -> Block:
    """Reads `32,8`, `32x8x1` or `[32, 8]` as a block shape."""
    parts = value.replace("x", ",").split(",") if isinstance(value, str) else value
    if isinstance(parts, int):
        parts = [parts]
    try:
        dims = [int(str(p).strip(" ()")) for p in parts]
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} is not a valid block shape: write 256, or 32,8") from None
    dims += [1] * (3 - len(dims))
    if len(dims) != 3 or min(dims) < 1 or dims[0] * dims[1] * dims[2] > 1024:
        raise ValueError(
            f"{value!r} is not a valid block shape: one to three numbers, at most 1024 threads"
        )
    return dims[0], dims[1], dims[2]


def read_bool(value: Any) -> bool:
    """Returns a switch."""
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError(f"{value!r} is not true or false")


def read_text(value: Any) -> str:
    """Returns a string."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def read_list(value: Any) -> tuple[str, ...]:
    """Reads `a,b` or `["a", "b"]`."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(i, str) for i in items):
        raise ValueError(f"{value!r} is not a list of strings")
    _require_short(items)
    return tuple(i.strip() for i in items if i.strip())


def _require_short(items: Collection[str]) -> None:
    if len(items) > MAX_LIST or any(len(item) > MAX_LIST_ITEM for item in items):
        longest = f"one of more than {MAX_LIST_ITEM} characters"
        raise ValueError(f"more than {MAX_LIST} items, or {longest}")


def read_texts(value: Any) -> dict[str, str]:
    """Returns a table of strings."""
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise ValueError(f"{value!r} is not a table of strings")
    return {str(k): v for k, v in value.items()}


def read_defines(value: Any) -> dict[str, str]:
    """Reads `NAME`, `NAME=VALUE`, or a table."""
    if isinstance(value, dict):
        return {str(k): str(int(v)) if isinstance(v, bool) else str(v) for k, v in value.items()}
    found = {}
    for item in [value] if isinstance(value, str) else value:
        name, _, text = str(item).partition("=")
        if not name.replace("_", "a").isalnum() or name[:1].isdigit():
            raise ValueError(f"{item!r} is not a valid macro: write NAME or NAME=VALUE")
        found[name] = text if "=" in str(item) else "1"
    return found


def read_numbers(value: Any) -> dict[str, float]:
    """Returns a table of numbers; true and false are 1 and 0."""
    if not isinstance(value, dict) or not all(isinstance(v, int | float) for v in value.values()):
        raise ValueError(f"{value!r} is not a table of numbers: write {{ n = 1024 }}")
    return {str(k): int(v) if isinstance(v, bool) else v for k, v in value.items()}


def one_of(*choices: str) -> Callable[[Any], str]:
    """Returns a reader of one of some words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return read


def read_arch(value: Any) -> str:
    """Returns a target like `sm_90`, or several: `sm_80,sm_90`."""
    from smemlint.hardware.arch import architecture

    names = value if isinstance(value, list) else str(value).split(",")
    return ",".join(dict.fromkeys(architecture(str(name).strip()).name for name in names))


def read_seconds(value: Any) -> float:
    """Returns a positive number of seconds; timers take no more than some days."""
    return _number(value, "number of seconds", least=0.001, most=1e6)


def read_jobs(value: Any) -> int:
    """Returns a number of processes; 0 for one a processor."""
    if isinstance(value, bool) or not str(value).isdigit():
        raise ValueError(
            f"{value!r} is not a number of processes: write 4, or 0 for all processors"
        )
    return int(value)


def read_device(value: Any) -> int:
    """Returns the number of a GPU."""
    if isinstance(value, bool) or not str(value).isdigit():
        raise ValueError(f"{value!r} is not a device number: 0, 1, ...")
    return int(value)


def read_ways(value: Any) -> dict[str, float]:
    """Reads `2`, `bank-conflict=2`, or a table of rules; `*` stands for all rules."""
    if isinstance(value, str) and "=" in value:
        rule, _, number = value.partition("=")
        value = {rule.strip(): number}
    table = value if isinstance(value, dict) else {"*": value}
    return {str(rule): _number(ways, "number of ways", least=1) for rule, ways in table.items()}


def read_lists(value: Any) -> dict[str, tuple[str, ...]]:
    """Reads `GLOB:RULE`, or a table from globs to lists of rules."""
    if isinstance(value, str):
        pattern, colon, rule = value.rpartition(":")
        if not colon or not pattern:
            raise ValueError(f"{value!r} names no rule: write GLOB:RULE, e.g. 'tests/*:SML101'")
        value = {pattern: rule}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not a table from globs to rules")
    _require_short(value)
    return {str(pattern): read_list(rules) for pattern, rules in value.items()}


def _number(value: Any, what: str, least: float, most: float = float_info.max) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not least <= number <= most:
        limits = f"at least {least:g}" + (f", at most {most:g}" if most < float_info.max else "")
        raise ValueError(f"{value!r} is not a valid {what}: {limits}")
    return number


NOT_OURS = (
    ".eggs", ".ipynb_checkpoints", ".nox", ".tox", ".venv", "__pycache__", "__pypackages__",
    "_build", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip
"""Folders that hold what others wrote or tools made."""
LEVELS = ("note", "warning", "error")
CERTAINTIES = ("proved", "assumed", "sampled")

GROUPS: dict[str, tuple[Option, ...]] = {
    "kernels": (
        Option("arch", "sm_90", read_arch, "target architecture, or several: sm_80,sm_90", "ARCH"),
        Option("block-dim", None, read_block, "block shape of every kernel, e.g. 32,8", "X,Y,Z"),
        Option("define", {}, read_defines, "define a macro", "NAME[=VALUE]", "D", repeated=True),
        Option("undefine", (), read_list, "a macro that is not defined", "NAME", "U", True),
        Option("include-dir", (), read_list, "where includes are found", "DIR", "I", True,
               is_path=True),
        Option("build-path", "", read_text, "compile_commands.json or its folder; searched upwards "
               "and in build*/ if not given; `none` uses none", "PATH", "p", is_path=True),
        Option("ptx", (), read_list, "compiled code of the kernels, to compare with", "FILE", "",
               True, key=False),
        Option("compile", False, read_bool, "compile the kernels with nvcc, and compare with that",
               key=False),
    ),
    "rules": (
        Option("select", (), read_list, "rules to run: codes, prefixes or names", "RULES",
               repeated=True, commands=("check",)),
        Option("ignore", (), read_list, "rules not to run", "RULES", repeated=True,
               commands=("check",)),
        Option("extend-select", (), read_list, "rules to run besides the selected", "RULES",
               repeated=True, commands=("check",)),
        Option("extend-ignore", (), read_list, "rules not to run, besides the ignored", "RULES",
               repeated=True, commands=("check",)),
        Option("per-file-ignores", {}, read_lists, "rules not to report in some files", "GLOB:RULE",
               repeated=True, commands=("check",)),
        Option("max-ways", {"*": 1.0}, read_ways, "report conflicts only above this many ways",
               "[RULE=]N", repeated=True, commands=("check",)),
        Option("min-certainty", "assumed", one_of(*CERTAINTIES), "report only what is this sure",
               "LEVEL", commands=("check",), choices=CERTAINTIES),
        Option("pedantic", False, read_bool, "the same as --min-certainty sampled",
               commands=("check",)),
        Option("require-reason", False, read_bool, "an ignore pragma without a reason is reported",
               commands=("check",)),
    ),
    "exit code": (
        Option("fail-on", "warning", one_of(*LEVELS, "never"), "least severity that fails the run",
               "LEVEL", commands=("check",), choices=(*LEVELS, "never")),
        Option("exit-zero", False, read_bool, "exit 0 in spite of findings", key=False,
               commands=("check",)),
        Option("strict", False, read_bool, "code that was not analysed fails the run, too",
               commands=("check",)),
    ),
    "known findings": (
        Option("baseline", "", read_text, "findings to leave out: see --write-baseline", "FILE",
               commands=("check",), is_path=True),
    ),
    "fixes": (
        Option("fix", False, read_bool, "apply safe fixes", key=False, commands=("check",)),
        Option("unsafe-fixes", False, read_bool,
               "with --fix or --diff, also apply fixes that change more than the cost",
               commands=("check",)),
        Option("diff", False, read_bool, "print what --fix would change, write nothing", key=False,
               commands=("check",)),
    ),
    "files": (
        Option("exclude", NOT_OURS, read_list, "paths not to look at", "GLOBS", repeated=True),
        Option("extend-exclude", (), read_list, "paths not to look at, besides the excluded",
               "GLOBS", repeated=True),
        Option("force-exclude", False, read_bool, "exclude files that are named, too"),
        Option("respect-gitignore", True, read_bool, "pass over what .gitignore files name",
               denied="look at what .gitignore files name, too"),
    ),
    "time": (
        Option("jobs", 0, read_jobs, "processes; 0 is one a processor", "N", "j", key=False),
        Option("time-limit", 30.0, read_seconds, "work on one file with its includes, in seconds",
               "SECONDS"),
        Option("cache-dir", ".smemlint_cache", read_text, "where results are kept between runs",
               "DIR", commands=("check",), is_path=True),
        Option("no-cache", False, read_bool, "keep and use no results of other runs",
               commands=("check",), key=False),
    ),
    "on a GPU": (
        Option("verify-gpu", "", one_of("patterns", "kernel"), "replay flagged accesses on a GPU; "
               "=kernel compiles and runs the kernels themselves", "MODE", key=False,
               commands=("check",), choices=("patterns", "kernel"), implied="patterns"),
        Option("verify-all", False, read_bool, "replay every decided access, not only flagged ones",
               key=False, commands=("check",)),
        Option("verify-timeout", 120.0, read_seconds, "how long the GPU may take", "SECONDS",
               commands=("check",)),
        Option("device", 0, read_device, "which GPU to verify on, as `nvidia-smi -L` numbers them",
               "N", key=False, commands=("check",)),
    ),
    "output": (
        Option("quiet", False, read_bool, "print findings, and no closing line", short="q",
               key=False),
        Option("show-notes", False, read_bool, "list what was not analysed one by one",
               commands=("check",)),
        Option("statistics", False, read_bool, "count the findings by rule", key=False,
               commands=("check",)),
        Option("color", "auto", one_of("auto", "always", "never"), "colour the output", "WHEN",
               key=False, choices=("auto", "always", "never")),
    ),
}  # fmt: skip
"""The table, by what the options are about; the command line adds `output-format` to it."""
OPTIONS = tuple(option for group in GROUPS.values() for option in group)


def read_swizzles(value: Any) -> dict[str, str]:
    """Reads `{ tile = "3,4,3 bytes" }`."""
    from smemlint.layout.declared import declared_in

    found = read_texts(value)
    for text in found.values():
        declared_in(text)
    return found


def read_preconditions(value: Any) -> tuple[str, ...]:
    """Reads `["K % 8 == 0", "n > 0"]`."""
    from smemlint.config.preconditions import read_precondition

    found = read_list(value)
    for text in found:
        read_precondition(text)
    return found


KERNEL_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "block": (read_block, "its block shape"),
    "template": (read_defines, "values of template parameters, as C++ spells them"),
    "swizzle": (read_swizzles, 'declared swizzles by array, e.g. { tile = "3,4,3 bytes" }'),
    "arguments": (read_numbers, "numbers that it is called with, for --verify-gpu=kernel"),
    "assume": (read_preconditions, 'what holds for its arguments, e.g. ["K % 8 == 0", "n > 0"]'),
}
"""What `[tool.smemlint.kernels.NAME]` may hold."""

FORMATS = {
    "check": ("full", "concise", "json", "sarif", "github", "gitlab", "junit", "html"),
    "analyze": ("table", "json", "html"),
}
FOR_PEOPLE = ("full", "concise", "table")
"""The formats that people read in a terminal; the others are files for tools."""


def option_named(name: str) -> Option | None:
    """Returns the option of that name."""
    return next((o for o in OPTIONS if o.name == name), None)
