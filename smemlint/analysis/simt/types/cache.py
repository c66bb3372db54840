"""The types of a unit, each worked out once for all evaluations whose blocks have one shape."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TypeVar

from smemlint.analysis.simt.domain.ctypes import CType, RecordType
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import Value
from smemlint.frontend.program import Declaration, Record, Unit
from smemlint.lazy_dataclasses import dataclass

_Found = TypeVar("_Found")


@dataclass(slots=True, eq=False)
class TypeCache:
    """What spellings were found to mean.

    Attributes:
        records: by definition and template arguments.
        aliases: by declaration and template arguments.
        spelled: by spelling and what it rests on (see `spellings`); None for what is no type.
        class_fits: how closely a function names the classes of operands, see `class_fit`.
        enumerators: of enums by name.
        any_enumerators: by name, equal in all enums, see `enumerator_named`.
        enums: by the names of their enumerators; None as long as nobody asked.
        uses_cute: some file of the unit mentions CuTe; None as long as nobody asked.
        scopes: what keys name by identity lives on here, so that nothing else takes it.
    """

    records: dict[tuple[Record, str], RecordType] = field(default_factory=dict)
    aliases: dict[tuple[Declaration, str], CType] = field(default_factory=dict)
    spelled: dict[tuple[object, ...], CType | None] = field(default_factory=dict)
    class_fits: dict[tuple[object, ...], int | None] = field(default_factory=dict)
    enumerators: dict[Declaration, dict[str, Value]] = field(default_factory=dict)
    any_enumerators: dict[str, Value | None] = field(default_factory=dict)
    enums: dict[str, Sequence[Declaration]] | None = None
    uses_cute: bool | None = None
    scopes: list[Scope] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Resolution:
    """What is known of types and names outside of functions, and what is being worked out.

    Attributes:
        cache: of the unit that is read.
        declarations: identities of aliases and variables under way.
        records: classes under way, by definition and template arguments.
        unfinished: definitions under way that were met: what rests on them is not final.
        depth: spellings under way.
        ends: how often the outermost of them met the bound of depth.
    """

    cache: TypeCache = field(default_factory=TypeCache)
    declarations: set[int] = field(default_factory=set)
    records: dict[tuple[Record, str], RecordType] = field(default_factory=dict)
    unfinished: set[object] = field(default_factory=set)
    depth: int = 0
    ends: int = 0

    @contextmanager
    def working_out(self, declaration: Declaration) -> Iterator[None]:
        """Marks a declaration as under way."""
        self.declarations.add(id(declaration))
        try:
            yield
        finally:
            self.declarations.discard(id(declaration))
            self.unfinished.discard(id(declaration))

    def remembered(
        self,
        known: dict[tuple[object, ...], _Found],
        key: tuple[object, ...] | None,
        find: Callable[[], _Found],
    ) -> _Found:
        """Returns what was found under a key before, or is found now.

        It is kept unless there is no key, or a definition under way had a say.
        """
        if key is not None and key in known:
            return known[key]
        met, self.unfinished = self.unfinished, set()
        found = find()
        if key is not None and not self.unfinished:
            known[key] = found
        self.unfinished |= met
        return found


def type_cache(unit: Unit, key: Hashable) -> TypeCache:
    """Returns the unit's cache for one kind of evaluation."""
    found = unit.memory.get(key)
    if not isinstance(found, TypeCache):
        found = unit.memory[key] = TypeCache()
    return found
