"""From recorded sites to access facts: one access for each place, kind and array."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.analysis.compiled.values import Cause
from smemlint.analysis.pricing import Group, costliest, on_architecture, priced_patterns, stat_of
from smemlint.facts import Access, AccessKind, Certainty, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from smemlint.analysis.compiled.recorder import Issued, Site
    from smemlint.facts import Instance, WarpPattern

_Key = tuple[Span, AccessKind, str, str, int]


def accesses(
    sites: Mapping[Site, Issued],
    instance: Instance,
    *,
    arch: str,
    assumptions: Sequence[str] = (),
    failure: str = "",
) -> tuple[Access, ...]:
    """The accesses of one evaluation, in source order.

    A line of which some instruction is not decided is `sampled`: compilers unroll, and what one
    copy does says nothing of the others.

    Args:
        sites: what was recorded.
        instance: the kernel instance.
        arch: the target.
        assumptions: what holds for all of it, in words.
        failure: why the evaluation ended early; nothing is decided then.
    """
    places: dict[_Key, list[tuple[Site, Issued]]] = {}
    for site, issued in sites.items():
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


def _line(access: Access) -> tuple[str, int, AccessKind]:
    return access.span.path, access.span.line, access.kind


def _sampled(access: Access) -> Access:
    if not access.certainty.is_decided:
        return access
    reason = "other instructions of the line are not decided"
    return replace(access, certainty=Certainty.SAMPLED, reason=reason)


def _access(
    parts: Sequence[tuple[Site, Issued]],
    instance: Instance,
    arch: str,
    assumptions: Sequence[str],
    failure: str,
) -> Access:
    site = parts[0][0]
    undecided = Cause(failure) if failure else _undecided(issued for _, issued in parts)
    patterns: list[WarpPattern] = []
    groups = _groups(parts)
    if groups:
        try:
            patterns = priced_patterns(
                groups,
                kind=site.kind,
                matrices=site.matrices,
                operation=site.operation,
                arch=arch,
            )
        except ValueError as error:
            undecided = undecided or Cause(str(error))
    depends_on_data = any(issued.depends_on_data for _, issued in parts)
    if depends_on_data and any(p.wavefronts > p.profiler_ideal for p in patterns):
        # Fewer threads may not conflict at all; where all of them do not, none ever will.
        undecided = undecided or Cause("which threads take part depends on data", is_data=True)
    conditions = tuple(dict.fromkeys(c for _, issued in parts for c in issued.conditions))
    taken = (*assumptions, *(f"the condition at {place} holds" for place in conditions))
    certainty = Certainty.ASSUMED if taken else Certainty.PROVED
    if undecided is not None:
        certainty = Certainty.DATA_DEPENDENT if undecided.is_data else Certainty.UNKNOWN
        patterns = []
    priced = [p for p in patterns if p.ideal]
    has_figure = bool(priced) and len(priced) == len(patterns)
    opcodes = dict.fromkeys(s.opcode for s, _ in parts)
    access = Access(
        span=site.span,
        instance=instance,
        array=site.array,
        kind=site.kind,
        width_bytes=max(s.width for s, _ in parts),
        instructions=sum(p.count for p in patterns) or _warp_instructions(groups),
        wavefronts=stat_of([(p.wavefronts, p.count) for p in priced]) if has_figure else None,
        ideal=stat_of([(p.profiler_ideal, p.count) for p in priced]) if has_figure else None,
        certainty=certainty,
        assumptions=taken,
        reason=undecided.reason if undecided is not None else "",
        patterns=costliest(patterns),
        matrices=site.matrices,
        note=site.operation,
        expression=", ".join(opcodes),
        line=site.span.line,
        conditions=taken[len(assumptions) :],
    )
    return on_architecture(access, arch)


def _undecided(parts: Iterable[Issued]) -> Cause | None:
    causes = [issued.undecided for issued in parts if issued.undecided is not None]
    return next((c for c in causes if c.is_data), causes[0] if causes else None)


def _groups(parts: Sequence[tuple[Site, Issued]]) -> list[Group]:
    return [
        Group(
            group.addresses.reshape(-1),
            group.mask.reshape(-1),
            site.width,
            exact=group.exact,
            count=group.count,
        )
        for site, issued in parts
        for group in issued.groups.values()
    ]


def _warp_instructions(groups: Sequence[Group]) -> int:
    return sum(int(g.mask.reshape(-1, 32).any(axis=1).sum()) * g.count for g in groups)
