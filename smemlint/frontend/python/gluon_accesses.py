"""From a load or store of a Gluon descriptor to an access fact, priced like any other."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from smemlint.facts import Access, AccessKind, Certainty, Stat, WarpPattern
from smemlint.hardware import wavefronts
from smemlint.layout.lowering import Instructions, lowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.facts import Instance
    from smemlint.frontend.python.gluon_library import Seen

LOWERING = "lowered as triton 3.9 does"
_MOST_PATTERNS = 64
_MOST_ELEMENTS = 1 << 17


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
            patterns = [p for part in parts for p in _patterns(part, arch)]
        except (Undecided, ValueError) as error:
            certainty, reason, parts = Certainty.UNKNOWN, str(error), ()
    has_figure = bool(patterns) and all(p.ideal for p in patterns)
    return Access(
        span=seen.span,
        instance=instance,
        array=seen.descriptor.array,
        kind=_kind(seen, parts),
        width_bytes=max((part.width for part in parts), default=0),
        instructions=sum(p.count for p in patterns),
        wavefronts=_stat([(p.wavefronts, p.count) for p in patterns]) if has_figure else None,
        ideal=_stat([(p.profiler_ideal, p.count) for p in patterns]) if has_figure else None,
        certainty=certainty,
        assumptions=(*assumptions, LOWERING),
        reason=reason,
        patterns=tuple(sorted(patterns, key=_cost, reverse=True)[:_MOST_PATTERNS]),
        matrices=parts[0].matrices if parts else 0,
        expression=seen.expression,
        line=seen.span.line,
    )


def _instructions(seen: Seen, arch: str) -> tuple[Instructions, ...]:
    view, layout = seen.descriptor.view, seen.layout
    if view is None:
        raise Undecided(seen.descriptor.reason or "its shared layout is not known")
    if layout is None:
        raise Undecided(seen.reason or "its register layout is not known")
    if prod(view.shape) > _MOST_ELEMENTS:
        raise Undecided(f"more than {_MOST_ELEMENTS} elements")
    found = lowered(layout.on(view.shape), view, is_store=seen.is_store, arch=arch)
    if found.doubt:
        raise Undecided(found.doubt)
    return found.instructions


def _kind(seen: Seen, parts: tuple[Instructions, ...]) -> AccessKind:
    if parts:
        return AccessKind(parts[0].kind)
    return AccessKind.STORE if seen.is_store else AccessKind.LOAD


def _patterns(part: Instructions, arch: str) -> list[WarpPattern]:
    """The distinct patterns of the instructions of one width; those that fault have no price.

    Raises:
        ValueError: nobody measured such an access on the target.
    """
    warps = part.addresses.shape[1]
    rows, first, counts = np.unique(
        part.addresses.reshape(-1, part.addresses.shape[-1]),
        axis=0,
        return_index=True,
        return_counts=True,
    )
    lanes = np.arange(rows.shape[1]) < (8 * part.matrices or rows.shape[1])
    aligned = ~((rows % part.width != 0) & lanes).any(axis=1)
    prices = np.zeros((3, len(rows)), dtype=np.int64)
    cost = wavefronts(
        rows[aligned], kind=part.kind, width=part.width, matrices=part.matrices or 4, arch=arch
    )
    prices[:, aligned] = cost.wavefronts, cost.ideal, cost.profiler_ideal
    return [
        WarpPattern(
            rows[i],
            np.ones(rows.shape[1], dtype=np.bool_),
            int(first[i] % warps),
            int(counts[i]),
            int(prices[0, i]),
            int(prices[1, i]),
            int(prices[2, i]),
            part.width,
        )
        for i in np.argsort(first, kind="stable")
    ]


def _cost(pattern: WarpPattern) -> float:
    return pattern.wavefronts / pattern.ideal if pattern.ideal else float("inf")


def _stat(figures: list[tuple[int, int]]) -> Stat:
    mean = sum(v * n for v, n in figures) / sum(n for _, n in figures)
    return Stat(min(v for v, _ in figures), max(v for v, _ in figures), mean)
