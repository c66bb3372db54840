"""What is under way in an evaluation: calls, loops, and jumps out of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from smemlint.analysis.simt.budget import Share
from smemlint.analysis.simt.domain.ctypes import RecordType
from smemlint.analysis.simt.domain.environment import Binding, Lazy, Mask, Scope
from smemlint.analysis.simt.domain.memory import UndoLog
from smemlint.analysis.simt.domain.values import AffineInt, Pointer, Unknown, Value
from smemlint.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from smemlint.analysis.simt.codegen.held_parts import Held
    from smemlint.analysis.simt.codegen.sunk_loads import Sunk
    from smemlint.analysis.simt.domain.ctypes import CType
    from smemlint.analysis.simt.domain.trace import Trace
    from smemlint.frontend import ir
    from smemlint.reasons import Assumption


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
        deciding: of the returns under open conditions, the statements that have those.
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
        bytes_read: masks of the bytes that are read of variables, with the constants that they hang
            on, and the numbers that these were.
    """

    name: str
    scopes: list[Scope]
    this: Pointer | None = None
    record: RecordType | None = None
    place: tuple[str, ...] = ()
    returns: list[tuple[Mask, Value, Unknown | None]] = field(default_factory=list)
    deciding: list[tuple[ir.Node, ...]] = field(default_factory=list)
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
    bytes_read: dict[tuple[Held, CType], tuple[tuple[str, ...], list[int | None], int]] = field(
        default_factory=dict
    )

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

    @contextmanager
    def scoped(self, scope: Scope | None = None) -> Iterator[None]:
        """Makes a scope the innermost one, as `enter_scope` does, until what is done in it ends."""
        self.enter_scope(scope)
        try:
            yield
        finally:
            self.leave_scope()

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

    def peek(self, name: str) -> Binding | None:
        """Returns the same for who asks for no value in it: it does not count as looked up."""
        if name in self.found:
            return self.found[name]
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

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


@dataclass(slots=True, eq=False)
class Loop:
    """A loop (or switch) that is under way.

    Attributes:
        broken, continued: threads that left it, or its iteration.
        changed: names of what an iteration changes for the next one.
        cost: operations of all iterations so far, as the compiler's unroller counts them.
        breaks, continues: what was written before those under open conditions in it.
        is_left_openly: a `break` stands under an open condition.
        is_run_time: the compiler does not know how often it runs.
        copy: number of the iteration in its basic block, which unrolling makes copies of.
        share: what it may spend before one iteration stands for those that are left.
        is_switch: it is no loop.
        heads: numbers that sums have a name for, at the head of the block that is run.
    """

    broken: Mask
    continued: Mask
    counter: str = ""
    changed: frozenset[str] = frozenset()
    cost: int = 0
    breaks: PendingJumps = field(default_factory=PendingJumps)
    continues: PendingJumps = field(default_factory=PendingJumps)
    is_left_openly: bool = False
    is_run_time: bool = False
    copy: int = 0
    share: Share | None = None
    is_general: bool = False
    is_switch: bool = False
    heads: dict[str, AffineInt] = field(default_factory=dict)

    def varies(self, names: frozenset[str]) -> bool:
        """Returns whether what is computed from these variables is new in each iteration."""
        return self.counter in names or not names.isdisjoint(self.changed)


@dataclass(slots=True, eq=False)
class LoopPlan:
    """How the compiler lays out a loop, as its trial showed.

    Attributes:
        unroll_factor: iterations in one basic block.
        is_rolled: many blocks remain, of which only representatives are executed.
        carried: object key, byte offset and change per iteration of what the loop changes.
        may_fuse: accesses that other iterations than those of a block may be fused with, and the
            bytes of the slot that they may share.
        may_part: a block may have fewer iterations than `unroll_factor`.
        is_counted: it runs as often as a variable says.
        is_from_constant: it begins to count at a constant.
        leaves_some_over: iterations that fill no block are in front of the blocks or behind them.
        leaves_behind: they are behind: an integer that it changes is a constant in front of it
            (LLVM's `isEpilogProfitable`).
        is_behind_step: it begins at a variable and what it steps by.
        surely_runs: it does so at least once.
        is_empty: it did not in the trial, and is laid out where it runs.
        is_staggered: threads of one warp left it in different iterations.
        is_first_apart: the first iteration stands in front of a test of all others.
        tried: how often it just ran in the trial, where the header does not tell.
        constant: how often it runs for whom it is so, if the compiler knows that.
        pointers: alignments of those that it advances, and whether they are open, by accesses.
    """

    unroll_factor: int
    is_rolled: bool = False
    carried: list[tuple[str, int, int | None]] = field(default_factory=list)
    may_fuse: Mapping[ir.Node, int] = field(default_factory=dict)
    may_part: bool = False
    is_counted: bool = False
    is_from_constant: bool = False
    leaves_some_over: bool = False
    leaves_behind: bool = False
    is_behind_step: bool = False
    surely_runs: bool = False
    is_empty: bool = False
    is_first_apart: bool = False
    tried: int | None = None
    is_staggered: bool = False
    constant: int | None = None
    pointers: dict[object, tuple[int, bool]] = field(default_factory=dict)
