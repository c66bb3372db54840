"""SML503: a stride that triton cannot know to be 1, or aligned."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import DotOperand, DotUse
from smemlint.finding import Finding
from smemlint.hardware.arch import architecture
from smemlint.lint.rule import Rule

_ALONG_K_ONLY = {"sm_90": (8, 32), "sm_100": (32,)}
"""Bits of operands that are taken apart anyway if they are not contiguous along K (SML501)."""


class HiddenStride(Rule):
    """Asks whether the compiler can know which elements of an operand are contiguous."""

    code = "SML503"
    name = "hidden-stride"
    summary = "a stride is kept from specialization, and a dot operand loses its vectors"

    def check_dot(self, dot: DotUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each operand that is loaded element by element for it."""
        if not architecture(settings.arch).has_async_copy:
            return
        for operand in dot.operands:
            if not operand.hidden or not operand.is_loaded or _is_lost(operand, settings.arch):
                continue
            yield self.finding(
                f"`{operand.name}` is copied to shared memory element by element: {operand.hidden}",
                dot.span,
                notes=(
                    "triton 3.9: 16-byte asynchronous copies become loads and stores of one "
                    "element each (4-byte copies for 32-bit elements)",
                    *dot.assumptions,
                ),
                help="leave the parameter to specialization, or declare it tl.constexpr",
            )


def _is_lost(operand: DotOperand, arch: str) -> bool:
    """Returns whether there are no vectors to lose."""
    is_along_k = operand.hidden_dim in ("", "k")
    return not is_along_k and operand.element_bits in _ALONG_K_ONLY.get(arch, ())


RULE = HiddenStride()
