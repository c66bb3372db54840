"""The command line: finds the command, runs it, and turns errors into messages."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from smemlint import __version__
from smemlint.commands import FAILED, analyze, check, config, lsp, rule, swizzle
from smemlint.errors import SmemlintError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (check, analyze, rule, config, swizzle, lsp)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code and never shows a traceback."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SmemlintError as error:
        print(f"smemlint: error: {error}", file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt:
        print("smemlint: interrupted", file=sys.stderr)
    except Exception as error:
        if getattr(arguments, "debug", False):
            raise
        what = f"{type(error).__name__}: {error}"
        print(f"smemlint: internal error: {what}", file=sys.stderr)
        print("  hint: run again with --debug and report what it prints", file=sys.stderr)
    return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemlint", description="What shared-memory accesses of GPU kernels cost, from source."
    )
    parser.add_argument("--version", action="version", version=f"smemlint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
