"""Which members of a vector a load takes: those that are read of what it is loaded into.

SASS of nvcc 13.0.88, sm_90, -O3, for `C v = s[3 * t]` and members of less than a word:

| class | read | loads |
| --- | --- | --- |
| any | one member | of its width |
| short4, four shorts with `__align__(8)` | x and y, z and w | LDS |
| | any others of them | LDS.64 |
| uchar4, four bytes with `__align__(4)`, half2 | two or more | LDS |
| `short a, b; int c` | a, b; a, c; b, c; all | LDS; U16, LDS; U16, LDS; LDS.64 |
| `char a, b; short c; int d` | a, b; a, c; a, b, c | U16; S8, S16; U16, S16 |
| `short a, b, c, d`, four bytes | any | each |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from smemlint.analysis.simt.codegen.parts_read import PartsRead, Place, Step
from smemlint.analysis.simt.domain.copies import scalars_of
from smemlint.analysis.simt.domain.ctypes import ArrayType, CType, PointerType, RecordType
from smemlint.analysis.simt.domain.environment import Variable
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.hardware.arch import WORD
from smemlint.limits.budgets import MAX_PARTS_READ

Bytes: TypeAlias = "tuple[int, int]"
"""The first byte, and the one behind the last; of a word its bytes."""


def pieces_read(
    ev: Evaluator, ctype: RecordType, node: ir.Node
) -> tuple[list[tuple[int, int]], bool]:
    """Returns the words read of what a variable is loaded with, and whether that is open.

    Args:
        ev: the evaluator.
        ctype: what is loaded.
        node: the expression that loads it.

    Returns:
        Offsets and sizes, none for all; others may be loaded if it is open.
    """
    facts = ev.state.node_facts
    members, parts = facts.read_of(node)
    scalars = list(scalars_of(ctype)) if members is not None or parts is not None else []
    if not scalars or not _are_apart(scalars):
        return [], False
    read: Sequence[Bytes] = scalars
    is_open = False
    if parts is not None:
        found, is_open = _words_of_parts(ev, ctype, scalars, parts)
        read = found or scalars
    if members is not None:
        own = [m for m in ctype.members if m.name in members.names]
        spans = [(m.offset, m.offset + m.type.size) for m in own]
        read, is_open = [each for each in read if _is_read(each, 0, spans)], members.is_parted
    elif is_open:
        return [], True
    if any(size < WORD for _, size in scalars):
        return _joined(ctype, scalars, read), is_open
    return list(read) if len(read) < len(scalars) else [], is_open


def _joined(ctype: RecordType, scalars: Sequence[Bytes], read: Sequence[Bytes]) -> list[Bytes]:
    """Returns what is loaded for scalars, of which some are less than a word."""
    sizes = {size for _, size in scalars}
    if len(read) > 1 and len(sizes) == 1 and ctype.align == ctype.size <= 2 * WORD:
        half = min(max(ctype.size // 2, WORD), ctype.size)
        return next(
            ([(at, half)] for at in (0, half) if all(at <= b < at + half for b, _ in read)),
            [(0, ctype.size)],
        )
    found: list[Bytes] = []
    for at, size in read:
        last = found[-1] if found else (0, 0)
        is_pair = last == (at - size, size) and last in scalars and last[0] % (2 * size) == 0
        if is_pair and size < WORD and ctype.align >= 2 * size:
            found[-1] = (last[0], 2 * size)
        else:
            found.append((at, size))
    return found


def _are_apart(scalars: Iterable[Bytes]) -> bool:
    end = 0
    for at, size in scalars:
        if at < end:  # of a union
            return False
        end = at + size
    return True


def _words_of_parts(
    ev: Evaluator, ctype: RecordType, words: Sequence[Bytes], parts: PartsRead
) -> tuple[Sequence[Bytes], bool]:
    """Returns the words that are read of a place; others may be if it is written twice."""
    whole = _type_of(ev, ctype, parts.written)
    at = _bytes(ev, whole, parts.written) if whole is not None else None
    if whole is None or at is None:
        return [], False
    reads: list[Bytes] = []
    for place in parts.reads:
        placed = _parts(ev, whole, place)
        if not placed:
            return [], False
        reads += placed
    begins = range(at[0], max(at[1] - ctype.size, at[0]) + 1, ctype.size or 1)
    if at[1] - at[0] < ctype.size or len(begins) > MAX_PARTS_READ:
        return [], False
    found = [[word for word in words if _is_read(word, begin, reads)] for begin in begins]
    found = [read for read in found if read]
    if not found or all(len(read) == len(words) for read in found):
        return [], False
    is_open = parts.is_conditional or any(read != found[0] for read in found)
    return found[0], is_open or _is_written_again(ev, whole, at, parts)


def _type_of(ev: Evaluator, ctype: CType, place: Place) -> CType | None:
    """Returns the type of a place's variable."""
    if not place.steps:
        return ctype
    variable = ev.state.lookup(place.name)
    return variable.type if isinstance(variable, Variable) else None


def _is_written_again(ev: Evaluator, whole: CType, at: Bytes, parts: PartsRead) -> bool:
    """Returns whether more than one of the writes may be of the same bytes."""
    meeting = 0
    for place in parts.writes:
        there = _bytes(ev, whole, place)
        meeting += there is None or (there[0] < at[1] and at[0] < there[1])
    return meeting > 1


def _is_read(word: Bytes, begin: int, reads: Iterable[Bytes]) -> bool:
    first = begin + word[0]
    return any(low < first + word[1] and first < high for low, high in reads)


def _bytes(ev: Evaluator, whole: CType, place: Place) -> Bytes | None:
    """Returns all bytes that a place may mean, and those between; None where that is not known."""
    parts = _parts(ev, whole, place)
    return (parts[0][0], parts[-1][1]) if parts else None


def _parts(ev: Evaluator, whole: CType, place: Place) -> list[Bytes]:
    """Returns the bytes of each place that may be meant, in order; none if that is not known."""
    begins, ctype = [0], whole
    for step in place.steps:
        moved = _step(ev, ctype, step)
        if moved is None:
            return []
        (first, last), ctype = moved
        if (last - first) // (ctype.size or 1) >= MAX_PARTS_READ // len(begins):
            return []
        begins = [at + by for at in begins for by in range(first, last + 1, ctype.size or 1)]
    return sorted((begin, begin + ctype.size) for begin in begins)


def _step(ev: Evaluator, ctype: CType, step: Step) -> tuple[Bytes, CType] | None:
    """Returns where the first and the last part begin that a step may mean, and their type."""
    if step.member:
        members = ctype.members if isinstance(ctype, RecordType) else ()
        member = next((m for m in members if m.name == step.member and not m.behind), None)
        return ((member.offset, member.offset), member.type) if member is not None else None
    if isinstance(ctype, PointerType):
        return None
    if step.ctype is not None:
        element = ev.types.resolve(step.ctype)
    elif isinstance(ctype, ArrayType):
        element = ctype.element
    else:
        return None
    first, last = step.first, step.last
    if first is None or last is None:
        first, last = 0, ctype.size // element.size - 1 if element.size else -1
    if last < first:
        return None
    return (first * element.size, last * element.size), element
