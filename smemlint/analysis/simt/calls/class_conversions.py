"""Class objects as values of other types: what their conversion functions give."""

from __future__ import annotations

from collections import defaultdict
from typing import cast

from smemlint.analysis.simt.calls.inlining import inline
from smemlint.analysis.simt.domain.ctypes import CType, IntType, PointerType, RecordType
from smemlint.analysis.simt.domain.values import Aggregate, Pointer, Unknown, Value, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import members_of
from smemlint.analysis.simt.types.statics import place_of, scope_of
from smemlint.frontend import ir
from smemlint.frontend.program import Function, Record, Unit
from smemlint.reasons import ReasonCode

_PREFIX = "operator "


def converted_object(ev: Evaluator, value: Value, ctype: CType, node: ir.Node) -> Value:
    """Returns a value as a type; an object of another class by a conversion function of that.

    All other values come back as they are.
    """
    if not isinstance(value, Aggregate) or not isinstance(value.type, RecordType):
        return value
    if not isinstance(ctype, PointerType | IntType) and not value.type.is_unrelated(ctype):
        return value
    found = [
        (record, function)
        for record in value.type.with_bases()
        for function in _conversions_of(ev, record)
    ]
    for fits in (_gives, _gives_integer):
        for record, function in found:
            if fits(ev, function, record, ctype):
                holder = ev.state.new_local(record.name, value.type, ev.state.key(node), value)
                this = Pointer(holder, offset_of(value.type.base_offset(record) or 0), record)
                return inline(ev, function, [], (), node, this, record)
    if isinstance(ctype, IntType):
        return value
    text = f"`{value.type.name}` has no conversion that was read to what is asked for"
    return Unknown.because(ReasonCode.NOT_DECLARED, text)


def _conversions_of(ev: Evaluator, record: RecordType) -> list[Function]:
    own = cast("Record | None", record.record)
    if own is None:
        return []
    found = (f for unit in ev.policy.units(ev) for f in _conversions(unit).get(own.name, ()))
    return members_of(own, dict.fromkeys(found))


def _conversions(unit: Unit) -> dict[str, list[Function]]:
    """Returns the conversion functions of a unit by the names of their classes, read once."""
    known = unit.memory.get("conversions")
    if isinstance(known, dict):
        return known
    found: dict[str, list[Function]] = defaultdict(list)
    for function in unit.functions:
        if function.record is not None and function.name.startswith(_PREFIX):
            found[function.record].append(function)
    unit.memory["conversions"] = found
    return found


def _gives(ev: Evaluator, function: Function, record: RecordType, ctype: CType) -> bool:
    """Returns whether a conversion function is one to a type, or to a pointer."""
    if isinstance(ctype, PointerType):
        return function.name.endswith("*")
    return _result(ev, function, record) == ctype


def _gives_integer(ev: Evaluator, function: Function, record: RecordType, ctype: CType) -> bool:
    """Returns whether a conversion function is one to an integer, which is one of any type."""
    return isinstance(ctype, IntType) and isinstance(_result(ev, function, record), IntType)


def _result(ev: Evaluator, function: Function, record: RecordType) -> CType:
    words = function.name.removeprefix(_PREFIX).removeprefix("const ").rstrip("&").split()
    with ev.state.within(f"conversion of {record.name}", scope_of(record), place_of(record)):
        return ev.types.named(tuple(words))
