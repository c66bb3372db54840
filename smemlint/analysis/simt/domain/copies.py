"""What a copy of an object moves at a time.

A class with a member that has a copy operator of its own is copied member by member, and LLVM knows
of each only the alignment of its own type. CUDA's classes of two halves have one. SASS of nvcc
13.0.88, sm_90, -O3, of copies to and from a `float` array, from a run-time multiple of four words
on; the objects have `__align__(8)`, with `__align__(16)` it is the same:

| members | SASS |
| --- | --- |
| `float v[2]`, `half v[4]`, `uchar c[8]`, `float x, y` and a copy operator of the user's | .64 |
| `half2 v[2]`, `half2 a, b`, `__nv_bfloat162 a, b`, `half2 a; int b` | two accesses |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, RecordType
from smemlint.hardware.arch import WIDEST_ACCESS


def copied_pieces(ctype: CType) -> Iterator[tuple[int, int]]:
    """Yields the offset and the width in bytes of each access that a copy of an object makes.

    Args:
        ctype: a sized type.
    """
    if not _is_copied_by_member(ctype):
        piece = min(WIDEST_ACCESS, ctype.align, ctype.size & -ctype.size)
        yield from ((at, piece) for at in range(0, ctype.size, max(piece, 1)))
    elif isinstance(ctype, ArrayType):
        pieces = list(copied_pieces(ctype.element))
        for start in range(0, ctype.size, ctype.element.size):
            yield from ((start + at, width) for at, width in pieces)
    elif isinstance(ctype, RecordType):
        for member in ctype.members:
            yield from ((member.offset + at, w) for at, w in copied_pieces(member.type))


@lru_cache(4096)
def _is_copied_by_member(ctype: CType) -> bool:
    """Returns whether a type has a member of a class of two halves, at whatever depth."""
    if isinstance(ctype, ArrayType):
        return _has_copy_operator(ctype.element)
    if not isinstance(ctype, RecordType) or _is_union(ctype):
        return False
    return any(_has_copy_operator(member.type) for member in ctype.members)


def _has_copy_operator(ctype: CType) -> bool:
    is_pair = isinstance(ctype, RecordType) and ctype.is_pair_class
    return is_pair or _is_copied_by_member(ctype)


def _is_union(ctype: RecordType) -> bool:
    """Returns whether members share bytes: such a class is copied as its author says."""
    offsets = [member.offset for member in ctype.members if member.type.size]
    return len(set(offsets)) < len(offsets)
