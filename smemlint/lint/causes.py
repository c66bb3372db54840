"""One finding for one cause: what fused, and neighbouring lines that reach an array alike.

Pragmas and baselines know findings by their own lines, so findings are joined after both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from smemlint.facts import Span
from smemlint.finding import Finding

FEWEST_LINES = 3
"""Neighbouring lines that are one cause: two are as likely two decisions."""


def joined_by_cause(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Returns the findings with those of one cause as one, in order of place."""
    fused: dict[Hashable, list[Finding]] = defaultdict(list)
    for number, finding in enumerate(findings):
        access = finding.access
        spans = access.fusion.spans if access is not None and access.fusion is not None else ()
        alike = _where(finding), spans
        fused[alike if finding.span in spans else number].append(finding)
    once = [_joined(group) for group in fused.values()]
    alike_in_place: dict[Hashable, list[Finding]] = defaultdict(list)
    for number, finding in enumerate(once):
        alike_in_place[_pattern(finding) or number].append(finding)
    found = []
    for group in alike_in_place.values():
        for run in _runs(sorted(group, key=lambda f: f.span)):
            found += [_joined(run)] if len(run) >= FEWEST_LINES else run
    return tuple(sorted(found, key=lambda f: (f.span, f.code)))


def _where(finding: Finding) -> Hashable:
    """Returns what findings of one cause share besides their pattern."""
    access = finding.access
    if access is None or access.array is None:
        return None
    return (
        finding.code, access.kind, access.instance.key, access.array.span, access.array.name,
        access.chains,
    )  # fmt: skip


def _pattern(finding: Finding) -> Hashable:
    """Returns what the lanes reach, wherever in the array it begins; None without a figure."""
    access = finding.access
    worst = access.worst if access is not None else None
    if worst is None or not worst.active.any():
        return None
    first = worst.addresses[worst.active][0]
    relative = (worst.addresses - first)[worst.active]
    lanes = relative.tobytes(), worst.active.tobytes(), worst.width
    return _where(finding), lanes, worst.wavefronts, worst.count


def _runs(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Groups findings on successive lines into runs."""
    run: list[Finding] = []
    for finding in findings:
        if run and finding.span.line > run[-1].span.end_line + 1:
            yield run
            run = []
        run.append(finding)
    if run:
        yield run


def _joined(group: Sequence[Finding]) -> Finding:
    """Returns one finding for several: the costliest, which names the places of the others."""
    if len(group) == 1:
        return group[0]
    main = max(group, key=_weight)
    places: list[Span] = []
    for finding in group:
        places += [finding.span, *finding.places]
    cost = main.cost
    if cost is not None:
        parts = [f.cost for f in group if f.cost is not None]
        cost = replace(
            cost,
            wavefronts=sum(p.wavefronts for p in parts),
            ideal=sum(p.ideal for p in parts),
            share=sum(p.share for p in parts),
        )
    severity = max(finding.severity for finding in group)
    others = tuple(dict.fromkeys(place for place in places if place != main.span))
    return replace(main, places=others, cost=cost, severity=severity)


def _weight(finding: Finding) -> tuple[float, float]:
    wasted = finding.cost.wasted if finding.cost is not None else 0.0
    return wasted, finding.weight
