"""Where reports go: standard output, or the file of `--output-file`."""

from __future__ import annotations

import sys
from pathlib import Path

from smemlint.errors import SmemlintError


def write(text: str, output_file: str | None) -> None:
    """Writes a report and a line end; nothing to standard output when it is empty.

    Raises:
        SmemlintError: the file cannot be written.
    """
    if output_file:
        try:
            Path(output_file).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SmemlintError(
                f"cannot be written: {error.strerror}", where=output_file
            ) from error
    elif text:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()
