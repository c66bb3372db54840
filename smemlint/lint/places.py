"""What every finding on an access says besides: the declaration, the calls, the assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemlint.facts import Access, Span, WarpPattern
from smemlint.reasons import Assumption, outcome

Place = tuple["Span", str]


def related_places(access: Access, pattern: WarpPattern | None = None) -> tuple[Place, ...]:
    """Returns the declaration of the array and the calls on the way, innermost first."""
    return (*declaration(access), *_calls(access, pattern.chain if pattern is not None else 0))


def declaration(access: Access) -> tuple[Place, ...]:
    """Returns where the array of an access is declared; of compiled code the line is not known."""
    array = access.array
    if array is None or not array.name or access.origin:
        return ()
    return ((array.span, f"`{array.name}` is declared here"),)


def _calls(access: Access, number: int) -> Iterator[Place]:
    if not access.chains:
        return
    others = len({chain[0].span for chain in access.chains}) - 1
    for index, caller in enumerate(access.chains[number]):
        more = f", one of {others + 1} calls there" if others and not index else ""
        yield caller.span, f"called from `{caller.name}`{more}"


def assumption_notes(access: Access) -> tuple[str, ...]:
    """Returns what the figure was computed for, the conditions of the code as one note.

    A condition that holds on one way to the access and does not on another is no condition of it.
    """
    taken = [a for a in access.conditions if a in access.assumptions]
    conditions = [a.text for a in taken if not _goes_both_ways(a, taken)]
    others = tuple(a.text for a in access.assumptions if a not in access.conditions)
    return (*others, f"where {', '.join(conditions)}") if conditions else others


def _goes_both_ways(assumption: Assumption, taken: Sequence[Assumption]) -> bool:
    ways = outcome(assumption.subject, True), outcome(assumption.subject, False)
    return assumption in ways and all(way in taken for way in ways)
