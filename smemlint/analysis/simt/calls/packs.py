"""Packs of function parameters: `Args&&... args`, and `f(std::forward<Args>(args)...)`.

The operands that a pack takes are bound one by one under names that C++ cannot spell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile

from smemlint.analysis.simt.domain.ctypes import (
    CType,
    PointerType,
    UnreadTemplate,
    is_opaque,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import Operand, Scope
from smemlint.analysis.simt.domain.values import AffineInt, number
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import signature_of, type_words
from smemlint.analysis.simt.types.template_packs import pack_element, pack_size
from smemlint.frontend import ir
from smemlint.frontend.cuda.parser.parse import template_arguments
from smemlint.frontend.program import Function
from smemlint.limits.budgets import MAX_PACK_ELEMENTS

_REFERRING = frozenset(("forward", "move"))
"""Functions whose result is their argument."""
_SEQUENCES = frozenset(("integer_sequence", "index_sequence"))
_MADE = frozenset(("make_integer_sequence", "make_index_sequence"))
_WORD = re.compile(r"[A-Za-z_]\w*")


def without_packs(function: Function, params: Sequence[ir.Decl], count: int) -> tuple[ir.Decl, ...]:
    """Returns the parameters with a pack at their end as one parameter for each operand."""
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
    ev: Evaluator,
    function: Function,
    params: Sequence[ir.Decl],
    operands: Sequence[Operand],
    scope: Scope,
) -> None:
    """Binds what the operands say of packs: template arguments do not say it all.

    A pack of parameters takes those that are left, and `std::index_sequence<I...>` has numbers.

    Args:
        ev: the evaluator.
        function: what is called.
        params: as it declares them.
        operands: of the call, evaluated.
        scope: template arguments that are known; takes those that are found.
    """
    packs = [p.name for p in function.template if p.is_pack]
    if not params or not packs:
        return
    *first, last = params
    given = operands[len(first) :]
    for pack in packs:
        if pack in type_words(last.type):
            scope[pack_size(pack)] = scope[pack_size(last.name or "")] = number(len(given))
            for k, operand in enumerate(given[:MAX_PACK_ELEMENTS]):
                found = _behind_pointers(last.type, unreferenced(operand.type))
                if found is not None and not is_opaque(found) and type_words(last.type) == [pack]:
                    scope.setdefault(pack_element(pack, k), found)
    for spelling, operand in zip(signature_of(function).classes, operands, strict=False):
        name, arguments = template_arguments(spelling)
        for pack in (p for p in packs if p in _WORD.findall(spelling) and p != spelling):
            if scope.get(pack_element(pack, 0)) is None:
                scope.pop(pack_size(pack), None)  # what is not written out is deduced
        pack = arguments[-1].removesuffix("...").strip() if arguments else ""
        node = operand.node
        made = ev.types.resolve(node.type) if isinstance(node, ir.Construct) else operand.type
        values = _sequence_of(made) if pack in packs else None
        if values is not None and name.rpartition("::")[2] in _SEQUENCES:
            scope[pack_size(pack)] = number(len(values))
            scope.update((pack_element(pack, k), number(v)) for k, v in enumerate(values))


def _behind_pointers(declared: ir.Node, given: CType) -> CType | None:
    """Returns what `Ts` is of `Ts*...` for an operand of a type; None where that is no pointer."""
    found: CType | None = given
    node: ir.Node | None = declared
    while isinstance(node, ir.PtrDecl):
        if {"&", "&&"}.isdisjoint(node.quals or ()):
            found = found.target if isinstance(found, PointerType) else None
        node = node.type
    return found


def _sequence_of(ctype: CType) -> Sequence[int] | None:
    """Returns the numbers of `std::make_index_sequence<N>` and its like; None of other types."""
    if not isinstance(ctype, UnreadTemplate):
        return None
    found = ctype.arguments[1:] if "integer" in ctype.template else ctype.arguments
    values = [value for value in found if isinstance(value, int)]
    if len(values) != len(found):
        return None
    if ctype.template in _SEQUENCES:
        return values
    is_made = ctype.template in _MADE and len(values) == 1 and 0 <= values[0] <= MAX_PACK_ELEMENTS
    return range(values[0]) if is_made else None


def expanded(ev: Evaluator, node: ir.FuncCall) -> ir.FuncCall:
    """Returns a call with the elements of packs for `args...` and `std::forward<Args>(args)...`."""
    arguments = expanded_list(ev, node.args)
    return node if arguments is node.args else ir.FuncCall(node.name, arguments, at=node.at)


def expanded_list(ev: Evaluator, items: tuple[ir.Expression, ...]) -> tuple[ir.Expression, ...]:
    """Returns operands with the elements of packs for `pattern...`, where their number is known."""
    for item in items:
        if item.__class__ is ir.PackExpansion:
            break
    else:
        return items
    found: list[ir.Expression] = []
    for item in items:
        if not isinstance(item, ir.PackExpansion) or item.index >= 0:
            found.append(item)
            continue
        pack = _pack_of(item)
        elements = _elements(ev, pack) if pack is not None else []
        found += elements or expansion(ev, item.pattern) or [item]
    return tuple(found)


def expansion(ev: Evaluator, pattern: ir.Expression) -> list[ir.Expression] | None:
    """Returns what stands for each element of the packs in a pattern; None where one is open."""
    packs = _packs_in(ev, pattern)
    counts = {size.constant for size in packs.values()}
    count = counts.pop() if len(counts) == 1 else None
    if count is None or count > MAX_PACK_ELEMENTS:
        return None
    if any(ev.state.lookup(pack_element(p, k)) is None for p in packs for k in range(count)):
        return None
    return [ir.PackExpansion(pattern, k, at=pattern.at) for k in range(count)]


def _packs_in(ev: Evaluator, pattern: ir.Expression) -> dict[str, AffineInt]:
    """Returns the numbers of elements of the packs that a pattern names."""
    state = ev.state
    words = {*_WORD.findall(state.source_text(pattern)), *state.node_facts.names_in(pattern)}
    sizes = ((word, state.lookup(pack_size(word))) for word in sorted(words))
    return {word: size for word, size in sizes if isinstance(size, AffineInt)}


@contextmanager
def element_bound(ev: Evaluator, node: ir.PackExpansion) -> Iterator[None]:
    """Gives the packs of a pattern the meaning that they have for one element."""
    state = ev.state
    bound = ((p, state.lookup(pack_element(p, node.index))) for p in _packs_in(ev, node.pattern))
    with state.frame.scoped({pack: element for pack, element in bound if element is not None}):
        yield


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
