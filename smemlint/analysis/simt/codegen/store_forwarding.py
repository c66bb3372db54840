"""Accesses that registers answer: equal loads, loads of what was stored, and stores that are dead.

Read off the SASS of kernels of our own and of rodinia's lud (nvcc 13.0.88, sm_90, -O3). What a
thread stored or loaded before is not loaded again, and a store that the thread overwrites unread is
none, wherever the first access is on every path to the second. A barrier (`__syncwarp`, too), an
atomic, and a store to the array whose place may be the same end that; a store to another array and
a branch between the two do not:

    s[4 * t] = s[4 * t] + s[4 * t + 1];  // one LDS.128, one STS
    s[4 * t] = s[4 * t] + s[4 * t + 2];
    s[4 * t] = s[4 * t] + s[4 * t + 3];

Inline PTX is left to ptxas, which tells apart only what it computes from one base: any other store
and any branch end what it knows.

So does a load of which a wider one has the bytes, also the other way round where the wider one
takes a vector of such words in the same basic block: of `float2 c = s[t]`, of which only c.x is
read, and `float2 d = s[t + i]` in an unrolled loop from 0 on, the first is a LDS.64 for both.
`double`, `half2` and vectors of shorts or bytes are loaded again.

A loop whose trip count is not known leaves in registers what it does not store to: neither in it
nor behind it is loaded what was loaded or stored before, unless it has a barrier; an atomic is a
store to its array. That a place is stored to itself, in the loop or under a condition, leaves it in
a register, too:

    s[2 * t] = 0;
    for (int j = 0; j < n; j++)
        if (f[j]) s[2 * t] += s[512 + j];  // no load of s[2 * t], a store each time
    out[t] = s[2 * t];  // none either; one after `if (n) s[3 * t] = 1`

Where such a loop shuffles, votes, reads a clock, sleeps, traps or has an `asm volatile`, `s[2 * t]`
is loaded in it, once for the iterations that are unrolled, and behind it.

A loop that runs as often as a variable says, perhaps never, leaves in no register what it stores,
unless one had the place before: `for (j < i) s[t] -= s[t + j];` and `s[t] /= d` behind it load
`s[t]` again.

A loop that is not unrolled is another basic block each time. What each iteration loads from one
place is loaded in front of it, what a condition in it guards is loaded each time. There a thread
that accumulates into an element, as `s[t][i] -= s[t][j] * s[j][i]` does over j, loads it once and
stores it each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from smemlint.analysis.simt.codegen.slots import may_meet, position_of, root_of, run_and_position
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Shifted
from smemlint.analysis.simt.domain.trace import Event, Fence, LoopEntry
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WORD
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_FORWARDED, MAX_STORES_OF_LOOP
from smemlint.limits.steps import spend
from smemlint.reasons import Topic

_Key: TypeAlias = "tuple[object, ...]"


def forwarded(items: Iterable[Event | Fence]) -> list[Event | Fence]:
    """Returns the same items; accesses that need no instruction are issued 0 times."""
    registers = _Registers()
    stores: dict[int, Event] = {}
    items = list(items)
    for at, item in enumerate(items):
        if not isinstance(item, Event):
            if item.kind == "barrier":
                stores.clear()
            registers.leave_block()
            registers.pass_guard(item.guard)
            if item.kind == "iteration" and item.entry is not None:
                registers.leave_iteration(item.entry)
            elif item.depth:
                is_entry = item.kind == "loop"
                stored = _stores_of_loop(items, at, item.depth) if is_entry else ()
                registers.pass_loop(stored, has_effects=item.has_effects)
            elif item.kind != "block":
                registers.clear()
            registers.out.append(item)
            continue
        if not item.issued:
            registers.out.append(item)
            continue
        is_answered = False
        if item.kind is AccessKind.STORE and not item.volatile:
            stores[id(item.object)] = item
        elif item.kind is not AccessKind.LOAD:
            stores.pop(id(item.object), None)
        else:
            is_answered = _is_carried(item, stores.get(id(item.object)))
        registers.add(replace(item, issued=0) if is_answered else item)
    return registers.out


def _stores_of_loop(items: Sequence[Event | Fence], begin: int, depth: int) -> list[Event] | None:
    """Returns what a loop stores, by atomics, too; None for more than is compared, for barriers."""
    stores: list[Event] = []
    for item in islice(items, begin + 1, None):
        if isinstance(item, Fence):
            if item.kind == "barrier":
                return None
            if 0 < item.depth <= depth:
                break
        elif item.kind is not AccessKind.LOAD:
            is_known = (
                item.kind in (AccessKind.STORE, AccessKind.ATOMIC) and item.object is not None
            )
            if not is_known or len(stores) == MAX_STORES_OF_LOOP:
                return None
            stores.append(item)
    return stores


@dataclass(slots=True)
class _Held:
    """An access whose bytes a register holds.

    Attributes:
        at: its index among the items.
        is_unread: of a store: no instruction reads memory that may be it.
        is_of_before: of a load: an iteration before this one made it.
        is_asked_for: of a load: this iteration has it.
        is_near: it is of this basic block.
        first: since when a register has had what lies there; None for since the access itself.
    """

    event: Event
    at: int
    is_unread: bool
    is_of_before: bool = False
    is_asked_for: bool = True
    is_near: bool = True
    first: Event | None = None

    def answers(self, load: Event, offset: AffineInt) -> bool:
        """Returns whether a load of the same bytes needs no instruction.

        From one iteration to the next, and behind a loop, the compiler has to see that the place
        is the same one: not of `s[i % 32]` where the loop advances i by 32.
        """
        before = self.event.offset
        is_seen = not self.is_of_before or (
            isinstance(before, AffineInt) and scev_of(before) == scev_of(offset)
        )
        return is_seen and _dominates(self.first or self.event, load)

    def stay_for(self, load: Event) -> None:
        """Gives a load that sinks back to all its threads where a later one is the same.

        Equal loads are one before any of them sinks. Where the later one sinks, too, so do both.
        """
        event, threads = self.event, self.event.before_sinking
        if threads is None or load.before_sinking is not None or load.scope != event.scope:
            return
        if event.issued and (load.mask & ~event.mask).any() and not (load.mask & ~threads).any():
            event.mask, event.before_sinking = threads, None

    def passed_on(self, store: Event) -> Event | None:
        """Returns since when a register has what lies there, behind a store to the same place.

        None for since the store. A branch of its own beside another one does not have the
        register that the other one has, whatever their conditions are.
        """
        first = self.first or self.event
        return first if _dominates(first, store) else None

    def is_lost_to(self, store: Event, *, is_moved: bool) -> bool:
        """Returns whether no register has what is there after a store in a loop.

        Args:
            store: in the loop.
            is_moved: what it stores, if to this very place, stays in a register.
        """
        if not may_meet(store, self.event):
            return False
        one, other = store.offset, self.event.offset
        if not is_moved or store.volatile or store.kind is not AccessKind.STORE:
            return True
        if not isinstance(one, AffineInt) or not isinstance(other, AffineInt):
            return True
        return _key(store, one) != _key(self.event, other) or scev_of(one) != scev_of(other)


class _Registers:
    """What registers hold of the shared arrays, item by item."""

    def __init__(self) -> None:
        self.out: list[Event | Fence] = []
        self._held: dict[int, dict[tuple[object, ...], _Held]] = defaultdict(dict)
        self._guards: list[tuple[int, set[_Key]]] = []  # of loops that perhaps never run: where
        # they began, and what was held there
        self._assembly: dict[tuple[object, ...], _Held] = {}

    def clear(self) -> None:
        """Forgets everything: other threads may have written, or the code runs again."""
        self._held.clear()

    def pass_loop(self, stores: Sequence[Event] | None, *, has_effects: bool = False) -> None:
        """Keeps, where a loop begins or ends, what it does not store to from here; None: all.

        Args:
            stores: of the loop.
            has_effects: none of them is moved out of it.
        """
        if stores is None:
            self.clear()
            return
        for accesses in self._held.values():
            spend(len(stores) * len(accesses))
            for key, access in list(accesses.items()):
                if any(access.is_lost_to(store, is_moved=not has_effects) for store in stores):
                    del accesses[key]
                access.is_of_before, access.is_unread = True, False

    def pass_guard(self, guard: int) -> None:
        """Enters or leaves a loop that a variable counts.

        What it stores is held behind it in the place of what was held before, or if it surely runs.

        Args:
            guard: see `Fence.guard`.
        """
        if guard > 0:
            keys = {key for accesses in self._held.values() for key in accesses}
            self._guards.append((len(self.out), keys))
        if guard >= 0 or not self._guards:
            return
        begin, before = self._guards.pop()
        for accesses in self._held.values():
            for key, access in list(accesses.items()):
                if access.at < begin or access.event.kind is not AccessKind.STORE:
                    continue
                access.is_of_before = True
                if guard < -1 and key not in before:
                    del accesses[key]

    def leave_iteration(self, entry: LoopEntry) -> None:
        """Keeps what the compiler loads in front of the loop: loads that each iteration makes."""
        for accesses in self._held.values():
            for key, access in list(accesses.items()):
                if not access.is_asked_for or not _is_in_each_iteration(access.event, entry):
                    del accesses[key]
                access.is_of_before, access.is_asked_for = True, False

    def leave_block(self) -> None:
        """Forgets what ptxas knows of inline PTX within a basic block, and what is of this one."""
        self._assembly.clear()
        for accesses in self._held.values():
            for access in accesses.values():
                access.is_near = False

    def add(self, event: Event) -> None:
        """Takes the next access."""
        if event.object is not None and event.object.may_be_another:
            self._pass_all(event)
            return
        root = root_of(event.object)
        accesses = self._held[root]
        if event.is_assembly and not event.volatile and isinstance(event.offset, AffineInt):
            self._pass(event, accesses)
            self._add_assembly(event, event.offset)
            return
        self._meet_assembly(event)
        is_plain = not event.volatile and event.object is not None and not event.spare
        if event.kind not in (AccessKind.LOAD, AccessKind.STORE):
            accesses.clear()
            if event.object is None:
                self.clear()
            is_plain = False
        if not is_plain or not isinstance(event.offset, AffineInt):
            self._pass(event, accesses)
            self.out.append(event)
            return
        key = _key(event, event.offset)
        before = accesses.get(key)
        if event.kind is AccessKind.LOAD:
            if before is not None:
                before.stay_for(event)
            if before is not None and before.answers(event, event.offset):
                before.is_asked_for = True
                if event.extends is not False and not before.event.extends:
                    before.event.extends = event.extends  # one register for both
                self.out.append(replace(event, issued=0))
                return
            if self._is_of_another(event, event.offset, accesses):
                self.out.append(replace(event, issued=0))
                return
            self._read(event, accesses)
        else:
            is_guarded = before is not None and any(before.at < begin for begin, _ in self._guards)
            if before is not None and before.is_unread and not is_guarded:
                self._remove_dead(event, before)
            self._overwrite(event, accesses, key)
        if len(accesses) >= MAX_FORWARDED:
            del accesses[next(iter(accesses))]
        accesses.pop(key, None)
        is_store = event.kind is AccessKind.STORE
        first = before.passed_on(event) if is_store and before is not None else None
        accesses[key] = _Held(event, len(self.out), is_store, first=first)
        self.out.append(event)

    def _remove_dead(self, store: Event, before: _Held) -> None:
        """Removes a store that another one overwrites, if all threads make that."""
        if _dominates(store, before.event):
            self.out[before.at] = replace(before.event, issued=0)

    def _is_of_another(
        self, load: Event, offset: AffineInt, accesses: dict[tuple[object, ...], _Held]
    ) -> bool:
        """Returns whether an earlier load has the bytes, or becomes as wide."""
        words = []
        for key, access in accesses.items():
            before = access.event
            if before.width == load.width or before.kind is not AccessKind.LOAD:
                continue
            apart = _bytes_behind(before, load) if access.answers(load, offset) else None
            if apart is None:
                continue
            if 0 <= apart <= before.width - load.width:
                access.is_asked_for = True
                return True
            if access.is_near and before.width == load.word >= WORD and 0 <= -apart < load.width:
                words.append(key)
        if words:
            self._widen([accesses.pop(key) for key in words], load)
        return bool(words)

    def _widen(self, words: list[_Held], load: Event) -> None:
        """Makes loads of words of one vector the load of it, which stands at the first of them."""
        fused = (*(word.event for word in words), load)
        for word in words:
            self.out[word.at] = replace(word.event, issued=0)
        first = words[0]
        wide = replace(first.event, width=load.width, offset=load.offset, fused=fused)
        self.out[first.at] = wide
        assert isinstance(wide.offset, AffineInt)
        accesses = self._held[root_of(load.object)]
        accesses[_key(wide, wide.offset)] = replace(first, event=wide)

    def _add_assembly(self, event: Event, offset: AffineInt) -> None:
        """Takes an access of inline PTX, of which ptxas alone decides."""
        key = _key(event, offset)
        before = self._assembly.get(key)
        if event.kind is AccessKind.LOAD:
            if before is not None and _dominates(before.event, event):
                self.out.append(replace(event, issued=0))
                return
            for access in self._assembly.values():
                access.is_unread &= _cannot_alias(event, access.event)
        else:
            if before is not None and before.is_unread and _dominates(event, before.event):
                self.out[before.at] = replace(before.event, issued=0)
            self._assembly = {
                k: h for k, h in self._assembly.items() if _cannot_alias(event, h.event)
            }
        if len(self._assembly) < MAX_FORWARDED:
            self._assembly[key] = _Held(event, len(self.out), event.kind is AccessKind.STORE)
        self.out.append(event)

    def _meet_assembly(self, event: Event) -> None:
        """Takes what any other access leaves ptxas to know of inline PTX."""
        if event.kind is AccessKind.LOAD:
            self._read(event, self._assembly)
        else:
            self._assembly.clear()

    def _pass_all(self, event: Event) -> None:
        """Takes an access that may be to any array."""
        self._meet_assembly(event)
        for accesses in self._held.values():
            self._pass(event, accesses)
        self.out.append(event)

    def _pass(self, event: Event, accesses: dict[tuple[object, ...], _Held]) -> None:
        """Takes an access whose place is not known or that is kept as it is written."""
        if event.kind is AccessKind.LOAD:
            self._read(event, accesses)
        else:
            accesses.clear()

    def _read(self, event: Event, accesses: dict[tuple[object, ...], _Held]) -> None:
        for place in accesses.values():
            if place.is_unread and may_meet(event, place.event):
                place.is_unread = False

    def _overwrite(
        self, event: Event, accesses: dict[tuple[object, ...], _Held], key: tuple[object, ...]
    ) -> None:
        for other in [k for k, h in accesses.items() if k != key and may_meet(event, h.event)]:
            del accesses[other]
        for access in accesses.values():
            access.is_near = False


def _key(event: Event, offset: AffineInt) -> tuple[object, ...]:
    is_rounded = scev_of(offset).shifted is Shifted.ROUNDED  # equal to what is not, unknown to LLVM
    return id(event.object), event.width, offset.identity(), is_rounded


def _bytes_behind(before: Event, load: Event) -> int | None:
    """Returns how far behind the start of one load another one starts; None where that varies."""
    one, other = before.offset, load.offset
    if before.object is not load.object:
        return None
    if not isinstance(one, AffineInt) or not isinstance(other, AffineInt):
        return None
    if scev_of(one) != scev_of(other):
        return None
    thread = int(load.mask.argmax())
    return position_of(other, thread) - position_of(one, thread)


def _cannot_alias(a: Event, b: Event) -> bool:
    """Returns whether ptxas sees that two accesses by computed addresses touch different bytes."""
    if not isinstance(a.offset, AffineInt) or not isinstance(b.offset, AffineInt):
        return False
    is_one_run = run_and_position(a, a.offset)[0] == run_and_position(b, b.offset)[0]
    return is_one_run and not may_meet(a, b)


def _dominates(first: Event, second: Event) -> bool:
    """Returns whether all threads of one access, and all paths to it, have the other."""
    return bool((first.mask | ~second.mask).all()) and set(first.assumptions) <= set(
        second.assumptions
    )


def _is_in_each_iteration(event: Event, entry: LoopEntry) -> bool:
    """Returns whether all threads that enter a loop make a load, whatever else holds."""
    if event.kind is not AccessKind.LOAD:
        return False
    conditions = {a for a in event.assumptions if a.topic is Topic.CONDITION}
    return bool((event.mask | ~entry.mask).all()) and conditions <= entry.conditions


def _is_carried(load: Event, store: Event | None) -> bool:
    """Returns whether an earlier iteration's store left all active threads their bytes."""
    if store is None or load.node is not store.node or load.width != store.width:
        return False
    if load.volatile or load.is_assembly:
        return False
    a, b = load.offset, store.offset
    if (
        not isinstance(a, AffineInt)
        or not isinstance(b, AffineInt)
        or not (store.mask | ~load.mask).all()
    ):
        return False
    return np.array_equal(a.base, b.base) and (not a.terms or a.identity() == b.identity())
