"""What a session changes, as a unified diff that `patch -p0` applies."""

from __future__ import annotations

from difflib import unified_diff

from smemlint.fix.apply import Session
from smemlint.visible import inert, visible


def diff(session: Session) -> tuple[bytes, list[str]]:
    """Returns the changes of all files, by path, and the paths of those that `patch` cannot apply.

    Foreign bytes are shown as they are, for a diff is applied. Lines and names that would steer a
    terminal or a CI server have signs instead.
    """
    found = b""
    hostile = []
    for path in sorted(session.after):
        before, after = _lines(session.before[path]), _lines(session.after[path])
        name = inert(visible(path) if "\n" in path or "\t" in path else path)
        is_inert = name == path
        name = f"{name}\t" if " " in name else name  # a tab ends names with blanks, as in git
        for number, line in enumerate(unified_diff(before, after, name, name)):
            body = line.removesuffix("\n")
            shown = inert(body) if number > 1 else body
            is_inert &= shown == body
            found += shown.encode("utf-8", "surrogateescape") + b"\n"
            if body == line:
                found += b"\\ No newline at end of file\n"
        if not is_inert:
            hostile.append(path)
    return found, hostile


def _lines(data: bytes) -> list[str]:
    """Returns lines with their ends; only a line feed ends one, as `patch` counts them."""
    text = data.decode("utf-8", "surrogateescape")
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])
