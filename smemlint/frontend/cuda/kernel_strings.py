"""Kernels in strings of C++, which a program hands to a compiler at run time, as to NVRTC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from smemlint.frontend.cuda.lexer.tokens import CLOSING, OPENING, Token, lex
from smemlint.frontend.text_heuristics import may_touch_shared
from smemlint.lazy_dataclasses import dataclass
from smemlint.lazy_patterns import pattern
from smemlint.limits.budgets import MAX_KERNEL_STRINGS

_KERNEL = "__global__"
_IN_A_STRING = pattern(rf'\b(?:u8|[uUL])?R"|"[^"\n]*{_KERNEL}')
_RAW = pattern(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(')
_PLAIN = pattern(r'(?:u8|[uUL])?"')
_JOINED = frozenset(("+", "+=", "<<"))
_ENDS_LINE = pattern(r'"[ \t]*+\\?[ \t]*+(?://[^\r\n]*+)?[\r\n]')
_STRINGIZING = pattern(
    r"^[ \t]*+#[ \t]*+define[ \t]++(?P<name>\w++)\([ \t]*+(?P<of>[\w.]++)[ \t]*+\)"
    r"(?:[^#\n\\]|\\\r?\n)*+#[ \t]*+(?P<own>\w++)",
    re.M,
)
_PASSING_ON = pattern(
    r"^[ \t]*+#[ \t]*+define[ \t]++(?P<name>\w++)\([ \t]*+(?P<of>[\w.]++)[ \t]*+\)[ \t]++"
    r"(?P<to>\w++)[ \t]*+\([ \t]*+(?P<own>\w++)[ \t]*+\)",
    re.M,
)
"""A macro that gives its argument, expanded, to one that may make a string of it."""
_GIVEN_CODE = pattern(
    r'=\s*+([A-Za-z]\w*+)\s*+\(\s*+(?:extern\s++"C"\s++)?(?:template|__global__|__device__)\b'
)
"""A macro that was not read and is given code to initialize something: it makes a string of it."""
_DIRECTIVE = pattern(r"^[ \t]*+#", re.M)
_STEPS = {"(": 1, ")": -1}
_NOT_BLANK = pattern(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class KernelString:
    """A text of CUDA in the strings of a file.

    Attributes:
        start: offset of the first string in the file's text.
        program: the file's text with blanks in place of all that stands outside of the strings, so
            that lines and columns are those of the file; None where the text is not the string
            alone: something is put in at run time, or an escape stands for a line's end.
    """

    start: int
    program: str | None


def kernel_strings(text: str) -> Iterator[KernelString]:
    """Yields the texts of kernels with shared memory in the strings of a file, first come first."""
    if _KERNEL not in text:
        return
    defined = _STRINGIZING.finditer(text)
    macros = {m["name"] for m in defined if m["own"] in (m["of"], "__VA_ARGS__")}
    for m in _PASSING_ON.finditer(text) if macros else ():
        if m["to"] in macros and m["own"] in (m["of"], "__VA_ARGS__"):
            macros.add(m["name"])
    macros |= set(_GIVEN_CODE.findall(text))
    if not macros and _IN_A_STRING.search(text) is None:
        return
    tokens = lex(text)
    yield from _stringized(text, tokens, macros)
    found = 0
    for is_string, group in groupby(range(len(tokens)), lambda i: tokens[i].kind == "string"):
        indices = list(group)
        if not is_string:
            continue
        strings = [tokens[i] for i in indices]
        joined = "".join(token.text for token in strings)
        if _KERNEL not in joined or "{" not in joined or not may_touch_shared(joined):
            continue
        found += 1
        around = {tokens[i].text for i in (indices[0] - 1, indices[-1] + 1) if 0 <= i < len(tokens)}
        is_alone = around.isdisjoint(_JOINED) and found <= MAX_KERNEL_STRINGS
        yield KernelString(strings[0].start, _program(text, strings) if is_alone else None)


def _stringized(text: str, tokens: Sequence[Token], macros: Set[str]) -> Iterator[KernelString]:
    """Yields the kernels that macros like `#define STR(...) #__VA_ARGS__` make texts of."""
    calls = (i for i, token in enumerate(tokens[:-1]) if token.text in macros)
    found = end = 0
    for i in calls if macros else ():
        if i < end or tokens[i + 1].text != "(" or _is_defined(text, tokens[i]):
            continue
        depth, end = 0, i + 1
        while end < len(tokens) and (depth := depth + _STEPS.get(tokens[end].text, 0)) > 0:
            end += 1
        first, last = tokens[i + 1].end, tokens[min(end, len(tokens) - 1)].start
        content = text[first:last]
        if _KERNEL not in content or not may_touch_shared(content):
            continue
        found += 1
        program = None
        if found <= MAX_KERNEL_STRINGS and _DIRECTIVE.search(content) is None:
            program = _NOT_BLANK.sub(" ", text[:first]) + content
        is_read = program is not None and depth == 0 and _is_balanced(program)
        yield KernelString(tokens[i].start, program if is_read else None)


def _is_defined(text: str, token: Token) -> bool:
    """Returns whether a name stands behind `#define`."""
    before = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    return before.lstrip().startswith("#")


def _program(text: str, strings: Sequence[Token]) -> str | None:
    """Returns the contents of neighbouring strings where they stand, and blanks around them."""
    pieces: list[str] = []
    end = 0
    for token in strings:
        raw = _RAW.match(token.text)
        if raw is not None:
            first, last = token.start + raw.end(), token.end - len(raw[1]) - 2
            content = text[first:last]
        else:
            plain = _PLAIN.match(token.text)
            first, last = token.start + (plain.end() if plain is not None else 1), token.end - 1
            is_last = _ENDS_LINE.match(text, last) is not None
            unescaped = _unescaped(text[first:last], is_last_of_line=is_last)
            if unescaped is None:
                return None
            content = unescaped
        pieces += [_NOT_BLANK.sub(" ", text[end:first]), content]
        end = last
    program = "".join(pieces)
    return program if _is_balanced(program) else None


def _unescaped(content: str, *, is_last_of_line: bool) -> str | None:
    r"""Returns a plain string's characters, as many as its spelling has; None where lines differ.

    `\n` at the end of a string at the end of a line is that line's end.
    """
    ends = content.endswith(r"\n") and not content.endswith(r"\\n")
    body = content[:-2] if ends else content
    if not (ends and is_last_of_line) and ("#" in body or "//" in body):
        return None
    parts = re.split(r"\\(.)", body)
    if any(escape not in "\"'\\t" for escape in parts[1::2]):
        return None
    escaped = {"t": "  ", "\\": " \\", '"': ' "', "'": " '"}
    parts[1::2] = [escaped[escape] for escape in parts[1::2]]
    return "".join(parts) + ("  " if ends else "")


def _is_balanced(program: str) -> bool:
    """Returns whether every bracket is closed: what is open goes on elsewhere."""
    closers: list[str] = []
    for token in lex(program):
        if token.kind != "operator":
            continue
        if token.text in OPENING:
            closers.append(OPENING[token.text])
        elif token.text in CLOSING and (not closers or closers.pop() != token.text):
            return False
    return not closers
