"""SML210: Triton takes swizzle parameters that it cannot mean."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule


class GluonSwizzleParameter(Rule):
    """A parameter of SwizzledSharedLayout is no power of two."""

    code = "SML210"
    name = "gluon-swizzle-parameter"
    summary = "a parameter of SwizzledSharedLayout is no power of two"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each parameter that is no power of two."""
        if layout.family != "triton-swizzled":
            return
        for name, value in layout.parameters:
            if name == "row" or (value > 0 and not value & (value - 1)):
                continue
            yield self.finding(
                f"`{name}` of `SwizzledSharedLayout` is {value}, no power of two",
                layout.span,
                notes=(
                    "Triton accepts it silently; groups and phases are bits of an offset",
                    *layout.assumptions,
                ),
                help=f"write {_powers_around(value)}",
            )


def _powers_around(value: int) -> str:
    if value < 1:
        return "1, with which nothing is exchanged"
    below = 1 << (value.bit_length() - 1)
    return f"{below} or {2 * below}"


RULE = GluonSwizzleParameter()
