"""Flags that commands share: those of the option table, the inputs and the output."""

from __future__ import annotations

import argparse
from typing import Any

from smemlint.config.options import FORMATS, GROUPS, Option


def add_flags(command: argparse.ArgumentParser, name: str) -> dict[str, argparse._ArgumentGroup]:
    """Adds paths, options of the table and the output's flags; returns the groups of the help."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    command.usage = f"smemlint {name} [OPTION ...] [PATH ...]"
    paths = "files and directories, or - for standard input (default: .)"
    command.add_argument("paths", nargs="*", default=[], metavar="PATH", help=paths)
    for title, options in GROUPS.items():
        belonging = [option for option in options if name in option.commands]
        if belonging:
            groups[title] = command.add_argument_group(title)
            for option in belonging:
                _add(groups[title], option)
    _add_output(groups["output"], FORMATS[name])
    groups["files"].add_argument("--stdin-filename", metavar="PATH",
                                 help="read standard input and call it this")  # fmt: skip
    group = command.add_argument_group("configuration")
    group.add_argument("--config", action="append", default=[], metavar="FILE|KEY=VALUE",
                       help="a configuration file to use, or one setting")  # fmt: skip
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    group.add_argument("--show-settings", action="store_true", help="print the settings and stop")
    group.add_argument("--show-files", action="store_true", help="print the files and stop")
    return groups


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    flags = [f"-{option.short}"] if option.short else []
    flags.append(f"--{option.name}")
    extra: dict[str, Any] = {"dest": option.attribute, "default": None, "help": _help(option)}
    if not option.metavar and option.default is False:
        extra.update(action="store_const", const=True)
    elif not option.metavar:
        extra.update(action="store_const", const=False)
        flags[-1] = f"--no-{option.name}"
    elif option.repeated:
        extra.update(action="append", metavar=option.metavar)
    else:
        extra.update(metavar=option.metavar or None, choices=option.choices or None)
        if option.implied:
            extra.update(nargs="?", const=option.implied)
    group.add_argument(*flags, **extra)


def _help(option: Option) -> str:
    """Returns the help line with the choices and the default, where one word says it."""
    text = option.denied or option.help
    if option.choices and not option.implied:
        text += f": {', '.join(option.choices)}"
    has_default = isinstance(option.default, str | int | float) and option.metavar
    if has_default and option.default not in ("", 0):
        default = f"{option.default:g}" if isinstance(option.default, float) else option.default
        text += f" (default: {default})"
    return text


def _add_output(group: argparse._ArgumentGroup, formats: tuple[str, ...]) -> None:
    group.add_argument("--output-format", choices=formats, default=formats[0], metavar="FORMAT",
                       help=f"{', '.join(formats)} (default: {formats[0]})")  # fmt: skip
    group.add_argument("--output-file", metavar="FILE", help="write the report there")
    group.add_argument("--debug", action="store_true", help="show tracebacks of internal errors")
