"""Source files: read when asked for, decoded without loss of position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

MAX_BYTES = 8 << 20
"""Larger files are not analysed, which is said."""


_REPLACEMENTS = dict.fromkeys(range(0xDC80, 0xDD00), 0xFFFD)


@dataclass(eq=False)
class Source:
    """A file of the run.

    Attributes:
        path: as given, with forward slashes.
        given: its text or bytes, of standard input or with edits; None to read the file.
        problem: why it cannot be analysed; empty when it can.
    """

    path: str
    given: str | bytes | None = None
    problem: str = ""

    @cached_property
    def text(self) -> str:
        """The text; empty when the file cannot be read, with `problem` set.

        Every byte that is not UTF-8 is replaced by one character, so that edits find their place.
        """
        if isinstance(self.given, str):
            return self.given
        try:
            if self.given is None:
                with Path(self.path).open("rb") as file:
                    data = file.read(MAX_BYTES + 1)
            else:
                data = self.given
        except OSError as error:
            self.problem = f"cannot be read: {error.strerror or error}"
            return ""
        if len(data) > MAX_BYTES:
            self.problem = f"larger than {MAX_BYTES >> 20} MiB"
            return ""
        if b"\0" in data[:8192]:
            self.problem = "binary"
            return ""
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.problem = f"not UTF-8 at byte {error.start}: read with replacement characters"
            return data.decode("utf-8-sig", "surrogateescape").translate(_REPLACEMENTS)


@lru_cache(maxsize=4)  # each finding of a file asks for its lines
def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text as spans count them: LF, CR LF or CR ends one, a form feed does not."""
    return tuple(re.split(r"\r\n?|\n", text))
