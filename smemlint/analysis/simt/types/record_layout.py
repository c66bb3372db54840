"""Lays out the members of a record, by the rules of the C++ ABI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from smemlint.analysis.simt.domain.ctypes import (
    FUNCTION,
    BitField,
    CType,
    Member,
    OpaqueType,
    PointerType,
    RecordType,
    is_sized,
)

TABLE = PointerType(FUNCTION)
"""The type of the member without a name that points to the virtual methods of a class."""
Field: TypeAlias = tuple[str, CType, int]
"""Name, type and alignment that is asked for besides."""


def lay_out(
    name: str,
    fields: list[tuple[str, CType, int]],
    *,
    union: bool = False,
    align: int = 1,
    record: object = None,
    arguments: tuple[str, ...] = (),
    pack: int | None = 0,
) -> RecordType:
    """Returns a record from (name, type, extra alignment) fields, by the rules of the C ABI.

    Args:
        name: of the record.
        fields: in order of declaration.
        union: all members at offset 0.
        align: `alignas` of the whole record, in bytes.
        record: the front end's record, for its methods.
        arguments: its template arguments.
        pack: bytes that members are aligned to at most; 0 without a limit, None where they are
            aligned to what they ask for themselves.
    """
    placed: list[tuple[str, CType, int]] = []
    end = size = 0
    for field_name, ctype, extra in fields:
        begin, end, natural = _placed(ctype, extra, 0 if union else end, pack, bool(field_name))
        align = max(align, natural)
        size = max(size, end)
        if field_name or not _is_packed(ctype):
            placed.append((field_name, ctype, begin))
    offsets = [begin // 8 for _, _, begin in placed] if union else _apart(placed, end)
    if offsets is None:  # several bit-fields of one byte cannot be distinguished
        unsized = [(n, _without_bits(ctype), extra) for n, ctype, extra in fields]
        return lay_out(name, unsized, align=align, record=record, arguments=arguments, pack=pack)
    members = []
    behind = ""
    for (field_name, ctype, _), offset in zip(placed, offsets, strict=True):
        members.append(Member(field_name, ctype, offset, behind))
        if not union and not is_sized(ctype):
            behind = behind or field_name or getattr(ctype, "spelling", name)
    size = -(-max(size, 1) // 8)
    return RecordType(
        name,
        tuple(members),
        -(-size // align) * align,
        align,
        record=record,
        arguments=arguments,
        is_sized=all(is_sized(ctype) for _, ctype, _ in fields),
        data_size=size,
    )


def _placed(
    ctype: CType, extra: int, at: int, pack: int | None, is_named: bool
) -> tuple[int, int, int]:
    """Returns the bits from which and up to which a member lies, and the bytes it is aligned to.

    A bit-field does not cross the units of its type that it is aligned to.
    Source: System V ABI for x86-64, 3.1.2; GCC 12, `place_field` in stor-layout.cc.

    Args:
        ctype: of the member.
        extra: what `alignas` demands.
        at: the bit behind the member before it.
        pack: as that of `lay_out`.
        is_named: a bit-field without a name does not align the record.
    """
    natural = max(ctype.align if pack is not None else 1, extra, 1)
    natural = min(natural, pack or natural)
    unit = 8 * natural
    if not isinstance(ctype, BitField) or not ctype.is_placed:
        begin = -(-at // unit) * unit
        size = 1 if isinstance(ctype, OpaqueType) and not ctype.size else ctype.size
        return begin, begin + 8 * size, natural
    crosses = -(-(at % unit + ctype.bits) // unit) * unit > 8 * ctype.size
    if extra or not ctype.bits or (crosses and pack == 0):
        at = -(-at // unit) * unit
    return at, at + ctype.bits, natural if is_named else 1


def _apart(placed: Sequence[tuple[str, CType, int]], end: int) -> list[int] | None:
    """Returns bytes where members lie, each bit-field at another one of those of its neighbours.

    None where there are more bit-fields than bytes.
    """
    limits: list[int] = []
    for _, ctype, begin in reversed(placed):
        limits.append(end)
        end = end if _is_packed(ctype) else begin
    found: list[int] = []
    free = 0
    for (_, ctype, begin), limit in zip(placed, reversed(limits), strict=True):
        at = begin // 8
        if _is_packed(ctype):
            at = max(free, at)
            if 8 * at >= limit:
                return None
        found.append(at)
        free = at + (1 if _is_packed(ctype) else ctype.size)
    return found


def _without_bits(ctype: CType) -> CType:
    return replace(ctype, is_placed=False) if isinstance(ctype, BitField) else ctype


def _is_packed(ctype: CType) -> bool:
    return isinstance(ctype, BitField) and ctype.is_placed


def is_dynamic(ctype: CType) -> bool:
    """Returns whether objects of a type begin with a pointer to their virtual methods."""
    first = ctype.members[0] if isinstance(ctype, RecordType) and ctype.members else None
    return first is not None and not first.name and (first.type == TABLE or is_dynamic(first.type))


def with_table(fields: list[Field], bases: int, *, is_virtual: bool) -> list[Field]:
    """Puts the base in front that has virtual methods, else a pointer to those of the class itself.

    Source: Itanium C++ ABI, 2.4.
    """
    for i, (_, ctype, _) in enumerate(fields[:bases]):
        if is_dynamic(ctype):
            return [fields[i], *fields[:i], *fields[i + 1 :]]
    return [("", TABLE, 0), *fields] if is_virtual else fields


def as_base(ctype: CType) -> CType:
    """Returns a class as a part of those derived from it, in which empty ones take no room.

    Members behind one that is not plain lie in its padding. Source: Itanium C++ ABI, 2.4.
    """
    if not isinstance(ctype, RecordType):
        return ctype
    is_empty = ctype.is_sized and all(m.type.size == 0 for m in ctype.members)
    if is_empty:
        return replace(ctype, size=0)
    if ctype.is_plain or not ctype.is_sized or ctype.data_size == ctype.size:
        return ctype
    if ctype.is_plain is None:
        return replace(ctype, is_sized=False)
    return replace(ctype, size=ctype.data_size)
