"""SML205: a swizzled offset lies beyond what was declared."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule

from ..layouts import offsets, swizzle_of


class SwizzleOutOfExtent(Rule):
    """Compares the largest swizzled offset with the declared size."""

    code = "SML205"
    name = "swizzle-out-of-extent"
    summary = "the swizzle moves elements beyond the declared extent, which cosize does not count"
    severity = Severity.ERROR

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields one finding where a plain offset fits and the swizzled one does not."""
        swizzle = swizzle_of(layout)
        plain = offsets(layout)
        if swizzle is None or plain is None or not layout.is_bound or layout.extent is None:
            return
        moved = swizzle(plain)
        beyond = moved >= layout.extent
        if plain.max() >= layout.extent or not beyond.any():
            return
        worst = int(moved.argmax())
        name = f"`{layout.array.name}`" if layout.array is not None else "the array"
        unit = layout.units.removesuffix("s")
        yield self.finding(
            f"`{layout.spelled}` moves {int(beyond.sum())} of {len(plain)} elements beyond {name}",
            layout.span,
            notes=(
                f"the {unit} at offset {int(plain[worst])} is kept at {int(moved[worst])}, and "
                f"there are {layout.extent} {layout.units}; cosize is {int(plain.max()) + 1}, "
                "because it ignores the swizzle",
                *layout.assumptions,
            ),
            help=f"declare at least {int(moved.max()) + 1} {layout.units}",
        )


RULE = SwizzleOutOfExtent()
