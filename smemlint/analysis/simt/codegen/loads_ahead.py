"""Loads that ptxas moves ahead of a branch, to a neighbour that is loaded in any case.

Where `s[2 * t]` is loaded and then, on a condition, `s[2 * t + 1]`, ptxas loads both at once. SASS
of nvcc 13.0.88, -O3, sm_90, of `c = s[2 * t]; if (c > 1) v = s[2 * t + 1];` and of what differs:

| what differs | SASS |
| --- | --- |
| nothing; `if (t & 1)`, `if (n > 5)`, `?:`, `else`, `return` where it does not hold | LDS.64 |
| the branch loads or stores global memory, loops, or calls `powf` or `printf` | LDS.64 |
| `s[2 * t + 1]` behind a branch that loads global or shared memory | LDS.64 |
| `s[4 * t]`, then `s[4 * t + 1]` and `s[4 * t + 2]` on the condition | LDS.128 |
| `s[4 * t]`, then `s[4 * t + 2]`, which no load of two words serves | two LDS |
| `s[2 * t]` on a condition, `s[2 * t + 1]` behind it, in its `else`, on another one | two LDS |
| a store or an atomic to shared memory, __syncwarp or a loop between them | two LDS |
| `v = sinf(c) * s[2 * t + 1]` on the condition | two LDS |

How much a branch may hold for that is not modelled: the figures of loads that it changes are open.

So are those of loads on a condition that an unrolled loop does not change. LLVM takes it out of a
small loop (unswitching): `if (flag) v += s[8 * t + i];` for i in 0..7 becomes two LDS.128 behind
one branch, with a second such condition in the loop, too, and beside a division if the array is
declared with `__align__(16)`. Large loops keep their eight LDS, and so does `if (i < n)`.
`if (flag) s[8 * t + i] = w;` becomes two STS.128. What a call gives may be the same for other
arguments: `if (get<0>(I(n, k)) < rows) D(n, k) = S(n, k);` is one STS.128 of eight halves behind
each k, and of `get<1>` eight STS.U16 (nvcc 13.5, sm_90).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from smemlint.analysis.simt.codegen.branches.branches_of_iterations import BY_VALUE
from smemlint.analysis.simt.codegen.llvm_vectorizer import vector_size
from smemlint.analysis.simt.codegen.slots import (
    fused_slot,
    fused_widths,
    largest_slot,
    position_of,
    register_size,
    run_and_position,
)
from smemlint.analysis.simt.codegen.swizzled_neighbours import is_narrow_load, mark_neighbours
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Scev
from smemlint.analysis.simt.domain.trace import Event
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.steps import spend
from smemlint.reasons import Assumption

_CALL = re.compile(r"(\w+)(<[^<>()]*>)?\([^()]*\)")
_SAME = BY_VALUE | {"static_cast", "int", "unsigned", "long", "float", "size_t"}


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A load of the source, and the instruction that serves it within its basic block."""

    load: Event
    offset: AffineInt
    instruction: Event


def mark_open_loads(blocks: Sequence[Sequence[Event]], bases: Mapping[int, int]) -> None:
    """Marks loads that may become other instructions together with those of other basic blocks.

    Args:
        blocks: the instructions of each, with nothing between blocks that holds loads back.
        bases: identity of a shared object -> its offset in the block's shared memory.
    """
    if len(blocks) < 2:
        return
    loads = (e for block in blocks for e in block if e.kind is AccessKind.LOAD)
    _mark_copies(loads, bases)
    runs: dict[tuple[int, int, Scev], list[_Part]] = defaultdict(list)
    for part in _parts(event for block in blocks for event in block):
        runs[id(part.load.object), register_size(part.load), scev_of(part.offset)].append(part)
    for (_, register, _), parts in runs.items():
        some = parts[0]
        base = bases.get(id(some.load.object), 0)
        size = largest_slot(register, some.offset, base)
        if len(parts) < 2 or size <= register:
            continue
        for mask in {part.load.mask.tobytes(): part.load.mask for part in parts}.values():
            spend(len(parts))
            thread = int(mask.argmax())
            slots: dict[int, list[tuple[int, _Part]]] = defaultdict(list)
            for part in parts:
                slot, place = divmod(base + position_of(part.offset, thread), size)
                if part.load.mask[thread] and place % register == 0:
                    slots[slot].append((place // register, part))
            for slotted in slots.values():
                _mark_slot(slotted, size // register, register)


def mark_open_stores(instructions: Iterable[Event], bases: Mapping[int, int]) -> None:
    """Marks stores of iterations that become other instructions if their loop is unswitched."""
    _mark_copies((e for e in instructions if e.kind is AccessKind.STORE), bases)


def _mark_copies(instructions: Iterable[Event], bases: Mapping[int, int]) -> None:
    """Marks loads or stores that are made on a condition which their iterations may share."""
    copies: dict[object, list[Event]] = defaultdict(list)
    words: dict[tuple[Assumption, ...], frozenset[str]] = {}
    for event in instructions:
        if not (event.scope and event.is_kept_together) or event.volatile:
            continue
        given = event.assumptions
        if given not in words:
            words[given] = _deciding(" ".join(each.subject for each in given))
        values = tuple((name, value) for name, value in event.values if name in words[given])
        copies[id(event.node), event.callers, given, values].append(event)
    for events in copies.values():
        if len({event.scope for event in events}) == len(events) > 1:
            mark_neighbours(events)
            _mark_runs(events, bases)


def _mark_runs(copies: Iterable[Event], bases: Mapping[int, int]) -> None:
    runs: dict[object, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in copies:
        if isinstance(event.offset, AffineInt) and not is_narrow_load(event):
            run, position = run_and_position(event, event.offset)
            runs[run][bases.get(id(event.object), 0) + position].append(event)
    for places in runs.values():
        events = [event for each in places.values() for event in each]
        first = events[0]
        assert isinstance(first.offset, AffineInt)
        slot = largest_slot(first.width, first.offset, bases.get(id(first.object), 0))
        widest = max(fused_widths(places, max(slot, vector_size(first))), default=0)
        if widest > first.width:
            for event in events:
                event.may_fuse = max(event.may_fuse, widest)


def _parts(instructions: Iterable[Event]) -> Iterator[_Part]:
    for instruction in instructions:
        if instruction.kind is not AccessKind.LOAD or instruction.stays_alone:
            continue
        for load in instruction.fused or (instruction,):
            if isinstance(load.offset, AffineInt) and register_size(load):
                yield _Part(load, load.offset, instruction)


def _mark_slot(slotted: Sequence[tuple[int, _Part]], count: int, register: int) -> None:
    """Marks the loads of one slot, each with those behind it that are only made where it is."""
    while slotted:
        first = slotted[0][1].load
        present: dict[int, list[Event]] = defaultdict(list)
        ahead: list[_Part] = []
        others: list[tuple[int, _Part]] = []
        for place, part in slotted:
            if _dominates(first, part.load):
                for each in range(place, place + part.load.width // register):
                    present[each].append(part.load)
                ahead.append(part)
            else:
                others.append((place, part))
        made = {e.width for e in fused_slot(present, count, register) if e.issued}
        widest = max(made, default=0)
        if any(widest > part.instruction.width for part in ahead):
            for part in ahead:
                part.instruction.may_fuse = max(part.instruction.may_fuse, widest)
        slotted = others


def _dominates(first: Event, other: Event) -> bool:
    """Returns whether whoever makes a load has made an earlier one, too."""
    is_inside = not first.scope or first.scope[-1] in other.behind
    return is_inside and not (other.mask & ~first.mask).any()


def _deciding(conditions: str) -> frozenset[str]:
    """Returns the words of conditions without what calls are given, which may change nothing."""
    while conditions != (shorter := _CALL.sub(_without_call, conditions)):
        conditions = shorter
    return frozenset(re.findall(r"\w+", conditions))


def _without_call(call: re.Match[str]) -> str:
    return call[0] if call[1] in _SAME else ""
