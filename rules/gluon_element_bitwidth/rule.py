"""SML212: an NVMMA layout of the wrong element size."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule


class GluonElementBitwidth(Rule):
    """An NVMMASharedLayout is of another element size than its memory."""

    code = "SML212"
    name = "gluon-element-bitwidth"
    summary = "an NVMMASharedLayout is of another element size than its memory"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for a layout whose element size is not that of what is allocated."""
        bits = dict(layout.parameters).get("element_bitwidth")
        if layout.family != "nvmma" or bits is None or not layout.element_bytes:
            return
        actual = 8 * layout.element_bytes
        if bits == actual:
            return
        yield self.finding(
            f"`element_bitwidth` is {bits}, the memory holds elements of {actual} bits",
            layout.span,
            notes=(
                "Triton accepts it silently; the swizzle is then not the one of "
                f"`swizzle_byte_width` for {actual}-bit elements",
                *layout.assumptions,
            ),
            help=f"write `element_bitwidth={actual}`",
        )


RULE = GluonElementBitwidth()
