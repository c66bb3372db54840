"""Exit codes, and errors that a user caused and can mend: each says where and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from smemlint.visible import visible

CLEAN, FOUND, FAILED = 0, 1, 2
"""Exit codes: nothing found; something at or above --fail-on; the job could not be done."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the number of SIGINT."""
TERMINATED = 143
"""Exit code after SIGTERM, likewise."""


def code_of_interruption(stop: KeyboardInterrupt) -> int:
    """Returns the exit code that an interruption was raised with, or that of Ctrl-C."""
    return stop.args[0] if stop.args else INTERRUPTED


def end_if_interrupted(code: int) -> None:
    """Ends a run that was interrupted, with its exit code, once what it found is reported."""
    if code:
        raise KeyboardInterrupt(code)


class SmemlintError(Exception):
    """An error to print without a traceback; the exit code is 2.

    Args:
        message: what is wrong, lower case, no full stop.
        hint: what to do about it.
        where: `path:line`, or empty.
    """

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        lines = [f"{place}{self.message}", *([f"  hint: {self.hint}"] if self.hint else [])]
        return "\n".join(map(visible, lines))  # configurations and names of files are quoted


class ConfigError(SmemlintError):
    """A configuration file or an option that cannot be used."""


class SourceError(SmemlintError):
    """A named file that cannot be read."""


_MOST_LISTED = 12


def suggestion(word: str, known: Iterable[str], kind: str, *, where: str = "") -> str:
    """Returns a hint for a word that is not known: the nearest one, or all there are.

    Args:
        word: what was written.
        known: what could have been.
        kind: what the words are, in front of a list of them.
        where: the command that lists them, in place of a long list.
    """
    import difflib

    words = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    near = near or [name for name in words if len(word) > 1 and name.startswith(word.lower())]
    if near:
        return f"did you mean `{words[near[0]]}`?"
    if where and len(words) > _MOST_LISTED:
        return f"`{where}` lists the {kind}"
    return f"{kind}: {', '.join(words.values())}"
