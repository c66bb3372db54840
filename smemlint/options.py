"""Every setting once: the command line, the configuration files and the help come from this table.

An option is one row. `kind` says how its text is read, `commands` where it is a flag, `key` whether
configuration files may set it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        name: as in configuration files, with dashes; `--name` on the command line.
        default: its value when nothing sets it.
        read: text or TOML value -> value; raises ValueError with what is wrong.
        help: one line.
        metavar: placeholder in help; empty for a switch.
        short: a one-letter flag.
        repeated: may be given more than once; values add up.
        key: configuration files may set it.
        commands: sub-commands that have the flag.
        choices: the values there are.
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

    @property
    def attribute(self) -> str:
        """Its name in `Settings`."""
        return self.name.replace("-", "_")


def read_block(value: Any) -> Block:
    """`32,8`, `32x8x1` or `[32, 8]` as a block shape."""
    parts = value.replace("x", ",").split(",") if isinstance(value, str) else value
    if isinstance(parts, int):
        parts = [parts]
    try:
        dims = [int(str(p).strip(" ()")) for p in parts]
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} is no block shape: write 256, or 32,8") from None
    dims += [1] * (3 - len(dims))
    if len(dims) != 3 or min(dims) < 1 or dims[0] * dims[1] * dims[2] > 1024:
        raise ValueError(f"{value!r} is no block shape: one to three numbers, at most 1024 threads")
    return dims[0], dims[1], dims[2]


def read_bool(value: Any) -> bool:
    """A switch."""
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError(f"{value!r} is not true or false")


def read_text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def read_list(value: Any) -> tuple[str, ...]:
    """`a,b` or `["a", "b"]`."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(i, str) for i in items):
        raise ValueError(f"{value!r} is not a list of strings")
    return tuple(i.strip() for i in items if i.strip())


def read_defines(value: Any) -> dict[str, str]:
    """`NAME`, `NAME=VALUE`, or a table."""
    if isinstance(value, dict):
        return {str(k): _macro_text(v) for k, v in value.items()}
    found = {}
    for item in [value] if isinstance(value, str) else value:
        name, _, text = str(item).partition("=")
        if not name.replace("_", "a").isalnum() or name[:1].isdigit():
            raise ValueError(f"{item!r} is no macro: write NAME or NAME=VALUE")
        found[name] = text if "=" in str(item) else "1"
    return found


def _macro_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def one_of(*choices: str) -> Callable[[Any], str]:
    """A reader of one of some words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return read


def read_arch(value: Any) -> str:
    """A target like `sm_90`."""
    from smemlint.hardware.arch import architecture

    return architecture(str(value)).name


LEVELS = ("note", "warning", "error")

OPTIONS: tuple[Option, ...] = (
    Option("arch", "sm_90", read_arch, "target architecture", "ARCH"),
    Option("block-dim", None, read_block, "block shape of every kernel, e.g. 32,8", "X,Y,Z"),
    Option("define", {}, read_defines, "define a macro", "NAME[=VALUE]", "D", repeated=True),
    Option("undefine", (), read_list, "a macro that is not defined", "NAME", "U", True),
    Option("include-dir", (), read_list, "where quoted includes are found", "DIR", "I", True),
    Option("select", (), read_list, "rules to run: codes, prefixes or names", "RULES",
           repeated=True, commands=("check",)),
    Option("ignore", (), read_list, "rules not to run", "RULES", repeated=True,
           commands=("check",)),
    Option("extend-select", (), read_list, "rules to run besides the selected", "RULES",
           repeated=True, commands=("check",)),
    Option("max-ways", 1.0, float, "report conflicts only above this many ways", "N",
           commands=("check",)),
    Option("fail-on", "warning", one_of(*LEVELS, "never"), "least severity that fails the run",
           "LEVEL", commands=("check",), choices=(*LEVELS, "never")),
    Option("exit-zero", False, read_bool, "exit 0 in spite of findings", key=False,
           commands=("check",)),
    Option("pedantic", False, read_bool, "also report what is only sampled", commands=("check",)),
    Option("exclude", (), read_list, "paths not to look at", "GLOBS", repeated=True),
    Option("force-exclude", False, read_bool, "exclude files that are named, too"),
    Option("statistics", False, read_bool, "count the findings by rule", key=False,
           commands=("check",)),
    Option("color", "auto", one_of("auto", "always", "never"), "colour the output", "WHEN",
           key=False, choices=("auto", "always", "never")),
)  # fmt: skip
"""The table. `output-format` differs by command and is added by the command line."""

FORMATS = {
    "check": ("full", "concise", "json", "sarif", "github", "gitlab", "junit", "html"),
    "analyze": ("table", "json"),
}
FOR_PEOPLE = ("full", "concise", "table")
"""The formats that people read in a terminal; the others are files for tools."""


def option_named(name: str) -> Option | None:
    """The option of that name."""
    return next((o for o in OPTIONS if o.name == name), None)
