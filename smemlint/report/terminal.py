"""Colour and glyphs: what a terminal can show."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to write to one stream.

    Attributes:
        colour: escape sequences are wanted.
        unicode: block glyphs can be written.
    """

    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, *styles: str) -> str:
        """The text in bold, red, ..., where colour is wanted."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[s] for s in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"


def terminal(color: str = "auto", stream: TextIO | None = None) -> Terminal:
    """The terminal of a stream; `auto` honours NO_COLOR, FORCE_COLOR and whether it is one."""
    stream = stream or sys.stdout
    wanted = color == "always"
    if color == "auto":
        forced = bool(os.environ.get("FORCE_COLOR"))
        wanted = not os.environ.get("NO_COLOR") and (forced or stream.isatty())
    encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
    return Terminal(wanted, encoding.startswith("utf"))
