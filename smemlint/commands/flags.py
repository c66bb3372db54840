"""Flags that commands share: those of the option table, the inputs and the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smemlint.options import FORMATS, OPTIONS

if TYPE_CHECKING:
    import argparse


def add_flags(command: argparse.ArgumentParser, name: str) -> None:
    """Adds paths, the options of the table that belong to the command, and the output's flags."""
    command.add_argument(
        "paths",
        nargs="*",
        default=[],
        metavar="PATH",
        help="files and directories, or - for standard input; default: .",
    )
    _add_options(command, name)
    formats = FORMATS[name]
    command.add_argument("--output-format", choices=formats, default=formats[0], help="the report")
    command.add_argument("--output-file", metavar="FILE", help="write the report there")
    command.add_argument("--stdin-filename", metavar="PATH",
                         help="read standard input and call it this")  # fmt: skip
    command.add_argument("--config", action="append", default=[], metavar="FILE|KEY=VALUE",
                         help="a configuration file to use, or one setting")  # fmt: skip
    command.add_argument("--isolated", action="store_true", help="read no configuration file")
    command.add_argument("--show-settings", action="store_true", help="print the settings and stop")
    command.add_argument("--show-files", action="store_true", help="print the files and stop")
    command.add_argument("--debug", action="store_true", help="show tracebacks")


def _add_options(command: argparse.ArgumentParser, name: str) -> None:
    for option in OPTIONS:
        if name not in option.commands:
            continue
        flags = [f"-{option.short}"] if option.short else []
        flags.append(f"--{option.name}")
        extra: dict[str, Any] = {"dest": option.attribute, "default": None, "help": option.help}
        if not option.metavar and option.default is False:
            extra.update(action="store_const", const=True)
        elif not option.metavar:
            extra.update(action="store_const", const=False)
            flags[-1] = f"--no-{option.name}"
            extra["help"] = f"do not: {option.help}"
        elif option.repeated:
            extra.update(action="append", metavar=option.metavar)
        else:
            extra.update(metavar=option.metavar or None, choices=option.choices or None)
            if option.implied:
                extra.update(nargs="?", const=option.implied)
        command.add_argument(*flags, **extra)
