"""The scalars that a struct is made of, by names as `p.shape.n`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, RecordType
from smemlint.limits.budgets import MAX_SCATTER


def scalar_members(ctype: RecordType, name: str = "") -> list[tuple[str, int, CType]]:
    """Returns name, offset in bytes and type of the scalars of a struct, arrays left out.

    Of members that share bytes the first counts. Empty where there are too many to follow.

    Args:
        ctype: the struct.
        name: of the object.
    """
    found: dict[int, tuple[str, int, CType]] = {}
    for index, (inner, at, member) in enumerate(islice(_members(ctype, name, 0), MAX_SCATTER + 1)):
        if index == MAX_SCATTER:
            return []
        found.setdefault(at, (inner, at, member))
    return list(found.values())


def _members(ctype: RecordType, name: str, at: int) -> Iterator[tuple[str, int, CType]]:
    for member in ctype.members:
        inner = f"{name}.{member.name}" if member.name else name
        if isinstance(member.type, RecordType) and member.type.members:
            yield from _members(member.type, inner, at + member.offset)
        elif not isinstance(member.type, ArrayType):
            yield inner, at + member.offset, member.type
