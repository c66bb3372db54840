"""From recorded sites to access facts: one access for each place, kind and array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from smemlint.analysis.compiled.recorder import Issued, Site
from smemlint.analysis.compiled.values import Cause
from smemlint.analysis.pricing import Group, costliest, on_architecture, priced_patterns, stat_of
from smemlint.facts import (
    Access,
    AccessKind,
    CallLine,
    Certainty,
    Instance,
    SharedArray,
    Span,
    Stat,
    WarpPattern,
)
from smemlint.hardware.arch import LANES
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

_Part: TypeAlias = "tuple[Site, Issued]"
_Key = tuple[Span, AccessKind, str, str, int]


def accesses(
    sites: Mapping[Site, Issued],
    instance: Instance,
    *,
    arch: str,
    assumptions: Sequence[Assumption] = (),
    failure: Reason | None = None,
    arrays: Sequence[SharedArray] = (),
) -> tuple[Access, ...]:
    """Returns the accesses of one evaluation, in source order.

    A line of which some instruction is not decided is `sampled`: compilers unroll, and what one
    copy does says nothing of the others.

    Args:
        sites: what was recorded.
        instance: the kernel instance.
        arch: the target.
        assumptions: what holds for all of it.
        failure: why the evaluation ended early; nothing is decided then.
        arrays: of the kernel; a site of which the code does not say which it addresses is in the
            one that its addresses lie in.
    """
    places: dict[_Key, list[_Part]] = {}
    for site, issued in sites.items():
        site = site if site.array is not None else replace(site, array=_array(issued, arrays))
        name = site.array.name if site.array is not None else ""
        key = (site.span, site.kind, name, site.operation, site.matrices)
        places.setdefault(key, []).append((site, issued))
    found = [_access(parts, instance, arch, assumptions, failure) for parts in places.values()]
    open_lines = {_line(a) for a in found if not a.certainty.is_decided}
    return tuple(
        sorted(
            (_sampled(a) if _line(a) in open_lines else a for a in found),
            key=lambda a: (a.span, a.kind),
        )
    )


def _array(issued: Issued, arrays: Sequence[SharedArray]) -> SharedArray | None:
    """Returns the array that the first addresses lie in: the last that begins before them."""
    for group in issued.groups.values():
        first = int(group.addresses[group.mask].min())
        before = [a for a in arrays if a.base <= first]
        return max(before, key=lambda a: a.base, default=None)
    return None


def _line(access: Access) -> tuple[str, int, AccessKind]:
    return access.span.path, access.span.line, access.kind


def _sampled(access: Access) -> Access:
    if not access.certainty.is_decided:
        return access
    reason = Reason(ReasonCode.PARTIAL, "other instructions of the line are not decided")
    return replace(access, certainty=Certainty.SAMPLED, reason=reason)


def _access(
    parts: Sequence[_Part],
    instance: Instance,
    arch: str,
    assumptions: Sequence[Assumption],
    failure: Reason | None,
) -> Access:
    site = parts[0][0]
    groups = _groups(parts)
    patterns: list[WarpPattern] = []
    undecided = Cause(failure) if failure is not None else _undecided(parts)
    if undecided is None:
        found = _patterns(site, groups, arch)
        undecided = found if isinstance(found, Cause) else _doubt(parts, found)
        patterns = found if isinstance(found, list) and undecided is None else []
    conditions = tuple(dict.fromkeys(c for _, issued in parts for c in issued.conditions))
    taken = tuple(
        Assumption(Topic.CONDITION, f"the condition at {place} holds", place)
        for place in conditions
    )
    assumptions = (*assumptions, *dict.fromkeys(a for _, i in parts for a in i.assumptions))
    certainty = Certainty.ASSUMED if assumptions or taken else Certainty.PROVED
    if undecided is not None:
        certainty = Certainty.DATA_DEPENDENT if undecided.is_data else Certainty.UNKNOWN
    figures = _figures(patterns)
    kept = costliest(patterns)
    access = Access(
        span=site.span,
        instance=instance,
        array=site.array,
        kind=site.kind,
        width_bytes=max(s.width for s, _ in parts),
        instructions=sum(p.count for p in patterns) or _warp_instructions(groups),
        wavefronts=figures[0] if figures else None,
        ideal=figures[1] if figures else None,
        certainty=certainty,
        assumptions=(*assumptions, *taken),
        reason=undecided.reason if undecided is not None else None,
        patterns=kept,
        omitted=len(patterns) - len(kept),
        warps=_warps(groups),
        matrices=site.matrices,
        note=site.operation,
        expression=", ".join(dict.fromkeys(s.opcode for s, _ in parts)),
        line=site.span.line,
        conditions=taken,
        calls=tuple(_calls(parts, arch)) if figures else (),
        origin=instance.origin,
    )
    return on_architecture(access, arch)


def _patterns(site: Site, groups: Sequence[Group], arch: str) -> list[WarpPattern] | Cause:
    if not groups:
        return []
    try:
        return priced_patterns(
            groups, kind=site.kind, matrices=site.matrices, operation=site.operation, arch=arch
        )
    except ValueError as error:
        return Cause(Reason(ReasonCode.NOT_MEASURED, str(error)))


def _figures(patterns: Sequence[WarpPattern]) -> tuple[Stat, Stat] | None:
    """Computes wavefronts and ideal; None where some pattern has no price."""
    if not patterns or not all(p.ideal for p in patterns):
        return None
    return (
        stat_of([(p.wavefronts, p.count) for p in patterns]),
        stat_of([(p.profiler_ideal, p.count) for p in patterns]),
    )


def _calls(parts: Sequence[_Part], arch: str) -> Iterator[CallLine]:
    """Yields the instructions that profilers show at calls."""
    calls: dict[Span, list[_Part]] = {}
    for site, issued in parts:
        if site.call is not None:
            calls.setdefault(site.call, []).append((site, issued))
    for span, some in calls.items():
        found = _patterns(some[0][0], _groups(some), arch)
        figures = _figures(found) if isinstance(found, list) else None
        if figures and isinstance(found, list):
            yield CallLine(span, sum(p.count for p in found), *figures)


def _doubt(parts: Sequence[_Part], patterns: Sequence[WarpPattern]) -> Cause | None:
    """Returns why fewer threads may not conflict; where all do not, none ever will."""
    depends_on_data = any(issued.depends_on_data for _, issued in parts)
    if depends_on_data and any(p.wavefronts > p.profiler_ideal for p in patterns):
        return Cause(
            Reason(ReasonCode.DATA, "which threads take part depends on data"), is_data=True
        )
    return None


def _undecided(parts: Sequence[_Part]) -> Cause | None:
    causes = [issued.undecided for _, issued in parts if issued.undecided is not None]
    return next((c for c in causes if c.is_data), causes[0] if causes else None)


def _groups(parts: Sequence[_Part]) -> list[Group]:
    return [
        Group(
            group.addresses.reshape(-1),
            group.mask.reshape(-1),
            site.width,
            exact=group.exact,
            count=group.count,
            source=group.source.reshape(-1) if group.source is not None else None,
        )
        for site, issued in parts
        for group in issued.groups.values()
    ]


def _warps(groups: Sequence[Group]) -> int:
    """Returns how many warps of the block take part."""
    taking_part = [g.mask.reshape(-1, LANES).any(axis=1) for g in groups]
    return int(np.logical_or.reduce(taking_part).sum()) if taking_part else 0


def _warp_instructions(groups: Sequence[Group]) -> int:
    return sum(int(g.mask.reshape(-1, 32).any(axis=1).sum()) * g.count for g in groups)
