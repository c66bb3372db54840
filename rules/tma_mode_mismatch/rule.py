"""SML207: a TMA box that its swizzle mode does not allow."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule

_MOST = 256
_GRANULE = 16


class TmaModeMismatch(Rule):
    """Checks what cuTensorMapEncodeTiled demands of a box."""

    code = "SML207"
    name = "tma-mode-mismatch"
    summary = "cuTensorMapEncodeTiled refuses this box under this swizzle mode"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding with the first demand that is not met."""
        if layout.family != "tma" or layout.swizzle is None or not layout.element_bytes:
            return
        box = [extent for name, extent in layout.parameters if name.startswith("box")]
        if not box:
            return
        span = _GRANULE << layout.swizzle[0]
        reason, help_ = _why_refused(box, layout.element_bytes, span, layout.spelled)
        if reason:
            shape = " x ".join(map(str, reversed(box)))
            yield self.finding(
                f"a box of {shape} elements of {layout.element_bytes} bytes: {reason}",
                layout.span,
                notes=("the call returns CUDA_ERROR_INVALID_VALUE", *layout.assumptions),
                help=help_,
            )


def _why_refused(box: list[int], size: int, span: int, mode: str) -> tuple[str, str]:
    """Returns what is wrong with a box, fastest extent first, and what to do; empty if nothing is.

    `span` is 16 without a swizzle.
    """
    for extent in box:
        if not 1 <= extent <= _MOST:
            reason = f"an extent must be 1 to {_MOST}, and {extent} is not"
            several = "copy the tile by several boxes"
            return reason, several if extent > _MOST else "give it 1 or more"
    inner = box[0] * size
    if inner % _GRANULE:
        reason = f"its rows of {inner} bytes are no multiple of {_GRANULE}"
        return reason, f"let a row of the box be a multiple of {max(_GRANULE // size, 1)} elements"
    if span > _GRANULE and inner > span:
        reason = f"its rows of {inner} bytes are wider than the {span} bytes of `{mode}`"
        return reason, f"copy the tile by boxes of {span // size} elements a row"
    return "", ""


RULE = TmaModeMismatch()
