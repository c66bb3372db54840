"""A progress bar on the terminal, for runs that take a while."""

from __future__ import annotations

import os
import sys
import threading
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
        what: what is done to each, in front of its name; empty where that is clear.
    """

    def __init__(self, total: int, stream: TextIO | None = None, what: str = "") -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._what = f"{what} " if what else ""
        can_erase = os.environ.get("TERM") != "dumb"
        self._is_shown = total > 0 and can_erase and self._stream.isatty()
        self._since = time.monotonic()
        self._done = 0
        self._drawn = self._is_closed = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def begin(self, name: str) -> None:
        """Shows what begins next in this process while it runs, if it runs long."""
        self._forget_timer()
        if not self._is_shown:
            return
        left = _SILENT_SECONDS - (time.monotonic() - self._since)
        if left <= 0:
            self._draw(name)
            return
        self._timer = threading.Timer(left, self._draw, (name,))
        self._timer.daemon = True
        self._timer.start()

    def wait(self) -> None:
        """Shows the bar once the run is long, though nothing was done since."""
        if not self._drawn and time.monotonic() - self._since >= _SILENT_SECONDS:
            self._draw("")

    def step(self, name: str) -> None:
        """Counts one more as done."""
        self._forget_timer()
        self._done += 1
        if time.monotonic() - self._since >= _SILENT_SECONDS:
            self._draw(name)

    def close(self) -> None:
        """Takes the bar away."""
        self._forget_timer()
        with self._lock:
            self._is_closed = True
            if self._drawn:
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    def _draw(self, name: str) -> None:
        with self._lock:
            if not self._is_shown or self._is_closed:
                return
            bar = "#" * (_WIDTH * self._done // self._total)
            text = f"[{bar:{_WIDTH}}] {self._done}/{self._total} {self._what}"
            self._stream.write(f"\r\x1b[K{text}{_end_of(name, self._columns() - len(text) - 1)}")
            self._stream.flush()
            self._drawn = True

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS


def _end_of(name: str, columns: int) -> str:
    """Returns as much of the name's end as fits: a line that wraps could not be erased."""
    shown = visible(name, unicode=False).replace("\t", "?")
    fits = max(columns, 0) if shown.isascii() else max(columns, 0) // 2  # a character may take two
    return shown[len(shown) - min(fits, len(shown)) :]
