"""The state of one evaluation: the block's threads, the active mask, frames, budgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemlint.analysis.simt.domain.affine import Algebra
from smemlint.analysis.simt.domain.ctypes import CType, PointerType, RecordType
from smemlint.analysis.simt.domain.memory import Object, Space, Store
from smemlint.analysis.simt.domain.scev import form_of
from smemlint.analysis.simt.domain.values import Int, Pointer, Unknown, Value, offset_of
from smemlint.limits.steps import spend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray
    from pycparser import c_ast

    from smemlint.analysis.simt.domain.memory import Journal
    from smemlint.analysis.simt.domain.trace import Trace
    from smemlint.facts import LayoutUse, SharedArray, Span
    from smemlint.frontend.program import Function, Unit
    from smemlint.layout.declared import DeclaredSwizzle

    Mask: TypeAlias = NDArray[np.bool_]

WARP = 32
MAX_THREADS = 1024
"""Of a block."""
PATIENCE = 10_000
"""Statements in a row without a shared access at a known address, after which a kernel is left."""
MAX_TRIPS = 1100
"""Iterations of a loop with known bounds that are run; longer ones are generalized."""


class BudgetExceeded(Exception):
    """The kernel's budget of steps or events is spent."""


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A name bound to an object of a type."""

    object: Object
    type: CType


@dataclass(frozen=True, slots=True, eq=False)
class Lazy:
    """A constant that is evaluated when it is first named."""

    node: c_ast.Node
    scope: Scope


Binding: TypeAlias = Variable | CType | Value | Lazy
Scope: TypeAlias = dict[str, Binding]


@dataclass(slots=True, eq=False)
class Exits:
    """The ways out of a block of code that were taken under open conditions.

    Attributes:
        depth: journals of the store that were open where the block began.
        around: open conditions that it stands under.
        ways: what was written under the conditions, and the innermost one.
        is_uniform: the threads of a block take them together.
    """

    depth: int = 0
    around: int = 0
    ways: list[tuple[Journal, Unknown, c_ast.Node]] = field(default_factory=list)
    is_uniform: bool = True


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function.

    Attributes:
        scopes: innermost last; the first holds template arguments.
        this: the object that a method works on.
        returns: (mask, value, open condition) of each return that was reached.
        open: the conditions around what runs that are not known, innermost last, with the
            statements that they are of.
        exits: what was written before returns under them.
        guards: what was assumed for the threads that did not return.
        call: the expression that made it; None for what no call made.
        is_copy: unrolling made the call of another one.
        opening: items of the trace when it was made.
        first_line: of its first shared access, while nothing but that line followed; else 0.
        lambdas: nothing is captured by copy: a lambda body sees the frame that made it.
    """

    name: str
    scopes: list[Scope]
    this: Pointer | None = None
    record: RecordType | None = None
    returns: list[tuple[Mask, Value, Unknown | None]] = field(default_factory=list)
    returns_reference: bool = False
    open: list[tuple[Unknown, c_ast.Node]] = field(default_factory=list)
    exits: Exits = field(default_factory=Exits)
    guards: dict[str, None] = field(default_factory=dict)
    call: c_ast.Node | None = None
    is_copy: bool = False
    opening: int = 0
    first_line: int = 0

    def opens_with(self, line: int, trace: Trace) -> bool:
        """Whether an access on that line, about to be made, is the first thing that it does."""
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
        counter: name of the loop variable.
        cost: operations of all iterations so far, as the compiler's unroller counts them.
        breaks, continues: what was written before those under open conditions in it.
        is_left_openly: a `break` stands under an open condition.
        is_run_time: the compiler does not know how often it runs.
        copy: number of the iteration in its basic block, which unrolling makes copies of.
    """

    broken: Mask
    continued: Mask
    counter: str = ""
    cost: int = 0
    breaks: Exits = field(default_factory=Exits)
    continues: Exits = field(default_factory=Exits)
    is_left_openly: bool = False
    is_run_time: bool = False
    copy: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An lvalue: typed bytes of an object."""

    object: Object
    offset: Int
    type: CType
    volatile: bool = False

    def pointer(self) -> Pointer:
        """A pointer (or reference) to it."""
        return Pointer(self.object, self.offset, self.type, self.volatile)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Thread coordinates of a block, padded to whole warps.

    Attributes:
        block: its shape (x, y, z).
        x, y, z, linear: int64 of shape (32 * warps,).
        exists: which of these threads the block has.
    """

    block: tuple[int, int, int]
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    z: NDArray[np.int64]
    linear: NDArray[np.int64]
    exists: NDArray[np.bool_]

    @staticmethod
    def of(block: tuple[int, int, int]) -> Geometry:
        """The geometry of a block shape."""
        bx, by, bz = block
        count = bx * by * bz
        linear = np.arange(-(-count // WARP) * WARP, dtype=np.int64)
        return Geometry(
            block,
            linear % bx,
            linear // bx % by,
            linear // (bx * by),
            linear,
            linear < count,
        )


class Machine:
    """State that statements, expressions, calls and types share; see `interpret.Interpreter`."""

    def __init__(
        self,
        unit: Unit,
        geometry: Geometry,
        trace: Trace,
        *,
        splits: Mapping[str, tuple[int, int]] | None = None,
        max_steps: int = 60_000,
    ) -> None:
        self.unit = unit
        self.geometry = geometry
        self.algebra = Algebra(splits)
        self.store = Store()
        self.trace = trace
        self.mask: Mask = geometry.exists
        self.frames: list[Frame] = []
        self.loops: list[Loop] = []
        self.assumptions: list[str] = []
        self.data_conditions: set[str] = set()
        """Those of the assumptions that hold for few threads, which only the data tell."""
        self.declared: Callable[[SharedArray], DeclaredSwizzle | None] = lambda array: None
        self.layouts: dict[str, LayoutUse] = {}
        """Swizzled layouts of shared memory, by what names them."""
        self.loop_values: list[tuple[str, int]] = []
        self.arrays: dict[str, Object] = {}
        self.bases: dict[str, Object] = {}
        self.latest: dict[str, Object] = {}
        self.globals: Scope = {}
        self.split_requests: dict[str, int] = {}
        self.unfollowed: dict[tuple[Span, str], None] = {}
        self.steps = 0
        self.max_steps = max_steps
        self.last_found = 0  # the step of the latest access whose address was known
        self.max_trips = MAX_TRIPS
        self.sequence = 0
        self._names: dict[int, frozenset[str]] = {}
        self._firsts: dict[object, int] = {}  # what marks an access -> the first such event
        self._chain = ""  # names of the frames up to the chained one
        self._chained: Frame | None = None
        self.stored: c_ast.Node | None = None  # the value of the assignment under way
        self.discarded: c_ast.Node | None = None  # the expression statement under way

    # ---- provided by the parts

    def evaluate(self, node: c_ast.Node) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    def place(self, node: c_ast.Node) -> Place | Unknown:
        """The lvalue of an expression."""
        raise NotImplementedError

    def execute(self, node: c_ast.Node) -> None:
        """Runs a statement for the active threads."""
        raise NotImplementedError

    def read(self, place: Place, node: c_ast.Node) -> Value:
        """Reads a place; shared memory records a load."""
        raise NotImplementedError

    def write(self, place: Place, value: Value, node: c_ast.Node) -> None:
        """Writes a place; shared memory records a store."""
        raise NotImplementedError

    def binding(self, name: str, node: c_ast.Node) -> Binding:
        """What a name stands for; `Unknown` when nothing in the unit says."""
        raise NotImplementedError

    def incremented(self, node: c_ast.UnaryOp) -> tuple[Place | Unknown, Value]:
        """The place of `++x` or `x++`, and the value of the expression."""
        raise NotImplementedError

    def resolve(self, node: c_ast.Node) -> CType:
        """The type that a declarator, type-id or specifier node names."""
        raise NotImplementedError

    def spelled_type(self, spelling: str) -> CType | None:
        """The type that one (qualified, templated) word names; None when it names none."""
        raise NotImplementedError

    def record_named(self, name: str, arguments: tuple[str, ...]) -> CType | None:
        """The record that a class name with its template arguments means."""
        raise NotImplementedError

    def local_record(self, node: c_ast.Struct | c_ast.Union) -> CType:
        """A struct or union defined inside a function or as a member's type."""
        raise NotImplementedError

    def bind_enumerators(self, node: c_ast.Enum) -> None:
        """Declares a local enum's names."""
        raise NotImplementedError

    def candidates(
        self, name: str, record: RecordType | None, node: c_ast.FuncCall
    ) -> list[Function]:
        """Definitions that a call of this name may mean."""
        raise NotImplementedError

    def unfollowed_call(self, name: str, node: c_ast.FuncCall) -> Value:
        """A call of what is not known: its value, and what it may have changed."""
        raise NotImplementedError

    def call(self, node: c_ast.FuncCall) -> Value:
        """The value of a call."""
        raise NotImplementedError

    def declare(self, node: c_ast.Decl) -> None:
        """Runs a declaration."""
        raise NotImplementedError

    # ---- names

    @property
    def frame(self) -> Frame:
        """The innermost activation."""
        return self.frames[-1]

    def bind(self, name: str, binding: Binding) -> None:
        """Declares a name in the innermost scope."""
        self.frame.scopes[-1][name] = binding

    def lookup(self, name: str) -> Binding | None:
        """The innermost local binding of a name."""
        for scope in reversed(self.frames[-1].scopes):
            binding = scope.get(name)
            if binding is not None:
                return binding
        return None

    def opened_call(self, node: c_ast.Node, offset: Int | Unknown) -> c_ast.Node | None:
        """The outermost call that an access is the first thing of; see `Event.call`.

        Of the copies that unrolling makes of a call, only the first and those that compute an
        address of their own, on its line, name it.
        """
        is_new = isinstance(offset, Int) and self._is_first(form_of(offset).terms)
        line, found = node.coord.line if node.coord is not None else 0, None
        for depth, frame in reversed(list(enumerate(self.frames))):
            if frame.call is None or not frame.opens_with(line, self.trace):
                break
            chain = tuple(id(f.call) for f in self.frames[: depth + 1])
            is_first = self._is_first((line, *chain)) or not frame.is_copy
            if is_first or (is_new and self._has_an_argument(frame.call)):
                found = frame.call
        return found

    def _has_an_argument(self, call: c_ast.Node) -> bool:
        """Whether an argument of a call begins on the call's first line."""
        given = getattr(call, "args", None)
        line = self.unit.span(call).line
        return any(self.unit.span(e).line == line for e in (given.exprs if given else ()))

    def _is_first(self, key: object) -> bool:
        """Whether no access before this one had such a key."""
        if self._firsts.setdefault(key, self.trace.events) < self.trace.events:
            return False
        self._firsts[key] = self.trace.events  # what was rolled back does not count
        return True

    # ---- small helpers

    def step(self) -> None:
        """Counts one statement against the budget."""
        self.steps += 1
        spend()
        if self.steps > self.max_steps:
            raise BudgetExceeded(f"more than {self.max_steps} statements were run")
        if self.steps - self.last_found > PATIENCE:
            said = "statements in a row touched no shared memory at a known address"
            raise BudgetExceeded(f"{PATIENCE} {said}")
        if self.trace.is_full:
            raise BudgetExceeded(f"more than {self.trace.limit} shared accesses were made")

    def spend(self, operations: int) -> None:
        """Counts work that every iteration of every loop around does again."""
        for loop in self.loops:
            loop.cost += operations

    def spend_on(self, node: c_ast.Node) -> None:
        """Counts an integer operation against the loops whose variable it depends on."""
        names = None
        for loop in self.loops:
            if loop.counter:
                if names is None:
                    names = self.names_in(node)
                if loop.counter in names:
                    loop.cost += 1

    def names_in(self, node: c_ast.Node) -> frozenset[str]:
        """Identifiers of an expression."""
        known = self._names.get(id(node))
        if known is None:
            own = {node.name} if type(node).__name__ == "ID" else set()
            for _, child in node.children():
                own |= self.names_in(child)
            known = self._names[id(node)] = frozenset(own)
        return known

    def none_active(self) -> Mask:
        """The empty mask."""
        return np.zeros_like(self.mask)

    def key(self, node: c_ast.Node, what: str = "") -> str:
        """A text that names this node under this chain of calls."""
        frame = self.frames[-1] if self.frames else None
        if frame is not self._chained:
            self._chained = frame
            self._chain = "/".join(frame.name for frame in self.frames)
        line = node.coord.line if node.coord is not None else 0
        return f"{what}@{self._chain}:{line}"

    def source(self, node: c_ast.Node) -> str:
        """The node's source text on one line."""
        text = " ".join(self.unit.text(self.unit.span(node)).split())
        return text if len(text) <= 80 else text[:77] + "..."

    def local(self, name: str, type: CType, key: str, value: Value | None = None) -> Object:
        """A fresh local object, with a first value."""
        obj = self.latest[key] = Object(name, type, Space.LOCAL, key, born=self.mask)
        if value is not None:
            self.store.write(obj, offset_of(0), type, value, self.mask)
        return obj

    def not_followed(self, node: c_ast.Node, reason: str) -> Unknown:
        """Notes that a construct was not followed, and gives its unknown value."""
        self.unfollowed.setdefault((self.unit.span(node), reason))
        return Unknown(reason)

    def functions(self, name: str) -> Iterator[Function]:
        """Definitions whose last component is that of `name`, most local first."""
        last = name.rsplit("::", 1)[-1]
        yield from self.unit.functions_named(last)


def is_reference(type: CType) -> bool:
    """Whether a variable of this type is another name for what it points to."""
    return isinstance(type, PointerType) and type.is_reference
