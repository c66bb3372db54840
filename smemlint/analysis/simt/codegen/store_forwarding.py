"""Accesses that registers answer: equal loads, loads of what was stored, and stores that are dead.

Read off the SASS of kernels of our own and of rodinia's lud (nvcc 13.0.88, sm_90, -O3). What a
thread stored or loaded before is not loaded again wherever the first access is on every path to the
second. A barrier (`__syncwarp`, too), an atomic, and a store to the array whose place may be the
same end that; a store to another array and a branch between the two do not. A store that the thread
overwrites unread in the same basic block is none, whatever is stored between: not `s[t] = a;
s[t] += i < n ? g[i] : 0;`.

    s[4 * t] = s[4 * t] + s[4 * t + 1];  // one LDS.128, one STS
    s[4 * t] = s[4 * t] + s[4 * t + 2];
    s[4 * t] = s[4 * t] + s[4 * t + 3];

Behind a branch of which one way has the place in a register, only the threads of the other way load
it (LLVM's elimination of partial redundancies), if nothing but straight code stands between; none
where both ways have it. What the only way of a branch begins with is loaded in front, by all:

    if (t > 5) s[4 * t] += in[t];
    out[t] = s[4 * t];  // LDS of the threads 0 to 5
    if (t > 5) out[t] = s[4 * t + 1];
    v += s[4 * t + 1];  // one LDS of all threads for both

Inline PTX is left to ptxas, which knows what it loaded, or stored last, in this basic block: any
store to shared memory ends that. So is all that stands before a shuffle, a vote, a clock or an asm
that is volatile, has no outputs or a "memory" clobber: to LLVM it may store anywhere, for the
threads of its branch (nvcc 13.5.37). `s[t] = x; q[t] = y;`, a shuffle, `s[t] + q[t]` loads s[t].

So does a load of which a wider one has the bytes, also the other way round where the wider one
takes a vector of such words in the same basic block: of `float2 c = s[t]`, of which only c.x is
read, and `float2 d = s[t + i]` in an unrolled loop from 0 on, the first is a LDS.64 for both.
`double`, `half2` and vectors of shorts or bytes are loaded again. Of a store, registers give its
first bytes, and the 4-byte words of a vector; of all words stored one by one, the vector.

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

A loop that is not unrolled is another basic block each time. What was loaded or stored before it,
and what it leaves alone or stores to that very place alone, is in a register all the time, on
conditions, too. Of the rest, what each iteration loads from one place is loaded in front of it, out
of all loops in which it is the same, and what a condition guards is loaded each time; so is, if
the loop stores, what stands behind inline assembly as conversions of half are. There a
thread that accumulates into an element, as `s[t][i] -= s[t][j] * s[j][i]` does over j, loads it
once and stores it each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from smemlint.analysis.simt.codegen.held_values import (
    Held,
    bytes_behind,
    dominates,
    is_computed_before,
    place_key,
)
from smemlint.analysis.simt.codegen.loop_stores import is_carried, stores_of_loop
from smemlint.analysis.simt.codegen.slots import are_parted, may_meet, root_of
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.domain.trace import Event, Fence, LoopEntry
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.hardware.arch import WORD
from smemlint.limits.budgets import MAX_FORWARDED, MAX_HELD
from smemlint.limits.steps import spend

_Key: TypeAlias = "tuple[object, ...]"


def forwarded(items: Iterable[Event | Fence]) -> list[Event | Fence]:
    """Returns the same items; accesses that need no instruction are issued 0 times."""
    registers = _Registers()
    stores: dict[int, Event] = {}
    effect = (0, 0)
    items = list(items)
    for at, item in enumerate(items):
        if not isinstance(item, Event):
            if item.kind == "barrier":
                stores.clear()
            registers.leave_block(is_join=item == Fence("block"))
            registers.pass_guard(item.guard)
            if item.parts_loop and item.entry is not None:
                stored = stores_of_loop(items, at, registers.roots) if item.begins else ()
                registers.part_loop(item, stored)
            elif item.kind == "iteration" and item.entry is not None:
                registers.leave_iteration(item.entry)
            elif item.depth:
                is_entry = item.kind == "loop"
                stored = stores_of_loop(items, at, registers.roots) if is_entry else ()
                registers.pass_loop(stored, is_moved=not item.has_effects)
            elif item.kind != "block":
                registers.clear()
            registers.out.append(item)
            continue
        if not item.issued:
            registers.out.append(item)
            continue
        if item.effect > effect:
            effect = item.effect
            registers.meet_effect(effect[1])
        is_answered = False
        if item.kind is AccessKind.STORE and not item.volatile:
            stores[id(item.object)] = item
        elif item.kind is not AccessKind.LOAD:
            stores.pop(id(item.object), None)
        else:
            is_answered = is_carried(item, stores.get(id(item.object)))
        registers.add(replace(item, issued=0) if is_answered else item)
        registers.leave_to_ptxas(has_met_effects=effect > (0, 0))
    return registers.out


class _Registers:
    """What registers hold of the shared arrays, item by item."""

    def __init__(self) -> None:
        self.out: list[Event | Fence] = []
        self._held: dict[int, dict[tuple[object, ...], Held]] = defaultdict(dict)
        self._guards: list[tuple[int, set[_Key]]] = []  # of loops that perhaps never run: where
        # they began, and what was held there
        self._kept: list[set[_Key]] = []  # what loops around that stay ones leave alone
        self._begins: list[int] = []  # where those begin
        self._assembly: dict[tuple[object, ...], Held] = {}
        self._joins_since = 0  # where the last loop began or ended
        self._stored = self._loaded = -1  # where memory was written and read last

    @property
    def roots(self) -> set[int]:
        """Identities of the arrays that something is held of."""
        return {root for root, accesses in self._held.items() if accesses}

    def clear(self) -> None:
        """Forgets everything: other threads may have written, or the code runs again."""
        self._held.clear()

    def meet_effect(self, way: int) -> None:
        """Forgets what LLVM may not know any more, but for what ptxas does: no store is behind.

        Args:
            way: of a branch, in which it is forgotten; 0 for none.
        """
        for accesses in self._held.values():
            for key, access in list(accesses.items()):
                access.forgotten_in = 0 if way in access.event.scope else way
                access.is_of_ptxas = access.at >= self._stored
                access.is_unread &= access.at > self._loaded
                if not access.is_of_ptxas and not access.forgotten_in:
                    del accesses[key]

    def leave_to_ptxas(self, *, has_met_effects: bool) -> None:
        """Takes from what ptxas alone knows what the last access ends: a store all of it."""
        at, event = len(self.out) - 1, self.out[-1]
        if not isinstance(event, Event) or not event.issued:
            return
        is_load = event.kind is AccessKind.LOAD
        self._stored, self._loaded = (self._stored, at) if is_load else (at, self._loaded)
        for accesses in self._held.values() if has_met_effects else ():
            for key, access in list(accesses.items()):
                if access.is_of_ptxas and access.at != at:
                    access.is_unread, access.is_of_ptxas = False, is_load
                    if not is_load and not access.forgotten_in:
                        del accesses[key]

    def pass_loop(self, stores: Sequence[Event] | None, *, is_moved: bool = True) -> None:
        """Keeps, where a loop begins or ends, what its stores leave there; None: nothing."""
        if stores is None:
            self.clear()
            return
        for accesses in self._held.values():
            spend(len(stores) * len(accesses))
            for key, access in list(accesses.items()):
                if any(access.is_lost_to(store, is_moved=is_moved) for store in stores):
                    del accesses[key]
                access.is_of_before, access.is_unread = True, False

    def pass_guard(self, guard: int) -> None:
        """Enters or leaves a loop that a variable counts.

        What it stores is held behind it in the place of what was held before, or if it surely runs.
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

    def part_loop(self, fence: Fence, stores: Sequence[Event] | None) -> None:
        """Enters a loop whose iterations follow, or leaves it.

        Args:
            fence: where it begins or ends.
            stores: of the loop, where it begins: it leaves alone what they do not meet.
        """
        if not fence.begins:
            self._hoist()
            self._kept.pop()
            self._begins.pop()
            return
        self.pass_loop(stores, is_moved=not fence.has_effects)
        self._begins.append(len(self.out))
        self._kept.append({key for accesses in self._held.values() for key in accesses})

    def leave_iteration(self, entry: LoopEntry) -> None:
        """Keeps what the compiler has in front of the loop, and loads that each iteration makes."""
        kept = self._kept[-1] if self._kept else ()
        stores = bool(self._begins) and self._stored >= self._begins[-1]
        self._hoist()
        for accesses in self._held.values():
            for key, access in list(accesses.items()):
                is_loaded = access.is_asked_for and access.moves_out_of(entry, stores=stores)
                if key not in kept and (not is_loaded or access.depth > len(self._kept)):
                    del accesses[key]
                access.is_of_before, access.is_asked_for = True, False

    def _hoist(self) -> None:
        """Takes what the innermost loop loaded again and again to the one around it."""
        for accesses in self._held.values():
            for access in accesses.values():
                if access.is_of_before and access.is_asked_for:
                    access.depth = min(access.depth, len(self._kept) - 1)

    def leave_block(self, *, is_join: bool) -> None:
        """Forgets what ptxas knows of inline PTX within a basic block, and what is of this one.

        A store that another basic block overwrites is not removed.

        Args:
            is_join: control flow parts or joins, and no loop begins or ends.
        """
        if not is_join:
            self._joins_since = len(self.out)
        self._assembly.clear()
        for accesses in self._held.values():
            for key, access in list(accesses.items()):
                access.is_near = access.is_unread = False
                if not is_join and access.is_of_both_ways:
                    access.first, access.is_of_both_ways = None, False
                if access.is_lost:
                    del accesses[key]

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
        key = place_key(event, event.offset)
        before = accesses.get(key)
        if event.kind is AccessKind.LOAD:
            if before is not None:
                before.stay_for(event)
            if before is not None and before.answers(event, event.offset):
                before.is_asked_for, before.is_of_ptxas, before.forgotten_in = True, False, 0
                accesses[key] = accesses.pop(key)  # what is not asked for goes first
                if event.extends is not False and not before.event.extends:
                    before.event.extends = event.extends  # one register for both
                self.out.append(replace(event, issued=0))
                return
            if self._is_of_another(event, event.offset, accesses):
                self.out.append(replace(event, issued=0))
                return
            if before is not None and before.at >= self._joins_since and before.is_of_way(event):
                accesses[key] = self._left_to_others(event, before)
                return
            self._read(event, accesses)
        else:
            is_guarded = before is not None and any(before.at < begin for begin, _ in self._guards)
            if before is not None and before.is_unread and not is_guarded:
                self._remove_dead(event, before)
            self._overwrite(event, accesses, key)
        if len(accesses) >= MAX_HELD:
            del accesses[next(iter(accesses))]
        accesses.pop(key, None)
        accesses[key] = self._hold(event, before)
        self.out.append(event)

    def _left_to_others(self, load: Event, before: Held) -> Held:
        """Returns a load behind a branch; the threads issue it that have no register from a way.

        What a way begins with that has no other beside it, LLVM hoists in front of the branch.
        """
        event, others = before.event, load.mask & ~before.event.mask
        is_known = self._is_computed_before(load, before)
        if event.begins_way and is_known:
            self.out[before.at] = replace(load, node=event.node, mask=event.mask | load.mask)
            self.out.append(replace(load, issued=0))
        elif not is_known or not set(event.assumptions) <= set(load.assumptions):
            self.out.append(replace(load, may_sink=True))
        else:
            self.out.append(replace(load, mask=others, issued=int(others.any())))
        if -event.scope[-1] in load.behind:  # the other way may have it for sure
            return before
        return Held(load, len(self.out) - 1, False, len(self._kept), is_near=False)

    def _hold(self, event: Event, before: Held | None) -> Held:
        """Returns what a register holds from an access on, and since when."""
        is_store = event.kind is AccessKind.STORE
        held = Held(event, len(self.out), is_store, len(self._kept))
        if before is None:
            return held
        joined = before.joined_with(event)
        if joined is not None and self._is_computed_before(joined, before):
            held.first, held.is_of_both_ways = joined, True
        elif is_store or before.forgotten_in:
            held.first = before.passed_on(event)
        return held

    def _is_computed_before(self, load: Event, before: Held) -> bool:
        return is_computed_before(
            load, self.out[max(before.at - MAX_FORWARDED, 0) : before.at][::-1]
        )

    def _remove_dead(self, store: Event, before: Held) -> None:
        """Removes a store that another one overwrites, if all threads make that in its block."""
        parting = (SlowPath.VALUE, SlowPath.BRANCH, SlowPath.CHOICE)
        if dominates(store, before.event) and not are_parted((before.event, store), parting):
            self.out[before.at] = replace(before.event, issued=0)

    def _is_of_another(
        self, load: Event, offset: AffineInt, accesses: dict[tuple[object, ...], Held]
    ) -> bool:
        """Returns whether an earlier load has the bytes, or becomes as wide."""
        words, stored = [], 0
        for key, access in accesses.items():
            before = access.event
            if before.width == load.width or before.kind not in (AccessKind.LOAD, AccessKind.STORE):
                continue
            apart = bytes_behind(before, load) if access.answers(load, offset) else None
            if apart is None:
                continue
            is_load = before.kind is AccessKind.LOAD
            is_seen = is_load or not apart or before.word == (load.word or load.width) == WORD
            if is_seen and 0 <= apart <= before.width - load.width:
                access.is_asked_for = True
                return True
            if not is_load and before.width == WORD and 0 <= -apart < load.width:
                stored += WORD
            if not is_load or not access.is_near:
                continue
            if before.width == load.word >= WORD and 0 <= -apart < load.width:
                words.append(key)
        if words:
            self._widen([accesses.pop(key) for key in words], load)
        return bool(words) or stored == load.width

    def _widen(self, words: list[Held], load: Event) -> None:
        """Makes loads of words of one vector the load of it, which stands at the first of them."""
        fused = (*(word.event for word in words), load)
        for word in words:
            self.out[word.at] = replace(word.event, issued=0)
        first = words[0]
        wide = replace(first.event, width=load.width, offset=load.offset, fused=fused)
        self.out[first.at] = wide
        assert isinstance(wide.offset, AffineInt)
        accesses = self._held[root_of(load.object)]
        accesses[place_key(wide, wide.offset)] = replace(first, event=wide)

    def _add_assembly(self, event: Event, offset: AffineInt) -> None:
        """Takes an access of inline PTX, of which ptxas alone decides."""
        key = place_key(event, offset)
        before = self._assembly.get(key)
        if event.kind is AccessKind.LOAD:
            if before is not None and dominates(before.event, event):
                self.out.append(replace(event, issued=0))
                return
        elif before is not None and before.is_unread and dominates(event, before.event):
            self.out[before.at] = replace(before.event, issued=0)
        self._meet_assembly(event)
        if len(self._assembly) < MAX_FORWARDED:
            is_store = event.kind is AccessKind.STORE
            self._assembly[key] = Held(event, len(self.out), is_store, len(self._kept))
        self.out.append(event)

    def _meet_assembly(self, event: Event) -> None:
        """Takes what any other access leaves ptxas to know of inline PTX."""
        if event.kind is not AccessKind.LOAD:
            self._assembly.clear()
        for access in self._assembly.values():
            access.is_unread = False

    def _pass_all(self, event: Event) -> None:
        """Takes an access that may be to any array."""
        self._meet_assembly(event)
        for accesses in self._held.values():
            self._pass(event, accesses)
        self.out.append(event)

    def _pass(self, event: Event, accesses: dict[tuple[object, ...], Held]) -> None:
        """Takes an access whose place is not known or that is kept as it is written."""
        if event.kind is AccessKind.LOAD:
            self._read(event, accesses)
        else:
            accesses.clear()

    def _read(self, event: Event, accesses: dict[tuple[object, ...], Held]) -> None:
        for place in accesses.values():
            if place.is_unread and may_meet(event, place.event):
                place.is_unread = False

    def _overwrite(
        self, event: Event, accesses: dict[tuple[object, ...], Held], key: tuple[object, ...]
    ) -> None:
        for other, access in list(accesses.items()):
            access.is_near = False
            if other != key and may_meet(event, access.event):
                access.is_lost = True
                if not access.is_unread:
                    del accesses[other]
