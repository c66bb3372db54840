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

A class that is aligned more than its largest member, of a word at least, is loaded in words, which
fuse, and of which one that stays alone is narrowed (nvcc 13.5.37): of `__align__(8)`
`short a, b; int c`, b and c are LDS.64, b alone U16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TypeAlias

from smemlint.analysis.simt.codegen.held_parts import Copy, Held, PartsRead, is_number
from smemlint.analysis.simt.codegen.llvm_vectorizer import pieces
from smemlint.analysis.simt.codegen.part_reader import THIS
from smemlint.analysis.simt.codegen.parts_read import parts_of_operand
from smemlint.analysis.simt.codegen.places import Place
from smemlint.analysis.simt.domain.copies import scalars_of
from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    CType,
    FloatType,
    IntType,
    RecordType,
    is_16_bit_float,
)
from smemlint.analysis.simt.evaluator import Evaluator
from smemlint.analysis.simt.loops.bytes_of_places import (
    Part,
    counts_now,
    counts_of,
    number_of,
    part_of,
    parts_in_iterations,
)
from smemlint.analysis.simt.types.overloads import parameters_of, type_words
from smemlint.frontend import ir
from smemlint.hardware.arch import WIDEST_ACCESS, WORD
from smemlint.limits.budgets import MAX_PARTS_READ

Bytes: TypeAlias = "tuple[int, int]"
"""The first byte of a scalar, and how many."""
_OPERANDS = 2
_Loaded: TypeAlias = "RecordType | IntType | FloatType"


def pieces_read(ev: Evaluator, ctype: CType, node: ir.Node) -> tuple[list[tuple[int, int]], bool]:
    """Returns the words read of what a variable is loaded with, and whether that is open.

    Returns:
        Offsets and sizes, none for all; others may be loaded if it is open.
    """
    parts = ev.state.node_facts.read_of(node)
    if parts is None or not isinstance(ctype, RecordType | IntType | FloatType):
        return [], False
    if isinstance(ctype, RecordType):
        scalars: list[Bytes] = list(scalars_of(ctype))
    else:
        scalars = [(at, WORD) for at in range(0, ctype.size, WORD)]
    if len(scalars) < 2 or not _are_apart(scalars):
        return [], False
    read, is_open = _words_of_parts(ev, ctype, scalars, parts)
    if not read or (is_open and not parts.is_declared):
        return [], is_open
    align = ctype.align if isinstance(ctype, RecordType) else ctype.size
    sizes = {size for _, size in scalars}
    if min(sizes) < WORD and isinstance(ctype, RecordType) and not _is_in_words(ctype, max(sizes)):
        return _joined(ctype, scalars, read), is_open
    return _in_slots(read, min(align, WIDEST_ACCESS)), is_open


def is_unread(ev: Evaluator, node: ir.Node) -> bool:
    """Returns whether nothing reads the elements of an array that are made of a load this time.

    Of `float f[4]; for (i < 4) f[i] = s[4 * t + i];`, `f[2]` there is one LDS (nvcc 13.5.37).
    """
    parts = ev.state.node_facts.read_of(node)
    if parts is None:
        return False
    made = [(parts.held, parts.written)]
    if not parts.written.steps and not parts.held.reads:
        made = [(copy.held, copy.place) for copy in parts.held.copies]
    return bool(made) and all(_is_element_unread(ev, held, place) for held, place in made)


def _is_element_unread(ev: Evaluator, held: Held, place: Place) -> bool:
    """Returns whether nothing reads a place, an element of numbers, as it is found this time."""
    ctype = held.ctype
    if not isinstance(ctype, ir.ArrayDecl) or not is_number(ctype) or place in held.reads:
        return False
    whole = ev.types.resolve(ctype)
    now = part_of(ev, whole, place, counts_now(ev, place.counters)) if place.steps else None
    return now is not None and not _bytes_read(ev, held, whole) & _mask([now])


def _is_in_words(ctype: RecordType, largest: int) -> bool:
    """Returns whether a class is loaded in words; a half has a copy operator of its own."""
    halves = any(is_16_bit_float(member.type) for member in ctype.members)
    return ctype.align > largest >= WORD and not halves


def _in_slots(read: Sequence[Bytes], slot: int) -> list[Bytes]:
    """Returns what ptxas loads for words of a vector: of a slot half, words, or all for three.

    What is less than a word is loaded as one, which is narrowed where it stays alone.
    """
    found: list[Bytes] = []
    words = dict.fromkeys((at // WORD * WORD, max(size, WORD)) for at, size in read)
    for (place, _), same in groupby(words, lambda each: (each[0] // slot, each[1] > WORD)):
        own = list(same)
        first, size = own[0][0], sum(size for _, size in own)
        if 2 * size > slot and (place + 1) * slot >= sum(own[-1]):
            found.append((place * slot, slot))
        elif 2 * size == slot and first + size == sum(own[-1]) and first % size == 0:
            found.append((first, size))
        else:
            found += own
    return [_narrowed(piece, read) for piece in found]


def _narrowed(piece: Bytes, read: Sequence[Bytes]) -> Bytes:
    """Returns a piece, or the one scalar that is read of it."""
    own = [(at, size) for at, size in read if piece[0] <= at < sum(piece)]
    return own[0] if len(own) == 1 and own[0][1] < WORD else piece


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
    ev: Evaluator, ctype: _Loaded, words: Sequence[Bytes], parts: PartsRead
) -> tuple[Sequence[Bytes], bool]:
    """Returns the words that are read of a place; others may be if it is written twice."""
    held = parts.held
    whole = _type_of(ev, held, ctype)
    now = part_of(ev, whole, parts.written, counts_now(ev, parts.written.counters))
    begins = [now] if now is not None else parts_in_iterations(ev, whole, parts.written)
    read = _bytes_read(ev, held, whole)
    if parts.is_declared:
        for place in held.writes[1:]:
            again = parts_in_iterations(ev, whole, place)
            read |= _mask(again) if again else -1
    if not all(_holds(kind, end - begin, ctype) for begin, end, kind in begins):
        return [], False
    whole_read = all(~read >> begin & _bits(0, ctype.size) == 0 for begin, *_ in begins)
    found = [[word for word in words if read >> begin & _bits(*word)] for begin, *_ in begins]
    found = [each for each in found if each]
    if not found or whole_read:
        return [], False
    is_open = any(each != found[0] for each in found) or parts.is_conditional(
        lambda counter: bool(counts_of(ev, (counter,)))
    )
    if not parts.is_declared:
        is_open |= sum(_meets(ev, whole, place, begins) for place in held.writes) > 1
    return found[0], is_open


def _holds(place: CType, size: int, loaded: CType) -> bool:
    """Returns whether a place has the bytes of what it is loaded with, from the first one on."""
    if isinstance(place, IntType) and isinstance(loaded, IntType):
        return place != BOOL
    return size >= loaded.size and not _converts(place, loaded)


def _converts(place: CType, value: CType) -> bool:
    """Returns whether a number has other bytes than the one that it is given."""
    numbers = isinstance(place, IntType | FloatType) and isinstance(value, IntType | FloatType)
    return numbers and (isinstance(place, FloatType) != isinstance(value, FloatType))


def _type_of(ev: Evaluator, held: Held, otherwise: CType) -> CType:
    """Returns the type that a variable is declared with."""
    ctype = ev.types.resolve(held.ctype) if held.ctype is not None else otherwise
    return ctype if ctype.size else otherwise


def _bits(at: int, size: int) -> int:
    """Returns a mask of bytes, one bit each."""
    return ((1 << size) - 1) << at


def _mask(parts: Iterable[Part]) -> int:
    """Returns the bytes of parts of a variable."""
    return reduce(or_, (_bits(begin, end - begin) for begin, end, _ in parts), 0)


def _bytes_read(ev: Evaluator, held: Held, whole: CType) -> int:
    """Returns the bytes that are read of a variable, which hang on constants of its function."""
    known = ev.state.frame.bytes_read
    names, numbers, read = known.get((held, whole)) or (held.constants(), None, 0)
    now = [number_of(ev, name, {}) for name in names]
    if now != numbers:
        read = _Reads(ev, held, whole).of(held)
        known[held, whole] = names, now, read
    return read


class _Reads:
    """The bytes that are read of variables, as masks; of what is not known all, -1."""

    def __init__(
        self, ev: Evaluator, held: Held, whole: CType, result: tuple[Held, int] | None = None
    ) -> None:
        self._ev = ev
        self._whole = whole
        held_by = held.with_copies() if len(held.copies) <= MAX_PARTS_READ else [held]
        self._masks = {each: self._read_itself(each) for each in held_by}
        if result is not None:
            self._masks[result[0]] = self._masks.get(result[0], 0) | result[1]
        copies = [(each, copy) for each in reversed(held_by) for copy in each.copies]
        made = [(each, *made) for each, copy in copies for made in self._made(each, copy)]
        is_final = len(held_by) > MAX_PARTS_READ
        while not is_final:
            is_final = True
            for each, copy, source, place in made:
                mask = self._masks[each]
                self._masks[each] |= self._read_by(copy, source, place)
                is_final &= self._masks[each] == mask

    def of(self, held: Held) -> int:
        """Returns the bytes that are read of a variable."""
        return self._masks[held]

    def _read_itself(self, held: Held) -> int:
        if max(map(len, (held.reads, held.copies, held.writes))) > MAX_PARTS_READ:
            return -1
        whole, mask = _type_of(self._ev, held, self._whole), 0
        for place in held.reads:
            parts = parts_in_iterations(self._ev, whole, place)
            mask |= _mask(parts) if parts else -1
        return mask

    def _made(self, held: Held, copy: Copy) -> Iterator[tuple[Copy, Part | None, Part | None]]:
        """Yields what a copy moves, in one iteration after the other."""
        ev = self._ev
        whole, other = (_type_of(ev, each, self._whole) for each in (held, copy.held))
        for counts in counts_of(ev, (*copy.source.counters, *copy.place.counters)) or ({},):
            yield (
                copy,
                part_of(ev, whole, copy.source, counts),
                part_of(ev, other, copy.place, counts),
            )

    def _read_by(self, copy: Copy, source: Part | None, place: Part | None) -> int:
        """Returns the bytes of a source that are read of what is made of it."""
        read = self._masks.get(copy.held, -1)
        if source is None:
            return -1
        begin, end, ctype = source
        whole = _bits(0, end - begin)
        if place is None:
            return whole << begin
        first, last, other = place
        read = read >> first & _bits(0, last - first)
        is_same = copy.is_same and end - begin == last - first and not _converts(other, ctype)
        if copy.operators and isinstance(ctype, RecordType):
            is_same, read = True, read if other == ctype else whole * bool(read)
            for operator in copy.operators:
                read = _read_of_operand(self._ev, operator, ctype, read)
        return (read if is_same else whole * bool(read)) << begin


def _read_of_operand(ev: Evaluator, operator: tuple[str, int], ctype: RecordType, read: int) -> int:
    """Returns the bytes of an object that an operator reads for some bytes of its result."""
    flows = ev.state.unit.memory.setdefault("operators", {})
    assert isinstance(flows, dict)
    key = (*operator, ctype.name)
    if key not in flows:
        flows[key] = list(_flows(ev, *operator, ctype))
    whole, found = _bits(0, ctype.size), 0
    for flow, is_alike in flows[key]:
        result = read if is_alike else whole * bool(read)
        found |= _Reads(ev, flow[0], ctype, (flow[1], result)).of(flow[0]) if flow else whole
    return found & whole if flows[key] else whole


def _flows(
    ev: Evaluator, op: str, index: int, ctype: RecordType
) -> Iterator[tuple[tuple[Held, Held] | None, bool]]:
    """Yields, of each operator that may be meant, what `parts_of_operand` tells of an operand.

    And whether its result is of the class of the operand.
    """
    for function in ev.policy.functions(ev, f"operator{op}"):
        tree = function.parse().tree
        names = [p.name for p in parameters_of(tree)] if tree is not None else []
        words = [type_words(p.type) for p in parameters_of(tree)] if tree is not None else []
        if function.record is not None:
            names, words = [THIS, *names], [[function.record], *words]
        if tree is None or len(names) != _OPERANDS or words[index] != [ctype.name]:
            continue
        changed = names[0] if op.endswith("=") else ""
        members = frozenset(member.name for member in ctype.members)
        is_alike = bool(changed) or type_words(tree.type.type) == [ctype.name]
        yield parts_of_operand(tree.body, names[index], changed, members), is_alike


def _meets(ev: Evaluator, whole: CType, place: Place, begins: Sequence[Part]) -> bool:
    """Returns whether a place may have bytes of others."""
    parts = parts_in_iterations(ev, whole, place)
    return not parts or bool(_mask(parts) & _mask(begins))
