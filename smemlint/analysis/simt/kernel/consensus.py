"""Agreement: what several guesses at one instance say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.analysis.simt.domain.environment import MAX_THREADS
from smemlint.facts import Access, Certainty, Instance, KernelFacts
from smemlint.reasons import Reason, ReasonCode, Topic

LAUNCH_BOUNDS = "__launch_bounds__"
"""The origin of a block of which a kernel tells the most threads."""
_DIFFERS = Reason(
    ReasonCode.UNKNOWN_BLOCK, "the block shape is not known, and the figure depends on it"
)


def consensus(facts: Sequence[KernelFacts], why: Reason = _DIFFERS) -> KernelFacts:
    """Returns the first of several guesses; an access on which they differ is only a sample.

    The reason says what the figures differ by. Guesses whose first warp leaves an array come last,
    as nobody launches them, though a condition may keep its lanes inside.

    Guesses at the shape of a block whose threads are counted (`__launch_bounds__`) do not count
    where a warp leaves an array: no launch has that shape.
    """
    if facts[0].instance.origin:
        facts = [f for f in facts if not any(map(_reaches_outside, f.accesses))] or facts
    first = facts[0]
    outside = next((a for a in first.accesses if _refutes(a, first.instance)), None)
    if outside is not None and outside.array is not None:
        text = f"the block shape is not known: the guess reaches outside `{outside.array.name}`"
        return sampled(first, Reason(ReasonCode.UNKNOWN_BLOCK, text))
    if len(facts) == 1:
        return first
    facts = sorted(facts, key=lambda f: any(_reaches_outside(a, warps=1) for a in f.accesses))
    first = _inside_its_arrays(facts[0])
    others = [{(a.span, a.kind): a for a in f.accesses} for f in facts[1:]]
    accesses = []
    for access in first.accesses:
        differing = [o.get((access.span, access.kind)) for o in others]
        if not all(_alike(access, d) for d in differing):
            access = as_sample(access, why)
        elif access.certainty.is_decided:
            elsewhere = (p for d in differing if d is not None for p in d.patterns)
            access = replace(access, elsewhere=tuple(elsewhere))
        if not all(d is not None and _ways(d) == _ways(access) for d in differing):
            access = replace(access, bounds=None)
        if any(d is not None and d.advice != access.advice for d in differing):
            access = replace(access, advice="", advised=None)
        accesses.append(access)
    return replace(first, accesses=tuple(accesses))


def _inside_its_arrays(facts: KernelFacts) -> KernelFacts:
    """Returns a guess at a block, with samples where no such block may run the code.

    Where a warp leaves an array, a condition keeps some of its lanes inside; where it is not known
    how many elements an array has, they may be as few as the lanes that meet in no bank. What only
    warps behind the first conflict in, a block of one warp does not do.
    """
    if facts.instance.origin:
        return facts
    accesses = (
        as_sample(a, _DIFFERS)
        if _reaches_outside(a, warps=1)
        or (_is_of_any_size(a) and conflicts(a))
        or _conflicts_behind_first_warp(a)
        else a
        for a in facts.accesses
    )
    return replace(facts, accesses=tuple(accesses))


def _is_of_any_size(access: Access) -> bool:
    array = access.array
    return array is not None and array.bytes is None and not array.is_dynamic


def _conflicts_behind_first_warp(access: Access) -> bool:
    return min((p.warp for p in access.patterns if p.ways > 1), default=0) > 0


def are_alike(a: KernelFacts, b: KernelFacts) -> bool:
    """Returns whether two evaluations have the same accesses, each with the same figure."""
    others = {(o.span, o.kind): o for o in b.accesses}
    return len(a.accesses) == len(b.accesses) and all(
        _alike(access, others.get((access.span, access.kind))) for access in a.accesses
    )


def sampled_where_free(
    accesses: Sequence[Access], cases: Sequence[Sequence[Access]], why: Reason
) -> tuple[Access, ...]:
    """Returns the accesses; one that conflicts in some cases only is only a sample."""
    by_place = [{(a.span, a.kind): a for a in case} for case in cases]
    found = []
    for access in accesses:
        reached = (case.get((access.span, access.kind)) for case in by_place)
        outcomes = {conflicts(other) for other in reached if other is not None}
        found.append(access if len(outcomes) < 2 else as_sample(access, why))
    return tuple(found)


def conflicts(access: Access) -> bool:
    """Returns whether an access is known to take more than its ideal."""
    taken, ideal = access.wavefronts, access.ideal
    return taken is not None and ideal is not None and taken.mean > ideal.mean


def as_sample(access: Access, why: Reason) -> Access:
    """Returns a decided access as one of several outcomes."""
    if not access.certainty.is_decided:
        return replace(access, bounds=None)
    return replace(access, certainty=Certainty.SAMPLED, reason=why)


def _ways(access: Access) -> tuple[float, float] | None:
    """Returns the bounds of the ways that an access has however it is fused; None without."""
    return (access.bounds.least, access.bounds.most) if access.bounds is not None else None


def _refutes(access: Access, instance: Instance) -> bool:
    """Returns whether the access leaves its array because the block is a guess.

    Of a shape that nothing gives, the first warp tells; of one that the host code gives on a path
    which it may not take, and of the most threads that a launch may have, any warp.
    """
    if access.conditions:
        return False
    is_most = instance.origin == LAUNCH_BOUNDS
    if is_most or any(a.topic is Topic.HOST for a in access.assumptions):
        return _reaches_outside(access)
    return not instance.origin and _reaches_outside(access, warps=1)


def _reaches_outside(access: Access, warps: int = MAX_THREADS // 32) -> bool:
    """Returns whether one of the first warps leaves the array."""
    array = access.array
    if array is None or array.bytes is None:
        return False
    for pattern in access.patterns:
        offsets = pattern.addresses[pattern.active] - array.base
        if pattern.warp >= warps or not offsets.size:
            continue
        first = int(offsets.min()) if pattern.exact else 0
        last = first + int(offsets.max()) - int(offsets.min()) + pattern.reach
        if first < 0 or last > array.bytes:
            return True
    return False


def sampled(facts: KernelFacts, reason: Reason) -> KernelFacts:
    """Returns the facts of one guess of several, none of them to be relied on, and why."""
    return replace(facts, accesses=tuple(as_sample(a, reason) for a in facts.accesses))


def _alike(a: Access, b: Access | None) -> bool:
    if (
        b is None
        or b.wavefronts is None
        or a.wavefronts is None
        or a.ideal is None
        or b.ideal is None
    ):
        return b is not None and a.wavefronts is None and b.wavefronts is None
    return abs(a.wavefronts.mean / a.ideal.mean - b.wavefronts.mean / b.ideal.mean) < 1e-9
