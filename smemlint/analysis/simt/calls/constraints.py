"""Conditions of function templates: `enable_if`, its aliases, constraints, members of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import AffineInt, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import (
    Signature,
    conditions_in,
    signature_of,
    type_words,
)
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import template_scope, value_argument
from smemlint.frontend.program import Declaration, Function


def enabled(
    ev: Evaluator,
    candidates: Sequence[Function],
    bound: Callable[[Function], Scope],
    record: RecordType | None,
) -> Sequence[Function] | None:
    """Returns the candidates whose conditions hold; None where that is not known.

    Of conditions that are not known one holds where no other candidate is left.
    """
    if not any(_may_be_disabled(ev, f) for f in candidates):
        return candidates
    found: list[Function] = []
    is_open = False
    for function in candidates:
        scope = bound(function) if _may_be_disabled(ev, function) else {}
        if record is not None:
            scope = scope_of(record) | scope
        with ev.state.within("enable_if", scope, function.scope):
            values = list(_values(ev, signature_of(function)))
        constants = [v.constant if isinstance(v, AffineInt) else None for v in values]
        if 0 in constants:
            continue
        is_open |= None in constants
        found.append(function)
    return None if is_open and len(found) > 1 else found


def _may_be_disabled(ev: Evaluator, function: Function) -> bool:
    signature = signature_of(function)
    names = (ev.state.unit.template_arguments(spelling)[0] for spelling in signature.types)
    return bool(signature.conditions or signature.detected) or any(
        _aliases(ev, name) for name in names
    )


def _values(ev: Evaluator, signature: Signature) -> Iterator[Value | None]:
    """Yields the values of a definition's conditions, those of aliases of `enable_if` too."""
    for condition in signature.conditions:
        yield value_argument(ev, condition)
    yield from (ev.evaluate(asked) for asked in signature.detected)
    for spelling in signature.types:
        name, arguments = ev.state.unit.template_arguments(spelling)
        for alias, conditions in _aliases(ev, name):
            around = template_scope(ev, alias.template, arguments)
            with ev.state.within(f"alias {name}", around, alias.scope):
                yield from [value_argument(ev, condition) for condition in conditions]


def _aliases(ev: Evaluator, name: str) -> tuple[tuple[Declaration, tuple[str, ...]], ...]:
    """Returns the alias templates of a name that hold conditions, looked for once in a unit."""
    unit, key = ev.state.unit, ("conditions of aliases", name)
    if key not in unit.memory:
        named = unit.declarations.get(name.rpartition("::")[2], ())
        aliases = [d for d in named if d.kind == "alias" and d.template]
        read = ((d, tuple(conditions_in(type_words(d.parse())))) for d in aliases)
        unit.memory[key] = tuple((alias, found) for alias, found in read if found)
    return unit.memory[key]  # type: ignore[return-value]
