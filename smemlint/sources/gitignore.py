"""Matches paths with the patterns of .gitignore files exactly as git does.

Patterns are hostile input. Each becomes a regular expression that never goes back over a star: what
follows a star is searched once, from the left, which finds a match if there is one. The work on a
path is the product of its length and that of the patterns at most, times its folders where a
pattern has `**`; `IgnoredPaths` counts it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from smemlint.files.sandbox import Sandbox
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import (
    MAX_GITIGNORE_BYTES,
    MAX_IGNORE_PATTERNS,
    MAX_IGNORE_WORK,
    MAX_PATTERN_LENGTH,
)

_STAR, _FOLDERS, _SPAN = "*", "**/", "**"
_CASE = re.IGNORECASE if sys.platform in ("win32", "darwin") else 0
_CLASSES = {
    b"alnum": b"0-9A-Za-z", b"alpha": b"A-Za-z", b"blank": rb" \t", b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9", b"graph": b"!-~", b"lower": b"a-z", b"print": b" -~",
    b"punct": rb"!-/:-@\[-`{-~", b"space": rb"\t\n\r ", b"upper": b"A-Z", b"xdigit": b"0-9A-Fa-f",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a .gitignore file.

    Attributes:
        regex: of the name or path.
        ignores: what it matches is ignored; with `!` it is not.
        only_folders: it ends in a slash.
        by_name: it holds no slash, and is compared with names in any depth.
        has_folders: a `**` of it matches folders.
    """

    regex: re.Pattern[bytes]
    ignores: bool
    only_folders: bool
    by_name: bool
    has_folders: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one .gitignore file, the last first.

    Attributes:
        patterns: that can match anything.
        length: characters of those whose work is proportional to the path.
        length_of_spans: characters of those with `**`.
    """

    patterns: tuple[Pattern, ...]
    length: int
    length_of_spans: int

    def verdict(self, path: bytes, *, is_folder: bool) -> bool | None:
        """Returns whether a path is ignored; None where no pattern matches it.

        Args:
            path: relative to the folder of the .gitignore file, with slashes.
            is_folder: it is a folder. What lies in an ignored folder is ignored, which is the
                caller's to know: patterns are matched with the path itself.
        """
        name = path[path.rfind(b"/") + 1 :]
        for pattern in self.patterns:
            may_match = is_folder or not pattern.only_folders
            if may_match and pattern.regex.match(name if pattern.by_name else path):
                return pattern.ignores
        return None

    def work(self, path: bytes) -> int:
        """Returns what matching a path takes at most, about 20 nanoseconds a unit."""
        folders = path.count(b"/") + 1
        characters = (self.length + self.length_of_spans * folders) * len(path)
        return len(self.patterns) + (characters >> 10)


def parse_rules(data: bytes) -> Rules:
    """Returns the rules of a .gitignore file.

    Raises:
        ValueError: a pattern is too long.
    """
    patterns: list[Pattern] = []
    length = length_of_spans = 0
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = _without_trailing_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
        if text.startswith(b"#"):
            continue
        if len(text) > MAX_PATTERN_LENGTH:
            raise ValueError("a pattern is too long")
        pattern = parse_pattern(text)
        if pattern is not None:
            patterns.append(pattern)
            length += len(text)
            length_of_spans += len(text) if pattern.has_folders else 0
    return Rules(tuple(reversed(patterns)), length, length_of_spans)


def parse_pattern(text: bytes) -> Pattern | None:
    """Returns the pattern of one line without its end; None where it matches nothing."""
    ignores = not text.startswith(b"!")
    text = text if ignores else text[1:]
    only_folders = text.endswith(b"/")
    text = text[:-1] if only_folders else text
    by_name = b"/" not in text
    text = text.removeprefix(b"/")
    if text.startswith(b"**/") and b"/" not in text[3:] and not text[3:].startswith(b"**"):
        text, by_name = text[3:], True  # the same, and without search for folders
    tokens = _tokens(text, by_name=by_name)
    if not tokens:
        return None
    has_folders = _FOLDERS in tokens or _SPAN in tokens
    return Pattern(
        re.compile(_regex(tokens), re.S | _CASE), ignores, only_folders, by_name, has_folders
    )


def _without_trailing_spaces(line: bytes) -> bytes:
    kept = line.rstrip(b" ")
    slashes = len(kept) - len(kept.rstrip(b"\\"))
    return kept + b" " if slashes % 2 and len(kept) < len(line) else kept


def _tokens(text: bytes, *, by_name: bool) -> list[str | bytes] | None:
    """Returns stars, and regular expressions of one character each; None for no match."""
    tokens: list[str | bytes] = []
    at = 0
    is_literal = True  # git compares what comes before the first special character by itself
    while at < len(text):
        char = text[at : at + 1]
        if char == b"*":
            end = at + len(text[at:]) - len(text[at:].lstrip(b"*"))
            begins = is_literal or text[at - 1 : at] == b"/"
            ends = text[end : end + 1] in (b"", b"/") or text[end : end + 2] == b"\\/"
            if end - at == 1 or by_name or not (begins and ends):
                tokens.append(_STAR)
            elif text[end : end + 1] == b"/":
                tokens.append(_FOLDERS)
                end += 1
            else:
                tokens.append(_SPAN)
            at, is_literal = end, False
            continue
        match char:
            case b"?":
                token, at = b"[^/]", at + 1
            case b"[":
                found = _class(text, at + 1)
                if found is None:
                    return None
                token, at = found
            case b"\\":
                if at + 1 == len(text):
                    return None
                token, at = re.escape(text[at + 1 : at + 2]), at + 2
            case _:
                tokens.append(re.escape(char))
                at += 1
                continue
        tokens.append(token)
        is_literal = False
    return tokens


def _class(text: bytes, at: int) -> tuple[bytes, int] | None:
    """Returns the regular expression of `[...]` and where it ends; None where it has no end."""
    is_negated = text[at : at + 1] in (b"!", b"^")
    at += is_negated
    parts: list[bytes] = []
    before = b""  # what a range may begin with
    is_first = True
    while is_first or text[at : at + 1] != b"]":
        is_first = False
        char, at = text[at : at + 1], at + 1
        named = re.compile(rb":([^\]]*):\]").match(text, at) if char == b"[" else None
        if named:
            if named[1] not in _CLASSES:
                return None
            parts.append(_CLASSES[named[1]])
            before, at = b"", named.end()
            continue
        is_range = char == b"-" and before and text[at : at + 1] not in (b"", b"]")
        if is_range:
            char, at = text[at : at + 1], at + 1
        if char == b"\\":
            char, at = text[at : at + 1], at + 1
        if not char:
            return None
        if not is_range:
            parts.append(re.escape(char))
        elif before <= char:
            parts.append(re.escape(before) + b"-" + re.escape(char))
        before = b"" if is_range else char
    if is_negated:
        return b"[^/" + b"".join(parts) + b"]", at + 1
    return (b"(?!/)[" + b"".join(parts) + b"]" if parts else b"(?!)"), at + 1


def _regex(tokens: list[str | bytes]) -> bytes:
    """Returns a regular expression of a whole path that goes back over no star but the last ones.

    What stands between two stars is matched as far left as it can be: whatever follows may then
    begin there or later. That holds for `**` too, if what follows it is one atomic group as far as
    the next `**`.
    """
    chunks: list[list[bytes]] = [[b""]]  # between `**`, cut at the stars
    spans = [b""]  # what precedes a chunk
    for token in tokens:
        if token == _STAR:
            chunks[-1].append(b"")
        elif isinstance(token, str):
            chunks.append([b""])
            spans.append(b"(?:.*?/)??" if token == _FOLDERS else b".*?")
        else:
            chunks[-1][-1] += token
    last = len(chunks) - 1
    parts = (_chunk(spans[i], c, is_last=i == last) for i, c in enumerate(chunks))
    return b"".join(parts) + rb"\Z"


def _chunk(span: bytes, segments: list[bytes], *, is_last: bool) -> bytes:
    """Returns what comes after a `**`; only the last part may move to the right."""
    first, *others = segments
    groups = [b"(?>[^/]*?" + segment + b")" for segment in others]
    if is_last and others:
        groups[-1] = b"[^/]*?" + others[-1]
    text = span + first + b"".join(groups)
    return text if is_last else b"(?>" + text + b")"


class IgnoredPaths:
    """The .gitignore files of a tree; the deepest one that has a matching pattern decides.

    Args:
        top: absolute; the repository, or the folder that is walked.
        warn: takes why a file is not read; then more files are looked at.
    """

    def __init__(self, top: str, warn: Callable[[str], None]) -> None:
        self._top = top
        self._sandbox = Sandbox.around(os.path.join(top, ".gitignore"), top)
        self._warn = warn
        self._rules: dict[str, Rules] = {}
        self._patterns = MAX_IGNORE_PATTERNS
        self._work = MAX_IGNORE_WORK

    def read(self, folder: str) -> None:
        """Reads the patterns of a folder.

        Args:
            folder: relative to the top, with a slash at its end; the top is empty.
        """
        path = f"{folder}.gitignore"
        try:
            data = self._sandbox.read(os.path.join(self._top, path), MAX_GITIGNORE_BYTES)
            rules = parse_rules(data)
            self._patterns -= len(rules.patterns)
            if self._patterns < 0:
                raise ValueError("there are too many patterns")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            self._warn(f"{path}: is not read: {getattr(error, 'strerror', None) or error}")
            return
        if rules.patterns:
            self._rules[folder] = rules

    def covers(self, path: str) -> bool:
        """Returns whether a path is ignored, if its folder is not; folders end in a slash."""
        is_folder = path.endswith("/")
        path = path.removesuffix("/")
        end = len(path)
        while self._rules and end > 0:
            end = path.rfind("/", 0, end)
            rules = self._rules.get(path[: end + 1])
            if rules is not None:
                inner = os.fsencode(path[end + 1 :])
                if not self._can_afford(rules.work(inner)):
                    return False
                verdict = rules.verdict(inner, is_folder=is_folder)
                if verdict is not None:
                    return verdict
        return False

    def _can_afford(self, work: int) -> bool:
        self._work -= work
        if self._work < 0:
            self._rules.clear()
            self._warn(".gitignore: its patterns take too long: what they name is looked at, too")
        return self._work >= 0
