"""Template arguments that the units write after a host function's name.

`template void launch<float>(..);` and `template void launch(float *);` instantiate it, and
`{"v2", launch<float>}` takes its address: who calls it, and with which types, need not be seen
anywhere. `template class Solver<float>;` instantiates all methods of a class. What a template
writes, `return (void*)kernel<T, 8>;`, has the arguments that it is instantiated with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from smemlint.analysis.simt.calls.deduction import deduce
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Operand, Scope
from smemlint.analysis.simt.domain.values import Unknown
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.launches.bindings import is_known, may_be_known, scope_text
from smemlint.analysis.simt.types.overloads import signature_of
from smemlint.analysis.simt.types.statics import scope_of
from smemlint.analysis.simt.types.template_arguments import template_scope
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record, TemplateParameter, Unit
from smemlint.limits.budgets import MAX_INSTANTIATIONS
from smemlint.reasons import ReasonCode


class Instantiations(NamedTuple):
    """Bindings of a function's template parameters that are run, and how many others there are."""

    scopes: list[Scope]
    left: int


def written_instantiations(
    ev: Evaluator, units: Sequence[Unit], function: Function
) -> Instantiations:
    """Returns the bindings of a function's template parameters that some unit spells, each once.

    Explicit instantiations come alone where there are any: they are all that a unit compiles. Of
    a class that is written otherwise, only virtual methods may be called out of sight.
    """
    found: dict[object, Scope] = {}
    explicit: dict[object, Scope] = {}
    is_virtual = not function.specifiers.isdisjoint(("virtual", "override"))
    for unit in units:
        for written in unit.template_ids(function.record or ""):
            owner = ev.types.spelled(written.spelled)
            if not isinstance(owner, RecordType):
                continue
            if written.is_instantiated:
                explicit.setdefault(written.spelled, scope_of(owner))
            elif is_virtual and all(
                may_be_known(owner.statics.get(p.name)) for p in _parameters(owner)
            ):
                found.setdefault(owner, scope_of(owner))
        for written in unit.template_ids(function.name):
            scope = template_scope(ev, function.template, written.arguments, function.scope)
            is_open = bool(written.parameters) and not is_known(scope, function)
            is_given = not is_open or _deduce(ev, unit, function, written.parameters, scope)
            if not (is_given or written.arguments):
                continue  # another function of the name
            key = scope_text(scope, function), written.arguments
            if written.is_instantiated:
                explicit.setdefault(key, scope)
            elif is_known(scope, function):
                found.setdefault(key[0], scope)
    if function.is_kernel and not explicit:
        found.update(_written_in_templates(ev, units, function))
    scopes = list((explicit or found).values())
    return Instantiations(scopes[:MAX_INSTANTIATIONS], max(len(scopes) - MAX_INSTANTIATIONS, 0))


def _written_in_templates(
    ev: Evaluator, units: Sequence[Unit], kernel: Function
) -> Iterator[tuple[object, Scope]]:
    """Yields the bindings of a kernel that templates spell, for each of their own bindings."""
    for unit in units:
        for holder in unit.functions:
            if kernel.name not in holder.words or not is_of_template(units, holder):
                continue
            for outer in written_instantiations(ev, units, holder).scopes:
                with ev.state.within(holder.name, outer, holder.scope):
                    for written in holder.template_ids(kernel.name):
                        args = written.arguments
                        scope = template_scope(ev, kernel.template, args, kernel.scope)
                        if is_known(scope, kernel):
                            yield scope_text(scope, kernel), scope


def _parameters(owner: RecordType) -> Sequence[TemplateParameter]:
    return cast("Record", owner.record).template if owner.record is not None else ()


def _deduce(
    ev: Evaluator, unit: Unit, function: Function, types: Sequence[str], scope: Scope
) -> bool:
    """Binds what types of an explicit instantiation tell; returns whether it is of a function."""
    parameters = signature_of(function).parameters
    if len(parameters) != len(types):
        return False
    parsed = [unit.parse_type(spelled) for spelled in types]
    if None in parsed:
        return False
    kinds = [ev.types.resolve(kind.type) for kind in parsed if kind is not None]
    no_value = Unknown.because(ReasonCode.NO_VALUE, "a type")
    operands = [Operand(ir.ID(""), None, no_value, kind) for kind in kinds]
    deduce(ev, function.template, parameters, operands, scope)
    return is_known(scope, function)


def is_instantiated(unit: Unit, function: Function) -> bool:
    """Returns whether a unit instantiates a function template, or a method's class, explicitly."""
    has_parameters = bool(function.template)
    is_own = has_parameters and any(w.is_instantiated for w in unit.template_ids(function.name))
    return is_own or any(_instantiated_classes(unit, function))


def compiled_scopes(
    ev: Evaluator, units: Sequence[Unit], function: Function, scope: Scope
) -> Instantiations:
    """Returns the bindings of the explicit instantiations that a launch may mean.

    They are those of the launch alone where they are known or nothing is instantiated explicitly.
    """
    if is_known(scope, function) or not any(is_instantiated(unit, function) for unit in units):
        return Instantiations([scope], 0)
    known = {name: bound for name, bound in scope.items() if may_be_known(bound)}
    given = set(scope_text(known, function))
    written, left = written_instantiations(ev, units, function)
    meant = [each for each in written if given <= set(scope_text(each, function))]
    return Instantiations(meant, left) if meant else Instantiations([scope], 0)


def is_of_template(units: Iterable[Unit], function: Function) -> bool:
    """Returns whether a function is a template, or a method of one."""
    if function.template or function.record is None:
        return bool(function.template)
    return any(record.template for u in units for record in u.records.get(function.record, ()))


def _instantiated_classes(unit: Unit, function: Function) -> Iterator[str]:
    """Yields explicit instantiations of a method's class."""
    if function.record is not None:
        written = unit.template_ids(function.record)
        yield from (w.spelled for w in written if w.is_instantiated)
