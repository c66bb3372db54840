"""SML208: the thread layout of a tiled copy leaves gaps or repeats threads."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule


class ThreadLayout(Rule):
    """Judges the thread layouts that front ends found not to be compact."""

    code = "SML208"
    name = "thread-layout"
    summary = "the thread layout of a tiled copy is not compact"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields a finding for a layout that does not number its threads 0, 1, 2, .. once each."""
        if layout.family != "cute-threads":
            return
        figures = dict(layout.parameters)
        size, inverted = figures["size"], figures["inverted"]
        yield self.finding(
            f"the thread layout `{layout.spelled}` is not compact: its {size} coordinates are not "
            f"the threads 0 to {size - 1}",
            layout.span,
            notes=(
                f"CuTe inverts it for {inverted} of {size} threads and extrapolates the others, "
                "which copy elements of other threads or beyond the tile",
            ),
            help="give it the strides of a permutation of its extents",
        )


RULE = ThreadLayout()
