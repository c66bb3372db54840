"""What registers hold of shared arrays: accesses whose bytes later ones may take from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from smemlint.analysis.simt.codegen.slots import may_meet, position_of
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.domain.integer_scev import scev_of
from smemlint.analysis.simt.domain.scev import Shifted
from smemlint.analysis.simt.domain.trace import Event, Fence, LoopEntry
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Topic


@dataclass(slots=True)
class Held:
    """An access whose bytes a register holds.

    Attributes:
        at: its index among the items.
        is_unread: of a store of this basic block: no instruction reads memory that may be it.
        is_of_before: of a load: an iteration before this one made it.
        is_asked_for: of a load: this iteration has it.
        is_near: it is of this basic block.
        is_lost: a store behind it may be to the same bytes; it may still be a dead one.
        is_of_both_ways: both ways of a branch have it, see `joined_with`.
        first: since when a register has had what lies there; None for since the access itself.
        depth: how many loops that stay ones the compiler leaves it in.
        forgotten_in: the way of a branch in which LLVM does not know it any more; 0 for none.
        is_of_ptxas: ptxas knows it where LLVM does not.
    """

    event: Event
    at: int
    is_unread: bool
    depth: int
    is_of_before: bool = False
    is_asked_for: bool = True
    is_near: bool = True
    is_lost: bool = False
    is_of_both_ways: bool = False
    first: Event | None = None
    forgotten_in: int = 0
    is_of_ptxas: bool = False

    def answers(self, load: Event, offset: AffineInt) -> bool:
        """Returns whether a load of the same bytes needs no instruction.

        From one iteration to the next, and behind a loop, the compiler has to see that the place
        is the same one: not of `s[i % 32]` where the loop advances i by 32.
        """
        before = self.event.offset
        if self.forgotten_in in load.behind and not self.is_of_ptxas:
            return False
        is_seen = not self.is_of_before or (
            isinstance(before, AffineInt) and scev_of(before) == scev_of(offset)
        )
        return not self.is_lost and is_seen and dominates(self.first or self.event, load)

    def moves_out_of(self, entry: LoopEntry, *, stores: bool) -> bool:
        """Returns whether it is a load that each iteration of a loop finds made in front of it.

        LLVM moves none from behind inline assembly, which perhaps does not end; ptxas moves those,
        out of a loop that stores nothing.
        """
        event = self.event
        is_moved = not stores or self.is_of_before
        is_moved |= event.splits[SlowPath.ASSEMBLY] == entry.assembly
        is_load = event.kind is AccessKind.LOAD
        return is_load and is_moved and is_in_each_iteration(event, entry)

    def is_of_way(self, load: Event) -> bool:
        """Returns whether some of the paths to a load come by it.

        It is on a way of the branch that the basic block of the load follows, or in an operand
        that was perhaps evaluated for the load's way to be taken.
        """
        scope = self.event.scope
        if self.is_lost or not scope:
            return False
        is_joined = load.joined > 0 and scope[:-1] == load.scope
        return (is_joined and scope[-1] >> 1 == load.joined >> 1) or -scope[-1] in load.behind

    def joined_with(self, other: Event) -> Event | None:
        """Returns since when a register has what lies there, if the other way accesses it, too."""
        one, way = self.event, self.event.scope
        if self.is_lost or not way or (*way[:-1], way[-1] ^ 1) != other.scope:
            return None
        common = tuple(each for each in one.assumptions if each in other.assumptions)
        return replace(other, scope=way[:-1], mask=one.mask | other.mask, assumptions=common)

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
        return first if not self.is_lost and dominates(first, store) else None

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
        return place_key(store, one) != place_key(self.event, other) or scev_of(one) != scev_of(
            other
        )


def place_key(event: Event, offset: AffineInt) -> tuple[object, ...]:
    """Returns what is equal for accesses that LLVM sees to be of one place."""
    is_rounded = scev_of(offset).shifted is Shifted.ROUNDED  # equal to what is not, unknown to LLVM
    return id(event.object), event.width, offset.identity(), is_rounded


def is_computed_before(load: Event, items: Iterable[Event | Fence]) -> bool:
    """Returns whether LLVM has the place of a load in front of the branch that it follows.

    Nothing but members and constants is added where it is not: `4 * t` that only a way of the
    branch computes, and the load behind it again, hides that both are of one place.
    """
    if isinstance(load.node, ir.ArrayRef) and not isinstance(load.node.subscript, ir.BinaryOp):
        return True
    return any(
        isinstance(item, Event)
        and load.scope[: len(item.scope)] == item.scope
        and _differ_by_constant(load, item)
        for item in items
    )


def _differ_by_constant(a: Event, b: Event) -> bool:
    """Returns whether the places of two accesses are as far apart for each thread."""
    one, other = a.offset, b.offset
    if not isinstance(one, AffineInt) or not isinstance(other, AffineInt) or a.width != b.width:
        return False
    apart = np.asarray(one.base - other.base)
    return one.is_beside(other) and bool((apart == apart.flat[0]).all())


def bytes_behind(before: Event, load: Event) -> int | None:
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


def dominates(first: Event, second: Event) -> bool:
    """Returns whether all threads of one access, and all paths to it, have the other.

    A branch beside another one is another path, also where all threads take both.
    """
    paths = {*second.scope, *second.behind}
    return (
        bool((first.mask | ~second.mask).all())
        and {*second.assumptions, *second.granted}.issuperset(first.assumptions)
        and paths.issuperset(first.scope)
    )


def is_in_each_iteration(event: Event, entry: LoopEntry) -> bool:
    """Returns whether all threads that enter a loop make an access, whatever else holds."""
    conditions = {a for a in event.assumptions if a.topic is Topic.CONDITION}
    is_sure = conditions <= entry.conditions and set(event.scope) <= set(entry.scope)
    return is_sure and bool((event.mask | ~entry.mask).all())
