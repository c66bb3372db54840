"""A translation unit without what its compiler rejects: host code of libraries that are not here."""

from __future__ import annotations

import re
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]* | /\*.*?\*/ | R"\((?:.*?)\)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
        | ^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<open>(?:\bnamespace\b[^;{}()=]*|\bextern\s*"C"\s*)\{)
      | (?P<mark>[{};])""",
    re.X | re.S | re.M,
)
_LINE = r"(?:{0}(?:\((\d+)\): (?:catastrophic )?error|:(\d+):\d+: error)|at line (\d+) of \"?{0})"
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)


def declarations(text: str) -> list[tuple[int, int]]:
    """Returns where the declarations at file and namespace scope begin and end."""
    found: list[tuple[int, int]] = []
    depth = start = 0
    spaces: list[int] = []
    for match in _TOKEN.finditer(text):
        if match["skip"]:
            continue
        if match["open"]:
            if depth == len(spaces):
                spaces.append(depth)
                start = match.end()
            depth += 1
            continue
        mark = match["mark"]
        depth = max(
            depth + (mark == "{") - (mark == "}"), 0
        )  # headers may close more than they open
        if mark == "}" and spaces and depth < len(spaces):
            spaces.pop()
            start = match.end()
        elif mark != "{" and depth == len(spaces):
            found.append((start, match.end()))
            start = match.end()
    return found


def without(text: str, lines: set[int], spared: re.Pattern[str] | None = None) -> str:
    """Returns a text without the declarations on these lines; all others keep their lines.

    Args:
        text: C++.
        lines: from 1.
        spared: found in declarations that stay.
    """
    ends = [0, *(m.end() for m in re.finditer("\n", text)), len(text)]
    places = {n: (a, b) for n, (a, b) in enumerate(pairwise(ends), start=1)}
    parts: list[str] = []
    done = 0
    for start, end in declarations(text):
        if spared is not None and spared.search(text, start, end):
            continue
        if any(places[n][0] < end and start < places[n][1] for n in lines if n in places):
            parts += [text[done:start], _blank(text[start:end])]
            done = end
    return "".join([*parts, text[done:]])


def rejected_lines(log: str, path: str) -> set[int]:
    """Returns the lines of a file that nvcc reports errors on."""
    found = re.findall(_LINE.format(re.escape(path)), log)
    return {int(number) for numbers in found for number in numbers if number}


def _blank(text: str) -> str:
    """Returns the line ends and the directives of a text."""
    kept = {m.start(): m[0] for m in _DIRECTIVE.finditer(text)}
    parts, done = [], 0
    for start, directive in kept.items():
        parts += ["\n" * text.count("\n", done, start), directive]
        done = start + len(directive)
    return "".join([*parts, "\n" * text.count("\n", done)])
