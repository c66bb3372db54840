"""Shared memory that no kernel reaches, as far as was read: it is said, since nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.facts import NotAnalysed
from smemlint.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from smemlint.frontend.program import Function, Unit


def unreached(unit: Unit, functions: Iterable[Function]) -> list[NotAnalysed]:
    """Notes on those functions that declare shared memory and that nothing in the unit names."""
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
