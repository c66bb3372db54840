"""Shared memory that no kernel reaches, as far as was read: a note, since nothing else names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smemlint.facts import KernelFacts, NotAnalysed
from smemlint.frontend.program import Function, Unit
from smemlint.reasons import Reason, ReasonCode


def unreached(unit: Unit, functions: Iterable[Function]) -> list[NotAnalysed]:
    """Returns notes on functions that declare shared memory and that nothing in the unit names."""
    open_ones = [f for f in functions if not f.is_kernel and "__shared__" in f.words]
    if not open_ones:
        return []
    names = frozenset().union(*(f.words - {f.name} for f in unit.functions))
    return [
        NotAnalysed(
            f.span,
            f.name,
            Reason(
                ReasonCode.NOT_REACHED,
                "declares shared memory, and no kernel that was read calls it",
            ),
        )
        for f in open_ones
        if names.isdisjoint((f.record, f.name) if f.record else (f.name,))
    ]


def reaches_nothing(facts: KernelFacts) -> bool:
    """Returns whether an instance comes to no shared access, and nothing says why."""
    return not (facts.accesses or facts.not_analysed)


def unreached_under_guesses(function: Function, facts: Sequence[KernelFacts]) -> list[NotAnalysed]:
    """Notes a kernel none of whose accesses is reached with any of the blocks that were guessed."""
    is_guessed = not facts[0].instance.origin
    if "__shared__" not in function.words or not (is_guessed and all(map(reaches_nothing, facts))):
        return []
    blocks = ", ".join(str(f.instance.block) for f in facts)
    text = f"the block shape is not known, and no shared access is reached with {blocks}"
    return [NotAnalysed(function.span, function.name, Reason(ReasonCode.UNKNOWN_BLOCK, text))]
