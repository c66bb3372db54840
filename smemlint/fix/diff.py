"""What a session changes, as a unified diff that `patch -p0` applies."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.fix.apply import Session


def diff(session: Session) -> bytes:
    """The changes of all files, by path; foreign bytes are shown as they are."""
    found = b""
    for path in sorted(session.after):
        before, after = _lines(session.before[path]), _lines(session.after[path])
        name = f"{path}\t" if " " in path else path  # a tab ends names with blanks, as in git
        for line in unified_diff(before, after, name, name):
            found += line.encode("utf-8", "surrogateescape")
            if not line.endswith("\n"):
                found += b"\n\\ No newline at end of file\n"
    return found


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; only a line feed ends one, as `patch` counts them."""
    text = data.decode("utf-8", "surrogateescape")
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])
