"""The command line: finds the command, runs it, and prints errors as messages."""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from smemlint import __version__
from smemlint.cli import COMMANDS
from smemlint.errors import FAILED, TERMINATED, SmemlintError, code_of_interruption, suggestion
from smemlint.limits.errors import LimitReached
from smemlint.visible import print_lines

_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Of an error that names no file: what was printed does not go out."""
_INVALID = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)")
_COLLECT_AFTER = 500_000
"""New objects after which garbage is collected: most stay, and are searched for nothing.

On four units of ggml-org/ggml 50,000 took 2.4 s of 24 s, and a million 0.8 s with 60 MB more.
"""
_OVER_FILES = ("check", "analyze")
_OF_NO_COMMAND = ("-h", "--help", "--version")
_IMPLIED = {"--verify-gpu": "--verify-gpu=patterns", "--add-ignore": "--add-ignore="}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code and never shows a traceback."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever runs this
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123
    if "_ARGCOMPLETE" in os.environ:
        _complete()
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # what is left at the exit is not searched for garbage either
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that none needs
    given = _command_first(_with_implied(sys.argv[1:] if argv is None else argv))
    parser = _parser(next((a for a in given if not a.startswith("-")), ""))
    arguments, unknown = parser.parse_known_args(given)
    if unknown:
        return _refused(parser, arguments.command, unknown[0])
    if getattr(arguments, "debug", False):
        _show_tracebacks()
    try:
        with _interruptible(arguments.command):
            code = int(arguments.run(arguments))
        sys.stdout.flush()  # what cannot be written is known here, not at the exit
        return code
    except SmemlintError as error:
        print_lines(*f"smemlint: error: {error}".split("\n"))
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt as stop:
        print_lines("smemlint: interrupted")
        return code_of_interruption(stop)
    except LimitReached as stopped:
        print_lines(f"smemlint: error: {stopped}")
    except Exception as error:
        if getattr(arguments, "debug", False):
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _OF_OUTPUT:
            purpose = f"standard output: cannot be written: {error.strerror}"
            print_lines(f"smemlint: error: {purpose}")
            sys.stdout = None  # it would be tried again at the exit
            return FAILED
        what = f"{type(error).__name__}: {error}"
        hint = "  hint: run again with --debug and report what it prints"
        print_lines(f"smemlint: internal error: {what}", hint)
    return FAILED


@contextmanager
def _interruptible(command: str) -> Iterator[None]:
    """Lets SIGTERM, as of `timeout` and CI, end a run over files as Ctrl-C does."""
    received: list[int] = []

    def interrupt(number: int, _: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # `timeout` sends it twice
        received.append(number)
        raise KeyboardInterrupt(TERMINATED)

    if command not in _OVER_FILES or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    with suppress(ValueError):  # of threads that are not the main one
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        if not received:
            with suppress(ValueError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _show_tracebacks() -> None:
    """Sends what is logged of internal errors, which cost a file only, to standard error."""
    import logging

    logger = logging.getLogger("smemlint")
    logger.handlers = [logging.StreamHandler()]
    logger.setLevel(logging.DEBUG)


def _with_implied(argv: Sequence[str]) -> list[str]:
    """Returns the arguments with the values that bare flags imply."""
    return [_IMPLIED.get(argument, argument) for argument in argv]


def _command_first(argv: list[str]) -> list[str]:
    """Returns the arguments with options that stand before the command behind it."""
    at = next((k for k, argument in enumerate(argv) if argument in COMMANDS), 0)
    if at == 0 or not argv[0].startswith("-") or argv[0] in _OF_NO_COMMAND:
        return argv
    return [argv[at], *argv[:at], *argv[at + 1 :]]


def _refused(parser: argparse.ArgumentParser, command: str, argument: str) -> int:
    """Says that an argument is unknown, and which option is meant."""
    name = argument.partition("=")[0]
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    known = [flag for flag in commands.choices[command]._option_string_actions if flag[:2] == "--"]
    hint = f"  hint: {suggestion(name, known, 'options', where=f'smemlint {command} --help')}"
    print_lines(f"smemlint {command}: error: unknown argument `{name}`", hint)
    return FAILED


def _complete() -> None:
    """Answers a shell that asks how a command line may go on, and ends the process."""
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    argcomplete.autocomplete(_parser(words[1] if len(words) > 1 else ""))


def _parser(expected: str) -> argparse.ArgumentParser:
    """Returns the parser of all commands, and of what the wanted one takes."""
    parser = _Parser(
        prog="smemlint", description="What shared-memory accesses of GPU kernels cost, from source."
    )
    parser.add_argument("--version", action="version", version=f"smemlint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose)
        if name == expected:
            import_module(f"smemlint.cli.{name}").add_arguments(command)
    return parser


@cache
def _columns() -> int:
    """Returns the terminal's width as `shutil` has it, which loads decompressors for nothing."""
    with suppress(KeyError, ValueError):
        if (columns := int(os.environ["COLUMNS"])) > 0:
            return columns
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    return 80


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=_columns() - 2)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in the words of the other errors; options are never abbreviated."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_formatter, **given)

    def error(self, message: str) -> NoReturn:
        """Ends the process."""
        hint = f"{self.prog} --help"
        found = _INVALID.fullmatch(message)
        if found is not None:
            where, word, choices = found.groups()
            message = f"{where}: there is no `{word}`"
            hint = suggestion(word, choices.replace("'", "").split(", "), "there are")
        self.exit(FAILED, f"{self.prog}: error: {message}\n  hint: {hint}\n")
