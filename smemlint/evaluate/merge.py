"""The compiler's fusion of neighbouring shared accesses into wider instructions.

Found by reading the SASS of some 330 kernels of our own (nvcc 13.0.88, sm_90, -O3); ptxas fuses
inside one basic block, after unrolling:

- Loads fuse across anything but a shared store, a shared atomic or a barrier; stores only with
  stores, with no other shared access between them. All under one predicate, none volatile.
- The address space is cut into slots as wide as the provable alignment of the run, at most 16 bytes
  (8 for 2-byte elements; bytes never fuse). Static arrays lie in declaration order, each at its
  natural alignment, and the offset there is what counts.
- Of a slot of four elements, three or four loads become one load of the whole slot, the lower or
  upper two one of half of it. Stores fuse only where every byte is written.
- The instruction stands at the line of the first of its loads, the last of its stores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from smemlint.evaluate.ctypes import ArrayType
from smemlint.evaluate.forms import form_of, power_of_two
from smemlint.evaluate.forward import forwarded
from smemlint.evaluate.trace import Event
from smemlint.evaluate.values import Int
from smemlint.facts import AccessKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from smemlint.evaluate.memory import Object
    from smemlint.evaluate.trace import Trace

_SLOT = {2: 8, 4: 16, 8: 16}
"""Bytes of a slot, by width of the element."""


def merged(trace: Trace, bases: Mapping[int, int]) -> list[Event]:
    """The instructions that the trace's accesses become, in program order.

    Args:
        trace: accesses and fences.
        bases: identity of a shared object -> its offset in the block's shared memory.
    """
    out: list[Event] = []
    window: list[Event] = []
    for item in forwarded(trace.items):
        if isinstance(item, Event) and not item.issued:
            out.append(item)
            continue
        if window and not (isinstance(item, Event) and _shares_window(window[-1], item)):
            out += _fused_window(window, bases)
            window = []
        if isinstance(item, Event):
            window.append(item)
    out += _fused_window(window, bases)
    return sorted(out, key=lambda e: e.sequence)


def _shares_window(last: Event, event: Event) -> bool:
    """Loads pass each other whatever they read; a store passes only stores of its own run."""
    if event.kind is not last.kind:
        return False
    if event.kind is not AccessKind.STORE:
        return True
    if not isinstance(event.offset, Int) or not isinstance(last.offset, Int):
        return False
    return _form(event, event.offset)[0] == _form(last, last.offset)[0]


def array_bases(objects: Iterable[Object]) -> dict[int, int]:
    """Offsets of static arrays in declaration order, arrays of one element last."""
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
    """One window: accesses of one kind with nothing between them that stops fusion."""
    if len(window) < 2 or window[0].kind not in (AccessKind.LOAD, AccessKind.STORE):
        return list(window)
    runs: dict[object, dict[int, list[Event]]] = {}
    alone: list[Event] = []
    for event in window:
        if event.volatile or event.width not in _SLOT or not isinstance(event.offset, Int):
            alone.append(event)
            continue
        form, position = _form(event, event.offset)
        runs.setdefault(form, {}).setdefault(position, []).append(event)
    return [*alone, *(e for run in runs.values() for e in _fused_run(run, bases))]


def _form(event: Event, offset: Int) -> tuple[object, int]:
    """What accesses of a run share, and where in bytes this one stands in it.

    Threads share the place modulo the alignment that the form proves, so any active one will do.
    """
    position = offset.base
    if not isinstance(position, int):
        position = int(position[int(event.mask.argmax())])
    return (id(event.object), event.width, form_of(offset), event.mask.tobytes()), position


def _fused_run(run: Mapping[int, Sequence[Event]], bases: Mapping[int, int]) -> Iterator[Event]:
    some = next(iter(run.values()))[0]
    width = some.width
    base = bases.get(id(some.object), 0)
    assert isinstance(some.offset, Int)
    size = min(_SLOT[width], form_of(some.offset).alignment, power_of_two(base))
    if size <= width:
        yield from (e for events in run.values() for e in events)
        return
    slots: dict[int, dict[int, Sequence[Event]]] = {}
    for position, events in run.items():
        at = base + position
        if at % width:
            yield from events  # an address between the elements
        else:
            slots.setdefault(at // size, {})[at % size // width] = events
    for present in slots.values():
        yield from _fused_slot(present, size // width, width)


def _fused_slot(present: Mapping[int, Sequence[Event]], count: int, width: int) -> Iterator[Event]:
    """The instructions of one slot of 2 or 4 elements."""
    is_load = next(iter(present.values()))[0].kind is AccessKind.LOAD
    enough = 3 if is_load and count == 4 else count
    if len(present) >= enough:
        yield from _instruction(present, 0, width * count, width)
    elif count == 4 and {0, 1} <= present.keys():
        yield from _instruction({k: present[k] for k in (0, 1)}, 0, 2 * width, width)
        yield from (e for k, events in present.items() if k > 1 for e in _single(events))
    elif count == 4 and {2, 3} <= present.keys():
        yield from _instruction({k: present[k] for k in (2, 3)}, 2, 2 * width, width)
        yield from (e for k, events in present.items() if k < 2 for e in _single(events))
    else:
        yield from (e for events in present.values() for e in _single(events))


def _single(events: Sequence[Event]) -> Iterator[Event]:
    """Accesses of one address: a load is not issued again, a store is."""
    if events[0].kind is AccessKind.LOAD:
        yield from _counted(events, events[0], events[0].width, 0)
    else:
        yield from events


def _instruction(
    present: Mapping[int, Sequence[Event]], start: int, wide: int, width: int
) -> Iterator[Event]:
    """One fused instruction that begins at element `start` of its slot."""
    parts = [e for events in present.values() for e in events]
    parts.sort(key=lambda e: e.sequence)
    counted = parts[0] if parts[0].kind is AccessKind.LOAD else parts[-1]
    element = next(k for k, events in present.items() if any(e is counted for e in events))
    spare = wide - (max(present) + 1 - start) * width
    yield from _counted(parts, counted, wide, (start - element) * width, spare)


def _counted(
    parts: Sequence[Event], counted: Event, wide: int, shift: int, spare: int = 0
) -> Iterator[Event]:
    """The instruction at every site it serves; issued once, at the site that it is counted at."""
    offset = counted.offset
    assert isinstance(offset, Int)
    whole = Int(offset.base + shift, offset.type, offset.terms, offset.form) if shift else offset
    seen = {id(counted.node)}
    yield replace(counted, width=wide, offset=whole, spare=spare)
    for part in parts:
        if id(part.node) not in seen:
            seen.add(id(part.node))
            yield replace(part, width=wide, offset=whole, issued=0, spare=spare)
