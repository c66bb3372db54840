"""Slots: the aligned pieces of shared memory that one wide instruction can serve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import gcd

from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Scev, factors_of, power_of_two, sum_of
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.hardware.arch import WORD

SLOT = {2: 8, 4: 16, 8: 16}
"""Bytes of a slot, by width of the element."""


def run_and_position(event: Event, offset: AffineInt) -> tuple[tuple[int, int, Scev, bytes], int]:
    """Returns what accesses of a run share, and where in bytes this one stands in it.

    Threads share the place modulo the alignment that the form proves, so any active one will do.
    """
    position = position_of(offset, int(event.mask.argmax()))
    return (id(event.object), event.width, scev_of(offset), event.mask.tobytes()), position


def register_size(event: Event) -> int:
    """Returns the bytes of each register of an access, by which ptxas fuses it; 0: with none.

    nvcc 13.0.88, sm_90, arrays of natural alignment: a float2, short4 or class of two words and the
    words beside it are LDS.128, STS.128 if nothing is missing; a double or long long and two words
    are LDS.64 and LDS.64, and so is a double beside a float2. What LLVM makes of less than a word
    has a register as any other: `short a, b; int c;` is one LDS.64 or STS.64, `char a, b; short c;`
    one STS. To load a pair of bytes is an LDS.U16, whatever stands beside it.
    """
    narrowest = min(part.word or part.width for part in event.fused or (event,))
    size = narrowest if narrowest >= WORD else min(event.width, WORD)
    is_pair = narrowest < size < WORD and event.kind is AccessKind.LOAD
    return 0 if event.width > max(SLOT) or size == 1 or is_pair else size


def position_of(offset: AffineInt, thread: int) -> int:
    """Returns the bytes from the start of the array, but for what all of a run share."""
    base = offset.base
    return base if isinstance(base, int) else int(base[thread])


def slot_size(width: int, offset: AffineInt, base: int) -> int:
    """Returns the bytes that one instruction can take around the access, as far as ptxas knows."""
    form, most = scev_of(offset), SLOT.get(width, width)
    moves = any(symbol.is_of_iteration for symbol, _ in offset.terms)
    if form.is_mirrored and (form.is_open or moves):
        return width
    return max(min(most, form.ptxas_alignment, power_of_two(base)), width)


def largest_slot(width: int, offset: AffineInt, base: int) -> int:
    """Returns the bytes that one instruction may take, if an open sum is not rewritten.

    A template argument that no launch gives is a constant to the compiler, and so is the size of a
    class that was not read, and `i & 1` in the iterations that it puts together (nvcc 13.0.88: of
    `s[2 * t + (i & 1)]` and its neighbour every other iteration has one LDS.64): they may be
    aligned so.
    """
    form = scev_of(offset)
    most = SLOT.get(width, width)
    if any(s.is_known_to_compiler or s.is_of_iteration for s, _ in offset.terms):
        return most
    if not form.is_open:
        return slot_size(width, offset, base)
    return max(min(most, max(form.alignment, factors_of(form)), power_of_two(base)), width)


def with_open_form(offset: AffineInt) -> AffineInt:
    """Returns the offset; how the compiler computes it, and so how it is aligned, is open."""
    form = replace(scev_of(offset), is_open=True)
    return AffineInt(offset.base, offset.type, offset.terms, form)


def elements_by_slot(
    run: Mapping[int, Sequence[Event]], size: int, width: int
) -> Iterator[dict[int, list[Event]]]:
    """Yields accesses of each slot by its elements, wide ones at each element that they take."""
    slots: dict[int, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for at, events in run.items():
        for event in events:
            for place in range(at, at + min(event.width, size), width):
                slots[place // size][place % size // width].append(event)
    yield from slots.values()


def fused_slot(present: Mapping[int, Sequence[Event]], count: int, width: int) -> Iterator[Event]:
    """Yields the instructions of one slot, or of the halves of it that one instruction can serve.

    More than half of the elements are loaded as the whole slot; stores write nothing else.

    Args:
        present: element of the slot -> its accesses, all loads or all stores.
        count: elements of the slot, a power of two.
        width: bytes of an element.
    """
    yield from _fused(present, 0, count, width)


def _fused(
    present: Mapping[int, Sequence[Event]], start: int, count: int, width: int
) -> Iterator[Event]:
    part = {k: events for k, events in present.items() if start <= k < start + count}
    if not part:
        return
    is_load = next(iter(part.values()))[0].kind is AccessKind.LOAD
    enough = count // 2 + 1 if is_load else count
    if count == 1 or len(part) >= enough:
        yield from instruction(part, start, width * count, width)
        return
    yield from _fused(part, start, count // 2, width)
    yield from _fused(part, start + count // 2, count // 2, width)


def fused_widths(run: Mapping[int, Sequence[Event]], size: int) -> list[int]:
    """Returns the widths of the instructions that slots of a size make of a run."""
    width = min(event.width for events in run.values() for event in events)
    slots = elements_by_slot(run, size, width)
    made = (e for slot in slots for e in fused_slot(slot, size // width, width))
    return sorted(event.width for event in made if event.issued)


def issued_once(events: Sequence[Event]) -> Iterator[Event]:
    """Yields accesses of one address: a load is not issued again, a store is."""
    if events[0].kind is AccessKind.LOAD:
        yield from _counted(events, events[0], events[0].width, 0)
    else:
        yield from events


def instruction(
    present: Mapping[int, Sequence[Event]],
    start: int,
    wide: int,
    width: int,
    *,
    by_llvm: bool = False,
) -> Iterator[Event]:
    """Yields one instruction of `wide` bytes that begins at element `start`, and what it serves.

    Args:
        present: elements that it takes -> their accesses.
        start: its first element.
        wide: its bytes.
        width: bytes of an element.
        by_llvm: LLVM fuses, not ptxas.
    """
    parts = list({id(e): e for events in present.values() for e in events}.values())
    if all(part.width >= wide for part in parts):
        yield from issued_once(parts)
        return
    parts.sort(key=lambda e: e.sequence)
    counted = parts[0] if parts[0].kind is AccessKind.LOAD else parts[-1]
    element = min(k for k, events in present.items() if any(e is counted for e in events))
    spare = wide - (max(present) + 1 - start) * width
    fused = tuple(e for part in parts for e in (part.fused or (part,)))
    is_open = counted.kind is AccessKind.STORE or _is_open(counted)
    may_fuse = counted.may_fuse if is_open else 0
    may_part = any(part.may_part for part in parts) or _may_part(parts, by_llvm)
    may_part |= _begins_wide(parts, present[start]) if start in present else False
    counted = replace(counted, fused=fused, may_fuse=may_fuse, may_part=may_part)
    parts = [replace(part, fused=fused, may_fuse=may_fuse, may_part=may_part) for part in parts]
    yield from _counted(parts, counted, wide, (start - element) * width, spare)


def _begins_wide(parts: Sequence[Event], first: Sequence[Event]) -> bool:
    """Returns whether stores are a vector and words behind it: nvcc 13.0.88 fuses none of them.

    So it is of `*(float2 *)p = a; p[2] = b; p[3] = c;`, in no other order of these three.
    """
    is_store = parts[0].kind is AccessKind.STORE
    return is_store and parts[0] in first and parts[0].width > parts[-1].width


def _may_part(parts: Sequence[Event], by_llvm: bool) -> bool:
    """Returns whether accesses of one slot may stay apart.

    Branches of the compiler's own may stand between them, and ptxas fuses no loads whose values it
    extends.
    """
    if not by_llvm and any(part.extends is None and not part.fused for part in parts):
        return True
    paths = [SlowPath.BRANCH]
    if parts[0].kind is AccessKind.STORE:
        paths.append(SlowPath.VALUE)
    if not by_llvm:
        paths.append(SlowPath.EXPANSION)
    return are_parted(parts, paths)


def are_parted(parts: Sequence[Event], paths: Sequence[SlowPath]) -> bool:
    """Returns whether branches that the compiler makes for such arithmetic stand between them."""
    return any(part.splits[path] != parts[0].splits[path] for part in parts for path in paths)


def _is_open(event: Event) -> bool:
    """Returns whether it is open how wide the loads of a sum become."""
    return isinstance(event.offset, AffineInt) and scev_of(event.offset).is_open


def _counted(
    parts: Sequence[Event], counted: Event, wide: int, shift: int, spare: int = 0
) -> Iterator[Event]:
    """Yields the instruction at every site that it serves, issued once where it is counted."""
    offset = counted.offset
    assert isinstance(offset, AffineInt)
    whole = (
        AffineInt(offset.base + shift, offset.type, offset.terms, offset.form) if shift else offset
    )
    seen = {id(counted.node)}
    yield replace(counted, width=wide, offset=whole, spare=spare)
    for part in parts:
        if id(part.node) not in seen:
            seen.add(id(part.node))
            yield replace(part, width=wide, offset=whole, issued=0, spare=spare)


def root_of(obj: Object | None) -> int:
    """Returns the identity of the array that a view looks into."""
    while obj is not None and obj.origin is not None:
        obj = obj.origin
    return id(obj)


def may_meet(event: Event, other: Event) -> bool:
    """Returns whether an access can touch the bytes of another.

    Two places of a thread are apart by what divides all that their difference hangs on. nvcc
    13.0.88, -O3, sm_90, of one array, `a[4 * t + i] = x; b[t + 256 * i] = y;` for i in 0..3 with b
    1024 words behind a: 1024 - 3 * t is 1 modulo 3, 1024 + 256 is 2 and 1024 + 512 is 0, so two
    pairs are STS.64. Of `a[2 * t + i]` four STS.
    """
    if any(each.object is not None and each.object.may_be_another for each in (event, other)):
        return True
    if root_of(event.object) != root_of(other.object):
        return False
    if event.object is not other.object:
        return True
    if not isinstance(event.offset, AffineInt) or not isinstance(other.offset, AffineInt):
        return True
    members = _member_of(event, event.offset), _member_of(other, other.offset)
    if None not in members and members[0] != members[1]:
        return False
    (_, _, form, mask), at = run_and_position(event, event.offset)
    (_, _, other_form, other_mask), start = run_and_position(other, other.offset)
    size = other.width
    if form == other_form and mask == other_mask:
        return at < start + size and start < at + event.width
    periods = [min(scev_of(event.offset).alignment, scev_of(other.offset).alignment)]
    if mask == other_mask:  # the same thread's places
        periods.append(gcd(*(factor for _, factor in sum_of(form, other_form, -1).terms)))
    return not any(size <= (at - start) % by <= by - event.width for by in periods if by)


def _member_of(event: Event, offset: AffineInt) -> int | None:
    """Returns the start of the member that an access names, in classes in classes; None for none.

    The first thread's tells. LLVM keeps `s->n` and `s->cache[i].level` apart whatever i is.
    """
    node = event.node
    while isinstance(node, ir.ArrayRef):
        node = node.name
    ctype = event.object.type if event.object is not None else None
    if not isinstance(node, ir.StructRef) or not isinstance(ctype, RecordType):
        return None
    start, place = 0, position_of(offset, int(event.mask.argmax()))
    while isinstance(ctype, RecordType) and len({m.offset for m in ctype.members}) > 1:
        around = (m for m in ctype.members if m.offset <= place - start < m.offset + m.type.size)
        member = next(around, None)
        if member is None:
            break
        start, ctype = start + member.offset, member.type
    return start
