"""Threads that a divergent condition cannot let through: they would leave the array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, RecordType
from smemlint.analysis.simt.domain.intervals import lower, upper
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import BEHIND_KEY, AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir

_KINDS = (AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC)


def within_array(event: Event) -> Event:
    """Returns an event without the threads that would leave its array under a divergent condition.

    Of `if (threadIdx.x < count) x = sums[threadIdx.x * BLOCK];` with `sums[BLOCK * 7]` at most
    seven threads are in a program that is right, whatever `count` is. A thread stays where any
    value of the unknowns in its index lets it be inside. Where no thread stays
    inside, it is the index that was not understood, and the event is left as it is. An array that
    is a member of a structure ends before the structure does.
    """
    array = event.object.shared if event.object is not None else None
    offset = event.offset
    if (
        array is None
        or not event.may_be_confined
        or event.kind not in _KINDS
        or not isinstance(offset, AffineInt)
    ):
        return event
    begin = np.broadcast_to(np.asarray(offset.base, np.int64), event.mask.shape)
    behind, start, end = _indexed_member(event, offset, begin) or ("", 0, array.bytes)
    if not end:
        return event
    end -= event.width - event.spare
    unknown = AffineInt(0, terms=tuple((s, c) for s, c in offset.terms if s.key != behind))
    start, end = start - upper(unknown), end - lower(unknown)
    inside = event.mask & (begin >= start) & (begin <= end)
    if not inside.any() or np.array_equal(inside, event.mask):
        return event
    return replace(event, mask=inside)


def _indexed_member(
    event: Event, offset: AffineInt, begin: NDArray[np.int64]
) -> tuple[str, int, int] | None:
    """Returns the extent of the member that an access indexes; None where it indexes none.

    `s->cache[i].level` indexes `cache`: the first thread's address tells which one of the object.

    Returns:
        The key of the unknown place that the extent counts from, empty for the object's, its first
        byte and the one behind it.
    """
    name, ctype = _name_of_indexed(event.node), event.object.type if event.object else None
    if not name or not event.mask.any():
        return None
    first, base = int(begin[event.mask].min()), 0
    behind = next((s.key for s, _ in offset.terms if BEHIND_KEY in s.key), "")
    if behind:
        size = _size_behind_unknown(ctype, name, behind)
        return (behind, 0, size) if 0 <= first < size else None
    while isinstance(ctype, ArrayType | RecordType) and ctype.size:
        if isinstance(ctype, ArrayType):
            if not ctype.element.size:
                return None
            base += (first - base) // ctype.element.size * ctype.element.size
            ctype = ctype.element
            continue
        within = first - base
        around = (m for m in ctype.members if m.offset <= within < m.offset + m.type.size)
        member = next(around, None)
        if member is None:
            return None
        base += member.offset
        if member.name == name and isinstance(member.type, ArrayType):
            return "", base, base + member.type.size
        ctype = member.type
    return None


def _size_behind_unknown(ctype: CType | None, name: str, key: str) -> int:
    """Returns the bytes of a member behind one of unknown size; 0 where two may be meant."""
    sizes: set[int] = set()
    worklist: list[CType | None] = [ctype]
    seen: set[RecordType] = set()
    while worklist:
        current = worklist.pop()
        if isinstance(current, ArrayType):
            worklist.append(current.element)
        elif isinstance(current, RecordType) and current not in seen:
            seen.add(current)
            for m in current.members:
                worklist.append(m.type)
                if m.behind and m.name == name and key.endswith(f".{name}{BEHIND_KEY}{m.behind}"):
                    sizes.add(m.type.size if isinstance(m.type, ArrayType) else 0)
    return sizes.pop() if len(sizes) == 1 else 0


def _name_of_indexed(node: ir.Node) -> str:
    """Returns the outermost member that an lvalue indexes by what is no constant.

    It is `cache` of `s->cache[i].level` and of `s->cache[i].b[3]`, and b of `s->cache[3].b[i]`.
    """
    found = ""
    while True:
        match node:
            case ir.ArrayRef(name=ir.StructRef(field=ir.ID(name)) as within, subscript=index):
                found = name if not found or not isinstance(index, ir.Constant) else found
                node = within
            case ir.ArrayRef(name=within) | ir.StructRef(name=within):
                node = within
            case _:
                return found
