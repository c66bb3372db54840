"""Pragmas in comments: `// smemlint: ignore[bank-conflict] why`, `launch(block=(32, 8))`.

One parser serves every pragma in both comment styles; it never looks inside string literals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

KNOWN = ("ignore", "launch")
MARK = "smemlint:"


class CommentStyle(Enum):
    """How a language writes comments and strings."""

    C = r"""//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
    PYTHON = r"""\#(?P<line>[^\n]*)|(?P<block>(?!))|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""


@dataclass(frozen=True, slots=True)
class Pragma:
    """One pragma.

    Attributes:
        name: `ignore`, `launch`, ...
        arguments: positional ones, as spelled.
        values: keyword ones, as spelled.
        reason: the text behind it.
        line, column: where the comment begins, from 1.
        stands_alone: nothing but blanks precedes the comment on its line.
        problem: what is wrong with it; empty when nothing is.
    """

    name: str
    line: int
    column: int
    arguments: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    stands_alone: bool = False
    problem: str = ""


_PRAGMA = re.compile(r"\s*smemlint:\s*(?P<name>[A-Za-z-]*)\s*(?P<rest>.*)", re.S)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def pragmas_in(text: str, style: CommentStyle = CommentStyle.C) -> tuple[Pragma, ...]:
    """All pragmas of a text, in order; malformed ones carry their problem."""
    if MARK not in text:
        return ()
    found = []
    for match in re.finditer(style.value, text, re.S):
        body = match.group("line") or match.group("block")
        if body is None or MARK not in body:
            continue
        pragma = _PRAGMA.match(body)
        if pragma is None:
            continue
        start = match.start()
        line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        alone = not text[begin:start].strip()
        found.append(_read(pragma["name"], pragma["rest"].strip(), line, start - begin + 1, alone))
    return tuple(found)


def _read(name: str, rest: str, line: int, column: int, alone: bool) -> Pragma:
    if name not in KNOWN:
        said = f"unknown pragma `{name}`: one of {', '.join(KNOWN)}"
        return Pragma(name, line, column, stands_alone=alone, problem=said)
    inner, reason, problem = "", rest, ""
    if rest[:1] in ("(", "["):
        end = _closing(rest)
        if end < 0:
            problem = f"`{rest[0]}` is not closed"
        else:
            inner, reason = rest[1:end], rest[end + 1 :].strip()
    arguments: list[str] = []
    values: dict[str, str] = {}
    for part in _split(inner):
        key, equals, value = part.partition("=")
        if equals and key.strip().isidentifier():
            values[key.strip()] = value.strip()
        else:
            arguments.append(part)
    if name == "ignore" and not arguments and not problem:
        problem = "`ignore` names no rule: write ignore[bank-conflict]"
    if name == "launch" and "block" not in values and not arguments and not problem:
        problem = "`launch` names no block: write launch(block=(32, 8))"
    return Pragma(name, line, column, tuple(arguments), values, reason, alone, problem)


def _closing(text: str) -> int:
    stack: list[str] = []
    for i, c in enumerate(text):
        if c in "([{":
            stack.append(_PAIRS[c])
        elif stack and c == stack[-1]:
            stack.pop()
            if not stack:
                return i
    return -1


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [p for p in (*parts, current.strip()) if p]
