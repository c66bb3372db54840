"""The types of a unit, each worked out once for all evaluations whose blocks have one shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from smemlint.analysis.simt.domain.ctypes import CType, RecordType
    from smemlint.analysis.simt.domain.values import Value
    from smemlint.analysis.simt.state import Scope
    from smemlint.frontend.program import Declaration, Unit


@dataclass(slots=True, eq=False)
class Lexicon:
    """What spellings were found to mean.

    Attributes:
        records: by place, name and template arguments.
        aliases: by declaration and template arguments.
        spelled: by spelling and what it rests on (see `spellings`); None for what is no type.
        enumerators: of every enum of the unit; None as long as nobody asked.
        scopes: what keys name by identity lives on here, so that nothing else takes it.
    """

    records: dict[str, RecordType] = field(default_factory=dict)
    aliases: dict[tuple[Declaration, str], CType] = field(default_factory=dict)
    spelled: dict[tuple[object, ...], CType | None] = field(default_factory=dict)
    enumerators: dict[str, Value] | None = None
    scopes: list[Scope] = field(default_factory=list)


def lexicon_of(unit: Unit, kind: Hashable) -> Lexicon:
    """The unit's lexicon for one kind of evaluation."""
    found = unit.memory.get(kind)
    if not isinstance(found, Lexicon):
        found = unit.memory[kind] = Lexicon()
    return found
