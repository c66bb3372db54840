"""Template arguments that the units write after a host function's name.

`template void launch<float>(..);` instantiates it and `{"v2", launch<float>}` takes its address:
who calls it, and with which types, need not be seen anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from smemlint.analysis.simt.launches.bindings import is_known, scope_text
from smemlint.analysis.simt.types.template_arguments import template_scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from smemlint.analysis.simt.domain.environment import Scope
    from smemlint.analysis.simt.evaluator import Evaluator
    from smemlint.frontend.program import Function, Unit

_MOST = 6
"""Instantiations of one function that are run."""


class Instantiations(NamedTuple):
    """Bindings of a function's template parameters that are run, and how many others there are."""

    scopes: list[Scope]
    left: int


def written_instantiations(
    ev: Evaluator, units: Iterable[Unit], function: Function
) -> Instantiations:
    """The bindings of a function's template parameters that some unit spells out, each once."""
    found: dict[object, Scope] = {}
    for unit in units:
        for written in unit.template_ids(function.name):
            scope = template_scope(ev, function.template, written.arguments)
            if is_known(scope, function):
                found.setdefault(scope_text(scope, function), scope)
    return Instantiations(list(found.values())[:_MOST], max(len(found) - _MOST, 0))
