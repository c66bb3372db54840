"""The state of one evaluation: active threads, frames, loops, memory, trace and budget."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemlint.analysis.simt.codegen.strength_reduction import Sums
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Binding, Geometry, Lazy, Mask, Scope, is_any
from smemlint.analysis.simt.domain.memory import Memory, UndoLog
from smemlint.analysis.simt.domain.trace import LoopEntry
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Object,
    Pointer,
    Space,
    Unknown,
    Value,
    offset_of,
)
from smemlint.analysis.simt.library_calls import is_of_library, users_call
from smemlint.analysis.simt.node_facts import NodeFacts
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_IDLE_STEPS, MAX_STEPS, MAX_TRIPS
from smemlint.limits.steps import spend
from smemlint.reasons import Reason, ReasonCode, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from smemlint.analysis.simt.codegen.sunk_loads import Sunk
    from smemlint.analysis.simt.cute.layout_trials import LayoutTrial
    from smemlint.analysis.simt.domain.affine import AffineDomain
    from smemlint.analysis.simt.domain.ctypes import CType
    from smemlint.analysis.simt.domain.scev import Scev
    from smemlint.analysis.simt.domain.trace import Trace
    from smemlint.analysis.simt.types.cache import Resolution
    from smemlint.facts import LayoutUse, SharedArray, Span
    from smemlint.frontend import ir
    from smemlint.frontend.program import Function, Unit
    from smemlint.layout.declared import DeclaredSwizzle
    from smemlint.reasons import Assumption


_SHARES = 4
"""A loop may spend one of so many parts of what is left of the budget."""


class BudgetExceeded(Exception):
    """The kernel's budget of steps or events is spent."""

    def __init__(self, text: str, code: ReasonCode = ReasonCode.STEP_LIMIT) -> None:
        super().__init__(text)
        self.reason = Reason(code, f"evaluation stopped: {text}")


@dataclass(slots=True, eq=False)
class PendingJumps:
    """Jumps out of a block of code that were taken under open conditions.

    Attributes:
        depth: undo logs of the memory that were open where the block began.
        around: open conditions that it stands under.
        jumps: what was written under the conditions, and the innermost one.
        is_uniform: the threads of a block take them together.
    """

    depth: int = 0
    around: int = 0
    jumps: list[tuple[UndoLog, Unknown, ir.Node]] = field(default_factory=list)
    is_uniform: bool = True


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function.

    Attributes:
        scopes: innermost last; the first holds template arguments.
        this: the object that a method works on.
        returns: (mask, value, open condition) of each return that was reached.
        result: the type that the function declares for its result; None without a function.
        open: the conditions around what is executed that are not known, innermost last, with the
            statements that they are of.
        pending: what was written before returns under them.
        guards: what was assumed for the threads that did not return.
        call: the expression that made it; None for what no call made.
        is_copy: unrolling made the call of another one.
        opening: items of the trace when it was made.
        first_line: of its first shared access, while nothing but that line followed; else 0.
        lambdas: nothing is captured by copy: a lambda body sees the frame that made it.
        found: names that were looked up, with their innermost binding; None for none.
        place: names of the namespaces and classes around the code that it executes, and the
            directives of its blocks.
        before: how many scopes there were where a directive changed the place, and the place.
        sunk: of branches and calls, the loads that sink into them whose values it was given.
    """

    name: str
    scopes: list[Scope]
    this: Pointer | None = None
    record: RecordType | None = None
    place: tuple[str, ...] = ()
    returns: list[tuple[Mask, Value, Unknown | None]] = field(default_factory=list)
    returns_reference: bool = False
    result: ir.Type | None = None
    open: list[tuple[Unknown, ir.Node]] = field(default_factory=list)
    pending: PendingJumps = field(default_factory=PendingJumps)
    guards: dict[Assumption, None] = field(default_factory=dict)
    call: ir.Node | None = None
    is_copy: bool = False
    opening: int = 0
    first_line: int = 0
    found: dict[str, Binding | None] = field(default_factory=dict)
    before: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    sunk: dict[ir.Node, list[Sunk]] = field(default_factory=dict)

    # ---- names

    def enter_scope(self, scope: Scope | None = None) -> None:
        """Makes names that are declared from here on, or those of a scope, the innermost ones."""
        self.scopes.append({} if scope is None else scope)
        for name in scope or ():
            self.found.pop(name, None)

    def leave_scope(self) -> None:
        """Ends the innermost scope."""
        while self.before and self.before[-1][0] == len(self.scopes):
            _, self.place = self.before.pop()
        for name in self.scopes.pop():
            self.found.pop(name, None)

    def open_names(self, directive: str) -> None:
        """Makes names of another scope visible in the innermost one from here on."""
        self.before.append((len(self.scopes), self.place))
        self.place = (*self.place, directive)

    def bind(self, name: str, binding: Binding) -> None:
        """Declares a name in the innermost scope."""
        self.scopes[-1][name] = binding
        self.found.pop(name, None)

    def lookup(self, name: str) -> Binding | None:
        """Returns the innermost binding of a name.

        Most names are looked up far more often than bound, so what was found is kept; but not
        what is evaluated when it is first named, which another frame may do.
        """
        found = self.found
        if name in found:
            return found[name]
        binding = None
        for scope in reversed(self.scopes):
            binding = scope.get(name)
            if binding is not None:
                break
        if binding.__class__ is not Lazy:
            found[name] = binding
        return binding

    # ---- what it does

    @property
    def function(self) -> str:
        """The name of the function, without the line of the call."""
        return self.name.rpartition(":")[0] if self.call is not None else self.name

    def opens_with(self, line: int, trace: Trace) -> bool:
        """Returns whether an access on that line, about to be made, is the first thing it does."""
        if len(trace.items) == self.opening:
            self.first_line = line
        elif self.first_line != line or trace.ends_in_fence:
            self.first_line = 0
        return self.first_line > 0

    def opens_with_barrier(self, trace: Trace) -> None:
        """Notes a barrier that is about to be made."""
        if len(trace.items) == self.opening:
            self.opening = -1


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What one loop may spend of the budget.

    Attributes:
        begun: steps that were spent before it.
        steps: that it may take.
        idle: that it may take in a row without an access at a known address.
    """

    begun: int
    steps: int
    idle: int


@dataclass(slots=True, eq=False)
class Loop:
    """A loop (or switch) that is under way.

    Attributes:
        broken, continued: threads that left it, or its iteration.
        counter: name of the loop variable.
        cost: operations of all iterations so far, as the compiler's unroller counts them.
        breaks, continues: what was written before those under open conditions in it.
        is_left_openly: a `break` stands under an open condition.
        is_run_time: the compiler does not know how often it runs.
        copy: number of the iteration in its basic block, which unrolling makes copies of.
        share: what it may spend before one iteration stands for those that are left.
        is_general: one does.
        is_switch: it is no loop.
    """

    broken: Mask
    continued: Mask
    counter: str = ""
    cost: int = 0
    breaks: PendingJumps = field(default_factory=PendingJumps)
    continues: PendingJumps = field(default_factory=PendingJumps)
    is_left_openly: bool = False
    is_run_time: bool = False
    copy: int = 0
    share: Share | None = None
    is_general: bool = False
    is_switch: bool = False


@dataclass(slots=True, eq=False)
class LoopPlan:
    """How the compiler lays out a loop, as its trial showed.

    Attributes:
        unroll_factor: iterations in one basic block.
        is_rolled: many blocks remain, of which only representatives are executed.
        carried: object key, byte offset and change per iteration of what the loop changes.
        may_fuse: accesses that other iterations than those of a block may be fused with.
        is_counted: it runs as often as a variable says.
        surely_runs: it does so at least once.
        is_staggered: threads of one warp left it in different iterations.
        tried: how often it just ran in the trial, where the header does not tell.
    """

    unroll_factor: int
    is_rolled: bool = False
    carried: list[tuple[str, int, int | None]] = field(default_factory=list)
    may_fuse: frozenset[ir.Node] = frozenset()
    is_counted: bool = False
    surely_runs: bool = False
    tried: int | None = None
    is_staggered: bool = False


@dataclass(slots=True, eq=False)
class Budget:
    """What one evaluation may spend.

    Attributes:
        has_shares: each loop has a share of what is left.
        steps: statements executed so far.
        last_progress: the step of the latest access whose address was known.
        cells_noted: cells written before jumps under open conditions, noted so far.
    """

    max_steps: int = MAX_STEPS
    max_trips: int = MAX_TRIPS
    has_shares: bool = False
    steps: int = 0
    last_progress: int = 0
    cells_noted: int = 0

    @property
    def idle(self) -> int:
        """Statements since the latest access whose address was known."""
        return self.steps - self.last_progress

    def renewed(self) -> Budget:
        """Returns the same budget with nothing spent."""
        return Budget(self.max_steps, self.max_trips, self.has_shares)

    def holds(self, steps: int) -> bool:
        """Returns whether so many further statements are within the budget."""
        return self.steps + steps <= self.max_steps and self.idle + steps <= MAX_IDLE_STEPS

    def share(self) -> Share | None:
        """Returns the share of a loop that begins: a part of what is left, so that some is left."""
        if not self.has_shares:
            return None
        left, idle_left = self.max_steps - self.steps, MAX_IDLE_STEPS - self.idle
        return Share(self.steps, left // _SHARES, idle_left // _SHARES)

    def has_spent(self, share: Share | None) -> bool:
        """Returns whether a loop has taken its share."""
        if share is None:
            return False
        unproductive = self.steps - max(self.last_progress, share.begun)
        return self.steps - share.begun > share.steps or unproductive > share.idle


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
        bases: objects by the symbol of their base address.
        latest: the latest object of each key.
        globals: what names outside of functions were found to mean: by name, or by name and
            place where that matters; of a variable, by declaration.
        absent: names that mean nothing outside of functions, by the unit that is read, likewise.
        split_requests: moduli of symbols whose residues would settle an address.
        unfollowed: constructs that were not followed, why, and the only array that they touch.
        open_loops: loops around, also of callers, of which one iteration stands for all.
        sequence: number of the latest fresh symbol.
        under_way: the latest statement of the kernel's own body that was begun.
        resolution: types that were resolved or are being resolved.
        loop_plans, definitions: what was found once of a node or name.
        widened: cells that host loops change, and what they hold in any iteration; with how often
            a later execution changed more.
        node_facts: what was read off the nodes of the unit.
        sums: that were computed, of which the compiler makes others.
        locals: objects of the calls under way, in the order of their declaration.
        constant_calls: results of calls with constants.
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
    bases: dict[str, Object] = field(default_factory=dict)
    latest: dict[str, Object] = field(default_factory=dict)
    globals: dict[object, Binding] = field(default_factory=dict)
    absent: set[tuple[Unit, object]] = field(default_factory=set)
    split_requests: dict[str, int] = field(default_factory=dict)
    unfollowed: dict[tuple[Span, Reason], SharedArray | None] = field(default_factory=dict)
    open_loops: int = 0
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
        found = self.node_facts.sunk.get(node, [])
        passed = self.frames[-1].sunk.get(node) if self.frames else None
        return [*found, *passed] if passed else found

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

    def lookup(self, name: str) -> Binding | None:
        """Returns the innermost local binding of a name."""
        return self.frames[-1].lookup(name)

    def new_local(self, name: str, type: CType, key: str, value: Value | None = None) -> Object:
        """Returns a fresh local object, with a first value."""
        obj = self.latest[key] = Object(name, type, Space.LOCAL, key, born=self.mask)
        self.locals.append(obj)
        if value is not None:
            self.memory.write(obj, offset_of(0), type, value, self.mask)
        return obj

    # ---- threads

    def is_any_active(self) -> bool:
        """Returns whether a thread is active."""
        mask, answer = self._active
        if mask is not self.mask:  # masks are never changed in place
            answer = is_any(self.mask)
            self._active = self.mask, answer
        return answer

    def none_active(self) -> Mask:
        """Returns the empty mask: always the same array, since none is changed in place."""
        if self._none is None:
            self._none = np.zeros_like(self.mask)
        return self._none

    def loop_entry(self) -> LoopEntry:
        """Returns how a loop is entered that begins here."""
        conditions = (a for a in self.assumptions if a.topic is Topic.CONDITION)
        return LoopEntry(self.mask, frozenset(conditions))

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

    def spend_on(self, node: ir.Node) -> None:
        """Counts an integer operation against the loops whose variable it depends on."""
        names = None
        for loop in self.loops:
            if loop.counter:
                if names is None:
                    names = self.node_facts.names_in(node)
                if loop.counter in names:
                    loop.cost += 1

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
