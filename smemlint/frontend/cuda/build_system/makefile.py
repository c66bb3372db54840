"""What a Makefile beside a source says of every build: `CFLAGS := -Dreal=double -I../inc`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from smemlint.lazy_patterns import pattern

NAMES = ("GNUmakefile", "makefile", "Makefile")
"""Where make looks, in its order."""

_ASSIGNMENT = pattern(
    r"(?:override\s+|export\s+)?[A-Za-z_][\w.]*\s*(?:\?|\+|:{1,3})?=(.*)", re.DOTALL
)
_DEFINE = pattern(r"(?<!\S)-D\s*([A-Za-z_]\w*)(=\S*)?")
_FOLDER = pattern(r"(?<!\S)-I\s*([\w./+-]+)(?!\S)")
_PLAIN = pattern(r"[\w.+-]*")
_OPENS = ("ifeq", "ifneq", "ifdef", "ifndef")


@lru_cache(64)
def macros_of(makefile: str) -> Mapping[str, str]:
    """Returns name -> replacement text of each `-D` in a variable that no condition encloses.

    Values that make would have to compute, and names with two values, are left out: those builds
    differ.
    """
    found: dict[str, set[str]] = {}
    for text in _assigned(makefile):
        for name, value in _DEFINE.findall(text):
            found.setdefault(name, set()).add(value[1:] if value else "1")
    return {
        name: value
        for name, values in found.items()
        for value in values
        if len(values) == 1 and _PLAIN.fullmatch(value)
    }


@lru_cache(64)
def folders_of(makefile: str) -> tuple[str, ...]:
    """Returns the include folders of all its commands that are spelled out."""
    return tuple(dict.fromkeys(_FOLDER.findall(makefile)))


def _assigned(makefile: str) -> Iterator[str]:
    """Yields what is assigned outside of conditionals and recipes, without comments."""
    depth = 0
    for line in makefile.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if word.startswith(_OPENS):
            depth += 1
        elif word == "endif":
            depth -= 1
        elif depth == 0 and not line.startswith("\t"):
            match = _ASSIGNMENT.match(line.split("#")[0])
            if match is not None:
                yield match[1]
