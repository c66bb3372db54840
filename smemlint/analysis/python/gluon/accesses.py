"""From a load or store of a Gluon descriptor to an access fact, priced like any other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from smemlint.analysis.pricing import on_architecture, stat_of
from smemlint.analysis.python.gluon.values import NO_SHARED_LAYOUT, TileAccess
from smemlint.analysis.python.warp_patterns import Undecided, patterns_of
from smemlint.facts import Access, AccessKind, Certainty, Instance, WarpPattern
from smemlint.layout.tensor_access import Instructions, lowered
from smemlint.limits.budgets import MAX_PATTERNS, MAX_REGISTER_BITS, MAX_TILE_ELEMENTS
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

LOWERING = Assumption(Topic.COMPILER, "lowered as triton 3.9 does")
_NO_REGISTER_LAYOUT = Reason(ReasonCode.UNKNOWN_LAYOUT, "its register layout is not known")
_MOST_WARPS = 32


def access_of(
    tile_access: TileAccess, instance: Instance, assumptions: Sequence[Assumption], arch: str
) -> Access:
    """Returns the access fact of one load or store."""
    certainty = Certainty.ASSUMED
    reason: Reason | None = None
    parts: tuple[Instructions, ...] = ()
    patterns: list[WarpPattern] = []
    if tile_access.is_data_dependent:
        certainty = Certainty.DATA_DEPENDENT
        reason = Reason(ReasonCode.DATA, "the elements are chosen by data")
    else:
        try:
            parts = _instructions(tile_access, arch)
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
        except Undecided as undecided:
            certainty, reason, parts = Certainty.UNKNOWN, undecided.reason, ()
        except ValueError as error:
            reason = Reason(ReasonCode.UNKNOWN_LAYOUT, str(error))
            certainty, parts = Certainty.UNKNOWN, ()
    has_figure = bool(patterns) and all(p.ideal for p in patterns)
    access = Access(
        span=tile_access.span,
        instance=instance,
        array=tile_access.descriptor.array,
        kind=_kind(tile_access, parts),
        width_bytes=max((part.width for part in parts), default=0),
        instructions=sum(p.count for p in patterns),
        wavefronts=stat_of([(p.wavefronts, p.count) for p in patterns]) if has_figure else None,
        ideal=stat_of([(p.profiler_ideal, p.count) for p in patterns]) if has_figure else None,
        certainty=certainty,
        assumptions=(*assumptions, LOWERING),
        reason=reason,
        patterns=tuple(sorted(patterns, key=_cost, reverse=True)[:MAX_PATTERNS]),
        matrices=parts[0].matrices if parts else 0,
        expression=tile_access.expression,
        line=tile_access.span.line,
        omitted=max(len(patterns) - MAX_PATTERNS, 0),
    )
    return on_architecture(access, arch)


def _instructions(tile_access: TileAccess, arch: str) -> tuple[Instructions, ...]:
    view, layout = tile_access.descriptor.view, tile_access.layout
    if view is None:
        raise Undecided(tile_access.descriptor.reason or NO_SHARED_LAYOUT)
    if layout is None:
        raise Undecided(tile_access.reason or _NO_REGISTER_LAYOUT)
    if prod(view.shape) > MAX_TILE_ELEMENTS:
        raise Undecided(Reason(ReasonCode.TOO_LARGE, f"more than {MAX_TILE_ELEMENTS} elements"))
    spread = layout.on(view.shape)
    if spread.warp_count > _MOST_WARPS or len(spread.registers) > MAX_REGISTER_BITS:
        raise Undecided(
            Reason(ReasonCode.UNKNOWN_LAYOUT, "its register layout spreads over more than a block")
        )
    found = lowered(spread, view, is_store=tile_access.is_store, arch=arch)
    if found.doubt:
        raise Undecided(Reason(ReasonCode.COMPILER, found.doubt))
    return found.instructions


def _kind(tile_access: TileAccess, parts: tuple[Instructions, ...]) -> AccessKind:
    if parts:
        return AccessKind(parts[0].kind)
    return AccessKind.STORE if tile_access.is_store else AccessKind.LOAD


def _cost(pattern: WarpPattern) -> float:
    return pattern.wavefronts / pattern.ideal if pattern.ideal else float("inf")
