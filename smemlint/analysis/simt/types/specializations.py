"""Which definition of a template its arguments choose: a specialization or the primary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from smemlint.analysis.simt.domain.ctypes import CType, PointerType, is_opaque
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.frontend.cuda.parser.parse import template_arguments
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.frontend.program import Function, Record

Argument: TypeAlias = CType | Value | None
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Specialization:
    """A specialization that the arguments choose.

    Attributes:
        bound: its own template parameters.
    """

    record: Record
    bound: dict[str, Argument]


def specialization_for(
    records: Sequence[Record], arguments: Sequence[Argument], ev: Evaluator
) -> Specialization | bool:
    """The specialization among `records` that these arguments choose; False for the primary one.

    True says that a specialization may be meant: it hangs on an argument that is not known.

    Args:
        records: definitions of one class template.
        arguments: types and values, defaults of the primary template among them.
        ev: reads what the specializations are written for.
    """
    fitting: list[Specialization] = []
    for record in records:
        if record.specialization is None:
            continue
        match = _Match(record, ev)
        answer = match.of(arguments)
        if answer is None:
            return True
        if answer:
            fitting.append(Specialization(record, match.bound))
    return min(fitting, key=lambda s: len(s.bound)) if fitting else False


def definitions_for(
    ev: Evaluator, candidates: Sequence[Function], arguments: Sequence[str], types: Sequence[CType]
) -> Sequence[Function] | None:
    """Returns the definitions of a function that its explicit specializations leave for a call.

    Those whose arguments are the call's are the only ones, the others are none. None where one may
    be meant and hangs on an argument that is not known.

    Args:
        ev: reads the arguments where the call stands.
        candidates: definitions of one name.
        arguments: spelling of the template arguments that the call gives.
        types: of the call's operands; they choose where it gives no template arguments.
    """
    if not any(f.specialization is not None for f in candidates):
        return candidates
    given = [_argument(ev, a) for a in arguments]
    chosen: list[Function] = []
    others: list[Function] = []
    is_open = False
    for function in candidates:
        if function.specialization is None:
            others.append(function)
            continue
        answer = _is_for(ev, function, arguments, given) if given else takes(ev, function, types)
        if answer:
            chosen.append(function)
        is_open |= answer is None
    return chosen or (None if is_open else others)


def takes(ev: Evaluator, function: Function, types: Sequence[CType]) -> bool:
    """Returns whether the parameters have exactly the types of a call's operands."""
    parameters = signature_of(function).parameters
    if len(parameters) != len(types):
        return False
    return all(
        _unreferenced(ev.types.resolve(parameter.type)) == _unreferenced(given)
        for parameter, given in zip(parameters, types, strict=True)
    )


def _unreferenced(kind: CType) -> CType:
    return kind.target if isinstance(kind, PointerType) and kind.is_reference else kind


def _is_for(
    ev: Evaluator, function: Function, spellings: Sequence[str], given: Sequence[Argument]
) -> bool | None:
    """Whether an explicit specialization is for these arguments; those behind them are deduced."""
    _, patterns = template_arguments(f"_<{function.specialization}>")
    answers = [
        spelling == pattern or _same(_argument(ev, pattern), argument)
        for pattern, spelling, argument in zip(patterns, spellings, given, strict=False)
    ]
    if False in answers or len(spellings) > len(patterns):
        return False
    return None if None in answers else True


def _argument(ev: Evaluator, spelling: str) -> Argument:
    """Returns what a template argument is: a type if it names one, else a value."""
    kind = type_argument(ev, spelling)
    if kind is not None and not is_opaque(kind):
        return kind
    value = value_argument(ev, spelling)
    return value if isinstance(value, AffineInt) else kind


class _Match:
    """A specialization's patterns held against arguments."""

    def __init__(self, record: Record, ev: Evaluator) -> None:
        _, self._patterns = template_arguments(f"_<{record.specialization}>")
        self._free = {p.name for p in record.template if p.name}
        self._takes_any = any(p.is_pack for p in record.template)
        self._ev = ev
        self.bound: dict[str, Argument] = {}

    def of(self, arguments: Sequence[Argument]) -> bool | None:
        """Returns whether the arguments fit; None where that is not known."""
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
            return None if is_open else _same(value_argument(self._ev, pattern), argument)
        if pattern.endswith("*"):
            is_pointer = isinstance(argument, PointerType) and not argument.is_reference
            return is_pointer and self._fits(pattern[:-1], argument.target)  # type: ignore[union-attr]
        if is_open:
            name = template_arguments(pattern)[0].rsplit("::", 1)[-1]
            is_other = name in self._ev.state.unit.records and name != getattr(argument, "name", "")
            return False if is_other else None  # of another class; an alias may be anything
        return _same(type_argument(self._ev, pattern), argument)


def _same(one: Argument, other: Argument) -> bool | None:
    if isinstance(one, AffineInt) and isinstance(other, AffineInt):
        if one.constant is None or other.constant is None:
            return None
        return one.constant == other.constant
    if isinstance(one, Value) or isinstance(other, Value):
        return None
    return one == other  # a type that was not read is none of those that were
