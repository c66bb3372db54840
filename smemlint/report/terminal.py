"""What a terminal can show: colour, glyphs, width."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from smemlint.lazy_dataclasses import dataclass
from smemlint.visible import visible

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
SEVERITY_COLOURS = {"note": "cyan", "warning": "yellow", "error": "red"}
_FALSE = ("", "0", "false", "no")


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to write to one stream.

    Attributes:
        colour: escape sequences are wanted.
        unicode: block glyphs can be written.
        width: columns to wrap text at; 0 where lines are left whole, since no person reads them in
            a window.
    """

    colour: bool = False
    unicode: bool = True
    width: int = 0

    def paint(self, text: str, *styles: str) -> str:
        """Returns the text in bold, red, ..., where colour is wanted."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[s] for s in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def visible(self, text: str) -> str:
        """Returns the text with a sign in place of each control character but the tab.

        Linted text must not be able to steer the reader's terminal.
        """
        return visible(text, unicode=self.unicode)


def terminal(
    color: str = "auto", stream: TextIO | None = None, env: Mapping[str, str] | None = None
) -> Terminal:
    """Returns the terminal behind a stream.

    Args:
        color: `always`, `never`, or `auto`: what the environment and the stream say.
        stream: standard output by default.
        env: environment variables; the process's by default.
    """
    stream = stream or sys.stdout
    env = os.environ if env is None else env
    is_window = stream.isatty()
    colour = color == "always" or (color == "auto" and _wants_colour(env, is_window))
    encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "").replace("_", "")
    return Terminal(colour, encoding.startswith("utf"), _columns(env, stream) if is_window else 0)


def _wants_colour(env: Mapping[str, str], is_window: bool) -> bool:
    """Returns whether to colour: by no-color.org, what forces it, bixense.com/clicolors."""
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "").lower() not in _FALSE for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_window and env.get("CLICOLOR") != "0" and env.get("TERM") != "dumb"


def _columns(env: Mapping[str, str], stream: TextIO) -> int:
    """Returns columns of the window, at least 60: narrower wrapped text is hard to read."""
    given = env.get("COLUMNS", "")
    if given.isdecimal():
        return max(int(given), 60)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns, 60)
    except (OSError, ValueError):
        return 80
