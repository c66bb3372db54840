"""What a copy of an object moves at a time.

A class with a member that has a copy operator of its own is copied member by member, and LLVM knows
of each only the alignment of its own type. CUDA's classes of two halves have one. SASS of nvcc
13.0.88, sm_90, -O3, of copies to and from a `float` array, from a run-time multiple of four words
on; the objects have `__align__(8)`, with `__align__(16)` it is the same:

| members | SASS |
| --- | --- |
| `float v[2]`, `half v[4]`, `uchar c[8]`, `float x, y` and a copy operator of the user's | .64 |
| `half2 v[2]`, `half2 a, b`, `__nv_bfloat162 a, b`, `half2 a; int b` | two accesses |

Members of such a class that are arrays are copied in words, as far as their places are aligned:
`half2 a; uchar c[12]` is stored by one STS.128 where 16 bytes are aligned, and by four STS
elsewhere, `half2 a; uchar c[5]` by STS, STS, STS.U8.

A class that is as aligned as its scalars, and has no padding but at its end, is copied scalar by
scalar, the padding byte by byte. LLVM makes words of shorts and of bytes; ptxas fuses elements of
one width only. All others are copied in pieces as wide as they are aligned. SASS of `s[t] = g[t]`:

| members | STS | LDS |
| --- | --- | --- |
| `double a; float b`, `double a; float b, c`, `float a; int b; long c` | 64, 64 | 64, 64 |
| `float *a; int b`, `double a; float2 b` | 64, 64 | 64, 64 |
| `double a, b`, `int b; double a`, `float a; short b; double d`, `float2 a; int b` | 128 | 128 |
| `double a; float b, c` with `__align__(16)`, `float a, b; int c, d` | 128 | 128 |
| `float a; short b`, `int a; short b; char c` | 32, 32 | 32, U16, U16 |
| `float a; char b`, `float a; short b, c`, `char b; float a`, `int a; char b; short c` | 64 | 64 |
| `float a; half b`, whose padding is left out | 32, U16 | 32, U16 |

Padding is not written where a variable is stored whose members were given values one by one, or by
an initializer: of `T p; p.a = x; p.b = y; s[t] = p` with `int b; double a` an STS and an STS.64,
with `float a; char b` an STS and an STS.U8. Where it was copied to, or was `{}`, it may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, islice

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    CType,
    FloatType,
    IntType,
    Member,
    PointerType,
    RecordType,
    is_16_bit_float,
)
from smemlint.hardware.arch import WIDEST_ACCESS
from smemlint.limits.budgets import MAX_SCATTER

_WORD = 4
_HALF = 2


def copied_pieces(ctype: CType, *, is_load: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the offset and the width in bytes of each access that a copy of an object makes."""
    if not _is_copied_by_member(ctype):
        units = _units_of_copy(ctype) if isinstance(ctype, RecordType) else None
        if units is not None:
            yield from _in_words(units, is_load=is_load)
            return
        piece = min(WIDEST_ACCESS, ctype.align, ctype.size & -ctype.size)
        yield from ((at, piece) for at in range(0, ctype.size, max(piece, 1)))
    elif isinstance(ctype, ArrayType):
        pieces = list(copied_pieces(ctype.element, is_load=is_load))
        for start in range(0, ctype.size, ctype.element.size):
            yield from ((start + at, width) for at, width in pieces)
    elif isinstance(ctype, RecordType):
        pieces = [piece for member in ctype.members for piece in _of_member(member, is_load)]
        yield from pieces if is_load else _in_words(tuple(pieces), is_load=True)


@lru_cache(4096)
def is_copied_by_first_member(ctype: RecordType) -> bool:
    """Returns whether what a copy moves first has the type of the first scalar.

    A class with `__align__(8)` is copied in words, which are integers, one of one scalar as that.
    """
    first = scalar_members(ctype)[:1]
    if not first or len(list(scalars_of(ctype))) == 1 or _units_of_copy(ctype) is not None:
        return bool(first)
    return isinstance(first[0][2], IntType) and first[0][2].size == _WORD


def _of_member(member: Member, is_load: bool) -> Iterator[tuple[int, int]]:
    """Yields the accesses of a member of a class that is copied by member; see `copied_pieces`."""
    ctype, at = member.type, member.offset
    if not isinstance(ctype, ArrayType) or is_load or _is_copied_by_member(ctype):
        yield from ((at + inner, width) for inner, width in copied_pieces(ctype, is_load=is_load))
        return
    end = at + ctype.size
    while at < end:
        left = end - at
        width = min(at & -at or WIDEST_ACCESS, 1 << left.bit_length() - 1, max(_WORD, ctype.align))
        yield at, width
        at += width


def scalars_of(ctype: CType, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yields offset and bytes of each scalar of a type, whatever lies between them."""
    if isinstance(ctype, ArrayType):
        for at in range(0, ctype.size, max(ctype.element.size, 1)):
            yield from scalars_of(ctype.element, start + at)
    elif isinstance(ctype, RecordType):
        for member in ctype.members:
            yield from scalars_of(member.type, start + member.offset)
    else:
        yield start, ctype.size


@lru_cache(4096)
def has_padding(ctype: CType) -> bool:
    """Returns whether bytes of a type belong to none of its scalars."""
    return sum(width for _, width in scalars_of(ctype)) < ctype.size


def _in_words(units: tuple[tuple[int, int], ...], *, is_load: bool) -> Iterator[tuple[int, int]]:
    """Yields the accesses of units, of which those of one word that are all alike become one."""
    for word, own in groupby(units, lambda unit: unit[0] // _WORD):
        alike = list(own)
        widths = {width for _, width in alike}
        if max(widths) >= _WORD:
            yield from alike
        elif len(widths) == 1 and sum(width for _, width in alike) == _WORD:
            yield word * _WORD, _WORD
        elif is_load:
            yield from alike
        else:
            yield from sorted({(at // _HALF * _HALF, _HALF) for at, _ in alike})


@lru_cache(4096)
def _units_of_copy(ctype: RecordType) -> tuple[tuple[int, int], ...] | None:
    """Returns offset and bytes of what a class is copied by; None for pieces as it is aligned."""
    if ctype.align not in (_WORD, 2 * _WORD):
        return None
    found: list[tuple[int, int]] = []
    is_plain = _add_units(ctype, 0, found) and found
    if not is_plain or max(width for _, width in found) != ctype.align:
        return None
    return tuple(found)


def _add_units(ctype: CType, start: int, found: list[tuple[int, int]]) -> bool:
    """Adds the scalars of a type and the bytes behind them; returns whether there are no others."""
    if isinstance(ctype, ArrayType):
        count = ctype.count or 0
        places = range(start, start + ctype.size, max(ctype.element.size, 1)) if count else ()
        return all(_add_units(ctype.element, at, found) for at in places)
    if not isinstance(ctype, RecordType):
        found.append((start, ctype.size))
        return isinstance(ctype, IntType | FloatType | PointerType)
    end, last = 0, None
    for member in ctype.members:
        if member.offset != end or not _add_units(member.type, start + end, found):
            return False
        end, last = end + member.type.size, member.type
    if last is None or not is_16_bit_float(last):
        found += ((start + at, 1) for at in range(end, ctype.size))
    return True


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


@lru_cache(4096)
def has_union(ctype: CType) -> bool:
    """Returns whether members of a type share bytes, at whatever depth."""
    if isinstance(ctype, ArrayType):
        return has_union(ctype.element)
    if not isinstance(ctype, RecordType):
        return False
    return _is_union(ctype) or any(has_union(member.type) for member in ctype.members)


def _is_union(ctype: RecordType) -> bool:
    """Returns whether members share bytes: such a class is copied as its author says."""
    offsets = [member.offset for member in ctype.members if member.type.size]
    return len(set(offsets)) < len(offsets)


def scalar_members(ctype: RecordType, name: str = "") -> list[tuple[str, int, CType]]:
    """Returns name, offset in bytes and type of the scalars of a struct, arrays left out.

    Of members that share bytes the first counts. Empty where there are too many to follow.
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


@lru_cache(4096)
def word_of(ctype: RecordType) -> int:
    """Returns the bytes of each scalar of a class of equal ones; 0 for all others, and unions."""
    sizes = [size for _, size in scalars_of(ctype)]
    return sizes[0] if len(set(sizes)) == 1 and sum(sizes) <= ctype.size else 0
