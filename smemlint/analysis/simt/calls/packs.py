"""Packs of function parameters: `Args&&... args`, and `f(std::forward<Args>(args)...)`.

The operands that a pack takes are bound one by one under names that C++ cannot spell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from smemlint.analysis.simt.domain.environment import Scope
from smemlint.analysis.simt.domain.values import number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import type_words
from smemlint.analysis.simt.types.template_packs import pack_element, pack_size
from smemlint.frontend import ir
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_PACK_ELEMENTS

_REFERRING = frozenset(("forward", "move"))
"""Functions whose result is their argument."""


def without_packs(function: Function, params: Sequence[ir.Decl], count: int) -> tuple[ir.Decl, ...]:
    """Returns the parameters with a pack at their end as one parameter for each operand.

    Args:
        function: that declares them.
        params: as it declares them.
        count: how many operands it is called with.
    """
    packs = {p.name for p in function.template if p.is_pack}
    if not params or packs.isdisjoint(type_words(params[-1])):
        return tuple(params)
    *first, last = params
    elements = max(count - len(first), 0)
    if elements > MAX_PACK_ELEMENTS:
        return tuple(params)  # what expands it is not followed, and says so
    names = (pack_element(last.name or "", k) for k in range(elements))
    return (*first, *(replace(last, name=name) for name in names))


def bind_deduced_packs(
    function: Function, params: Sequence[ir.Decl], count: int, scope: Scope
) -> None:
    """Binds how many operands a pack of parameters takes: template arguments do not say it all."""
    if not params:
        return
    *first, last = params
    elements = number(max(count - len(first), 0))
    for pack in (p.name for p in function.template if p.is_pack):
        if pack in type_words(last.type):
            scope[pack_size(pack)] = elements
            scope[pack_size(last.name or "")] = elements


def expanded(ev: Evaluator, node: ir.FuncCall) -> ir.FuncCall:
    """Returns a call with the elements of packs for `args...` and `std::forward<Args>(args)...`."""
    if not any(argument.__class__ is ir.PackExpansion for argument in node.args):
        return node
    arguments: list[ir.Expression] = []
    for argument in node.args:
        pack = _pack_of(argument) if isinstance(argument, ir.PackExpansion) else None
        elements = _elements(ev, pack) if pack is not None else []
        arguments += elements or [argument]
    return ir.FuncCall(node.name, tuple(arguments), at=node.at)


def _pack_of(node: ir.PackExpansion) -> ir.ID | None:
    """Returns the pack that an expansion gives as it is; None where it computes elements."""
    pattern = node.pattern
    while isinstance(pattern, ir.FuncCall) and _is_forwarded(pattern):
        pattern = pattern.args[0]
    return pattern if isinstance(pattern, ir.ID) else None


def _elements(ev: Evaluator, pack: ir.ID) -> list[ir.Expression]:
    names = (pack_element(pack.name, k) for k in range(MAX_PACK_ELEMENTS))
    bound = takewhile(lambda name: ev.state.lookup(name) is not None, names)
    return [ir.ID(name, at=pack.at) for name in bound]


def _is_forwarded(node: ir.FuncCall) -> bool:
    """Returns whether a call is `std::forward<T>(x)` or `std::move(x)`."""
    is_free = isinstance(node.name, ir.ID) and len(node.args) == 1
    return is_free and ir.called_name(node.name) in _REFERRING
