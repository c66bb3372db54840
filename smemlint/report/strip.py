"""The bank strip: one glyph a bank, as high as the words that wait for it."""

from __future__ import annotations

from smemlint.facts import Access
from smemlint.report.terminal import Terminal

_BLOCKS = " ▁▂▃▄▅▆▇█"
_DIGITS = ".123456789"


def bank_strip(access: Access | None, term: Terminal) -> str:
    """Returns the words in each of the 32 banks for the costliest pass of the costliest pattern.

    Empty when no pattern has a figure.
    """
    worst = access.worst if access is not None else None
    if access is None or worst is None:
        return ""
    from smemlint.lint.passes import passes

    split = passes(access, worst)
    crowded = max(split, key=lambda p: p.turns)
    highest, busy = crowded.turns, sum(c > 0 for c in crowded.words)
    if term.unicode:
        strip = "".join(_BLOCKS[-(-8 * c // highest)] for c in crowded.words)
    else:
        strip = "".join(_DIGITS[c] if c < 10 else "#" for c in crowded.words)
    plural = "s" if highest > 1 else ""
    lanes = f", lanes {crowded.first}-{crowded.last}" if len(split) > 1 else ""
    return f"|{strip}| {busy} of 32 busy, up to {highest} word{plural} in one bank{lanes}"
