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
from itertools import chain, groupby
from typing import TypeAlias

from smemlint.analysis.simt.codegen.llvm_vectorizer import pieces
from smemlint.analysis.simt.codegen.parts_read import Held, PartsRead
from smemlint.analysis.simt.codegen.places import Counter, Index, Place, Step
from smemlint.analysis.simt.domain.copies import scalars_of
from smemlint.analysis.simt.domain.ctypes import BOOL, ArrayType, CType, IntType, RecordType
from smemlint.analysis.simt.domain.environment import Binding, Variable, content_of
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.frontend import ir
from smemlint.hardware.arch import WIDEST_ACCESS, WORD
from smemlint.limits.budgets import MAX_PARTS_READ

Bytes: TypeAlias = "tuple[int, int]"
"""The first byte, and the one behind the last; of a word its bytes."""
Counts: TypeAlias = "dict[str, int]"
"""What loops count with in an iteration."""


def pieces_read(ev: Evaluator, ctype: CType, node: ir.Node) -> tuple[list[tuple[int, int]], bool]:
    """Returns the words read of what a variable is loaded with, and whether that is open.

    Args:
        ev: the evaluator.
        ctype: what is loaded.
        node: the expression that loads it.

    Returns:
        Offsets and sizes, none for all; others may be loaded if it is open.
    """
    parts = ev.state.node_facts.read_of(node)
    if parts is None or not isinstance(ctype, RecordType | IntType):
        return [], False
    if isinstance(ctype, IntType):
        scalars: list[Bytes] = [(at, WORD) for at in range(0, ctype.size, WORD)]
    else:
        scalars = list(scalars_of(ctype))
    if not scalars or not _are_apart(scalars):
        return [], False
    read, is_open = _words_of_parts(ev, ctype, scalars, parts)
    if is_open and not parts.is_declared:
        return [], True
    if any(size < WORD for _, size in scalars) and isinstance(ctype, RecordType):
        return _joined(ctype, scalars, read or scalars), is_open
    slot = min(ctype.size if isinstance(ctype, IntType) else ctype.align, WIDEST_ACCESS)
    return _in_slots(read, slot) if len(read) < len(scalars) else [], is_open


def _in_slots(read: Sequence[Bytes], slot: int) -> list[Bytes]:
    """Returns what ptxas loads for words of a vector: of a slot half, words, or all for three."""
    found: list[Bytes] = []
    for place, words in groupby(read, lambda each: each[0] // slot):
        own = list(words)
        first, size = own[0][0], sum(size for _, size in own)
        if 2 * size > slot:
            found.append((place * slot, slot))
        elif 2 * size == slot and first + size == sum(own[-1]) and first % size == 0:
            found.append((first, size))
        else:
            found += own
    return found


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
    runs = groupby(enumerate(read), lambda pair: (pair[1][1], pair[1][0] - pair[0] * pair[1][1]))
    for (size, _), run in runs:
        own = [each for _, each in run]
        is_part = 0 < size < WORD  # the size of a member may not be known
        if is_part and ctype.align > size and own[0][0] % size == 0:
            first, aligned, most = own[0][0] // size, ctype.align // size, WIDEST_ACCESS // size
            fused = pieces(first, len(own), aligned, most, is_load=True)
            own = [(at * size, count * size) for at, count in fused]
        found += own
    return found


def _are_apart(scalars: Iterable[Bytes]) -> bool:
    end = 0
    for at, size in scalars:
        if at < end:  # of a union
            return False
        end = at + size
    return True


def _words_of_parts(
    ev: Evaluator, ctype: RecordType | IntType, words: Sequence[Bytes], parts: PartsRead
) -> tuple[Sequence[Bytes], bool]:
    """Returns the words that are read of a place; others may be if it is written twice."""
    held = parts.held
    whole = _type_of(ev, held, ctype)
    at = _bytes(ev, whole, parts.written, _counts_now(ev, parts.written.counters))
    begins = [at] if at is not None else _all_bytes(ev, whole, parts.written)
    reads = _read(ev, held, whole, {})
    if parts.is_declared and reads is not None:
        again = [_all_bytes(ev, whole, place) for place in held.writes[1:]]
        reads = reads + list(chain.from_iterable(again)) if all(again) else None
    if not begins or reads is None:
        return [], False
    is_number = isinstance(ctype, IntType) and isinstance(whole, IntType) and whole != BOOL
    if not is_number and any(end - begin < ctype.size for begin, end in begins):
        return [], False
    found = [[word for word in words if _is_read(word, begin, reads)] for begin, _ in begins]
    found = [read for read in found if read]
    if not found or all(len(read) == len(words) for read in found):
        return [], False
    is_open = any(read != found[0] for read in found) or parts.is_conditional(
        lambda counter: bool(_counts(ev, (counter,)))
    )
    if not parts.is_declared:
        is_open |= sum(_meets(ev, whole, place, begins) for place in held.writes) > 1
    return found[0], is_open


def _type_of(ev: Evaluator, held: Held, otherwise: CType) -> CType:
    """Returns the type that a variable is declared with."""
    ctype = ev.types.resolve(held.ctype) if held.ctype is not None else otherwise
    return ctype if ctype.size else otherwise


def _read(
    ev: Evaluator, held: Held, whole: CType, known: dict[Held, list[Bytes] | None], depth: int = 0
) -> list[Bytes] | None:
    """Returns the bytes that are read of a variable; None where that is not known.

    Args:
        ev: the evaluator.
        held: the variable.
        whole: its type.
        known: of variables that others are made of; of one that is made of itself it is not.
        depth: how many variables are made of each other.
    """
    if held in known:
        return known[held]
    known[held] = None
    most = max(depth, *map(len, (held.reads, held.copies, held.writes)))
    if most <= MAX_PARTS_READ:
        known[held] = _read_in(ev, held, whole, known, depth + 1)
    return known[held]


def _read_in(
    ev: Evaluator, held: Held, whole: CType, known: dict[Held, list[Bytes] | None], depth: int
) -> list[Bytes] | None:
    found: list[Bytes] = []
    for place in held.reads:
        placed = _all_bytes(ev, whole, place)
        if not placed:
            return None
        found += placed
    for source, made, other, is_same in held.copies:
        ctype = _type_of(ev, other, whole)
        reads = _read(ev, other, ctype, known, depth)
        envs = _counts(ev, (*source.counters, *made.counters))
        for env in envs if envs is not None else ({},):
            of, at = _bytes(ev, whole, source, env), _bytes(ev, ctype, made, env)
            if of is None:
                return None
            if reads is None or at is None:
                found.append(of)
            elif is_same and at[1] - at[0] == of[1] - of[0]:
                by = of[0] - at[0]
                found += [(max(a, at[0]) + by, min(b, at[1]) + by) for a, b in reads]
            elif _is_read((0, at[1] - at[0]), at[0], reads):
                found.append(of)
    return found


def _meets(ev: Evaluator, whole: CType, place: Place, begins: Sequence[Bytes]) -> bool:
    """Returns whether a place may have bytes of others."""
    placed = _all_bytes(ev, whole, place)
    return not placed or any(a < d and c < b for a, b in placed for c, d in begins)


def _is_read(word: Bytes, begin: int, reads: Iterable[Bytes]) -> bool:
    first = begin + word[0]
    return any(low < first + word[1] and first < high for low, high in reads)


def _all_bytes(ev: Evaluator, whole: CType, place: Place) -> list[Bytes]:
    """Returns the bytes that a place means in one iteration after the other; none for not known."""
    found = [_bytes(ev, whole, place, counts) for counts in _counts(ev, place.counters) or ()]
    known = [each for each in found if each is not None]
    return sorted(set(known)) if len(known) == len(found) else []


def _counts(ev: Evaluator, counters: Iterable[Counter]) -> list[Counts] | None:
    """Returns what loops count with in each iteration; None where the compiler does not know."""
    found: list[Counts] = [{}]
    for counter in dict.fromkeys(counters):
        grown: list[Counts] = []
        for outer in found:
            first, end, step = (
                _number(ev, i, outer) for i in (counter.first, counter.end, counter.step)
            )
            if first is None or end is None or not step or step < 0:
                return None
            if (end - first) // step + len(grown) > MAX_PARTS_READ:
                return None
            grown += [outer | {counter.name: number} for number in range(first, end, step)]
        found = grown
    return found


def _counts_now(ev: Evaluator, counters: Iterable[Counter]) -> Counts:
    """Returns what loops count with in the iteration that is executed, where that is known."""
    found = ((each.name, _known(ev.state.lookup(each.name))) for each in counters)
    return {name: number for name, number in found if number is not None}


def _known(binding: Binding | None) -> int | None:
    """Returns the number that a name stands for, which the compiler knows, too."""
    value = content_of(binding) if isinstance(binding, Variable) else binding
    return value.constant if isinstance(value, AffineInt) and not scev_of(value).terms else None


def _number(ev: Evaluator, index: Index | None, counts: Counts) -> int | None:
    """Returns the constant that an index is; None where the compiler knows none."""
    match index:
        case (op, left, right):
            a, b = _number(ev, left, counts), _number(ev, right, counts)
            if a is None or b is None or (op == "/" and b <= 0):
                return None
            return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a // b
        case str() if index not in counts:
            binding = ev.state.lookup(index)
            is_constant = not isinstance(binding, Variable) or binding.is_constant
            return _known(binding) if is_constant else None
        case str():
            return counts[index]
    return index


def _bytes(ev: Evaluator, whole: CType, place: Place, counts: Counts) -> Bytes | None:
    """Returns the bytes that a place is of a variable; None where that is not known."""
    begin, ctype, size = 0, whole, whole.size
    for step in place.steps:
        if step.is_number:
            is_last = step is place.steps[-1]  # other arithmetic may undo a shift
            at, left = (0, size) if is_last and step.shift else _of_number(ev, ctype, size, step)
            ctype = ev.types.resolve(step.ctype) if step.ctype is not None else ctype
        else:
            moved = _step(ev, ctype, step, counts)
            if moved is None:
                return None
            at, ctype = moved
            left = ctype.size
        begin, size = begin + at, left
        if size <= 0 or begin < 0 or begin + size > whole.size:
            return None
    return begin, begin + size


def _of_number(ev: Evaluator, ctype: CType, size: int, step: Step) -> Bytes:
    """Returns where the bytes begin that another number is made of, and how many they are."""
    if not isinstance(ctype, IntType):
        return 0, size
    if step.ctype is None:
        return step.shift, size - step.shift
    other = ev.types.resolve(step.ctype)
    return 0, min(size, other.size) if isinstance(other, IntType) and other != BOOL else size


def _step(ev: Evaluator, ctype: CType, step: Step, counts: Counts) -> tuple[int, CType] | None:
    """Returns where the part begins that a step leads to, and its type."""
    if step.member:
        members = ctype.members if isinstance(ctype, RecordType) else ()
        member = next((m for m in members if m.name == step.member and not m.behind), None)
        return (member.offset, member.type) if member is not None else None
    if step.ctype is not None:
        element = ev.types.resolve(step.ctype)
    elif isinstance(ctype, ArrayType):
        element = ctype.element
    else:
        return None
    index = _number(ev, step.index, counts)
    return (index * element.size, element) if index is not None else None
