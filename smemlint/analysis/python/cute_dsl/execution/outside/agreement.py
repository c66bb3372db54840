"""What guesses agree on, and what one execution of a kernel adds to another."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from smemlint.analysis.simt.kernel.consensus import as_sample, consensus
from smemlint.facts import AccessKind, KernelFacts, Span
from smemlint.reasons import Reason, ReasonCode

_DIFFERS = Reason(ReasonCode.UNKNOWN_VALUE, "the figure depends on arguments that are not known")
REFUSED = Reason(ReasonCode.UNKNOWN_VALUE, "an element type was guessed that does not fit")
NO_SUCH_LAUNCH = Reason(
    ReasonCode.UNKNOWN_VALUE, "no launch that was followed gives the kernel such an argument"
)
ONE_LENGTH = Reason(ReasonCode.UNKNOWN_VALUE, "the figure is that of one length of rows of several")


def gains(kernels: Sequence[KernelFacts], known: Sequence[KernelFacts]) -> bool:
    """Returns whether one of the kernels is complete, or more of it is decided than is known."""
    return any(
        (is_complete(f) and f.accesses) or f.decided > most_decided(f, known) for f in kernels
    )


def most_decided(facts: KernelFacts, known: Sequence[KernelFacts]) -> int:
    """Returns how many accesses of a kernel are decided in one of its known instances."""
    alike = (k for k in known if k.instance.span == facts.instance.span)
    return max((k.decided for k in alike), default=0)


def joined(found: Sequence[KernelFacts]) -> KernelFacts:
    """Returns what guesses agree on; what only some of them lead to are samples."""
    agreed = consensus(found, _DIFFERS)
    places = {(a.span, a.kind) for a in agreed.accesses}
    others = [a for facts in found[1:] for a in facts.accesses if (a.span, a.kind) not in places]
    further = {(a.span, a.kind): as_sample(a, _DIFFERS) for a in reversed(others)}
    return replace(agreed, accesses=(*agreed.accesses, *further.values()))


def beyond(
    facts: KernelFacts, known: Set[tuple[Span, AccessKind]], reached: Set[Span]
) -> KernelFacts:
    """Returns what a kernel does at places that are not known."""
    accesses = tuple(a for a in facts.accesses if (a.span, a.kind) not in known)
    notes = tuple(n for n in facts.not_analysed if n.span not in reached)
    return replace(facts, accesses=accesses, not_analysed=notes)


def decided_elsewhere(facts: KernelFacts, other: KernelFacts) -> KernelFacts | None:
    """Returns a kernel with what is decided at other places than those of another instance."""
    places = {(a.span, a.kind) for a in other.accesses}
    left = [a for a in facts.accesses if a.certainty.is_decided and (a.span, a.kind) not in places]
    return replace(facts, accesses=tuple(left), not_analysed=()) if left else None


def settled_in(facts: KernelFacts, other: KernelFacts, places: Set[Span]) -> KernelFacts:
    """Returns a kernel that does at some places what another execution of it shows."""
    if facts.instance.span != other.instance.span:
        return facts
    found = {(a.span, a.kind): a for a in other.accesses if a.span in places}
    return replace(facts, accesses=tuple(found.get((a.span, a.kind), a) for a in facts.accesses))


def is_complete(facts: KernelFacts) -> bool:
    """Returns whether all accesses of a kernel are decided."""
    return facts.decided == len(facts.accesses) and all(
        note.reason.code is ReasonCode.NO_LANES for note in facts.not_analysed
    )


def is_mostly_decided(facts: KernelFacts) -> bool:
    """Returns whether more of a kernel is decided than is not."""
    notes = sum(note.reason.code is not ReasonCode.NO_LANES for note in facts.not_analysed)
    return 2 * facts.decided > len(facts.accesses) + notes
