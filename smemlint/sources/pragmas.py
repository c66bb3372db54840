"""Pragmas in comments: `// smemlint: ignore[bank-conflict] why`, `launch(block=(32, 8))`.

One parser serves every pragma in both comment styles; it never looks inside string literals of C,
and inside those of Python for C comments only, since kernels are written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from smemlint.facts import Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.sources.languages import CommentStyle

KNOWN = (
    "ignore", "ignore-begin", "ignore-end", "ignore-file", "launch", "swizzle", "shared", "assume",
)  # fmt: skip
IGNORES = ("ignore", "ignore-begin", "ignore-end", "ignore-file")
MARK = "smemlint:"


@dataclass(frozen=True, slots=True)
class Pragma:
    """One pragma.

    Attributes:
        name: `ignore`, `launch`, ...
        arguments: positional ones, as spelled.
        values: keyword ones, as spelled.
        reason: the text behind it.
        line, column: where the comment begins, from 1.
        end_line, end_column: where it ends, exclusive.
        stands_alone: nothing but blanks precedes the comment on its line, and nothing follows it.
        target: the line that it speaks of: its own, or that of the code which follows one that
            stands alone; 0 when nothing follows.
        problem: what is wrong with it; empty when nothing is.
        text: the whole of one that declares offsets; see `layout.declared_offsets`.
    """

    name: str
    line: int
    column: int
    arguments: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    stands_alone: bool = False
    problem: str = ""
    end_line: int = 0
    end_column: int = 0
    target: int = 0
    text: str = ""

    def span(self, path: str) -> Span:
        """Returns the range of the comment."""
        return Span(path, self.line, self.column, self.end_line, self.end_column)


_PRAGMA = re.compile(r"\s*smemlint:\s*(?P<name>[A-Za-z-]*)\s*(?P<rest>.*)", re.S)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def pragmas_in(text: str, style: CommentStyle = CommentStyle.C) -> tuple[Pragma, ...]:
    """Returns all pragmas of a text, in order; malformed ones carry their problem."""
    return () if MARK not in text else tuple(_found(text, 0, len(text), style))


def _found(text: str, start: int, end: int, style: CommentStyle) -> Iterator[Pragma]:
    comments: list[tuple[int, int]] = []
    found: list[tuple[int, int, str]] = []
    for match in re.compile(style.value, re.S).finditer(text, start, end):
        if style is CommentStyle.PYTHON and match["string"] is not None:
            if MARK in match["string"]:
                yield from _found(text, *_inside(match), CommentStyle.C)
            continue
        body = match["line"] if match["line"] is not None else match["block"]
        if body is None:
            continue
        last = match.end()
        if style is CommentStyle.C and start > 0:  # in a Python string `\n` ends a comment, too
            cut = text.find("\\n", match.start(), last) if match["line"] is not None else -1
            last = cut if cut >= 0 else last
            body = body[: last - match.start("line")] if cut >= 0 else body
        comments.append((match.start(), last))
        if MARK in body:
            found.append((match.start(), last, body))
    for begin, last, body in found:
        pragma = _PRAGMA.match(body)
        if pragma is not None:
            rest = pragma["rest"].strip()
            yield _placed(text, begin, last, end, pragma["name"], rest, comments, style)


def _inside(string: re.Match[str]) -> tuple[int, int]:
    quotes = 3 if string["string"][:3] in ('"""', "'''") else 1
    return string.start("string") + quotes, max(string.end("string") - quotes, string.start())


def _placed(
    text: str,
    begin: int,
    last: int,
    end: int,
    name: str,
    rest: str,
    comments: list[tuple[int, int]],
    style: CommentStyle,
) -> Pragma:
    line = text.count("\n", 0, begin) + 1
    line_start = text.rfind("\n", 0, begin) + 1
    while last > begin and text[last - 1] in "\r\n":
        last -= 1
    end_start = text.rfind("\n", 0, last) + 1
    newline = text.find("\n", last)
    behind = text[last : newline if newline >= 0 else len(text)]
    is_alone = not text[line_start:begin].strip() and not behind.strip()
    following = _code_behind(text, last, end, comments) if is_alone else begin
    return _read(
        Pragma(
            name,
            line,
            begin - line_start + 1,
            stands_alone=is_alone,
            end_line=text.count("\n", 0, last) + 1,
            end_column=last - end_start + 1,
            target=0 if following < 0 else text.count("\n", 0, following) + 1,
        ),
        rest,
        style,
    )


def _code_behind(text: str, at: int, end: int, comments: list[tuple[int, int]]) -> int:
    """Returns where code begins behind a comment and those that follow it; -1 for none."""
    ends = dict(comments)
    while at < end:
        if text[at].isspace():
            at += 1
        elif at in ends:
            at = ends[at]
        else:
            return at
    return -1


def _read(pragma: Pragma, rest: str, style: CommentStyle) -> Pragma:
    from dataclasses import replace

    name = pragma.name
    if name not in KNOWN:
        near = nearest_pragma(name)
        hint = f"did you mean `{near}`?" if near else f"one of {', '.join(KNOWN)}"
        return replace(pragma, problem=f"unknown pragma `{name}`: {hint}")
    if name in ("swizzle", "shared") and "shared(" in f"{name}{rest}":
        return _of_offsets(pragma, f"{name}{rest}", style)
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
        if equals and key.strip().isidentifier() and not value.startswith("="):
            values[key.strip()] = value.strip()
        else:
            arguments.append(part)
    if name in IGNORES and name != "ignore-end" and not arguments and not problem:
        problem = f"`{name}` names no rule: write {name}[bank-conflict]"
    if name == "shared":
        problem = "`shared` names no offsets: write shared(offs, dtype=fp16, block=(8, 64))"
    if name == "launch" and "block" not in values and not arguments and not problem:
        problem = "`launch` names no block: write launch(block=(32, 8))"
    if name == "assume" and not problem:
        values, arguments = {}, [part.strip() for part in inner.split(",")]
        problem = _assumption_problem(arguments)
    if name == "swizzle" and not problem:
        problem = _swizzle_problem(arguments, reason)
    return replace(
        pragma, arguments=tuple(arguments), values=values, reason=reason, problem=problem
    )


def nearest_pragma(name: str) -> str:
    """Returns the pragma that a misspelled one means; empty where none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, KNOWN, n=1)), "")


def _of_offsets(pragma: Pragma, text: str, style: CommentStyle) -> Pragma:
    from dataclasses import replace

    from smemlint.layout.declared_offsets import offsets_in

    problem = ""
    if style is not CommentStyle.PYTHON:
        problem = "`shared` speaks of Triton's offsets: declare a swizzle at its `__shared__` array"
    else:
        try:
            offsets_in(text)
        except ValueError as error:
            problem = str(error)
    return replace(pragma, name="shared", text=text, problem=problem)


def _assumption_problem(arguments: list[str]) -> str:
    from smemlint.config.preconditions import read_precondition

    try:
        for text in arguments:
            read_precondition(text)
    except ValueError as error:
        return str(error)
    return ""


def _swizzle_problem(arguments: list[str], reason: str) -> str:
    from smemlint.layout.declared import read_declared

    try:
        read_declared(arguments, reason.split(" ", 1)[0])
    except ValueError as error:
        return str(error)
    return ""


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
