"""SML102: lanes of one warp update one word with an atomic."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, KernelFacts, WarpPattern
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule

_HELP = (
    "combine the values of a warp first, with shuffles (or `{reduction}`, which takes "
    "integers only), and let one lane update the word; a lane that uses the result adds what lanes "
    "before it contribute to it; "
    "where all lanes write one value, let one lane write it"
)
_HELP_FOR_COUNTERS = (
    "let one lane of a warp add (or subtract) the number of its lanes; a lane that uses the result "
    "counts the lanes before it; only where the word never wraps at its limit, which an addition "
    "does not know"
)
_COUNTERS = frozenset(("inc", "dec"))
_REDUCTIONS = frozenset(("min", "max", "and", "or", "xor"))


class AtomicContention(Rule):
    """Counts the lanes that an atomic has on one word."""

    code = "SML102"
    name = "atomic-contention"
    summary = "lanes of one warp update one word with an atomic"
    severity = Severity.NOTE

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields one finding for an atomic with several lanes on a word."""
        if access.kind is not AccessKind.ATOMIC or access.array is None or "one" in access.note:
            return
        most = max((_lanes_on_one_word(p) for p in access.patterns), default=1)
        if most > 1:
            message = f"{most} lanes take turns to update one word of {access.array.shown}"
            yield self.finding(
                message, access.span, access=access, help=_help(access.note), weight=most
            )


def _help(form: str) -> str:
    """Returns what to do instead of an atomic of such a form, e.g. `add.u32`."""
    operation = form.partition(".")[0]
    if operation in _COUNTERS:
        return _HELP_FOR_COUNTERS
    name = operation if operation in _REDUCTIONS else "add"
    return _HELP.format(reduction=f"__reduce_{name}_sync")


def _lanes_on_one_word(pattern: WarpPattern) -> int:
    import numpy as np

    _, counts = np.unique(pattern.addresses[pattern.active] // 4, return_counts=True)
    return int(counts.max(initial=1))


RULE = AtomicContention()
