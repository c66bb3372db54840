"""SML401: an index reaches outside its shared array."""

from __future__ import annotations

from collections.abc import Iterator

from smemlint.config.settings import Settings
from smemlint.facts import Access, KernelFacts, WarpPattern
from smemlint.finding import Finding, Severity
from smemlint.lint.rule import Rule


class OutOfBounds(Rule):
    """Compares exact lane addresses with the declared extent."""

    code = "SML401"
    name = "out-of-bounds"
    summary = "an index reaches outside its shared array"
    severity = Severity.ERROR

    def check_access(
        self, access: Access, kernel: KernelFacts, settings: Settings
    ) -> Iterator[Finding]:
        """Yields a finding where all masks and addresses are known, with loops taken to run."""
        array = access.array
        if array is None or array.bytes is None:
            return
        if not access.instance.origin or not access.certainty.is_decided:
            return
        known = [p for p in access.patterns if p.exact and (p.is_reached or not access.conditions)]
        for pattern in known:
            offsets = pattern.addresses - array.base
            last = array.bytes - pattern.reach
            if offsets.min() >= 0 and offsets.max() <= last:
                continue
            lanes = access.addressing(pattern)
            outside = lanes & ((offsets < 0) | (offsets > last))
            # An unaligned access that begins inside faults for that: SML301.
            outside &= (offsets % pattern.width == 0) | (offsets < 0) | (offsets >= array.bytes)
            if not outside.any():
                continue
            lane = int(outside.argmax())
            where = "".join(f", {name} = {value}" for name, value in pattern.values)
            at = int(offsets[lane])
            message = (
                f"out of bounds: {pattern.width}-byte access at byte {at} of the {array.bytes} of "
                f"{array.shown}"
            )
            count = int(outside.sum())
            note = (
                f"warp {pattern.warp}, lane {lane}{where}; "
                f"{count} lane{'s' if count > 1 else ''} of the warp outside"
            )
            end = max(_end(access, p) for p in known) - array.base
            room = f", or give {array.shown} at least {end} bytes" if end > array.bytes else ""
            yield self.finding(
                message,
                access.span,
                access=access,
                pattern=pattern,
                notes=(note,),
                help=f"leave the lanes out whose index is outside{room}",
                weight=end,
            )
            return


def _end(access: Access, pattern: WarpPattern) -> int:
    """Returns the address behind the last byte that a lane of a pattern reads or writes."""
    reached = pattern.addresses[access.addressing(pattern)]
    return int(reached.max(initial=-pattern.reach)) + pattern.reach


RULE = OutOfBounds()
