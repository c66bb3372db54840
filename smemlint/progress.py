"""A progress bar on the terminal, for runs that take a while."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_SILENT_SECONDS = 1.0
_WIDTH = 30


class Progress:
    """Counts what is done; draws only on a terminal, and only when the run is long.

    Args:
        total: how much there is.
        stream: where to draw; standard error unless given.
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._is_shown = total > 0 and self._stream.isatty()
        self._since = time.monotonic()
        self._done = 0
        self._drawn = False

    def step(self, what: str) -> None:
        """One more is done: `what`."""
        self._done += 1
        if not self._is_shown or time.monotonic() - self._since < _SILENT_SECONDS:
            return
        bar = "#" * (_WIDTH * self._done // self._total)
        name = "".join(c if c.isprintable() else "?" for c in what)[-40:]
        self._stream.write(f"\r\x1b[K[{bar:{_WIDTH}}] {self._done}/{self._total} {name}")
        self._stream.flush()
        self._drawn = True

    def close(self) -> None:
        """Takes the bar away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
