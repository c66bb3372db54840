"""SML211: the phases of a swizzle wrap around its row."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule


class GluonSwizzleWraps(Rule):
    """A row is too short for the phases of its SwizzledSharedLayout."""

    code = "SML211"
    name = "gluon-swizzle-wraps"
    summary = "a row is too short for the phases of its SwizzledSharedLayout"
    severity = Severity.WARNING

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for a row that has fewer groups than the layout has phases."""
        parameters = dict(layout.parameters)
        if layout.family != "triton-swizzled" or "row" not in parameters:
            return
        vec, phases, row = parameters["vec"], parameters["max_phase"], parameters["row"]
        if vec < 1 or phases <= 1 or vec * phases <= row:
            return
        groups = max(row // vec, 1)
        yield self.finding(
            f"`max_phase` {phases} acts as {groups}: a row of {row} elements has {groups} "
            f"group{'s' if groups != 1 else ''} of `vec` {vec}",
            layout.span,
            notes=("Triton silently wraps the exchange within the row", *layout.assumptions),
            help=f"write {groups}, which gives the same layout",
        )


RULE = GluonSwizzleWraps()
