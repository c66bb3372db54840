"""Template bindings of an instance: as a reader writes them, and whether they are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast
from zlib import crc32

from smemlint.analysis.simt.domain.ctypes import (
    CType,
    IntType,
    PointerType,
    RecordType,
    StaticType,
    is_opaque,
)
from smemlint.analysis.simt.domain.environment import CTYPES, Scope
from smemlint.analysis.simt.domain.values import AffineInt, CallableValue, Cute, Unknown
from smemlint.analysis.simt.types.template_packs import pack_element, pack_size
from smemlint.frontend.program import Enclosing, Function, Record, TemplateParameter
from smemlint.limits.budgets import MAX_TYPE_DEPTH

_NAME = re.compile(r"([A-Za-z_]\w*)(?:\s*\.\.\.)?")
_MOST_TEXT = 80
"""Characters of a type's text."""


_OPEN = re.compile(r"\?-?\d+;[^,()]*")
"""A number of a layout that is not known, by the keys of symbols."""


def shown_scope(scope: Scope, function: Function) -> tuple[tuple[str, str], ...]:
    """Returns what `scope_text` does without the keys of what is open: edits change those."""
    return tuple((name, _OPEN.sub("?", text)) for name, text in scope_text(scope, function))


def scope_text(scope: Scope, function: Function) -> tuple[tuple[str, str], ...]:
    """Returns template parameters and values as a reader writes them."""
    shown = []
    texts = _Texts()
    for parameter in function.template:
        written = texts.of_parameter(parameter, scope)
        if written is not None:
            shown.append((parameter.name, written))
    return tuple(shown)


def type_text(ctype: CType) -> str:
    """Returns a type as C spells it."""
    return _Texts().of(ctype)


class _Texts:
    """The texts of types that name each other, each made once: they share more than they hold."""

    def __init__(self) -> None:
        self._of_records: dict[RecordType, str] = {}

    def of_parameter(self, parameter: TemplateParameter, scope: Mapping[str, object]) -> str | None:
        """Spells what a template parameter is, a pack by its elements; None for one not bound."""
        size = scope.get(pack_size(parameter.name)) if parameter.is_pack else None
        if isinstance(size, AffineInt):
            elements = (pack_element(parameter.name, k) for k in range(size.constant or 0))
            return ", ".join(self.of_binding(scope.get(e)) for e in elements)
        bound = scope.get(parameter.name) if parameter.name else None
        return None if bound is None else self.of_binding(bound)

    def of_binding(self, bound: object) -> str:
        if isinstance(bound, AffineInt):
            return str(bound.constant) if bound.constant is not None else repr(bound)
        if isinstance(bound, CTYPES):
            return self.of(bound)
        return getattr(bound, "name", None) or "?"

    def of(self, ctype: CType) -> str:
        if isinstance(ctype, IntType):
            if ctype.is_bool:
                return "bool"
            words = {8: "char", 16: "short", 32: "int", 64: "long long"}.get(ctype.bits, "int128")
            return words if ctype.signed else f"unsigned {words}"
        if isinstance(ctype, PointerType):
            return f"{self.of(ctype.target)}{'&' if ctype.is_reference else '*'}"
        if isinstance(ctype, RecordType):
            if ctype not in self._of_records:
                self._of_records[ctype] = self._of_record(ctype)
            return self._of_records[ctype]
        return getattr(ctype, "name", None) or getattr(ctype, "spelling", None) or "?"

    def _of_record(self, ctype: RecordType) -> str:
        """Spells a class with what it stands in and the values of all template parameters.

        A long one goes by digest.
        """
        record = cast("Record | None", ctype.record)
        around = record.around if record is not None else ()
        text = "".join(f"{self._of_enclosing(e, ctype)}::" for e in around)
        text += _applied(ctype.name, self._arguments(ctype))
        if len(text) <= _MOST_TEXT:
            return text
        return f"{text[:_MOST_TEXT]}..{crc32(text.encode()):08x}"

    def _of_enclosing(self, enclosing: Enclosing, ctype: RecordType) -> str:
        """Spells what a class stands in by the values that the class sees."""
        texts = {p.name: self.of_parameter(p, ctype.statics) or "?" for p in enclosing.template}
        if enclosing.specialization is not None:
            return f"{enclosing.name}<{_replaced(enclosing.specialization, texts)}>"
        return _applied(enclosing.name, list(texts.values()))

    def _arguments(self, ctype: RecordType) -> list[str]:
        """Spells template arguments by their values: names mean other types in other templates."""
        record = cast("Record | None", ctype.record)
        if record is None:
            return list(ctype.arguments)
        texts = {p.name: self.of_parameter(p, ctype.statics) for p in record.template}
        if record.specialization is not None:
            return [_replaced(record.specialization, texts)]
        if any(p.is_pack and texts[p.name] is None for p in record.template):
            return list(ctype.arguments)
        values = [texts[p.name] or "?" for p in record.template if texts[p.name] != ""]
        has_pack = any(p.is_pack for p in record.template)
        return values if has_pack else values[: len(ctype.arguments) or None]


def _applied(name: str, arguments: Sequence[str]) -> str:
    return f"{name}<{', '.join(arguments)}>" if arguments else name


def _replaced(arguments: str, texts: Mapping[str, str | None]) -> str:
    """Returns the spelling of arguments with the texts of the parameters that it names."""
    given = {name: text for name, text in texts.items() if text is not None}
    found = _NAME.sub(lambda name: given.get(name[1], name[0]), arguments)
    return found.removesuffix(", ")  # of an empty pack


def is_bound(scope: Scope, function: Function) -> bool:
    """Returns whether every such parameter is a number or a type, known or not to its last part."""
    return all(map(may_be_known, _asked(scope, function)))


def is_known(scope: Scope, function: Function) -> bool:
    """Returns whether every template parameter that a launch can tell is a known type or number.

    A class is known where its template arguments are.
    """
    asked = _asked(scope, function)
    seen: set[RecordType] = set()
    for _ in range(MAX_TYPE_DEPTH):
        if not all(map(may_be_known, asked)):
            return False
        records = {bound for bound in asked if isinstance(bound, RecordType)} - seen
        seen |= records
        asked = [
            record.statics.get(p.name)
            for record in records
            for p in _parameters(cast("Record | None", record.record))
            if p.name and not p.is_pack
        ]
    return True


def _parameters(record: Record | None) -> tuple[TemplateParameter, ...]:
    """Returns the template parameters of a class and of all that it stands in."""
    if record is None:
        return ()
    return (*(p for enclosing in record.around for p in enclosing.template), *record.template)


def _lacks_a_type(value: object) -> bool:
    """Returns whether a value that all objects of a type have is made of one of an unknown type."""
    if not isinstance(value, Unknown | Cute):
        return False
    from smemlint.analysis.simt.cute.values import lacks_a_type

    return lacks_a_type(value)


def _asked(scope: Scope, function: Function) -> list[object]:
    return [scope.get(p.name) for p in function.template if p.name and not p.is_pack]


def may_be_known(bound: object) -> bool:
    """Returns whether a number or type is known, except for the template arguments of a class."""
    if isinstance(bound, AffineInt):
        return bound.constant is not None
    if isinstance(bound, CallableValue):  # `decltype(flag)::value` of a type that is not known
        return not isinstance(bound.payload, CTYPES)
    if isinstance(bound, StaticType) and _lacks_a_type(bound.value):
        return False
    return bound is not None and not isinstance(bound, Unknown) and not is_opaque(bound)
