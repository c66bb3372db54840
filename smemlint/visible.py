"""The gate for text that a stranger may have written: sources, names of files, configurations.

Terminals obey control characters, and readers those that reverse text; GitHub Actions, Azure
Pipelines and TeamCity obey commands in whatever a step prints. Nothing that is linted may give such
orders. `visible` is for one piece of text, `without_commands` for lines that are put together,
`print_lines` prints what is not a report, and `inert` is for lines that `patch` reads.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

from smemlint.lazy_patterns import pattern

_COMMANDS = (
    "add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|internal-set-repo-path|notice|"
    "remove-matcher|save-state|set-env|set-output|stop-commands|warning"
)
_WORKFLOW_COMMAND = pattern(
    rf"^(\s*)::(?=(?:{_COMMANDS})\b)|(##)(?=(?:vso|teamcity)?\[)", re.IGNORECASE | re.MULTILINE
)
"""As `ActionCommand.cs` of actions/runner reads them: at a line's start; the old form anywhere."""
_STEERING = pattern(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)


def visible(text: str, *, unicode: bool = True) -> str:
    """Returns the text on one line, with a sign for each character but the tab that has no glyph.

    Args:
        text: controls, line ends, bidirectional controls and lone surrogates are replaced.
        unicode: signs such as U+241B may be written; else each is a question mark.
    """
    if text.isprintable():
        return text
    return "".join(c if c == "\t" or c.isprintable() else _sign(c, unicode) for c in text)


def _sign(character: str, unicode: bool) -> str:
    code = ord(character)
    if not unicode:
        return "?"
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def without_commands(text: str, *, unicode: bool = True) -> str:
    """Returns lines in which no CI server finds a command: one sign stands for its `::`."""
    colons, hashes = ("\u2237", "#\ufffd") if unicode else ("??", "#?")
    return _WORKFLOW_COMMAND.sub(lambda m: hashes if m[2] else f"{m[1]}{colons}", text)


def inert(line: str) -> str:
    """Returns a line of a diff that steers nothing; ordinary lines, of any encoding, as they are.

    Args:
        line: without its line feed; a carriage return that ended it stays.
    """
    end = "\r" if line.endswith("\r") else ""
    body = line.removesuffix("\r")
    return without_commands(_STEERING.sub(lambda m: _sign(m[0], True), body)) + end


def print_lines(*lines: str, stream: TextIO | None = None) -> None:
    """Prints lines, each of them one line whatever it holds, to standard error by default."""
    stream = stream or sys.stderr
    encoding = getattr(stream, "encoding", None) or "utf-8"
    is_unicode = encoding.lower().replace("-", "").startswith("utf")
    for line in lines:
        text = without_commands(visible(line, unicode=is_unicode), unicode=is_unicode)
        print(text.encode(encoding, "replace").decode(encoding), file=stream)
