"""SML202: a swizzle moves no element of what it is applied to."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding
from smemlint.lint.rule import Rule

from ..layouts import bits, offsets, swizzle_of


class SwizzleWithoutEffect(Rule):
    """Applies the swizzle to every offset of the layout under it."""

    code = "SML202"
    name = "swizzle-without-effect"
    summary = "the swizzle moves no element of this extent"

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding where every offset stays in its place."""
        swizzle = swizzle_of(layout)
        plain = offsets(layout)
        if swizzle is None or plain is None or not layout.is_bound or len(plain) < 2:
            return
        if (swizzle(plain) != plain).any():
            return
        low = (swizzle.y_mask & -swizzle.y_mask).bit_length() - 1
        largest = int(plain.max())
        proof = (
            f"it reads {bits(swizzle.y_mask)} of the offset in {layout.units}, and no offset has "
            f"one of them set: they are at most {largest}, and bit {low} stands for {1 << low}"
        )
        if largest >= 1 << low:
            proof = (
                f"it reads {bits(swizzle.y_mask)} of the offset in {layout.units}, which none of "
                f"the {len(plain)} offsets has set"
            )
        yield self.finding(
            f"`{layout.spelled}` moves no element here",
            layout.span,
            notes=(proof, *layout.assumptions),
            help="leave it out: every element stays where it is",
        )


RULE = SwizzleWithoutEffect()
