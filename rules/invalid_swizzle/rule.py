"""SML201: CuTe rejects the parameters of a swizzle."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.layout.swizzle import Swizzle
from smemlint.lint.rule import Rule

_CONSEQUENCES = {
    "cute": "the template does not compile once it is instantiated",
    "cute-dsl": "CuTe's Python silently makes the identity of it",
}


class InvalidSwizzle(Rule):
    """Checks the conditions that CuTe's class template asserts."""

    code = "SML201"
    name = "invalid-swizzle"
    summary = "CuTe rejects these swizzle parameters"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding with the first clause that is violated."""
        if layout.swizzle is None or layout.family not in _CONSEQUENCES:
            return
        reason = Swizzle.why_invalid(*layout.swizzle)
        if reason is None:
            return
        b, m, s = layout.swizzle
        yield self.finding(
            f"`Swizzle<{b},{m},{s}>` is not a valid swizzle: {reason}",
            layout.span,
            notes=(_CONSEQUENCES[layout.family], *layout.assumptions),
            help=_help(b, m, s),
        )


def _help(b: int, m: int, s: int) -> str:
    apart = b if s >= 0 else -b
    if abs(s) < b and Swizzle.why_invalid(b, m, apart) is None:
        return f"`Swizzle<{b},{m},{apart}>` is the nearest whose fields do not overlap"
    return "those of the 32, 64 and 128-byte modes are <1,4,3>, <2,4,3> and <3,4,3> of bytes"


RULE = InvalidSwizzle()
