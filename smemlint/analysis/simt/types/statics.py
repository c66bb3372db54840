"""Static members of classes, and the scope that their methods see."""

from __future__ import annotations

from typing import cast

from smemlint.analysis.simt.domain.ctypes import RecordType, StaticType
from smemlint.analysis.simt.domain.environment import Binding, Lazy, Scope
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Unknown, Value
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend.program import Record
from smemlint.reasons import ReasonCode


def static_member(ev: Evaluator, owner: RecordType, name: str) -> Binding | None:
    """Returns a static constant, nested type or enumerator of a record or of one of its bases."""
    owner = declaring(owner, name)
    if name == "value" and name not in owner.statics:
        return _value_of_base(owner)
    inner = owner.statics.get(name)
    if isinstance(inner, Lazy):
        owner.statics[name] = Unknown.because(
            ReasonCode.NO_VALUE, f"`{owner.name}::{name}` is defined by itself"
        )
        with ev.state.within(f"static {owner.name}", scope_of(owner), place_of(owner)):
            ev.state.frame.record = owner if owner.record is not None else None
            inner = owner.statics[name] = _meaning(ev, inner)
    return inner  # type: ignore[return-value]


def forced(ev: Evaluator, name: str, lazy: Lazy) -> Binding:
    """Returns the value of a constant, or a type, evaluated where it is defined."""
    if lazy.owner is not None:
        return cast("Binding", static_member(ev, lazy.owner, name))
    lazy.scope[name] = Unknown.because(ReasonCode.NO_VALUE, f"`{name}` is defined by itself")
    state, frames = ev.state, ev.state.frames
    around = (n for n, f in enumerate(frames, 1) if any(s is lazy.scope for s in f.scopes))
    state.frames = frames[: next(around, len(frames))]
    try:
        found = lazy.scope[name] = _meaning(ev, lazy)
    finally:
        state.frames = frames
    for frame in frames:
        frame.found.pop(name, None)  # what it meant meanwhile
    return found


def _meaning(ev: Evaluator, lazy: Lazy) -> Binding:
    return ev.types.resolve(lazy.node) if lazy.is_type else ev.evaluate(lazy.node)


def _value_of_base(owner: RecordType) -> Binding | None:
    """Returns the value of the `std::integral_constant` that a class is derived from."""
    parts = (m.type for record in owner.with_bases() for m in record.members if not m.name)
    return next((static_value(ctype) for ctype in parts if isinstance(ctype, StaticType)), None)


def declaring(owner: RecordType, name: str) -> RecordType:
    """Returns the class or base that has a member; the class where none of them declares it.

    What is around a class it sees too, but behind its bases.
    """
    classes = list(owner.with_bases())
    found = next((ctype for ctype in classes if name in ctype.own), None)
    return found or next((ctype for ctype in classes if _sees(ctype, owner, name)), owner)


def _sees(ctype: RecordType, seen_from: RecordType, name: str) -> bool:
    """Returns whether a class sees such a name; of a base's, template parameters do not count."""
    if name not in ctype.statics or ctype is seen_from:
        return name in ctype.statics
    record = cast("Record | None", ctype.record)
    return record is None or all(p.name != name for p in record.template)


def scope_of(record: RecordType) -> Scope:
    """Returns the names that a record's methods and constants see."""
    found = dict(record.statics)
    found.update((k, v) for k, v in record.inherited.items() if k not in record.own)
    if record.arguments:
        found.setdefault(record.name, record)  # the name alone means this class itself
    return found  # type: ignore[return-value]


def place_of(ctype: RecordType) -> tuple[str, ...] | None:
    """Returns the scope in which a class's members stand; None of one that was not read."""
    record = cast("Record | None", ctype.record)
    return None if record is None else (*record.scope, record.name)


def static_value(ctype: StaticType) -> Value:
    """Returns the one value that objects of the type have."""
    value = ctype.value
    return (
        value
        if isinstance(value, Cute | AffineInt)
        else Unknown.because(ReasonCode.UNKNOWN_TYPE, f"`{ctype.spelling}`")
    )
