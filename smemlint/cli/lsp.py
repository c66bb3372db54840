"""`smemlint lsp`: serve an editor over standard input and output."""

from __future__ import annotations

import argparse
import sys

from smemlint.errors import SmemlintError
from smemlint.limits.budgets import MAX_LSP_HEADER


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    command.add_argument("--stdio", action="store_true", help="the default; some clients say it")
    command.add_argument("--debug", action="store_true", help="log all messages to standard error")
    command.add_argument(
        "--triton-cache",
        nargs="?",
        const="",
        metavar="DIR",
        help="show on Triton kernels what their compiled code does, out of this folder (default:"
        " where Triton caches)",
    )
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
        missing = SmemlintError(
            f"the language server needs `{error.name}`", hint="pip install 'smemlint[lsp]'"
        )
        if not sys.stdin.isatty():
            _refuse(f"smemlint: {missing}")
        raise missing from error
    return serve(debug=arguments.debug, triton_cache=arguments.triton_cache)


def _refuse(why: str) -> None:
    """Answers the client's first request with an error: it would hide standard error in a log."""
    import json

    lines = iter(lambda: sys.stdin.buffer.readline(MAX_LSP_HEADER).strip(), b"")
    headers = {name.lower(): value for name, _, value in (line.partition(b":") for line in lines)}
    try:
        request = json.loads(sys.stdin.buffer.read(int(headers.get(b"content-length", 0))))
        answer = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32803, "message": why}}
    except (ValueError, TypeError, KeyError):
        return  # no client
    body = json.dumps(answer).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()
