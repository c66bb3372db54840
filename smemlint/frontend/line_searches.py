"""Searches of whole texts: for what begins a line, for launches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from smemlint.frontend.cuda.preprocessor.system_headers import may_define_kernels
from smemlint.limits.budgets import MAX_KEPT_TEXTS, MAX_LAUNCHED_NAME

LAUNCH = r"<<[ \t]*+<"
"""Where a text may launch a kernel: formatters write `k << <grid, block>> >(..)` too."""
_NAME_AT_END = re.compile(r"[A-Za-z_]\w*+\Z")
_WORD = re.compile(r"\w++")
_INCLUDES = re.compile(r'#[ \t]*+include[ \t]*+(?:"([^"\n]++)"|<([^>\n]++)>)')

# A quote behind a digit is of 1'000, but not of u8'x'.
_LITERAL_OR_COMMENT = re.compile(
    r"""(?P<literal>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
|"(?:[^"\\\n]|\\(?:\r\n|.))*+"?|(?<!(?<!u)[0-9])'(?:[^'\\\n]|\\(?:\r\n|.))*+'?)
|//[^\n]*+|/\*.*?(?:\*/|\Z)""",
    re.DOTALL | re.VERBOSE,
)


_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_WORDS = re.compile(r"\w [a-z]++ [a-z]")


def without_comments(text: str) -> str:
    """Returns a text of C++ with a blank in place of each comment."""
    return _LITERAL_OR_COMMENT.sub(lambda found: found["literal"] or " ", text)


@lru_cache(MAX_KEPT_TEXTS)
def words_outside_comments(text: str) -> frozenset[str]:
    """Returns the words of a text of C++ that stand outside of its comments."""
    return frozenset(_WORD.findall(without_comments(text)))


def at_line_begins(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    r"""Yields the matches with nothing but blanks before them on their lines.

    A search for a word takes a tenth of the time of one for `^[ \t]*` and the word.
    """
    end = 0
    for found in pattern.finditer(text):
        *lines, before = text[end : found.start()].rsplit("\n", 1)
        if (lines or not end) and not before.strip(" \t"):
            yield found
        end = found.end()


def includes(text: str) -> Iterator[tuple[str, bool]]:
    """Yields the files that a text includes and whether in quotes, in order, of all branches."""
    for found in at_line_begins(_INCLUDES, text):
        yield found[1] or found[2].strip(), found[1] is not None


def includes_of_kernels(text: str) -> Iterator[str]:
    """Yields the files that a text includes and that may define kernels, of all its branches."""
    return (name for name, is_quoted in includes(text) if may_define_kernels(name, is_quoted))


def launched_names(text: str) -> Iterator[tuple[str, int]]:
    """Yields the names in front of launches, with their places: `k` of `k<f<int>, 3><<<..>>>`."""
    for launch in re.finditer(LAUNCH, text):
        first = max(launch.start() - MAX_LAUNCHED_NAME, 0)
        before = text[first : launch.start()].rstrip()
        if before.endswith(">"):
            before = before[: _opening_bracket(before)].rstrip()
        name = _NAME_AT_END.search(before)
        if name is not None:
            yield name[0], first + name.start()


def _opening_bracket(text: str) -> int:
    """Returns where the `<` is that a text's last `>` closes; 0 where none does."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ">") - (text[i] == "<")
        if depth == 0:
            return i
        if text[i] in ";{}":
            break
    return 0


def without_messages(text: str) -> str:
    """Returns a text without the strings of several words in it, which are for people."""

    def kept(found: re.Match[str]) -> str:
        is_message = "<" not in found[0] and _WORDS.search(found[0])
        return '""' if is_message else found[0]

    return _TEXT.sub(kept, text)
