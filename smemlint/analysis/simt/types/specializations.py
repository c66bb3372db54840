"""Which definition of a class template its arguments choose: a specialization or the primary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from smemlint.analysis.simt.domain.ctypes import CType, PointerType, is_opaque
from smemlint.analysis.simt.domain.values import Int, Value
from smemlint.frontend.cuda.parser.parse import template_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.frontend.program import Record, Unit

Argument: TypeAlias = CType | Value | None
_WORD = re.compile(r"[A-Za-z_]\w*")


class Reader(Protocol):
    """Reads the spelling of template arguments."""

    unit: Unit

    def type_argument(self, spelling: str) -> CType | None:
        """The type that it names."""
        ...

    def value_argument(self, spelling: str) -> Value | None:
        """Its value."""
        ...


@dataclass(frozen=True, slots=True)
class Specialization:
    """A specialization that the arguments choose.

    Attributes:
        bound: its own template parameters.
    """

    record: Record
    bound: dict[str, Argument]


def specialization_for(
    records: Sequence[Record], arguments: Sequence[Argument], reader: Reader
) -> Specialization | bool:
    """The specialization among `records` that these arguments choose; False for the primary one.

    True says that a specialization may be meant: it hangs on an argument that is not known.

    Args:
        records: definitions of one class template.
        arguments: types and values, defaults of the primary template among them.
        reader: for what the specializations are written for.
    """
    fitting: list[Specialization] = []
    for record in records:
        if record.specialization is None:
            continue
        match = _Match(record, reader)
        answer = match.of(arguments)
        if answer is None:
            return True
        if answer:
            fitting.append(Specialization(record, match.bound))
    return min(fitting, key=lambda s: len(s.bound)) if fitting else False


class _Match:
    """A specialization's patterns held against arguments."""

    def __init__(self, record: Record, reader: Reader) -> None:
        _, self._patterns = template_arguments(f"_<{record.specialization}>")
        self._free = {p.name for p in record.template if p.name}
        self._takes_any = any(p.is_pack for p in record.template)
        self._reader = reader
        self.bound: dict[str, Argument] = {}

    def of(self, arguments: Sequence[Argument]) -> bool | None:
        """Whether the arguments fit; None where that is not known."""
        if self._takes_any:
            return None
        if len(self._patterns) != len(arguments):
            return False
        answers = [self._fits(p, a) for p, a in zip(self._patterns, arguments, strict=True)]
        if False in answers:
            return False
        return None if None in answers else True

    def _fits(self, pattern: str, argument: Argument) -> bool | None:
        pattern = pattern.removeprefix("typename ").strip()
        if pattern in self._free:
            if pattern in self.bound:
                return _same(self.bound[pattern], argument)
            self.bound[pattern] = argument
            return True
        if argument is None or is_opaque(argument):
            return None
        is_open = not self._free.isdisjoint(_WORD.findall(pattern))
        if isinstance(argument, Value):
            return None if is_open else _same(self._reader.value_argument(pattern), argument)
        if pattern.endswith("*"):
            is_pointer = isinstance(argument, PointerType) and not argument.is_reference
            return is_pointer and self._fits(pattern[:-1], argument.target)  # type: ignore[union-attr]
        if is_open:
            name = template_arguments(pattern)[0].rsplit("::", 1)[-1]
            is_other = name in self._reader.unit.records and name != getattr(argument, "name", "")
            return False if is_other else None  # of another class; an alias may be anything
        return _same(self._reader.type_argument(pattern), argument)


def _same(one: Argument, other: Argument) -> bool | None:
    if isinstance(one, Int) and isinstance(other, Int):
        if one.constant is None or other.constant is None:
            return None
        return one.constant == other.constant
    if isinstance(one, Value) or isinstance(other, Value):
        return None
    return one == other  # a type that was not read is none of those that were
