"""The compiler's fusion of neighbouring shared accesses into wider instructions.

What a declared alignment allows is fused by LLVM before (llvm_vectorizer.py). The rest is ptxas's,
found by reading the SASS of some 330 kernels of our own (nvcc 13.0.88, sm_90, -O3); it fuses inside
one basic block, after unrolling:

- Loads fuse across anything but a shared store, a shared atomic or a barrier (those of other basic
  blocks, too, see loads_ahead.py); stores only with
  stores of their slot, with no other shared access between them. All under one predicate, none
  volatile.
- The address space is cut into slots as wide as the provable alignment of the run (a difference
  proves little, see `scev.difference`), at most 16 bytes
  (8 for 2-byte elements; bytes never fuse). Static arrays lie in declaration order, each at its
  natural alignment, and the offset there is what counts.
- Constant places fuse across arrays and variables: of `__shared__ float a, b, c;` the stores of
  one thread are STS.64 and STS, the loads one LDS.128 (nvcc 13.5.37).
- What fuses are registers: a float2 is two words (see `register_size`).
- Of a slot of four elements, three or four loads become one load of the whole slot, the lower or
  upper two one of half of it. Stores fuse only where every byte is written.
- The instruction stands at the line of the first of its loads, the last of its stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from smemlint.analysis.simt.codegen.llvm_vectorizer import vectorized
from smemlint.analysis.simt.codegen.loads_ahead import mark_open_loads, mark_open_stores
from smemlint.analysis.simt.codegen.loop_stores import promoted
from smemlint.analysis.simt.codegen.slots import (
    SLOT,
    elements_by_slot,
    fused_slot,
    fused_widths,
    issued_once,
    largest_slot,
    register_size,
    run_and_position,
    slot_size,
    with_open_form,
)
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.codegen.store_forwarding import forwarded
from smemlint.analysis.simt.domain.ctypes import ArrayType, FloatType, IntType
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Scev, power_of_two
from smemlint.analysis.simt.domain.trace import Event, Fence, Trace
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WORD

_BLOCK = 0
"""Stands for all static arrays and variables of a block, where their order is known."""
_Key = tuple[int, int, Scev, bytes]
"""Bytes of a register, the object, how the place is computed, and the threads."""
_Run = dict[int, list[Event]]
"""Accesses of a run by the bytes from the start of their object."""


def merged(trace: Trace, arrays: Iterable[Object]) -> list[Event]:
    """Returns the instructions that the trace's accesses become, in program order."""
    items = list(vectorized(forwarded(promoted(trace.items))))
    bases = _places(list(arrays), items)
    regions = list(_regions(items, bases))
    for blocks in regions:
        mark_open_loads(blocks, bases)
    instructions = _in_order(regions)
    mark_open_stores(instructions, bases)
    return instructions


def fused(items: Iterable[Event | Fence], bases: Mapping[int, int]) -> list[Event]:
    """Returns what ptxas makes of accesses that LLVM is done with, in program order."""
    return _in_order(_regions(items, bases))


def _in_order(regions: Iterable[Sequence[Sequence[Event]]]) -> list[Event]:
    events = chain.from_iterable(chain.from_iterable(regions))
    return sorted(events, key=lambda e: e.sequence)


def _regions(
    items: Iterable[Event | Fence], bases: Mapping[int, int]
) -> Iterator[list[list[Event]]]:
    """Yields the instructions between what holds loads back, by their basic blocks."""
    window: list[Event] = []
    blocks: list[list[Event]] = []
    for item in items:
        if isinstance(item, Event) and not item.issued:
            yield [[item]]
            continue
        if window and not (isinstance(item, Event) and _shares_window(window[-1], item, bases)):
            blocks.append(_fused_window(window, bases))
            window = []
        if _holds_loads_back(item):
            yield blocks
            blocks = []
        if isinstance(item, Event):
            window.append(item)
    yield [*blocks, _fused_window(window, bases)]


def _holds_loads_back(item: Event | Fence) -> bool:
    if isinstance(item, Event):
        return item.kind is not AccessKind.LOAD
    return item.kind != "block"


def _shares_window(last: Event, event: Event, bases: Mapping[int, int]) -> bool:
    """Returns whether two pass each other: loads always, stores only within their slot."""
    if event.kind is not last.kind:
        return False
    if event.kind is not AccessKind.STORE:
        return True
    if event.splits[SlowPath.CHOICE] != last.splits[SlowPath.CHOICE]:
        return False
    if not isinstance(event.offset, AffineInt) or not isinstance(last.offset, AffineInt):
        return False
    return _slot_of(event, event.offset, bases) == _slot_of(last, last.offset, bases)


def _slot_of(event: Event, offset: AffineInt, bases: Mapping[int, int]) -> tuple[object, int]:
    (obj, width, form, mask), base, position = _run_and_place(event, offset, bases)
    base = max((bases.get(id(o), 0) for o in _buffers(event)), key=power_of_two, default=base)
    width = min(width, WORD)
    run = obj, SLOT.get(width, width), form.terms, mask
    return run, (base + position) // largest_slot(width, offset, base)


def _run_and_place(
    event: Event, offset: AffineInt, bases: Mapping[int, int]
) -> tuple[tuple[int, int, Scev, bytes], int, int]:
    """Returns the run of an access, where its array lies, and the place of the access in that.

    Constant places in static arrays and variables are those of one array, the block's memory.
    """
    (obj, width, form, mask), position = run_and_position(event, offset)
    base = bases.get(obj)
    if form.terms or base is None or _BLOCK not in bases or not isinstance(offset.base, int):
        return (obj, width, form, mask), base or 0, position
    return (_BLOCK, width, form, mask), 0, base + position


def _places(objects: Sequence[Object], items: Sequence[Event | Fence]) -> dict[int, int]:
    """Returns `array_bases`, with one place for all where the compiler surely keeps to that order.

    Of buffers that a pointer picks, the place is that of the least aligned one.
    """
    static = [o for o in objects if o.shared is not None and not o.shared.is_dynamic]
    bases = array_bases(static)
    events = [item for item in items if isinstance(item, Event) and item.issued]
    buffers = {id(e.object): _buffers(e) for e in events if _buffers(e)}
    for view, members in buffers.items():
        bases[view] = min((bases.get(id(o), 0) for o in members), key=power_of_two)
    return bases | ({_BLOCK: 0} if not buffers and _is_order_sure(static, events) else {})


def _is_order_sure(static: Sequence[Object], events: Sequence[Event]) -> bool:
    """Returns whether variables, and arrays beside them, lie in the order of their declarations.

    LLVM drops variables that nothing loads, and makes variables of the elements of an array that
    constants alone index, which lie elsewhere (nvcc 13.5.37).
    """
    scalars = [o for o in static if isinstance(o.type, IntType | FloatType)]
    arrays = [o for o in static if isinstance(o.type, ArrayType)]
    spans = [o.shared.span for o in static if o.shared is not None]
    is_in_order = spans == sorted(set(spans)) and len({span.path for span in spans}) < 2
    if not scalars or len(scalars) + len(arrays) < len(static) or not is_in_order:
        return False
    read = {id(e.object) for e in events if e.kind is AccessKind.LOAD}
    indexed = {id(e.object) for e in events if not _is_constant(e)}
    return all(id(o) in read for o in static) and all(id(o) in indexed for o in arrays)


def _buffers(event: Event) -> tuple[Object, ...]:
    """Returns the arrays of which an access may be to any; none where it is to one."""
    return event.object.members if isinstance(event.object, Object) else ()


def _is_constant(event: Event) -> bool:
    """Returns whether an access has one place for all threads and iterations."""
    offset = event.offset
    if not isinstance(offset, AffineInt) or offset.constant is None:
        return False
    return not scev_of(offset).terms


def array_bases(objects: Iterable[Object]) -> dict[int, int]:
    """Returns offsets of static arrays in declaration order, arrays of one element last."""
    found: dict[int, int] = {}
    offset = 0
    ordered = sorted(objects, key=lambda o: isinstance(o.type, ArrayType) and o.type.count == 1)
    for obj in ordered:
        shared = obj.shared
        if shared is None or shared.is_dynamic:
            continue
        align = max(shared.alignment, 1)
        offset = -(-offset // align) * align
        found[id(obj)] = offset
        offset += obj.type.size
    return found


def _fused_window(window: Sequence[Event], bases: Mapping[int, int]) -> list[Event]:
    """Returns one window: accesses of one kind with nothing between them that stops fusion."""
    if len(window) < 2 or window[0].kind not in (AccessKind.LOAD, AccessKind.STORE):
        return list(window)
    runs: dict[_Key, _Run] = {}
    alone: list[Event] = []
    for event in window:
        register = register_size(event)
        if event.stays_alone or not register or not isinstance(event.offset, AffineInt):
            alone.append(event)
            continue
        (obj, _, form, mask), _, position = _run_and_place(event, event.offset, bases)
        key = (register, obj, form, mask)
        runs.setdefault(key, {}).setdefault(position, []).append(event)
    _mark_equal_sums(runs, bases)
    for (register, obj, *_), run in runs.items():
        _mark_if_buffers_differ(run, register, bases)
        made = _fused_run(run, register, bases.get(obj, 0))
        alone += (_within_variable(e, bases) for e in made) if obj == _BLOCK else made
    return alone


def _within_variable(event: Event, bases: Mapping[int, int]) -> Event:
    """Returns an access of several variables as one of that which its line names.

    All its lanes take one place, so what it costs is the same there.
    """
    assert isinstance(event.offset, AffineInt) and isinstance(event.offset.base, int)
    assert event.object is not None
    at, width = event.offset.base, event.width
    is_aligned = (bases[id(event.object)] + at) % width == 0 and at % width == 0
    if not event.fused or (is_aligned and 0 <= at <= event.object.type.size - width):
        return event
    first = max(at, 0) // width * width
    offset = AffineInt(first, event.offset.type, (), event.offset.form)
    return replace(event, offset=offset, spare=width - min(part.width for part in event.fused))


def _mark_equal_sums(runs: Mapping[_Key, _Run], bases: Mapping[int, int]) -> None:
    """Marks accesses that fuse with those of another run if both sums are computed alike."""
    alike: dict[tuple[int, int, object, bytes], list[_Run]] = {}
    for (register, obj, *_), run in runs.items():
        some = next(iter(run.values()))[0]
        assert isinstance(some.offset, AffineInt)
        if obj == _BLOCK:
            continue
        place = (register, id(some.object), scev_of(some.offset).terms, some.mask.tobytes())
        alike.setdefault(place, []).append(run)
    for (register, *_), same in alike.items():
        if len(same) > 1:
            _mark_if_open(same, register, bases)


def _mark_if_open(same: Sequence[_Run], register: int, bases: Mapping[int, int]) -> None:
    """Marks runs whose sums have equal terms, one of them computed in a way that is open."""
    whole, apart, union = 0, [], {}
    for run in same:
        some = next(iter(run.values()))[0]
        assert isinstance(some.offset, AffineInt)
        base = bases.get(id(some.object), 0)
        placed = {base + at: events for at, events in run.items()}
        apart += fused_widths(placed, slot_size(register, some.offset, base))
        union.update(placed)
        if scev_of(some.offset).is_open:
            whole = max(whole, largest_slot(register, some.offset, base))
    widths = fused_widths(union, whole) if whole else []
    if whole and sorted(apart) != widths:
        for event in chain.from_iterable(chain.from_iterable(run.values() for run in same)):
            assert isinstance(event.offset, AffineInt)
            event.may_fuse = max(event.may_fuse, *widths)
            event.offset = with_open_form(event.offset)


def _mark_if_buffers_differ(run: _Run, register: int, bases: Mapping[int, int]) -> None:
    """Marks accesses of buffers that are swapped, whose neighbours fuse in some of them only.

    In iterations that are put together each access is of one buffer (nvcc 13.5.37).
    """
    some = next(iter(run.values()))[0]
    assert isinstance(some.offset, AffineInt)
    found = []
    for buffer in _buffers(some):
        base = bases.get(id(buffer), 0)
        placed = {base + at: events for at, events in run.items()}
        found.append(sorted(fused_widths(placed, slot_size(register, some.offset, base))))
    if any(widths != found[0] for widths in found):
        for event in chain.from_iterable(run.values()):
            assert isinstance(event.offset, AffineInt)
            event.may_fuse = max(event.may_fuse, *chain.from_iterable(found))
            event.offset = with_open_form(event.offset)


def _fused_run(run: _Run, register: int, base: int) -> Iterator[Event]:
    some = next(iter(run.values()))[0]
    assert isinstance(some.offset, AffineInt)
    size = slot_size(register, some.offset, base)
    whole = largest_slot(register, some.offset, base)
    placed: _Run = {}
    for position, events in run.items():
        if (base + position) % register:
            yield from events  # an address between the elements
        else:
            placed[base + position] = events
    if whole > size:
        _mark_open(placed, size, whole)
    if size <= register:
        for events in placed.values():
            yield from issued_once(events)
        return
    for present in elements_by_slot(placed, size, register):
        yield from fused_slot(present, size // register, register)


def _mark_open(run: _Run, size: int, whole: int) -> None:
    """Marks the accesses of a run that become other instructions if their sum is not rewritten."""
    slots: dict[int, dict[int, list[Event]]] = {}
    for at, events in run.items():
        slots.setdefault(at // whole, {})[at] = events
    for neighbours in slots.values():
        widths = fused_widths(neighbours, whole)
        if fused_widths(neighbours, size) != widths:
            for events in neighbours.values():
                for event in events:
                    event.may_fuse = max(event.may_fuse, *widths)
