"""`smemlint lsp`: serve an editor over standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.errors import SmemlintError

if TYPE_CHECKING:
    import argparse


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    command.add_argument("--stdio", action="store_true", help="the default; some clients say it")
    command.add_argument("--debug", action="store_true", help="log all messages to standard error")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until the client says exit or goes away.

    Raises:
        SmemlintError: pygls is not installed.
    """
    try:
        from smemlint.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise SmemlintError(
            f"the language server needs `{error.name}`", hint="pip install 'smemlint[lsp]'"
        ) from error
    return serve(debug=arguments.debug)
