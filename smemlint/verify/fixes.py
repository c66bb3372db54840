"""The accesses as a fix would have them: its edits are applied and the sources analysed again."""

from __future__ import annotations

from collections.abc import Sequence

from smemlint.config.settings import Settings
from smemlint.facts import Access, Facts, KernelFacts
from smemlint.finding import Edit
from smemlint.fix.edits import applied
from smemlint.lint.result import Result
from smemlint.sources.source import Source


def healed_accesses(
    result: Result, sources: Sequence[Source], settings: Settings
) -> dict[int, Access]:
    """Returns, by identity of a finding, its access after its fix, where the two correspond.

    A fix is analysed once, however many findings have it.
    """
    places = {
        id(access): (number, place)
        for number, kernel in enumerate(result.facts.kernels)
        for place, access in enumerate(kernel.accesses)
    }
    facts_after: dict[tuple[Edit, ...], Facts] = {}
    found: dict[int, Access] = {}
    for finding in result.findings:
        if finding.fix is None or id(finding.access) not in places:
            continue
        edits = finding.fix.edits
        if edits not in facts_after:
            from smemlint.analysis.analyze import analyze

            facts_after[edits] = analyze([_edited(s, edits) for s in sources], settings)[0]
        number, place = places[id(finding.access)]
        kernels = facts_after[edits].kernels
        if len(kernels) == len(result.facts.kernels) and _match(
            result.facts.kernels[number], kernels[number]
        ):
            found[id(finding)] = kernels[number].accesses[place]
    return found


def _edited(source: Source, edits: Sequence[Edit]) -> Source:
    own = [e for e in edits if e.span.path == source.path]
    return source.edited(applied(source.text, own)) if own else source


def _match(before: KernelFacts, after: KernelFacts) -> bool:
    """Returns whether the accesses of both are the same ones, in the same order."""
    return before.instance.title == after.instance.title and [a.kind for a in before.accesses] == [
        a.kind for a in after.accesses
    ]
