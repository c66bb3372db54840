"""Virtual methods: a call runs that of the class that the object was made as."""

from __future__ import annotations

from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, RecordType
from smemlint.analysis.simt.domain.environment import LValue
from smemlint.analysis.simt.domain.values import Space, offset_of
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.types.overloads import unqualified
from smemlint.analysis.simt.types.record_layout import is_dynamic

_OVERRIDES = frozenset(("virtual", "override"))


def dispatched(ev: Evaluator, name: str, place: LValue) -> LValue | None:
    """Returns an object as the class whose method a call runs; None where that is not known."""
    record = place.type
    if not isinstance(record, RecordType) or not is_dynamic(record):
        return place
    if not _is_virtual(ev, name, record):
        return place
    made = _under_construction(ev, place, record) or _as_made(ev, place, record)
    return made or (None if _is_overridden(ev, name, record) else place)


def _is_virtual(ev: Evaluator, name: str, record: RecordType) -> bool:
    """Returns whether a class or a base of it declares a method of that name as virtual."""
    owners = {owner.name for owner in record.with_bases()}
    defined = (f for f in ev.policy.functions(ev, name) if f.record in owners)
    if any(not _OVERRIDES.isdisjoint(f.specifiers) for f in defined):
        return True
    declared = (p for unit in ev.policy.units(ev) for p in unit.prototypes(name))
    return any(p.is_virtual and p.scope and p.scope[-1] in owners for p in declared)


def _under_construction(ev: Evaluator, place: LValue, record: RecordType) -> LValue | None:
    """Returns the object as the class whose constructor is run: no class behind it counts yet."""
    for frame in reversed(ev.state.frames):
        this, maker = frame.this, frame.record
        if this is None or maker is None or frame.function != maker.name:
            continue
        if this.object is place.object:
            is_part = maker.base_offset(record) is not None
            return LValue(this.object, this.offset, maker) if is_part else None
    return None


def _as_made(ev: Evaluator, place: LValue, base: RecordType) -> LValue | None:
    """Returns the object that a base class is a part of; None where none was seen to be made."""
    obj, at = place.object, place.offset.constant
    if obj.is_given or obj.space is not Space.LOCAL or at is None:
        return None
    ctype: CType | None = obj.type
    begin = 0
    while ctype is not None:
        if isinstance(ctype, RecordType) and ctype.base_offset(base) == at - begin:
            back = offset_of(begin - at)
            return LValue(obj, ev.state.domain.add(place.offset, back), ctype, place.volatile)
        part = _part_at(ctype, at - begin)
        begin, ctype = (begin + part[0], part[1]) if part is not None else (begin, None)
    return None


def _part_at(ctype: CType, at: int) -> tuple[int, CType] | None:
    """Returns the element or member that has a byte of an object, and where it begins."""
    if isinstance(ctype, ArrayType) and ctype.element.size:
        return at - at % ctype.element.size, ctype.element
    members = ctype.members if isinstance(ctype, RecordType) else ()
    found = (m for m in members if m.offset <= at < m.offset + m.type.size)
    return next(((m.offset, m.type) for m in found), None)


def _is_overridden(ev: Evaluator, name: str, record: RecordType) -> bool:
    """Returns whether a class that is derived from this one has a method of that name."""
    methods = ev.policy.functions(ev, name)
    worklist = list({f.record: None for f in methods if f.record is not None})
    seen = set(worklist)
    for current in worklist:
        for unit in ev.policy.units(ev):
            named = (*unit.records.get(current, ()), *unit.local_records.get(current, ()))
            bases = {unqualified(spelling): None for derived in named for spelling in derived.bases}
            if record.name in bases:
                return True
            worklist += [base for base in bases if base not in seen]
            seen.update(bases)
    return False
