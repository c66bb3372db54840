"""SML206: a swizzle of addresses whose array does not begin on a period of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemlint.config.settings import Settings
from smemlint.facts import LayoutUse
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule
from smemlint.sources.languages import is_python_path

from ..layouts import swizzle_of


class SwizzleBaseAlignment(Rule):
    """Compares the base of a byte swizzle with its period."""

    code = "SML206"
    name = "swizzle-base-alignment"
    summary = "the array does not begin on a multiple of the swizzle's period"

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields a warning where the base is known to be off, a note where nothing keeps it on."""
        swizzle = swizzle_of(layout)
        if swizzle is None or not layout.is_bound or layout.units != "bytes":
            return
        period, guaranteed = swizzle.period, layout.alignment
        if guaranteed is None or guaranteed % period == 0:
            return
        name = f"`{layout.array.name}`" if layout.array is not None else "what it addresses"
        is_certain = layout.address is not None and layout.address % period != 0
        where = (
            f"{name} begins at byte {layout.address} of the block's shared memory"
            if is_certain
            else f"{name} is aligned to {guaranteed} bytes only"
        )
        verb = "begins" if is_certain else "may begin"
        found = self.finding(
            f"{name} {verb} off the {period}-byte period of `{layout.spelled}`",
            layout.span,
            notes=(
                f"{where}; TMA, wgmma and pointer swizzles take the bits of the address, and "
                f"those of the offset are the same only if the base is a multiple of {period}",
                *layout.assumptions,
            ),
            help=_aligned_to(period, layout.span.path),
        )
        yield found if is_certain else replace(found, severity=Severity.NOTE)


def _aligned_to(period: int, path: str) -> str:
    if is_python_path(path):  # compiled from Python, or CUDA in a string
        return f"allocate it with `alignment={period}`; in CUDA code declare it `alignas({period})`"
    return f"declare it `alignas({period})`"


RULE = SwizzleBaseAlignment()
