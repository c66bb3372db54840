"""The bank strip: one glyph a bank, as high as the words that wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemlint.facts import Access
    from smemlint.report.terminal import Terminal

_BLOCKS = " ▁▂▃▄▅▆▇█"
_DIGITS = ".123456789"


def bank_strip(access: Access | None, term: Terminal) -> str:
    """Words in each of the 32 banks for the costliest pattern; empty when there is none."""
    worst = access.worst if access is not None else None
    if worst is None:
        return ""
    from smemlint.hardware import bank_words

    counts = bank_words(worst.addresses, worst.width, worst.active).tolist()
    highest = max(counts)
    busy = sum(c > 0 for c in counts)
    if term.unicode:
        strip = "".join(_BLOCKS[-(-8 * c // highest)] for c in counts)
    else:
        strip = "".join(_DIGITS[c] if c < 10 else "#" for c in counts)
    plural = "s" if highest > 1 else ""
    return f"|{strip}| {busy} of 32 busy, up to {highest} word{plural} in one bank"
