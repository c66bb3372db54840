"""Which members of a vector a load takes: those that are read of what it is loaded into."""

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
    members, parts = facts.members_read.get(node), facts.parts_read.get(node)
    words = list(scalars_of(ctype)) if members is not None or parts is not None else []
    if not words or not _are_apart(words):
        return [], False
    read: Sequence[Bytes] = words
    is_open = False
    if parts is not None:
        read, is_open = _words_of_parts(ev, ctype, words, parts)
        read = read or words
    if members is not None:
        own = [m for m in ctype.members if m.name in members.names]
        spans = [(m.offset, m.offset + m.type.size) for m in own]
        read = [word for word in read if _is_read(word, 0, spans)]
        return list(read) if len(read) < len(words) else [], members.is_parted
    return ([] if is_open or len(read) == len(words) else list(read)), is_open


def _are_apart(words: Iterable[Bytes]) -> bool:
    end = 0
    for at, size in words:
        if size < WORD or at < end:  # of a union
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
