"""From a load or store of a Gluon descriptor to an access fact, priced like any other."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from smemlint.analysis.pricing import on_architecture
from smemlint.analysis.python.warp_patterns import patterns_of, stat_of
from smemlint.facts import Access, AccessKind, Certainty, WarpPattern
from smemlint.layout.tensor_access import Instructions, lowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.python.gluon.values import Seen
    from smemlint.facts import Instance

LOWERING = "lowered as triton 3.9 does"
_MOST_PATTERNS = 64
_MOST_ELEMENTS = 1 << 17
_MOST_WARPS = 32
_MOST_REGISTER_BITS = 17


class Undecided(Exception):
    """An access without a figure; the message says why."""


def access_of(seen: Seen, instance: Instance, assumptions: Sequence[str], arch: str) -> Access:
    """The access fact of one load or store.

    Args:
        seen: what the source does.
        instance: the kernel instance.
        assumptions: what its values rest on.
        arch: the target.
    """
    certainty, reason = Certainty.ASSUMED, ""
    parts: tuple[Instructions, ...] = ()
    patterns: list[WarpPattern] = []
    if seen.is_data_dependent:
        certainty, reason = Certainty.DATA_DEPENDENT, "the elements are chosen by data"
    else:
        try:
            parts = _instructions(seen, arch)
            patterns = [
                p
                for part in parts
                for p in patterns_of(
                    part.addresses,
                    kind=part.kind,
                    width=part.width,
                    matrices=part.matrices,
                    arch=arch,
                )
            ]
        except (Undecided, ValueError) as error:
            certainty, reason, parts = Certainty.UNKNOWN, str(error), ()
    has_figure = bool(patterns) and all(p.ideal for p in patterns)
    access = Access(
        span=seen.span,
        instance=instance,
        array=seen.descriptor.array,
        kind=_kind(seen, parts),
        width_bytes=max((part.width for part in parts), default=0),
        instructions=sum(p.count for p in patterns),
        wavefronts=stat_of([(p.wavefronts, p.count) for p in patterns]) if has_figure else None,
        ideal=stat_of([(p.profiler_ideal, p.count) for p in patterns]) if has_figure else None,
        certainty=certainty,
        assumptions=(*assumptions, LOWERING),
        reason=reason,
        patterns=tuple(sorted(patterns, key=_cost, reverse=True)[:_MOST_PATTERNS]),
        matrices=parts[0].matrices if parts else 0,
        expression=seen.expression,
        line=seen.span.line,
    )
    return on_architecture(access, arch)


def _instructions(seen: Seen, arch: str) -> tuple[Instructions, ...]:
    view, layout = seen.descriptor.view, seen.layout
    if view is None:
        raise Undecided(seen.descriptor.reason or "its shared layout is not known")
    if layout is None:
        raise Undecided(seen.reason or "its register layout is not known")
    if prod(view.shape) > _MOST_ELEMENTS:
        raise Undecided(f"more than {_MOST_ELEMENTS} elements")
    spread = layout.on(view.shape)
    if spread.warp_count > _MOST_WARPS or len(spread.registers) > _MOST_REGISTER_BITS:
        raise Undecided("its register layout spreads over more than a block")
    found = lowered(spread, view, is_store=seen.is_store, arch=arch)
    if found.doubt:
        raise Undecided(found.doubt)
    return found.instructions


def _kind(seen: Seen, parts: tuple[Instructions, ...]) -> AccessKind:
    if parts:
        return AccessKind(parts[0].kind)
    return AccessKind.STORE if seen.is_store else AccessKind.LOAD


def _cost(pattern: WarpPattern) -> float:
    return pattern.wavefronts / pattern.ideal if pattern.ideal else float("inf")
