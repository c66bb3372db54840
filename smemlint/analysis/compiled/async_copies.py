"""What asynchronous copies of compiled code read: it decides their cost as much as what they write.

Global addresses hang on arguments: a row pitch moves lanes apart by an unknown, which no exact
lanes plus one number for a warp can hold. So kernels with such copies are run again with numbers in
the place of their arguments. Where numbers of other remainders give the same cost, it holds for all
of them; where they cost more, what the figure takes for granted is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smemlint.analysis.compiled.recorder import Issued, Site
from smemlint.analysis.compiled.values import Cause
from smemlint.analysis.pricing import Group, priced_patterns
from smemlint.facts import AccessKind
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Reason, ReasonCode, Topic

Sites = Mapping[Site, Issued]


ALIGNED = 1024
"""Rows of so many elements begin on lines of 128 bytes, whatever the element is."""
SHIFTED = (ALIGNED + 16, ALIGNED + 8)
"""Rows of so many begin at other places of a line, aligned to 16 bytes for elements of 1 or 2."""
_UNREAD = Cause(Reason(ReasonCode.UNKNOWN_VALUE, "what the copy reads is not known"))
_ON_ARGUMENTS = Reason(ReasonCode.RESIDUES, "the cost of the copy hangs on the kernel's arguments")
_IN_FULL = Assumption(Topic.NUMBER, "every thread copies in full")
_FIRST = Assumption(Topic.ARGUMENT, f"arguments of {ALIGNED}, in the first block")
_OTHERS = Assumption(
    Topic.ARGUMENT, f"arguments of {', '.join(map(str, (ALIGNED, *SHIFTED)))}, in the first block"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """How a kernel is run with known arguments.

    Attributes:
        run: gives the sites for a value of all numbers; None where it did not end.
        has_pointers_apart: numbers and pointers are distinguished: numbers can take other values.
    """

    run: Callable[[int], Sites | None]
    has_pointers_apart: bool


def with_copies(sites: Sites, probe: Probe) -> Sites:
    """Returns the sites with what their asynchronous copies read, as a probe shows."""
    copies = [
        s
        for s, i in sites.items()
        if s.kind is AccessKind.ASYNC_COPY and not (i.undecided is not None and i.undecided.is_data)
    ]
    if not copies:
        return sites
    aligned = probe.run(ALIGNED)
    shifted = [probe.run(n) for n in SHIFTED] if probe.has_pointers_apart else []
    found = dict(sites)
    for site in copies:
        found[site] = _copied(site, sites[site], aligned, shifted)
    return found


def _copied(
    site: Site, issued: Issued, aligned: Sites | None, shifted: list[Sites | None]
) -> Issued:
    """Returns what a copy issues, with both of its sides."""
    here = aligned.get(site) if aligned is not None else None
    if here is None or here.undecided is not None or not here.groups:
        cause = here.undecided if here is not None and here.undecided is not None else _UNREAD
        return Issued(issued.groups, cause, issued.depends_on_data, issued.conditions)
    cost = _cost(site, here)
    others = [_cost(site, there[site]) for there in shifted if there is not None and site in there]
    known = [c for c in others if c is not None]
    assumed = dict.fromkeys([_IN_FULL] if site.is_partial else [])
    if cost is None or any(c < cost * 0.999 for c in known):
        cause = Cause(_ON_ARGUMENTS)
        return Issued(issued.groups, cause, issued.depends_on_data, issued.conditions)
    holds_for_all = known and len(known) == len(shifted) and max(known) <= cost * 1.001
    assumed[_OTHERS if holds_for_all else _FIRST] = None
    return Issued(
        here.groups,
        depends_on_data=issued.depends_on_data or here.depends_on_data,
        conditions=issued.conditions,
        assumptions=assumed,
    )


def _cost(site: Site, issued: Issued) -> float | None:
    """Computes wavefronts an instruction; None where unknown, or some lane is misaligned."""
    if issued.undecided is not None or not issued.groups:
        return None
    groups = [
        Group(
            g.addresses.reshape(-1), g.mask.reshape(-1), site.width, count=g.count,
            source=g.source.reshape(-1) if g.source is not None else None,
        )
        for g in issued.groups.values()
    ]  # fmt: skip
    patterns = priced_patterns(
        groups, kind=site.kind, matrices=0, operation=site.operation, arch="sm_90"
    )
    if not patterns or not all(p.ideal for p in patterns):
        return None
    return sum(p.wavefronts * p.count for p in patterns) / sum(p.count for p in patterns)
