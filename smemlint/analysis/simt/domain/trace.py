"""What one evaluation issues: shared accesses in program order, and the fences between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.values import AffineInt, Object, Unknown
from smemlint.facts import AccessKind, LayoutUse
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_EFFECTS
from smemlint.reasons import Assumption


@dataclass(slots=True, eq=False)
class Event:
    """One shared access of all warps of the block.

    Attributes:
        node: the access expression; with `kind` it names the site.
        offset: bytes from the start of `object`, or why it is not known.
        mask: the active threads of the block.
        operation: of an atomic, e.g. `add.u32`; of an asynchronous copy `cp.async.cg` or `.ca`.
        source: of an asynchronous copy: bytes from the start of the object in global memory, or
            why they are not known.
        source_assumptions: what that takes for granted.
        line_node: the expression whose last line the compiler's line table names, where that is
            not `node`: a vector store is attributed to the value it stores.
        sequence: its place in program order.
        layout: the swizzle that the offset went through.
        hangs_on_data: which threads are active is a matter of data.
        is_assembly: inline PTX: LLVM leaves it where and as it is, ptxas sees no difference.
        issued: how many times; 0 where a fused instruction is counted at another access.
        spare: bytes at the end of a fused load that the source does not read.
        is_reached: nothing is assumed for it but that the loops around it run.
        may_be_confined: an open condition that may keep out the same threads of every block stands
            before it.
        is_kept_together: the innermost open condition, if there is one, parts no threads.
        call: the call whose inlined function begins with it. The compiler's line table has the
            call and the access at the first instruction of an inlined function, in this order,
            and the profiler shows the call (1811 of 1811 instructions of five programs).
        callers: the calls that it is reached through, innermost first: the name of the function
            that makes the call, and the call.
        fused: the accesses that a fused instruction stands for.
        repeats: it is made in a loop of which one iteration stands for all.
        may_fuse: bytes of the widest instruction that the compiler may make of it, where with
            which neighbours it does is open; 0 where that is known.
        splits: how many branches of the compiler's own stand before it, see `Trace.splits`.
        may_part: of a fused instruction: such branches may keep its accesses apart.
        scope: the conditional pieces of code that it stands in, outermost first.
        behind: those, and the operands that were evaluated for it to be reached: where `p && q`
            holds, q was; less than 0 those that perhaps were.
        granted: what had to hold for those to be evaluated: p did.
        joined: the first way of the branch that its basic block follows; 0 for none.
        begins_way: a way of a branch without another one computes it first.
        extends: a load of two bytes whose value is extended to 32 bits, which ptxas fuses with
            none; None where that is not known.
        may_sink: fewer threads may load it: the compiler may leave it to those that read it.
        may_stagger: threads of a warp may make it in other iterations than in the source.
        may_thin: in some iterations of a loop only those threads make it that data keep there.
        before_sinking: the threads that would make a load that was left to those that read it.
        word: bytes of an element where it takes a vector, of equal elements; 0 elsewhere.
        whole: bytes that the source moves at once, if that takes several instructions; else 0.
        effect: how many accesses stood before the last `Trace.meet_effect` on all paths to it, and
            the innermost way of a branch that it stood in, 0 for none.
    """

    node: ir.Node
    object: Object | None
    kind: AccessKind
    width: int
    offset: AffineInt | Unknown
    mask: NDArray[np.bool_]
    volatile: bool = False
    matrices: int = 0
    operation: str = ""
    source: AffineInt | Unknown | None = None
    source_assumptions: tuple[Assumption, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    values: tuple[tuple[str, int], ...] = ()
    line_node: ir.Node | None = None
    sequence: int = 0
    issued: int = 1
    depends_on_data: bool = False
    layout: LayoutUse | None = None
    spare: int = 0
    is_reached: bool = False
    may_be_confined: bool = False
    is_kept_together: bool = False
    call: ir.Node | None = None
    callers: tuple[tuple[str, ir.Node], ...] = ()
    fused: tuple[Event, ...] = ()
    repeats: bool = False
    is_assembly: bool = False
    may_fuse: int = 0
    splits: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    may_part: bool = False
    scope: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    granted: tuple[Assumption, ...] = ()
    joined: int = 0
    begins_way: bool = False
    extends: bool | None = False
    word: int = 0
    whole: int = 0
    may_sink: bool = False
    before_sinking: NDArray[np.bool_] | None = None
    may_stagger: bool = False
    may_thin: bool = False
    effect: tuple[int, int] = (0, 0)

    @property
    def stays_alone(self) -> bool:
        """Whether ptxas never fuses it."""
        return self.volatile or bool(self.extends and not self.fused)


@dataclass(frozen=True, slots=True, eq=False)
class LoopEntry:
    """How a loop is entered.

    Attributes:
        mask: by which threads of the block.
        conditions: under which conditions.
        scope: the conditional pieces of code that it stands in.
        effects: how many calls had been met that the compiler moves no store across.
        assembly: how much inline assembly, which perhaps comes to no end.
    """

    mask: NDArray[np.bool_]
    conditions: frozenset[Assumption]
    scope: tuple[int, ...]
    effects: int = 0
    assembly: int = 0


@dataclass(slots=True)
class Fence:
    """A point that no access moves across.

    Attributes:
        kind: `barrier` (memory is reloaded after it), `block` (control flow joins or parts),
            `loop` (one of which one iteration stands for all begins) or `iteration` (another round
            of a loop that the compiler leaves one, or the end of such a loop).
        entry: of the loop of that round, or that ends with that block; None where it is not known.
        begins: that round is the first of its loop.
        depth: where a loop of which one iteration stands for all begins and ends: how many such
            loops there are, this one included; 0 elsewhere.
        guard: 1 where a loop begins that runs as often as a variable says; -1 where it ends, if it
            runs at least once, -2 if it perhaps never does; 0 elsewhere.
        has_effects: where a loop begins: the compiler moves no store out of it.
    """

    kind: str
    entry: LoopEntry | None = None
    depth: int = 0
    guard: int = 0
    has_effects: bool = False
    begins: bool = False

    def covers(self, kind: str, depth: int) -> bool:
        """Returns whether a fence right behind this one would say nothing more."""
        is_memory_reloaded = self.kind == "barrier" and kind != "loop"
        return is_memory_reloaded or (self.kind, self.depth) == (kind, depth)

    @property
    def parts_loop(self) -> bool:
        """Whether a loop whose iterations follow each other begins or ends here."""
        return self.begins or (self.kind == "block" and self.entry is not None)


def holds_loops(items: Iterable[Event | Fence]) -> bool:
    """Returns whether loops that stay ones begin, go on or end among accesses and fences."""
    return any(isinstance(item, Fence) and item.kind in ("loop", "iteration") for item in items)


@dataclass(slots=True)
class Trace:
    """Events and fences in program order, bounded in number.

    Attributes:
        events: how many there are.
        harmless: paths at which the target's compiler parts nothing.
        splits: by `codegen.slow_paths.SlowPath`: how often arithmetic that the compiler may give
            branches was met.
        scope: the conditional pieces of code that are being executed, outermost first. The two
            ways of a branch are 2k and 2k + 1.
        joined: the first way of the branch that ended last, if no other one began since; else 0.
        one_ways: how many branches were met that all threads take the same way.
        last_way: the way that was left last; 0 for one that went on from branch to branch.
        loop_starts: of loops that were entered, how many events stood before the last time.
        ways: the scope in which an operand that is evaluated on a condition last was.
        granted: the open condition under which an operand of that scope was.
        effects: how many calls were met that the compiler moves no store across.
        last_effect: how many events stood before the last one.
    """

    limit: int
    harmless: frozenset[int] = frozenset()
    items: list[Event | Fence] = field(default_factory=list)
    events: int = 0
    splits: list[int] = field(default_factory=lambda: [0, 0, 0, 0, 0, 0])
    scope: tuple[int, ...] = ()
    joined: int = 0
    one_ways: int = 0
    last_way: int = 0
    loop_starts: dict[ir.Node, int] = field(default_factory=dict)
    ways: dict[ir.Node, tuple[int, ...]] = field(default_factory=dict)
    granted: dict[int, Assumption] = field(default_factory=dict)
    effects: int = 0
    last_effect: int = 0
    _behind: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _scopes: int = 0
    _gone_on: set[int] = field(default_factory=set)
    _left: tuple[int, ...] = ()
    _resumed: tuple[int, ...] = ()
    _resumed_at: int = 0
    _muted: int = 0
    _met: list[tuple[int, int]] = field(default_factory=list)  # effects, see `Event.effect`

    def add(self, event: Event) -> None:
        """Records an access, unless a dry run is under way."""
        if not self._muted:
            event.sequence = self.events
            event.splits = tuple(self.splits)
            event.scope = event.scope or self.scope
            event.joined = self.joined
            met = (
                (at, way)
                for at, way in self._met[: -MAX_EFFECTS - 1 : -1]
                if way in (0, *event.scope)
            )
            event.effect = next(met, (0, 0))
            event.behind = tuple(
                each for way in event.scope for each in (way, *self._behind.get(way, ()))
            )
            event.granted = tuple(self.granted[w] for w in event.behind if w in self.granted)
            self.items.append(event)
            self.events += 1

    def meet_effect(self, *, returns: bool = True) -> None:
        """Records a shuffle, a vote or the like, which the compiler moves no store across."""
        self.effects += 1
        self.last_effect = self.events
        if returns and not self._muted:
            self._met.append((self.events, self.scope[-1] if self.scope else 0))

    def cut(self, size: int, events: int) -> None:
        """Takes back what was recorded behind so many items, of which so many are accesses."""
        del self.items[size:]
        self.events = events
        while self._met and self._met[-1][0] > events:
            self._met.pop()

    def all_events(self) -> Iterator[Event]:
        """Returns the accesses alone."""
        return (item for item in self.items if isinstance(item, Event))

    def put(self, item: Event | Fence) -> None:
        """Records an access or a fence that was made elsewhere, behind the same branches."""
        if isinstance(item, Event):
            splits = item.splits
            self.add(item)
            item.splits = splits
        elif item.guard or item.has_effects or item.parts_loop:
            if not self._muted:
                self.items.append(item)
        else:
            self.fence(item.kind, item.entry, item.depth)

    def fence(self, kind: str, entry: LoopEntry | None = None, depth: int = 0) -> None:
        """Records a fence; runs of equal fences count once, but for the end of a loop."""
        if self._muted:
            return
        last = self.items[-1] if self.items else None
        if not isinstance(last, Fence) or last.parts_loop or not last.covers(kind, depth):
            self.items.append(Fence(kind, entry, depth))

    def extend(self, node: ir.Node, *, extends: bool = True) -> None:
        """Notes whether two bytes become more: integers are added up, copies are left as they are.

        Args:
            node: what is added or copied; nothing is noted if it is no load.
            extends: whether they do.
        """
        for last in self.items[-2:]:  # operands
            if isinstance(last, Event) and last.node is node and last.extends is None:
                last.extends = extends

    def part(self, path: int | None) -> None:
        """Notes arithmetic that the compiler may give branches; None for other arithmetic."""
        if path is not None and path not in self.harmless:
            self.splits[path] += 1

    @contextmanager
    def conditional(self, behind: tuple[int, ...] = (), first: int = 0) -> Iterator[None]:
        """Gives what is recorded meanwhile a scope of its own: it is one way of a branch.

        Args:
            behind: scopes of the operands that decided for it.
            first: the other way of the branch, where that was recorded before it.
        """
        outer = self.enter_way(behind, first)
        try:
            yield
        finally:
            self.leave_way(outer)

    def enter_way(self, behind: tuple[int, ...] = (), first: int = 0) -> tuple[int, ...]:
        """Enters the scope of one way of a branch; returns the one around it."""
        outer, self.joined = self.scope, 0
        resumed, self._resumed = self._resumed, ()
        if resumed[:-1] == outer and resumed and len(self.items) == self._resumed_at:
            self.scope = resumed
            self._gone_on.add(resumed[-1])
            return outer
        self._scopes += 2
        way = first + 1 if first else self._scopes
        if behind:
            self._behind[way] = behind
        self.scope = (*outer, way)
        return outer

    def leave_way(self, outer: tuple[int, ...]) -> None:
        """Leaves one way of a branch for the scope around it."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Event) and last.scope == self.scope:
            self._left = self.scope
        self.last_way = 0 if self.scope[-1] in self._gone_on else self.scope[-1]
        self.scope = outer

    def join(self, way: int, one_ways: int) -> None:
        """Notes the end of a branch, for what its ways have in registers.

        Args:
            way: the first one.
            one_ways: as many had been met where it began; of others, what stands in them is not
                known to be on all paths through the way around them.
        """
        self.joined = way if one_ways == self.one_ways else 0

    def resume_way(self) -> bool:
        """Lets the next way go on with the one that was left last, if nothing came in between.

        Returns:
            Whether it does.
        """
        end = len(self.items)
        while end and self.items[end - 1] == Fence("block"):
            end -= 1
        last = self.items[end - 1] if end else None
        is_next = isinstance(last, Event) and last.scope == self._left
        if self._muted or not is_next or self._left[:-1] != self.scope:
            return False
        del self.items[end:]
        self._resumed, self._resumed_at = self._left, end
        return True

    def fence_between(self, positions: list[int], entry: LoopEntry | None) -> None:
        """Puts fences in front of these positions: iterations that are not one basic block."""
        for position in sorted(positions, reverse=True):
            self.items.insert(position, Fence("iteration", entry))

    def enclose(self, position: int, entry: LoopEntry, *, has_effects: bool) -> None:
        """Marks what was recorded from a position on as a loop that stays one."""
        if not self._muted:
            begin = Fence("iteration", entry, begins=True, has_effects=has_effects)
            self.items.insert(position, begin)
            self.items.append(Fence("block", entry))

    def guard(self, position: int, *, runs: bool) -> None:
        """Parts a loop that was recorded from a position on from the rest.

        Args:
            position: where it begins.
            runs: it does so at least once.
        """
        if not self._muted and any(isinstance(item, Event) for item in self.items[position:]):
            self.items.insert(position, Fence("block", guard=1))
            self.items.append(Fence("block", guard=-1 if runs else -2))

    def part_stores_from(self, position: int) -> None:
        """Guards what was recorded from a position on, which need not run, if stores are in it."""
        if any(isinstance(e, Event) and e.kind is AccessKind.STORE for e in self.items[position:]):
            self.guard(position, runs=False)

    def part_from(self, position: int) -> None:
        """Parts what was recorded from a position on, if anything was, from the rest."""
        if not self._muted and any(isinstance(item, Event) for item in self.items[position:]):
            self.items.insert(position, Fence("block"))
            self.fence("block")

    @property
    def ends_in_fence(self) -> bool:
        """Whether the latest item is a fence."""
        return bool(self.items) and isinstance(self.items[-1], Fence)

    @property
    def is_full(self) -> bool:
        """Whether the budget of events is spent."""
        return self.events >= self.limit

    @property
    def is_muted(self) -> bool:
        """Whether a dry run is under way."""
        return self._muted > 0

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Records nothing of what is evaluated inside."""
        self.mute()
        try:
            yield
        finally:
            self.unmute()

    def mute(self) -> None:
        """Begins a dry run: nothing is recorded until `unmute`."""
        self._muted += 1

    def unmute(self) -> None:
        """Ends a dry run."""
        self._muted -= 1


__all__ = ["AccessKind", "Event", "Fence", "Trace"]
