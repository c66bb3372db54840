"""SML203: a swizzle that frees no bank conflict."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, AccessKind, Facts, LayoutUse, WarpPattern
from smemlint.finding import Finding
from smemlint.layout.swizzle import Swizzle
from smemlint.lint.rule import Rule

from ..layouts import BANK_BITS, accesses_through, bits, byte_swizzle, is_conflict_free, offsets


class SwizzleMissesBanks(Rule):
    """Compares the wavefronts with and without the swizzle, or its fields with the bank bits."""

    code = "SML203"
    name = "swizzle-misses-banks"
    summary = "the swizzle frees no bank conflict"

    def check(self, facts: Facts, settings: Settings) -> Iterator[Finding]:
        """Yields one finding for each layout whose swizzle leaves the conflicts as they are."""
        for use in facts.layouts:
            if not use.is_bound or not (use.certainty.is_decided or settings.pedantic):
                continue
            swizzle = byte_swizzle(use)
            if swizzle is None or is_conflict_free(use, facts) or _moves_nothing(use, swizzle):
                continue
            proof = _proof(use, swizzle, list(accesses_through(use, facts)))
            if proof:
                where = f" of `{use.array.name}`" if use.array is not None else ""
                yield self.finding(
                    f"`{use.spelled}` frees no bank conflict{where}",
                    use.span,
                    notes=(proof, *use.assumptions),
                    help="`smemlint swizzle solve` finds one for a shape, its reads and its writes",
                )


def _moves_nothing(use: LayoutUse, swizzle: Swizzle) -> bool:
    """Returns whether SML202 reports the same already."""
    plain = offsets(use)
    if plain is None:
        return False
    in_bytes = plain * (use.element_bytes if use.units == "elements" else 1)
    return bool((swizzle(in_bytes) == in_bytes).all())


def _proof(use: LayoutUse, swizzle: Swizzle, accesses: list[Access]) -> str:
    if not swizzle.z_mask & BANK_BITS and not swizzle.y_mask & 3:
        return (
            f"in bytes it is {swizzle} and changes {bits(swizzle.z_mask)} of the address; "
            f"the bank is {bits(BANK_BITS)}"
        )
    if not accesses or use.base is None:
        return ""
    worst: tuple[float, WarpPattern, Access] | None = None
    for access in accesses:
        if not access.certainty.is_decided or not access.patterns:
            return ""
        for pattern in access.patterns:
            if not pattern.exact or not pattern.ideal:
                return ""
            if _without(pattern, access, swizzle, use.base) != pattern.wavefronts:
                return ""
            if worst is None or pattern.ways > worst[0]:
                worst = pattern.ways, pattern, access
    if worst is None or worst[0] <= 1:
        return ""
    import numpy as np

    _, pattern, access = worst
    lanes = pattern.addresses[pattern.active] - use.base
    reads = int(np.bitwise_or.reduce(lanes ^ lanes[0])) & swizzle.y_mask
    cause = f"{bits(swizzle.y_mask)} of the byte offset, which it reads, "
    cause += "do not vary within a pass" if not reads else "vary with lanes that it cannot part"
    return (
        f"`{access.expression}` takes {pattern.wavefronts} wavefronts with it and without it; "
        f"{cause}"
    )


def _without(pattern: WarpPattern, access: Access, swizzle: Swizzle, base: int) -> int:
    """Computes wavefronts of the lanes without the swizzle, which is its own inverse."""
    from smemlint.hardware.banks import wavefronts

    plain = swizzle(pattern.addresses - base) + base
    if access.kind in (AccessKind.ASYNC_COPY, AccessKind.ATOMIC):
        return -1
    try:
        return int(
            wavefronts(
                plain * pattern.active,
                kind=str(access.kind),
                width=pattern.width,
                active=pattern.active,
                matrices=access.matrices or 4,
            ).wavefronts
        )
    except ValueError:
        return -1


RULE = SwizzleMissesBanks()
