"""What LLVM fuses before ptxas sees it: accesses of arrays whose declaration promises alignment.

Read off the PTX and SASS of 60 kernels of our own (nvcc 13.0.88, sm_90, -O3). LLVM knows of an
array's place only what its declaration says (`__align__(16)`, the alignment of the element), but it
moves accesses past others that provably touch different bytes, which ptxas does not:

    __shared__ __align__(16) float a[32][32], b[32][32];
    for (int j = 0; j < 4; ++j) { a[y][4 * x + j] = p[j]; b[y][4 * x + j] = q[j]; }

becomes two STS.128, and without `__align__` eight STS. Of `c[i] += a[at(i)]; a[at(i)] = c[i]` for
more than four slots that do not ascend, only some fuse (with `at` as in the epilogues of AWQ's
kernels 3 of 8): which is not modelled, and the figure open. Loads move up to their first, stores
down to their last. Bytes fuse, too. Nothing moves across the `asm` of half's operators and
conversions, see slow_paths.py.

Of stores of two runs of one array in turns, which lie apart by an unknown multiple, as of
`s[8 * t + i] = x; s[8 * n + i] = y;` for i in 0..3, the latter are two STS.64, of
`s[8 * n + 4 + i]` all two STS.128: which is not modelled, and the figure open.

Two runs in turns whose indexes differ in a constant that more was added to are open likewise (see
`Scev.buried`): of `s[(ty + 8 * i) * 256 + 4 * t + j]` with i inside j, the stores of one are two
STS.64 and those of the other four STS, of `s[ty * 256 + 4 * t + 64 * i + j]` all are STS.128, and
so they are in rows of `s[96][256]` (44 kernels, nvcc 13.5.37, sm_90). A pointer buries what it was
made of: of `a = s + ty * 256, b = a + 4096`, a[4 * t + j] and b[4 * t + j] are two STS.64 each.

Of four words of a union in shared memory it is open, too: with `union { float4 v; float f[4]; }`,
`u[t].f[0] + u[t].f[1] + u[t].f[2] + u[t].f[3]` is an LDS.128 and an LDS of f[2], in descending
order or from f[2] on an LDS.128 alone.

Neighbours of one block are cut as LLVM's LoadStoreVectorizer does: see `pieces`, which gives the
loads in the PTX of 1,504 runs of bytes, shorts and words, and the stores of 332. It looks at the
loads of an array 64 at a time, and so at the stores: of `a = q[99]` and q[0] to q[63] behind it,
the last is one for itself. Bytes at places that only two divide are loaded by twos where products
are computed so, which is not modelled: each has as many wavefronts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby

from smemlint.analysis.simt.codegen.slots import (
    instruction,
    may_meet,
    root_of,
    run_and_position,
    with_open_form,
)
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.codegen.swizzled_neighbours import is_narrow_load, mark_neighbours
from smemlint.analysis.simt.domain.bitwise_scev import hides_alignment
from smemlint.analysis.simt.domain.copies import has_union
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import CHUNK, Scev
from smemlint.analysis.simt.domain.trace import Event, Fence
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WIDEST_ACCESS
from smemlint.lazy_dataclasses import dataclass

_FUSIBLE = frozenset((AccessKind.LOAD, AccessKind.STORE))
_WIDTHS = (1, 2, 4, 8)
_PAIR = 2
_REACH = 256
"""Stores that a load is moved past at most."""
_ORDERED = 4
"""Slots of an array that fuse past accesses of the same array in whatever order they come."""
_AT_ONCE = 64
"""Loads, or stores, of an array that are looked at together."""
_LEFT_ALONE = (16, 2)


def vectorized(items: Iterable[Event | Fence]) -> Iterator[Event | Fence]:
    """Yields the same items, with neighbours fused that LLVM fuses within a basic block."""
    block: list[Event] = []
    for item in items:
        if isinstance(item, Event):
            block.append(_with_open_sum(item))
            continue
        yield from _vectorized_block(block)
        block = []
        yield item
    yield from _vectorized_block(block)


def _vectorized_block(block: list[Event]) -> list[Event]:
    mark_neighbours(block)
    _mark_unplaced(block)
    if not any(vector_size(e) for e in block):
        return block
    fusion = _Fusion()
    for event in block:
        fusion.add(event)
    fusion.end()
    return sorted(fusion.out, key=lambda e: e.sequence)


def _mark_unplaced(block: Sequence[Event]) -> None:
    """Marks neighbours in an array that begins where the compiler knows: it may be aligned more.

    nvidia-cutlass-dsl 4.8.1, sm_90a: `s[t, 0] *= 2; s[t, 1] *= 2` of an array of 4-byte alignment
    behind another one is LDS.64 and STS.64 where the compiled sizes put it at a multiple of 8.
    """
    runs: dict[tuple[object, ...], dict[int, list[Event]]] = {}
    for event in block:
        offset = event.offset
        if _is_fixed(event) or event.kind not in _FUSIBLE or not isinstance(offset, AffineInt):
            continue
        if any(symbol.is_known_to_compiler for symbol, _ in offset.terms):
            run, position = run_and_position(event, offset)
            runs.setdefault((event.kind, *run), {}).setdefault(position, []).append(event)
    for neighbours in runs.values():
        for position, events in neighbours.items():
            width = events[0].width
            if position + width in neighbours or position - width in neighbours:
                for event in events:
                    event.may_fuse = max(event.may_fuse, min(_PAIR * width, WIDEST_ACCESS))


def vector_size(event: Event) -> int:
    """Returns the bytes that one instruction can take around the access; 0 for no more."""
    if event.width not in _WIDTHS or event.kind not in _FUSIBLE or not event.issued:
        return 0
    if _is_fixed(event) or is_narrow_load(event):
        return 0
    if event.object is None or not isinstance(event.offset, AffineInt):
        return 0
    if _is_reordered(scev_of(event.offset)):
        return 0
    promised, form = _promised_alignment(event.object), scev_of(event.offset)
    seen = form.ptxas_alignment if hides_alignment(form) else form.alignment
    size = min(WIDEST_ACCESS, promised, seen)
    return size if size > event.width else 0


def _is_reordered(form: Scev) -> bool:
    """Returns whether a sum contains another one: LLVM fuses only some of these."""
    return form.is_rewritten and len(form.terms) > _PAIR


def _with_open_sum(event: Event) -> Event:
    """Returns the access; of such a sum it is open whether it fuses in an aligned array."""
    offset = event.offset
    if not isinstance(offset, AffineInt) or not _is_reordered(scev_of(offset)):
        return event
    if event.object is None or _promised_alignment(event.object) <= event.width:
        return event
    return replace(event, offset=with_open_form(offset))


def _is_fixed(event: Event) -> bool:
    return event.volatile or event.is_assembly


@dataclass(slots=True)
class _Chain:
    """Accesses of one slot that can still become one instruction, by their places in the run."""

    size: int
    width: int
    elements: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    is_open: bool = False
    may_part: bool = False

    @property
    def count(self) -> int:
        return self.size // self.width

    def events(self) -> Iterator[Event]:
        for events in self.elements.values():
            yield from events


@dataclass(slots=True)
class _Order:
    """The slots of one run in the order in which they are first asked for."""

    slots: set[int] = field(default_factory=set)
    last: float = -math.inf
    ascends: bool = True


_Key = tuple[object, ...]
_Runs = dict[_Key, dict[int, _Chain]]
"""Chains by run and slot."""


class _Fusion:
    """The chains of one basic block, access by access."""

    def __init__(self) -> None:
        self.out: list[Event] = []
        self._chains: dict[tuple[int, AccessKind], _Runs] = defaultdict(lambda: defaultdict(dict))
        self._passed: list[Event] = []
        self._orders: dict[_Key, _Order] = defaultdict(_Order)
        self._counts: dict[int, Counter[AccessKind]] = defaultdict(Counter)
        self._assembly = 0
        self._parted = (0, 0)
        self._latest: dict[_Key, tuple[int, Event]] = {}

    def add(self, event: Event) -> None:
        """Takes the next access of the block."""
        if not event.issued:
            self.out.append(event)
            return
        if _is_fixed(event) or event.object is None or event.kind not in _FUSIBLE:
            self.end()
            self.out.append(event)
            return
        if event.splits[SlowPath.ASSEMBLY] != self._assembly:
            self.end()
            self._assembly = event.splits[SlowPath.ASSEMBLY]
        parted = event.splits[SlowPath.CHOICE], event.splits[SlowPath.FETCH]
        if event.kind is AccessKind.STORE and parted != self._parted:
            self._end_stores()
            self._parted = parted
        size = vector_size(event)
        key: _Key = ()
        position = 0
        if size and isinstance(event.offset, AffineInt):
            key, position = run_and_position(event, event.offset)
            key = (*key, event.word * (event.word < event.width))  # bytes fuse with bytes
            if position % event.width:
                size, key = 0, ()
        if self._takes_turns(event, key):
            event = replace(event, may_fuse=WIDEST_ACCESS)
        self._count(event)
        if event.kind is AccessKind.STORE:
            self._passed.append(event)
        if not size:
            self.out.append(event)
        elif event.kind is AccessKind.LOAD:
            self._load(event, key, position, size)
        else:
            self._store(event, key, position, size)

    def end(self) -> None:
        """Ends all chains: nothing moves past this point."""
        for runs in self._chains.values():
            self._close_all(runs)
        self._chains.clear()
        self._passed.clear()
        self._orders.clear()
        self._counts.clear()
        self._latest.clear()

    def _end_stores(self) -> None:
        """Ends the chains of stores: each stands in the block that computes its value."""
        for key in [key for key in self._chains if key[1] is AccessKind.STORE]:
            self._close_all(self._chains.pop(key))

    def _count(self, event: Event) -> None:
        """Counts an access of an array; LLVM looks at so many of them together."""
        root = root_of(event.object)
        counts = self._counts[root]
        if counts[event.kind] and counts[event.kind] % _AT_ONCE == 0:
            self._close_all(self._chains.pop((root, event.kind), {}))
        counts[event.kind] += event.width < WIDEST_ACCESS

    def _load(self, event: Event, key: _Key, position: int, size: int) -> None:
        group = self._chains[root_of(event.object), event.kind][key]
        slot = position // size
        chain = group.get(slot)
        if chain is not None and self._must_stay_behind(event, chain):
            self._close(group.pop(slot))
            chain = None
        if chain is None:
            chain = group[slot] = _Chain(size, event.width)
            chain.is_open = self._begins_open(event, key, slot)
            chain.may_part = _is_open(event)
        chain.elements[position // event.width].append(event)

    def _begins_open(self, event: Event, key: _Key, slot: int) -> bool:
        """Returns whether it is open that a slot fuses: among loads and stores, out of order."""
        order = self._orders[(event.kind, *key)]
        if slot not in order.slots:
            order.ascends &= slot > order.last
            order.slots.add(slot)
            order.last = slot
        return len(order.slots) > _ORDERED and not order.ascends

    def _must_stay_behind(self, load: Event, chain: _Chain) -> bool:
        first = min(e.sequence for e in chain.events())
        passed = [s for s in self._passed[-_REACH:] if s.sequence > first]
        chain.may_part |= any(_hides_distance(s, load) for s in passed)
        return len(passed) == _REACH or any(may_meet(s, load) for s in passed)

    def _store(self, event: Event, key: _Key, position: int, size: int) -> None:
        group = self._chains[root_of(event.object), event.kind][key]
        slot = position // size
        chain = group.get(slot)
        if chain is None:
            chain = group[slot] = _Chain(size, event.width)
            chain.is_open = self._begins_open(event, key, slot)
            chain.may_part = _is_open(event)
        latest, before = self._latest.get(key, (slot, event))
        if chain.elements and latest != slot and _hides_distance(event, before):
            chain.may_part = True
            if latest in group:
                group[latest].may_part = True
        self._latest[key] = slot, event
        chain.elements[position // event.width].append(event)
        if len(chain.elements) == chain.count:
            self._close(group.pop(slot))

    def _takes_turns(self, event: Event, key: _Key) -> bool:
        """Returns whether a run takes turns with one whose stores may move past it.

        Chains of stores are closed that would have to move past an access of their bytes.
        """
        takes_turns = False
        is_next = event.kind is AccessKind.STORE and bool(self._orders[(event.kind, *key)].slots)
        runs = self._chains.get((root_of(event.object), AccessKind.STORE), {})
        for other, group in runs.items():
            if other == key and event.kind is AccessKind.STORE:
                continue
            for slot, chain in list(group.items()):
                if any(may_meet(event, store) for store in chain.events()):
                    self._close(_cut_off(chain, event))
                    if not chain.elements:
                        del group[slot]
                elif is_next:
                    takes_turns = chain.may_part = True
        return takes_turns

    def _close_all(self, runs: _Runs) -> None:
        for group in runs.values():
            self._close(*group.values())

    def _close(self, *chains: _Chain) -> None:
        """Makes instructions of the chains of one run."""
        if not chains:
            return
        first = next(chains[0].events())
        is_load = first.kind is AccessKind.LOAD
        both = len(self._counts[root_of(first.object)]) > 1
        in_union = is_load and first.object is not None and has_union(first.object.type)
        elements = {at: events for chain in chains for at, events in chain.elements.items()}
        is_open = {at for chain in chains if chain.is_open for at in chain.elements}
        for start, count, present in _instructions(elements, chains[0], is_load=is_load):
            wide = count * first.width
            for event in instruction(present, start, wide, first.width, by_llvm=True):
                if both and not is_open.isdisjoint(present):
                    event.may_fuse = max(event.may_fuse, event.width)
                event.may_part |= in_union and event.width == WIDEST_ACCESS
                event.may_part |= event.width > first.width and any(c.may_part for c in chains)
                self.out.append(event)


def _hides_distance(a: Event, b: Event) -> bool:
    """Returns whether LLVM does not see how far two places of an array lie apart."""
    if a.object is not b.object:
        return False
    if not (isinstance(a.offset, AffineInt) and isinstance(b.offset, AffineInt)):
        return False
    return scev_of(a.offset).buried != scev_of(b.offset).buried


def _is_open(event: Event) -> bool:
    """Returns whether it is open that the compiler fuses neighbours that it could."""
    if not isinstance(event.offset, AffineInt):
        return False
    return any(key.startswith(CHUNK) for key, _ in scev_of(event.offset).terms)


def _instructions(
    elements: Mapping[int, list[Event]], chain: _Chain, *, is_load: bool
) -> Iterator[tuple[int, int, dict[int, list[Event]]]]:
    """Yields the first element of each instruction, how many it takes, and those that are there."""
    for _, run in groupby(enumerate(sorted(elements)), lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        most = WIDEST_ACCESS // chain.width
        for at, count in pieces(places[0], len(places), chain.count, most, is_load=is_load):
            yield at, count, {k: elements[k] for k in range(at, at + count) if k in elements}


def pieces(
    start: int, count: int, aligned: int, most: int, *, is_load: bool
) -> Iterator[tuple[int, int]]:
    """Yields the first element and the number of elements of each instruction for neighbours.

    An odd number of loads is filled up to a power of two where the alignment allows that. Sixteen
    bytes at an address of which only two divide are left alone.

    Args:
        start: place of the first, modulo `aligned`.
        count: of the neighbours.
        aligned: elements that divide the place of element 0, a power of two.
        most: elements of the widest instruction.
        is_load: they are loads.
    """
    here = min(aligned, (start & -start) or aligned)
    if count == 1:
        yield start, 1
        return
    cut = -start % aligned or most
    if count <= most:
        whole = 1 << (count - 1).bit_length()
        is_whole = count == whole or (is_load and count % 2 == 1)
        if is_whole and (whole, here) == _LEFT_ALONE:
            yield from ((at, 1) for at in range(start, start + count))
            return
        if is_whole and whole <= here:
            yield start, whole
            return
        cut = here if is_whole else whole // 2
    yield from pieces(start, cut, aligned, most, is_load=is_load)
    yield from pieces(start + cut, count - cut, aligned, most, is_load=is_load)


def _cut_off(chain: _Chain, event: Event) -> _Chain:
    """Returns the stores of a slot that stay ahead of an access that they meet.

    As many as one instruction takes: of three, two, if the third can wait for the fourth.
    """
    places = sorted(chain.elements)
    ahead = 1 << (len(places).bit_length() - 1)
    waiting = [store for at in places[ahead:] for store in chain.elements[at]]
    if any(may_meet(event, store) for store in waiting) or event.kind is AccessKind.LOAD:
        ahead = len(places)
    return replace(chain, elements={at: chain.elements.pop(at) for at in places[:ahead]})


def _promised_alignment(obj: Object) -> int:
    """Returns the alignment that is declared, in bytes; 16 for dynamic shared memory."""
    if obj.shared is None or obj.origin is not None:
        return 0
    return WIDEST_ACCESS if obj.shared.is_dynamic else obj.shared.alignment
