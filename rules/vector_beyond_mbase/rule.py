"""SML302: a vector wider than the group that a swizzle keeps together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.finding import Severity
from smemlint.lint.rule import Rule

from ..layouts import COPIES, byte_swizzle

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from smemlint.config.settings import Settings
    from smemlint.facts import Access, KernelFacts, LayoutUse, WarpPattern
    from smemlint.finding import Finding
    from smemlint.layout.swizzle import Swizzle


class VectorBeyondMBase(Rule):
    """Compares what a vector covers with where the swizzle keeps its parts."""

    code = "SML302"
    name = "vector-beyond-mbase"
    summary = "a vector is wider than the group that the swizzle keeps together"
    severity = Severity.ERROR

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields one finding where a lane's vector covers bytes that belong elsewhere."""
        use = access.layout
        swizzle = byte_swizzle(use) if use is not None else None
        if use is None or swizzle is None or use.base is None or access.array is None:
            return
        for pattern in access.patterns:
            if pattern.width <= swizzle.group or not pattern.exact:
                continue
            torn = _torn(pattern, swizzle, use.base)
            if not torn.any():
                continue
            yield self.finding(
                f"{pattern.width}-byte access of `{access.array.name}`, of which "
                f"`{use.spelled}` keeps only {swizzle.group} bytes together",
                access.span,
                access=access,
                pattern=pattern,
                notes=(
                    f"warp {pattern.warp}: the vectors of {int(torn.sum())} of "
                    f"{int(pattern.active.sum())} lanes cover bytes that belong to other elements",
                ),
                help=_help(use, pattern.width),
                weight=float(torn.sum()),
            )
            return

    def check_layout(self, layout: LayoutUse, settings: Settings) -> Iterator[Finding]:
        """Yields a finding for a layout viewed as vectors (`vector_bytes`) that it tears apart."""
        width = dict(layout.parameters).get("vector_bytes", 0)
        swizzle = byte_swizzle(layout)
        if swizzle is None or width <= swizzle.group:
            return
        if layout.family == COPIES:
            parts = width // swizzle.group
            split = self.finding(
                f"{width}-byte copies of which `{layout.spelled}` keeps only {swizzle.group} "
                "bytes together",
                layout.span,
                notes=(
                    f"nvidia-cutlass-dsl 4.8 splits each into {parts} of {swizzle.group} bytes",
                    *layout.assumptions,
                ),
                help=_help(layout, width),
            )
            yield replace(split, severity=Severity.WARNING)
            return
        yield self.finding(
            f"{width}-byte vectors of which `{layout.spelled}` keeps only {swizzle.group} bytes "
            "together",
            layout.span,
            notes=(
                f"seen as {width}-byte elements the swizzle loses the bits below: "
                f"{swizzle} in bytes becomes {swizzle.upcast(width)}",
                *layout.assumptions,
            ),
            help=_help(layout, width),
        )


def _torn(pattern: WarpPattern, swizzle: Swizzle, base: int) -> NDArray[np.bool_]:
    """Returns the lanes whose vector is not one run of offsets before the swizzle."""
    import numpy as np

    group = swizzle.group
    first = swizzle(pattern.addresses - base)
    torn = np.zeros(len(first), dtype=bool)
    for part in range(group, pattern.width, group):
        torn |= swizzle(first + part) != pattern.addresses - base + part
    return torn & pattern.active


def _help(use: LayoutUse, width: int) -> str:
    unit = use.element_bytes if use.units == "elements" else 1
    return f"MBase must be at least {(max(width // unit, 1)).bit_length() - 1}"


RULE = VectorBeyondMBase()
