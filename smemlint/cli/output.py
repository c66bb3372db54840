"""Where reports go: standard output, or the file of `--output-file`."""

from __future__ import annotations

import sys
from typing import TextIO

from smemlint.errors import SmemlintError
from smemlint.files.replace import replace_file
from smemlint.visible import without_commands


def write(
    text: str, output_file: str | None, stream: TextIO | None = None, *, is_for_tools: bool = False
) -> None:
    """Writes a report and a line end to a file or a stream; nothing when it is empty.

    Files, and what tools read, are UTF-8; people get what their terminal can show. A character that
    cannot be written, such as a byte of a path that is no UTF-8, becomes a question mark.

    Args:
        text: the report, without its last line end.
        output_file: where it goes; None or empty for a stream.
        stream: where it goes without a file; standard output by default.
        is_for_tools: tools read it, not people.

    Raises:
        SmemlintError: the file or standard output cannot be written.
    """
    if output_file:
        try:
            replace_file(output_file, _encoded(text, "utf-8"))
        except OSError as error:
            raise SmemlintError(
                f"cannot be written: {error.strerror}", where=output_file
            ) from error
    elif text:
        try:
            _print(text, stream or sys.stdout, is_for_tools=is_for_tools)
        except BrokenPipeError:
            raise  # whoever reads has seen enough
        except OSError as error:
            message = f"cannot be written: {error.strerror}"
            raise SmemlintError(message, where="standard output") from error


def _print(text: str, out: TextIO, *, is_for_tools: bool) -> None:
    if is_for_tools:
        out.flush()
        out.buffer.write(_encoded(text, "utf-8"))
    else:
        encoding = out.encoding or "utf-8"
        is_unicode = encoding.lower().replace("-", "").startswith("utf")
        text = without_commands(text, unicode=is_unicode)
        out.write(_encoded(text, encoding).decode(encoding))
    out.flush()


def _encoded(text: str, encoding: str) -> bytes:
    return f"{text}\n".encode(encoding, "replace") if text else b""
