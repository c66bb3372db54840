"""Deduces template arguments from the types of operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    ClosureType,
    CType,
    PointerType,
    is_opaque,
    unreferenced,
)
from smemlint.analysis.simt.domain.environment import Binding, Operand, Scope
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import class_spelling, type_words
from smemlint.analysis.simt.types.patterns import Match
from smemlint.analysis.simt.types.template_packs import pack_size
from smemlint.frontend import ir
from smemlint.frontend.program import TemplateParameter


def deduce(
    ev: Evaluator,
    template: Sequence[TemplateParameter],
    params: Sequence[ir.Decl],
    operands: Sequence[Operand],
    scope: Scope,
) -> None:
    """Binds parameters of a function's or a class's template that arguments determine.

    Args:
        ev: the evaluator.
        template: its parameters.
        params: of the function or the constructor.
        operands: the arguments, evaluated.
        scope: template arguments that are known; takes those that are found.
    """
    if not template:
        return
    open_parameters = (p for p in template if p.name and not p.is_pack)
    missing = {p.name: p for p in open_parameters if p.name not in scope}
    explicit = set(scope)
    defaults = {p.name for p in template if p.default is not None}
    names = {*missing, *defaults}
    for param, operand in zip(params if names else (), operands, strict=False):
        for name, found in _unify(param.type, operand.type, names):
            if name not in explicit or name in missing:
                scope.setdefault(name, found)
    packs = {p.name for p in template if p.is_pack and pack_size(p.name) not in scope}
    _deduce_from_classes(ev, params, operands, missing.keys() | packs, scope)


def _deduce_from_classes(
    ev: Evaluator,
    params: Sequence[ir.Decl],
    operands: Sequence[Operand],
    missing: Collection[str],
    scope: Scope,
) -> None:
    """Binds what class templates of parameters say: `N` of `Int<N>`, `L` of `Tag<L>`."""
    if not missing:
        return
    match = Match(frozenset(missing), ev)
    for param, operand in zip(params, operands, strict=False):
        node, ctype = param.type, unreferenced(operand.type)
        while isinstance(node, ir.PtrDecl) and not {"&", "&&"} & set(node.quals):
            if not isinstance(ctype, PointerType):
                break
            node, ctype = node.type, ctype.target
        spelling = ev.state.node_facts.told(class_spelling, node)
        if match.is_open(spelling) and spelling not in missing:
            match.fits(spelling, ctype)
    for name, found in match.bound.items():
        if found is not None and not is_opaque(found):
            scope.setdefault(name, found)


def _unify(node: ir.Node | None, ctype: CType, names: set[str]) -> list[tuple[str, Binding]]:
    """Returns the template parameters that a declarator and an argument's type determine."""
    match node:
        case ir.TypeDecl():
            words = type_words(node)
            is_known = isinstance(ctype, ClosureType) or not is_opaque(ctype)
            if len(words) == 1 and words[0] in names and is_known:
                if isinstance(ctype, ArrayType):
                    ctype = PointerType(ctype.element)
                return [(words[0], ctype)]
        case ir.PtrDecl():
            if {"&", "&&"} & set(node.quals):
                return _unify_reference(node.type, ctype, names)
            if isinstance(ctype, PointerType):
                return _unify(node.type, ctype.target, names)
            if isinstance(ctype, ArrayType):
                return _unify(node.type, ctype.element, names)
        case ir.ArrayDecl() if isinstance(ctype, ArrayType):
            found = _unify(node.type, ctype.element, names)
            if isinstance(node.dim, ir.ID) and node.dim.name in names and ctype.count is not None:
                found.append((node.dim.name, AffineInt(ctype.count)))
            return found
        case ir.ArrayDecl() if isinstance(ctype, PointerType):
            return _unify(node.type, ctype.target, names)
    return []


def _unify_reference(node: ir.Node, ctype: CType, names: set[str]) -> list[tuple[str, Binding]]:
    words = type_words(node) if isinstance(node, ir.TypeDecl) else []
    if len(words) == 1 and words[0] in names:
        return [(words[0], ctype)]
    return _unify(node, ctype, names)
