"""A progress bar on the terminal, for runs that take a while."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from smemlint.visible import visible

_SILENT_SECONDS = 1.0
_WIDTH = 30
_COLUMNS = 80
"""Of a terminal that does not say how wide it is."""


class Progress:
    """Counts what is done; draws only on a terminal, and only when the run is long.

    Args:
        total: how much there is.
        stream: where to draw; standard error unless given.
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        can_erase = os.environ.get("TERM") != "dumb"
        self._is_shown = total > 0 and can_erase and self._stream.isatty()
        self._since = time.monotonic()
        self._done = 0
        self._drawn = False

    def step(self, what: str) -> None:
        """One more is done: `what`."""
        self._done += 1
        if not self._is_shown or time.monotonic() - self._since < _SILENT_SECONDS:
            return
        bar = "#" * (_WIDTH * self._done // self._total)
        text = f"[{bar:{_WIDTH}}] {self._done}/{self._total} "
        self._stream.write(f"\r\x1b[K{text}{_end_of(what, self._columns() - len(text) - 1)}")
        self._stream.flush()
        self._drawn = True

    def close(self) -> None:
        """Takes the bar away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS


def _end_of(name: str, columns: int) -> str:
    """As much of the name's end as fits: a line that wraps could not be erased."""
    shown = visible(name, unicode=False).replace("\t", "?")
    fits = max(columns, 0) if shown.isascii() else max(columns, 0) // 2  # a character may take two
    return shown[len(shown) - min(fits, len(shown)) :]
