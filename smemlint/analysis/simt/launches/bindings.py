"""Template bindings of an instance: as a reader writes them, and whether they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from smemlint.analysis.simt.domain.ctypes import CType, IntType, PointerType, RecordType, is_opaque
from smemlint.analysis.simt.domain.environment import CTYPES, Scope
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue, Unknown
from smemlint.analysis.simt.types.template_packs import pack_element, pack_size
from smemlint.limits.budgets import MAX_TYPE_DEPTH

if TYPE_CHECKING:
    from smemlint.frontend.program import Function

_MOST_TEXT = 80
"""Characters of a type's text."""


def scope_text(scope: Scope, function: Function) -> tuple[tuple[str, str], ...]:
    """Returns template parameters and values as a reader writes them."""
    shown = []
    for parameter in function.template:
        bound = scope.get(parameter.name)
        size = scope.get(pack_size(parameter.name)) if parameter.is_pack else None
        if isinstance(size, AffineInt):
            elements = (pack_element(parameter.name, k) for k in range(size.constant or 0))
            shown.append((parameter.name, ", ".join(_shown(scope.get(e)) for e in elements)))
        elif bound is not None:
            shown.append((parameter.name, _shown(bound)))
    return tuple(shown)


def _shown(bound: object) -> str:
    if isinstance(bound, AffineInt):
        return str(bound.constant) if bound.constant is not None else repr(bound)
    if isinstance(bound, CTYPES):
        return type_text(bound)
    return getattr(bound, "name", None) or "?"


def type_text(kind: CType) -> str:
    """Returns a type as C spells it."""
    if isinstance(kind, IntType):
        if kind.is_bool:
            return "bool"
        words = {8: "char", 16: "short", 32: "int", 64: "long long"}.get(kind.bits, "int128")
        return words if kind.signed else f"unsigned {words}"
    if isinstance(kind, PointerType):
        return f"{type_text(kind.target)}{'&' if kind.is_reference else '*'}"
    if isinstance(kind, RecordType):
        return _record_text(kind)
    return getattr(kind, "name", None) or getattr(kind, "spelling", None) or "?"


def _record_text(kind: RecordType) -> str:
    """A class with the values of its template parameters; a long one ends in a digest."""
    template = getattr(kind.record, "template", ())
    values = [_shown(kind.statics.get(p.name)) if p.name else "?" for p in template]
    if not values or len(values) != len(kind.arguments or values):
        values = list(kind.arguments)  # a specialization has parameters of its own
    text = f"{kind.name}<{', '.join(values)}>" if values else kind.name
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[:_MOST_TEXT]}..{crc32(text.encode()):08x}"


def is_known(scope: Scope, function: Function) -> bool:
    """Returns whether every template parameter that a launch can tell is a known type or number."""
    return all(
        _is_known(scope.get(parameter.name), MAX_TYPE_DEPTH)
        for parameter in function.template
        if parameter.name and not parameter.is_pack
    )


def _is_known(bound: object, depth: int) -> bool:
    """Returns whether a type or number is known; a class is where its template arguments are."""
    if isinstance(bound, AffineInt):
        return bound.constant is not None
    if isinstance(bound, CallableValue):  # `decltype(flag)::value` of a type that is not known
        return not isinstance(bound.payload, CTYPES)
    if bound is None or isinstance(bound, Unknown) or is_opaque(bound):
        return False
    if not isinstance(bound, RecordType) or not depth:
        return True
    template = getattr(bound.record, "template", ())
    return all(
        _is_known(bound.statics.get(p.name), depth - 1)
        for p in template
        if p.name and not p.is_pack
    )
