"""The state of one evaluation: active threads, frames, loops, memory, trace and budget."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemlint.analysis.simt.budget import Budget, BudgetExceeded
from smemlint.analysis.simt.codegen.slow_paths import SlowPath
from smemlint.analysis.simt.codegen.strength_reduction import Sums
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Binding, Geometry, Mask, Scope, is_any
from smemlint.analysis.simt.domain.memory import Memory
from smemlint.analysis.simt.domain.trace import LoopEntry
from smemlint.analysis.simt.domain.values import (
    ORIGIN,
    AffineInt,
    Aggregate,
    Object,
    Space,
    Unknown,
    Value,
)
from smemlint.analysis.simt.frames import Frame, Loop, LoopPlan
from smemlint.analysis.simt.library_calls import is_of_library, users_call
from smemlint.analysis.simt.node_facts import NodeFacts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_IDLE_STEPS
from smemlint.limits.steps import spend
from smemlint.reasons import Reason, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from smemlint.analysis.simt.codegen.sunk_loads import Sunk
    from smemlint.analysis.simt.cute.layout_trials import LayoutTrial
    from smemlint.analysis.simt.domain.affine import AffineDomain
    from smemlint.analysis.simt.domain.ctypes import CType
    from smemlint.analysis.simt.domain.scev import Scev
    from smemlint.analysis.simt.domain.trace import Trace
    from smemlint.analysis.simt.domain.values import Symbol
    from smemlint.analysis.simt.types.cache import Resolution
    from smemlint.facts import LayoutUse, SharedArray, Span
    from smemlint.frontend import ir
    from smemlint.frontend.program import Function, Unit
    from smemlint.layout.declared import DeclaredSwizzle
    from smemlint.reasons import Assumption


Forms: TypeAlias = "dict[tuple[int, int], tuple[Object, int, Value]]"
"""Cells of variables, and what they hold at the start of any iteration of a loop."""


@dataclass(frozen=True, slots=True, eq=False)
class ConstantCall:
    """What a call with constants gave, see `calls.constant_calls`.

    Attributes:
        value: constants, or numbers of which each thread knows its own.
        steps: statements that were run for it, which others like it are counted as.
        held: what its key names by identity.
        place: what the forms of threads' numbers hang on; None of constants.
        moved: the first addition of a constant to a sum in it, see `Sums.moved`.
    """

    value: Value
    steps: int
    held: tuple[object, ...]
    place: tuple[bool, bool] | None
    moved: tuple[Scev, int] | None


@dataclass(slots=True, eq=False)
class State:
    """What one evaluation knows of the block and changes as it goes.

    Attributes:
        unit: the translation unit that is read.
        guessed: what makes every figure a sample: names that no scope in sight has, jumps.
        ended: the threads that a call has ended, in the alternative that is run; None for none.
        caught: of each `try` around, the threads that threw in it.
        mask: the active threads; never changed in place, so identity shows that it is the same.
        frames, loops: under way, innermost last.
        assumptions: conditions under which the code at this point runs.
        data_conditions: those of them that hold for few threads, which only the data tell.
        divergent_conditions: those of them that need not hold for all threads.
        confining_conditions: those of them that may keep out the same threads of every block: of
            neither a row of the grid that a warp has, nor a place in it, is that so.
        loop_conditions: those that all threads of a loop share: it is taken to run at least once.
        constexpr_conditions: those of them that the compiler decides and this evaluation cannot.
        declared_swizzle: returns the swizzle that the user declares for a shared array.
        trial: another layout that CuTe tensors get; None for their own.
        extent_of: returns an extent of the grid by name, as `gridDim.x`; None if it is not known.
        layouts: swizzled layouts of shared memory, by what names them.
        loop_values: loop variables and their values, for messages.
        arrays: shared arrays by key.
        bases: objects and their base address, by the symbol in it.
        latest: the latest object of each key.
        globals: what names outside of functions were found to mean: by name, or by name and
            place where that matters; of a variable, by declaration.
        absent: names that mean nothing outside of functions, by the unit that is read, likewise.
        split_requests: of symbols whose residues would settle an address: the modulus, and what
            is known to divide the symbol.
        unfollowed: constructs that were not followed, why, and the only array that they touch.
        open_loops: loops around, also of callers, of which one iteration stands for all.
        tried_loops: of these, those of which an iteration is run to learn what it changes.
        sequence: number of the latest fresh symbol.
        under_way: the latest statement of the kernel's own body that was begun.
        resolution: types that were resolved or are being resolved.
        loop_plans, definitions: what was found once of a node or name.
        widened: cells that host loops change, and what they hold in any iteration; with how often
            a later execution changed more.
        node_facts: what was read off the nodes of the unit.
        sums: that were computed, of which the compiler makes others.
        locals: objects of the calls under way, in the order of their declaration.
        null_ways: that are taken only where a pointer is null that the kernel is given, and whether
            they may touch shared memory; None for what stands behind one that ends the code around.
    """

    unit: Unit
    geometry: Geometry
    trace: Trace
    domain: AffineDomain
    budget: Budget
    resolution: Resolution
    mask: Mask
    guessed: dict[Assumption, None] = field(default_factory=dict)
    ended: Mask | None = None
    caught: list[Mask] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    frames: list[Frame] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    data_conditions: set[Assumption] = field(default_factory=set)
    divergent_conditions: set[Assumption] = field(default_factory=set)
    confining_conditions: set[Assumption] = field(default_factory=set)
    loop_conditions: set[Assumption] = field(default_factory=set)
    constexpr_conditions: set[Assumption] = field(default_factory=set)
    declared_swizzle: Callable[[SharedArray], DeclaredSwizzle | None] = lambda array: None
    trial: LayoutTrial | None = None
    extent_of: Callable[[str], AffineInt | None] = lambda name: None
    layouts: dict[str, LayoutUse] = field(default_factory=dict)
    loop_values: list[tuple[str, int]] = field(default_factory=list)
    arrays: dict[str, Object] = field(default_factory=dict)
    bases: dict[str, tuple[Object, AffineInt]] = field(default_factory=dict)
    latest: dict[str, Object] = field(default_factory=dict)
    globals: dict[object, Binding] = field(default_factory=dict)
    absent: set[tuple[Unit, object]] = field(default_factory=set)
    split_requests: dict[str, tuple[int, int]] = field(default_factory=dict)
    unfollowed: dict[tuple[Span, Reason], SharedArray | None] = field(default_factory=dict)
    open_loops: int = 0
    tried_loops: int = 0
    sequence: int = 0
    loop_plans: dict[ir.Loop, LoopPlan] = field(default_factory=dict)
    definitions: dict[tuple[str, object, int], list[Function]] = field(default_factory=dict)
    widened: dict[ir.Node, tuple[Forms, int]] = field(default_factory=dict)
    first_events: dict[object, int] = field(default_factory=dict)
    node_facts: NodeFacts = field(default_factory=NodeFacts)
    under_way: ir.Node | None = None
    sums: Sums = field(default_factory=Sums)
    locals: list[Object] = field(default_factory=list)
    constant_calls: dict[tuple[object, ...], ConstantCall] = field(default_factory=dict)
    null_ways: dict[ir.Node | None, bool] = field(default_factory=dict)
    _chain: tuple[Frame | None, str] = (None, "")
    _active: tuple[Mask | None, bool] = (None, False)
    _none: Mask | None = None

    # ---- names

    @property
    def frame(self) -> Frame:
        """The innermost activation."""
        return self.frames[-1]

    @property
    def place(self) -> tuple[str, ...]:
        """The namespaces and classes from which names are looked up."""
        return self.frames[-1].place if self.frames else ()

    def sunk_at(self, node: ir.Node) -> list[Sunk]:
        """Returns the loads that sink into a branch, a loop or a call."""
        found = self.node_facts.sunk.get(node)
        passed = self.frames[-1].sunk.get(node) if self.frames else None
        return [*(found or ()), *passed] if passed else found or []

    def bind(self, name: str, binding: Binding) -> None:
        """Declares a name in the innermost scope."""
        self.frames[-1].bind(name, binding)

    @contextmanager
    def within(
        self, name: str, scope: Scope, place: tuple[str, ...] | None = None
    ) -> Iterator[None]:
        """Gives names their bindings of one scope alone: of a class, a template or a file.

        Other names are looked up from `place`, by default from where they would be anyway.
        """
        at = self.place if place is None else place
        self.frames.append(Frame(name, [scope], place=at))
        try:
            yield
        finally:
            self.frames.pop()

    @contextmanager
    def dry(self) -> Iterator[None]:
        """Records and keeps nothing of what is evaluated inside."""
        mask, costs = self.mask, self.costs()
        self.memory.begin()
        try:
            with self.trace.muted():
                yield
        finally:
            self.memory.rollback()
            self.mask = mask
            self.count(0, costs)

    def lookup(self, name: str) -> Binding | None:
        """Returns the innermost local binding of a name."""
        return self.frames[-1].lookup(name)

    def new_local(self, name: str, type: CType, key: str, value: Value | None = None) -> Object:
        """Returns a fresh local object, with a first value."""
        obj = self.latest[key] = Object(name, type, Space.LOCAL, key, born=self.mask)
        self.locals.append(obj)
        if isinstance(value, Aggregate | Unknown):
            self.memory.write(obj, ORIGIN, type, value, self.mask)
        elif value is not None:
            self.memory.set_cell(obj, 0, value)
        return obj

    # ---- threads

    def is_any_active(self) -> bool:
        """Returns whether a thread is active."""
        mask, answer = self._active
        if mask is not self.mask:  # masks are never changed in place
            answer = is_any(self.mask)
            self._active = self.mask, answer
        return answer

    def going_on(self, mask: Mask) -> Mask:
        """Returns those threads that nothing has ended."""
        return mask if self.ended is None else mask & ~self.ended

    def none_active(self) -> Mask:
        """Returns the empty mask: always the same array, since none is changed in place."""
        if self._none is None:
            self._none = np.zeros_like(self.mask)
        return self._none

    def loop_entry(self) -> LoopEntry:
        """Returns how a loop is entered that begins here."""
        conditions = (a for a in self.assumptions if a.topic is Topic.CONDITION)
        effects, assembly = self.trace.effects, self.trace.splits[SlowPath.ASSEMBLY]
        return LoopEntry(self.mask, frozenset(conditions), self.trace.scope, effects, assembly)

    def keeps_stores(self, entry: LoopEntry) -> bool:
        """Returns whether the compiler moves no store out of a loop that was entered so."""
        trace = self.trace
        is_open = trace.splits[SlowPath.ASSEMBLY] > entry.assembly
        return is_open or trace.effects > entry.effects

    # ---- budget

    def step(self) -> None:
        """Counts one statement against the budget."""
        budget, trace = self.budget, self.trace
        budget.steps = steps = budget.steps + 1
        spend()
        if steps > budget.max_steps:
            raise BudgetExceeded(f"more than {budget.max_steps} statements were run")
        if steps - budget.last_progress > MAX_IDLE_STEPS:
            message = "statements in a row touched no shared memory at a known address"
            raise BudgetExceeded(f"{MAX_IDLE_STEPS} {message}")
        if trace.events >= trace.limit:
            raise BudgetExceeded(f"more than {trace.limit} shared accesses were made")

    def spend(self, operations: int) -> None:
        """Counts work that every iteration of every loop around does again."""
        for loop in self.loops:
            loop.cost += operations

    def costs(self) -> list[int]:
        """Returns what an iteration of each loop around costs up to here."""
        return [loop.cost for loop in self.loops]

    def count(self, times: int, costs: Sequence[int]) -> None:
        """Counts so many times what was spent since the loops around cost that; 0 undoes it."""
        for loop, cost in zip(self.loops, costs, strict=True):
            loop.cost = cost + (loop.cost - cost) * times

    def spend_on(self, node: ir.Node, cost: int, *, is_load: bool = False) -> None:
        """Counts an integer operation against the loops whose iterations each do it.

        A load that the innermost loop repeats stands in front of that, once for the loops around.
        """
        names = None
        for loop in reversed(self.loops):
            if is_load or loop.counter or loop.changed:
                if names is None:
                    names = self.node_facts.names_in(node)
                if loop.varies(names):
                    loop.cost += cost
                elif is_load and loop is self.loops[-1]:
                    if loop.copy:
                        return
                elif is_load:
                    loop.cost += cost

    def ask_for_residues(self, symbol: Symbol, modulus: int) -> None:
        """Asks for an evaluation for each residue of an unknown, which would settle an address."""
        asked, _ = self.split_requests.get(symbol.key, (1, 1))
        self.split_requests[symbol.key] = (max(modulus, asked), symbol.multiple)

    # ---- nodes

    def key(self, node: ir.Node, what: str = "") -> str:
        """Returns a text that names this node under this chain of calls."""
        frame = self.frames[-1] if self.frames else None
        chained, chain = self._chain
        if frame is not chained:
            chain = "/".join(frame.name for frame in self.frames)
            self._chain = frame, chain
        line = node.at
        return f"{what}@{chain}:{line}"

    def source_text(self, node: ir.Node) -> str:
        """Returns the node's source text on one line."""
        return self.node_facts.text(node, self.unit)

    def note_unfollowed(self, node: ir.Node, reason: Reason) -> Unknown:
        """Notes that a construct was not followed, and returns its unknown value."""
        self.unfollowed.setdefault((self.unit.span(self.written_by_user(node)), reason))
        return Unknown(reason)

    def written_by_user(self, node: ir.Node) -> ir.Node:
        """Returns a node; for one in a text of our own, what the user wrote that comes to it.

        That is the call of such a text; in a kernel that is all of such texts, the class template
        that the user instantiates, or instantiates the kernel with.
        """
        if not is_of_library(self.unit, node):
            return node
        calls = (frame.call for frame in reversed(self.frames) if frame.call is not None)
        written = users_call(self.unit, calls)
        if written is not None:
            return written[1]
        records = [f.record for f in reversed(self.frames)]
        bound = [binding for f in self.frames for binding in f.scopes[0].values()]
        classes = (c for c in (*records, *bound) if isinstance(c, RecordType))
        found = (self.unit.instantiation(c.name, c.arguments) for c in classes)
        return next((each for each in found if each is not None), node)
