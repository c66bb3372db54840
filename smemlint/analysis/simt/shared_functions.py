"""Whether a function, or one that it calls, can touch shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.frontend.heuristics import names_shared

if TYPE_CHECKING:
    from smemlint.frontend.program import Function, Unit

_NAMES = frozenset(("__shared__", "ldmatrix", "__cvta_generic_to_shared"))


def shared_names(unit: Unit) -> frozenset[str]:
    """Returns the words that name shared memory: shared variables, and what leads to it."""
    declared = (d for group in unit.declarations.values() for d in group)
    return _NAMES.union(
        d.name for d in declared if d.kind == "variable" and "__shared__" in d.specifiers
    )


def touches_shared(function: Function, unit: Unit) -> bool:
    """Returns whether a function, or one that it may call, names shared memory."""
    shared = shared_names(unit)
    seen: set[str] = set()
    worklist = [function]
    while worklist:
        current = worklist.pop()
        words = current.words
        if words & shared or any(map(names_shared, words)):
            return True
        for word in words - seen:
            seen.add(word)
            worklist.extend(unit.functions_named(word))
            for record in unit.records.get(word, ()):
                worklist.extend(f for f in unit.functions if f.record == record.name)
    return False
