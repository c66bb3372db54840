"""Statements: runs a function's body for all threads of a block at once.

A condition that is known thread by thread splits the active mask. An unknown one is taken both
ways: each way is run, rolled back, and the two are joined; accesses under it say what was assumed.
Loops with known bounds run; others are generalized: what every iteration adds becomes a multiple of
an unknown iteration number, what changes otherwise becomes unknown, and one iteration stands for
all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pycparser import c_ast

from smemlint.evaluate.ctypes import (
    FLOAT,
    I32,
    ArrayType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
)
from smemlint.evaluate.forms import Form, atom, form_of, power_of_two, sum_of
from smemlint.evaluate.idle import Given, Writes, writes_of
from smemlint.evaluate.inert import Effects, effects_of
from smemlint.evaluate.intrinsics import PURE_FUNCTIONS, Intrinsics
from smemlint.evaluate.machine import Loop, Place, Variable, is_reference
from smemlint.evaluate.memory import Object, Space
from smemlint.evaluate.types import CTYPES, type_of
from smemlint.evaluate.unroll import unrolled
from smemlint.evaluate.values import (
    Aggregate,
    Callable,
    FloatValue,
    Int,
    Pointer,
    Unknown,
    Value,
    number,
    offset_of,
    same,
)
from smemlint.facts import SharedArray

if TYPE_CHECKING:
    from smemlint.evaluate.machine import Mask
    from smemlint.evaluate.memory import Journal


_TRIED = 2
"""Iterations that tell what one costs and changes."""
_ROUNDS = 4
"""Attempts to find what a loop with unknown bounds changes."""


_NEVER_IDLE = (c_ast.Decl, c_ast.DeclList, c_ast.Typedef, c_ast.Return, c_ast.Pragma)
_Carried: TypeAlias = dict[tuple[int, int], tuple[Object, int, int | None]]
"""Cells that a loop changes: object, byte offset, change per iteration (0: by no constant)."""


@dataclass(frozen=True, slots=True, eq=False)
class _LoopParts:
    """The parts of a loop; `first`: the body runs before the condition."""

    node: c_ast.Node
    cond: c_ast.Node | None
    step: c_ast.Node | None
    body: c_ast.Node
    first: bool
    unroll: str


class Interpreter(Intrinsics):
    """Runs statements; the whole evaluator."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._executors: dict[type, Any] = {}
        self._pragma = ""
        self._returned_inside = False  # the last dry run reached a return
        self._together: dict[int, int] = {}  # loop node -> iterations in one basic block
        self._changes: dict[int, list[tuple[str, int, int | None]]] = {}
        self._effects: dict[int, Effects | None] = {}
        self._writes: dict[int, tuple[c_ast.Node, Writes | None]] = {}

    def execute(self, node: c_ast.Node | None) -> None:
        """Runs a statement for the active threads."""
        if node is None or not self.mask.any():
            return
        if self.trace.is_muted and self._is_idle(node):
            return
        self.step()
        method = self._executor(node)
        if method is not None:
            method(node)
        else:
            self.discarded = node
            self.evaluate(node)

    def _executor(self, node: c_ast.Node) -> Any:
        """The method that runs a statement; None for an expression."""
        kind = type(node)
        if kind not in self._executors:
            self._executors[kind] = getattr(self, f"_exec_{kind.__name__}", None)
        return self._executors[kind]

    def _is_idle(self, node: c_ast.Node) -> bool:
        """Whether a dry run may skip a statement: nothing that is followed can change."""
        if isinstance(node, _NEVER_IDLE):
            return False
        writes = self._writes_of(node)
        if writes is None or not all(map(self._is_idle_name, writes.names)):
            return False
        if not all(map(self._is_idle_gift, writes.given)):
            return False
        for name in writes.names:
            binding = self.lookup(name)
            if isinstance(binding, Variable) and binding.object.default is None:
                binding.object.default = FloatValue(FLOAT)
        return True

    def _writes_of(self, node: c_ast.Node) -> Writes | None:
        known = self._writes.get(id(node))
        if known is None:  # the node is kept: its id stays its own
            known = self._writes[id(node)] = node, writes_of(node)
        return known[1]

    def _is_idle_name(self, name: str) -> bool:
        """Whether nothing that is followed lies in a variable, or behind a pointer."""
        binding = self.lookup(name)
        if binding is None:
            return self.frame.this is None
        if not isinstance(binding, Variable):
            return False
        obj, kind = binding.object, binding.type
        held = obj.cells.get(0)
        if isinstance(held, Pointer):
            obj, kind = held.object, held.target
        while isinstance(kind, ArrayType):
            kind = kind.element
        return obj.space is not Space.LOCAL or isinstance(kind, OpaqueType) or _is_floating(kind)

    def _is_idle_gift(self, given: Given) -> bool:
        """Whether a call that is given a variable leaves what is followed alone."""
        if self.lookup(given.callee) is not None:
            return False
        if self._is_idle_name(given.name):
            return True
        binding = self.lookup(given.name)
        if given.is_address or not isinstance(binding, Variable):
            return False
        if not isinstance(binding.type, IntType) or given.callee == "__out":
            return False
        return not given.is_lvalue or self.takes_by_value(given.callee, given.index)

    # ---- blocks and declarations

    def _exec_Compound(self, node: c_ast.Compound) -> None:
        self.frame.scopes.append({})
        try:
            for item in node.block_items or ():
                self.execute(item)
        finally:
            self.frame.scopes.pop()

    def _eval_Compound(self, node: c_ast.Compound) -> Value:
        """A statement expression: the value of its last statement."""
        self.frame.scopes.append({})
        items = list(node.block_items or ())
        last = items.pop() if items else None
        try:
            for item in items:
                self.execute(item)
            if last is None or self._executor(last) is not None:
                self.execute(last)
                return Unknown("a statement without a value")
            return self.evaluate(last)
        finally:
            self.frame.scopes.pop()

    def _exec_EmptyStatement(self, node: c_ast.EmptyStatement) -> None:
        pass

    def _exec_Pragma(self, node: c_ast.Pragma) -> None:
        self._pragma = node.string or ""

    def _exec_DeclList(self, node: c_ast.DeclList) -> None:
        for decl in node.decls:
            self.execute(decl)

    def _exec_Typedef(self, node: c_ast.Typedef) -> None:
        self.bind(node.name, self.resolve(node.type))

    def _exec_Label(self, node: c_ast.Label) -> None:
        self.execute(node.stmt)

    def _exec_Decl(self, node: c_ast.Decl) -> None:
        self.declare(node)

    def declare(self, node: c_ast.Decl) -> None:
        """Declares a variable, a shared array, or a local type."""
        storage = set(node.storage or ())
        if isinstance(node.type, c_ast.FuncDecl):
            return
        kind = self.resolve(node.type)
        if not node.name:
            return
        if "__shared__" in storage:
            self.bind(node.name, Variable(self.shared_object(node, kind), kind))
            return
        if is_reference(kind):
            self._declare_reference(node, kind)
            return
        value: Value | None = None
        if isinstance(kind, OpaqueType) and node.init is not None and not _is_braced(node.init):
            value = self._initial(node.init, kind)
            kind = type_of(value) if not isinstance(value, Unknown | Callable) else kind
        obj = self.local(node.name, kind, self.key(node, node.name))
        variable = Variable(obj, kind)
        self.bind(node.name, variable)
        if value is not None:
            self.store.write(obj, offset_of(0), kind, self.convert(value, kind), self.mask)
        elif node.init is not None:
            self.initialize(variable, node.init)
        elif isinstance(kind, RecordType) and kind.record is not None:
            self.construct_at(Place(obj, offset_of(0), kind), [], node)

    def _declare_reference(self, node: c_ast.Decl, kind: CType) -> None:
        assert isinstance(kind, PointerType)
        init = _first_argument(node.init)
        place = (
            self.place(init) if init is not None else Unknown(f"`{node.name}` has no initializer")
        )
        target = kind.target
        held: Value
        if isinstance(place, Unknown):
            held = place
        else:
            if isinstance(target, OpaqueType | ArrayType) or isinstance(place.type, RecordType):
                target = place.type
            held = Pointer(place.object, place.offset, target, place.volatile)
        obj = Object(
            node.name, kind, Space.LOCAL, self.key(node, node.name), {0: held}, born=self.mask
        )
        self.bind(node.name, Variable(obj, PointerType(target, True)))

    def _initial(self, init: c_ast.Node, kind: CType) -> Value:
        argument = _first_argument(init)
        if argument is None:
            return self.zero(kind)
        value = self.evaluate(argument)
        return self.decayed(value, argument)

    def decayed(self, value: Value, node: c_ast.Node) -> Value:
        """A call that returned a reference, read as a value."""
        return value

    def initialize(self, variable: Variable, init: c_ast.Node) -> None:
        """Runs an initializer: `= e`, `(args)`, `{..}`."""
        obj, kind = variable.object, variable.type
        place = Place(obj, offset_of(0), kind)
        if isinstance(kind, ArrayType):
            self._fill(place, init)
        elif isinstance(kind, RecordType):
            arguments = _init_arguments(init)
            if arguments is None:
                value = self.evaluate(init)
                if isinstance(value, Pointer) and isinstance(value.target, RecordType):
                    value = self.read(Place(value.object, value.offset, value.target), init)
                self.write(place, value, init)
            else:
                self.construct_at(place, arguments, init)
        else:
            argument = _first_argument(init)
            value = self.zero(kind) if argument is None else self.evaluate(argument)
            if isinstance(kind, PointerType) and isinstance(value, Aggregate):
                value = self.conversion(value, kind, init)
            obj.cells.pop(0, None)
            self.store.set_cell(obj, 0, self.convert(value, kind))

    def conversion(self, value: Aggregate, kind: PointerType, node: c_ast.Node) -> Value:
        """A class object converted to a pointer by its conversion operator."""
        record = value.type
        if not isinstance(record, RecordType) or record.record is None:
            return Unknown("a class object is converted to a pointer")
        holder = self.local(record.name, record, self.key(node), value)
        this = Pointer(holder, offset_of(0), record)
        best: Value = Unknown(f"`{record.name}` has no conversion to a pointer that was read")
        for function in self.unit.functions:
            if function.record != record.name or not function.name.startswith("operator"):
                continue
            if not function.name.rstrip().endswith("*"):
                continue
            best = self.inline(function, [], (), node, this, record)
            if isinstance(best, Pointer):
                return Pointer(best.object, best.offset, kind.target, best.is_volatile)
        return best

    def _fill(self, place: Place, init: c_ast.Node) -> None:
        """Initializes an array, element by element; what is not named is zero."""
        kind = place.type
        assert isinstance(kind, ArrayType)
        items = _init_arguments(init)
        if items is None:
            self.evaluate(init)
            return
        scalar: CType = kind
        while isinstance(scalar, ArrayType):
            scalar = scalar.element
        if not isinstance(scalar, IntType):
            for item in items:
                if not isinstance(item, c_ast.InitList):
                    self.evaluate(item)
            place.object.default = self.zero(scalar) if not isinstance(scalar, RecordType) else None
            return
        place.object.default = self.zero(scalar)
        step = kind.element.size
        for i, item in enumerate(items):
            inner = Place(
                place.object, self.algebra.add(place.offset, offset_of(i * step)), kind.element
            )
            if isinstance(kind.element, ArrayType):
                self._fill(inner, item)
            else:
                self.write(inner, self.evaluate(_first_argument(item) or item), item)

    def shared_object(self, node: c_ast.Decl, kind: CType) -> Object:
        """The shared array of a declaration: one for all calls and iterations."""
        key = (
            self.key(node, f"shared {node.name} ")
            if not self.frames
            else f"shared {node.name}:{node.coord}"
        )
        if key in self.arrays:
            return self.arrays[key]
        dims: list[int | None] = []
        element = kind
        while isinstance(element, ArrayType):
            dims.append(element.count)
            element = element.element
        is_dynamic = "extern" in (node.storage or ())
        size = None if is_dynamic or not kind.size or None in dims else kind.size
        shared = SharedArray(
            node.name,
            self.unit.span(node),
            _spelled(element),
            element.size,
            tuple(dims),
            0,
            size,
            max(self.alignment(node), 16 if is_dynamic else kind.align),
            is_dynamic,
        )
        volatile = "volatile" in (node.quals or ())
        obj = Object(node.name, kind, Space.SHARED, key, shared=shared, is_volatile=volatile)
        self.arrays[key] = obj
        return obj

    # ---- branches

    def _exec_If(self, node: c_ast.If) -> None:
        condition = _condition_of(node.cond)
        value = self.condition(self.evaluate(condition))
        mask = self.mask
        if isinstance(value, Int) and not value.terms:
            if isinstance(value.base, int):
                self.execute(node.iftrue if value.base else node.iffalse)
                return
            taken = mask & (value.base != 0)
            rest = mask & ~taken
            if not rest.any():
                self.execute(node.iftrue)
                return
            if not taken.any():
                self.execute(node.iffalse)
                return
            self.trace.fence("block")
            self.mask = taken
            self.execute(node.iftrue)
            alive = self.mask
            self.trace.fence("block")
            self.mask = rest
            self.execute(node.iffalse)
            self.trace.fence("block")
            alive = alive | self.mask
            self.mask = mask if (alive == mask).all() else alive
            return
        assert isinstance(value, Unknown) or value.terms
        unknown = value if isinstance(value, Unknown) else Unknown("the condition is not known")
        text = self.source(node.cond)
        self.both_ways(
            (f"`{text}` holds", node.iftrue),
            (f"`{text}` does not hold", node.iffalse),
            unknown,
            node,
        )

    def both_ways(
        self,
        first: tuple[str, c_ast.Node | None],
        second: tuple[str, c_ast.Node | None],
        condition: Unknown,
        node: c_ast.Node,
    ) -> None:
        """Runs two alternatives of an unknown condition and joins what they leave."""
        mask = self.mask
        loop = self.loops[-1] if self.loops else None
        left_before = (loop.broken, loop.continued) if loop else None
        ends: list[tuple[str, Mask, Journal]] = []
        self.trace.fence("block")
        for text, statement in (first, second):
            self.store.begin()
            self.assumptions.append(text)
            self.frame.uncertain += 1
            self.mask = mask
            if loop is not None and left_before is not None:
                loop.broken, loop.continued = left_before
            depth = len(self.assumptions)
            try:
                self.execute(statement)
            finally:
                del self.assumptions[depth - 1 :]
                self.frame.uncertain -= 1
                journal = self.store.rollback()
            ends.append((text, self.mask, journal))
            self.trace.fence("block")
        if loop is not None and left_before is not None:
            loop.broken, loop.continued = left_before
        alive = [end for end in ends if end[1].any()]
        if len(alive) == 1:
            text, self.mask, journal = alive[0]
            self.assumptions.append(text)
            self._replay(journal)
            return
        if not alive:
            self.mask = self.none_active()
            return
        self.mask = (
            mask if (alive[0][1] | alive[1][1]).sum() == mask.sum() else alive[0][1] | alive[1][1]
        )
        self._join(alive[0][2], alive[1][2], condition, node)

    def _replay(self, journal: Journal) -> None:
        for obj, offset, value in journal.values():
            self.store.set_cell(obj, offset, value)

    def _join(self, left: Journal, right: Journal, condition: Unknown, node: c_ast.Node) -> None:
        for key in {**left, **right}:
            obj, offset, _ = left.get(key) or right[key]
            now = obj.cells.get(offset)
            a = left[key][2] if key in left else now
            b = right[key][2] if key in right else now
            if a is None or b is None:
                value = a if b is None else b
            else:
                value = self.joined(a, b, condition, node)
            self.store.set_cell(obj, offset, value)

    def _exec_Switch(self, node: c_ast.Switch) -> None:
        value = self.evaluate(node.cond)
        items = (
            list(node.stmt.block_items or ())
            if isinstance(node.stmt, c_ast.Compound)
            else [node.stmt]
        )
        flat = _flat_cases(items)
        loop = Loop(self.none_active(), self.none_active())
        outer, mask = self.loops, self.mask
        self.loops = [*self.loops, loop]
        self.frame.scopes.append({})
        try:
            if isinstance(value, Int) and value.constant is not None:
                self._run_cases(flat, value.constant)
            elif isinstance(value, Int) and value.is_concrete:
                self._run_cases_by_thread(flat, value, node)
            else:
                self._unknown_switch(flat, value, node)
        finally:
            self.frame.scopes.pop()
            self.loops = outer
        if outer:
            outer[-1].continued = outer[-1].continued | loop.continued
        alive = self.mask | (loop.broken & mask)
        self.mask = mask if (alive == mask).all() else alive

    def _run_cases(
        self, flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]], value: int
    ) -> None:
        start = None
        for i, (label, is_default, _) in enumerate(flat):
            if label is not None:
                known = self.evaluate(label)
                if isinstance(known, Int) and known.constant == value:
                    start = i
                    break
            elif is_default and start is None:
                start = i
        for _, _, statement in flat[start:] if start is not None else ():
            self.execute(statement)

    def _run_cases_by_thread(
        self,
        flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
        value: Int,
        node: c_ast.Switch,
    ) -> None:
        """Every thread enters at its own case and falls through to what follows."""
        waiting = self.mask
        entering: dict[int, Mask] = {}
        for i, (label, _, _) in enumerate(flat):
            known = self.evaluate(label) if label is not None else None
            if label is not None and not (isinstance(known, Int) and known.constant is not None):
                self._unknown_switch(flat, value, node)
                return
            if isinstance(known, Int):
                entering[i] = waiting & (value.base == known.constant)
                waiting = waiting & ~entering[i]
        for i, (_, is_default, _) in enumerate(flat):
            if is_default:
                entering[i], waiting = waiting, self.none_active()
        self.mask = self.none_active()
        for i, (_, _, statement) in enumerate(flat):
            if i in entering:
                self.trace.fence("block")
                self.mask = self.mask | entering[i]
            if self.mask.any():
                self.execute(statement)
        self.trace.fence("block")
        self.mask = self.mask | waiting

    def _unknown_switch(
        self,
        flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]],
        value: Value,
        node: c_ast.Switch,
    ) -> None:
        """Every case is run from the same state; only what all agree on survives."""
        mask = self.mask
        loop = self.loops[-1]
        condition = (
            value
            if isinstance(value, Unknown)
            else Unknown("the case is not known", is_uniform=True)
        )
        state: Journal | None = None
        subject = self.source(node.cond)
        for i, (label, is_default, _) in enumerate(flat):
            if label is None and not is_default:
                continue
            known = self.evaluate(label) if label is not None else None
            self.store.begin()
            text = (
                f"`{subject}` is {self.source(label)}"
                if label is not None
                else f"`{subject}` is no case"
            )
            self.assumptions.append(text)
            depth = len(self.assumptions)
            self.frame.uncertain += 1
            self.mask = mask
            loop.broken = self.none_active()
            self.refine(value, known)
            try:
                for _, _, statement in flat[i:]:
                    if not self.mask.any():
                        break
                    self.execute(statement)
            finally:
                self.refine(value, None)
                del self.assumptions[depth - 1 :]
                self.frame.uncertain -= 1
                journal = self.store.rollback()
            if (self.mask | loop.broken).any():
                state = journal if state is None else self._merged(state, journal, condition, node)
        self.mask = mask
        loop.broken = self.none_active()
        if state is not None:
            self._join(state, {}, condition, node)

    def _merged(self, a: Journal, b: Journal, condition: Unknown, node: c_ast.Node) -> Journal:
        merged: Journal = {}
        for key in {**a, **b}:
            obj, offset, _ = a.get(key) or b[key]
            now = obj.cells.get(offset)
            x = a[key][2] if key in a else now
            y = b[key][2] if key in b else now
            value = x if y is None else y if x is None else self.joined(x, y, condition, node)
            merged[key] = (obj, offset, value)
        return merged

    def refine(self, value: Value, known: Value | None) -> None:
        """Inside a case the switched value is known; None ends that."""

    # ---- jumps

    def _exec_Return(self, node: c_ast.Return) -> None:
        value: Value = FloatValue(I32)
        if node.expr is not None:
            if self.frame.returns_reference:
                place = self.place(node.expr)
                value = place.pointer() if isinstance(place, Place) else place
            else:
                value = self.evaluate(node.expr)
        self.frame.returns.append((self.mask, value, self.frame.uncertain == 0))
        self.mask = self.none_active()

    def _exec_Break(self, node: c_ast.Break) -> None:
        if self.loops:
            self.loops[-1].broken = self.loops[-1].broken | self.mask
        self.mask = self.none_active()

    def _exec_Continue(self, node: c_ast.Continue) -> None:
        if self.loops:
            self.loops[-1].continued = self.loops[-1].continued | self.mask
        self.mask = self.none_active()

    def _exec_Goto(self, node: c_ast.Goto) -> None:
        self.not_followed(node, "goto is not followed")

    # ---- loops

    def _exec_For(self, node: c_ast.For) -> None:
        self.frame.scopes.append({})
        try:
            if node.init is not None:
                self.execute(node.init)
            self._loop(node, node.cond, node.next, node.stmt, first=False)
        finally:
            self.frame.scopes.pop()

    def _exec_While(self, node: c_ast.While) -> None:
        self._loop(node, node.cond, None, node.stmt, first=False)

    def _exec_DoWhile(self, node: c_ast.DoWhile) -> None:
        self._loop(node, node.cond, None, node.stmt, first=True)

    def _loop(
        self,
        node: c_ast.Node,
        cond: c_ast.Node | None,
        step: c_ast.Node | None,
        body: c_ast.Node,
        *,
        first: bool,
    ) -> None:
        """Runs a loop: iteration by iteration while its condition is known, else generalized.

        How many iterations the compiler puts together depends on what they cost, so a loop is tried
        first to learn that; where it stays a loop it is run with its variables marked as such. Two
        iterations tell it where the header alone says how many there are.
        """
        unroll, self._pragma = self._pragma, ""
        parts = _LoopParts(node, cond, step, body, first, unroll)
        if self._is_inert(node):
            self._run_inert(parts)
            return
        if self.trace.is_muted:
            self._run_loop(parts, None, {})
            return
        if id(node) in self._together:
            self._run_loop(parts, self._together[id(node)], self._carried_now(node))
            return
        foreseen = self._foreseen_trips(parts)
        tried = _TRIED if foreseen is not None and foreseen > _TRIED else None
        mask, returned = self.mask, len(self.frame.returns)
        size, events = len(self.trace.items), self.trace.events
        costs = [loop.cost for loop in self.loops]
        self.store.begin()
        trips, together = self._run_loop(parts, None, {}, tried, foreseen)
        self._together[id(node)] = together
        was_cut_short = trips == tried
        if trips <= together and not was_cut_short:
            self.store.commit()
            return
        ends = self.store.rollback()
        del self.trace.items[size:], self.frame.returns[returned:]
        self.trace.events, self.mask = events, mask
        for loop, cost in zip(self.loops, costs, strict=True):
            loop.cost = cost
        carried = {
            key: (o, at, _advance(o.cells.get(at), end, trips))
            for key, (o, at, end) in ends.items()
        }
        carried = {key: cell for key, cell in carried.items() if cell[2] is not None}
        self._changes[id(node)] = [(o.key, at, by) for o, at, by in carried.values()]
        is_whole = foreseen is not None and foreseen <= together
        self._run_loop(parts, together, {} if is_whole else carried)

    def _foreseen_trips(self, parts: _LoopParts) -> int | None:
        """How often a loop runs, from its header alone; None where the body may have a say."""
        if parts.cond is None or parts.step is None or parts.first:
            return None
        writes = self._writes_of(parts.body)
        header = self.names_in(parts.cond) | self.names_in(parts.step)
        if writes is None or writes.names & header:
            return None
        if any(g.name in header and not self._is_idle_gift(g) for g in writes.given):
            return None
        mask, trips = self.mask, 0
        costs = [loop.cost for loop in self.loops]
        self.trace.mute()
        self.store.begin()
        try:
            while trips < self.max_trips:
                value = self.condition(self.evaluate(parts.cond))
                if not isinstance(value, Int) or value.terms:
                    return None
                going = self.mask & (np.asarray(value.base) != 0)
                if not going.any():
                    return trips
                self.mask = going
                self.evaluate(parts.step)
                trips += 1
            return None
        finally:
            self.store.rollback()
            self.trace.unmute()
            self.mask = mask
            for loop, cost in zip(self.loops, costs, strict=True):
                loop.cost = cost

    def _is_inert(self, node: c_ast.Node) -> bool:
        """Whether the loop only computes floating-point numbers and touches no shared memory."""
        if id(node) not in self._effects:
            self._effects[id(node)] = effects_of(node, PURE_FUNCTIONS)
        effects = self._effects[id(node)]
        if effects is None:
            return False
        return all(self._is_harmless(n, written=n in effects.writes) for n in effects.reads)

    def _is_harmless(self, name: str, *, written: bool) -> bool:
        binding = self.lookup(name)
        if not isinstance(binding, Variable):
            return not written and (binding is None or isinstance(binding, (*CTYPES, Int)))
        obj, kind = binding.object, binding.type
        held = obj.cells.get(0)
        if isinstance(held, Pointer):
            obj, kind = held.object, held.target
        elif isinstance(held, Unknown) and isinstance(kind, PointerType):
            return False
        while isinstance(kind, ArrayType):
            kind = kind.element
        if obj.space is Space.SHARED:
            return False
        return not written or obj.space is Space.GLOBAL or _is_floating(kind)

    def _run_inert(self, parts: _LoopParts) -> None:
        """Runs the body once and the header to its end, for what the iterations cost."""
        loop = Loop(self.none_active(), self.none_active(), _counter(parts.node))
        entry = self.mask
        before = [around.cost for around in self.loops]
        self.loops.append(loop)
        trips = 0
        try:
            while trips < self.max_trips and self.mask.any():
                value: Value = number(1)
                if parts.cond is not None and not (parts.first and not trips):
                    value = self.condition(self.evaluate(parts.cond))
                if not isinstance(value, Int) or value.constant in (0, None):
                    break
                if not trips:
                    self.execute(parts.body)
                if parts.step is not None:
                    self.evaluate(parts.step)
                trips += 1
        finally:
            self.loops.pop()
            self.mask = entry
        for around, cost in zip(self.loops, before, strict=True):
            around.cost = cost + (around.cost - cost) * max(trips, 1)
        effects = self._effects[id(parts.node)]
        for name in effects.writes if effects is not None else ():
            binding = self.lookup(name)
            if isinstance(binding, Variable) and binding.object.default is None:
                binding.object.default = FloatValue(FLOAT)

    def _carried_now(self, node: c_ast.Node) -> _Carried:
        """What the loop changes, in the objects that exist this time."""
        found: _Carried = {}
        for key, at, by in self._changes.get(id(node), ()):
            obj = self.latest.get(key)
            if obj is not None:
                found[id(obj), at] = obj, at, by
        return found

    def _run_loop(
        self,
        parts: _LoopParts,
        together: int | None,
        carried: _Carried,
        most: int | None = None,
        foreseen: int | None = None,
    ) -> tuple[int, int]:
        """Runs a loop once; returns its trips and how many iterations form one basic block.

        Args:
            parts: of the loop.
            together: that number where it is known.
            carried: what the loop changes, to be marked as variable at the head of each block.
            most: iterations to run, for a trial.
            foreseen: how many there would be.
        """
        entry = self.mask
        left = self.none_active()
        name = _counter(parts.node)
        loop = Loop(self.none_active(), self.none_active(), name)
        self.loops.append(loop)
        assumed = len(self.assumptions)
        starts: list[int] = []
        is_constant = not self._is_run_time(parts.node, parts.cond)
        try:
            while self.mask.any() and len(starts) != most:
                if not (parts.first and not starts):
                    going = self._going(parts, len(starts))
                    if going is None:
                        break
                    if going is not self.mask:
                        is_constant = False
                        left = left | (self.mask & ~going)
                        self.mask = going
                        if not going.any():
                            break
                if together is not None and len(starts) % together == 0:
                    self._mark_carried(carried, parts.node, together, len(starts))
                starts.append(len(self.trace.items))
                self._iteration(name, parts.step, parts.body, loop)
        finally:
            self.loops.pop()
            del self.assumptions[assumed:]
        alive = self.mask | left | loop.broken
        self.mask = entry if (alive == entry).all() else alive
        if together is None:
            trips = len(starts) if foreseen is None else foreseen
            cost = loop.cost * trips // max(len(starts), 1)
            together = unrolled(trips, cost, parts.unroll, is_constant=is_constant)
        self.trace.fence_between(starts[together::together])
        return len(starts), together

    def _going(self, parts: _LoopParts, trips: int) -> Mask | None:
        """Threads that go on; None when the loop ends for all or was generalized."""
        if parts.cond is None or trips >= self.max_trips:
            self._generalized(parts.node, parts.cond, parts.step, parts.body)
            return None
        value = self.condition(self.evaluate(parts.cond))
        if isinstance(value, Unknown) or value.terms:
            self._generalized(parts.node, parts.cond, parts.step, parts.body)
            return None
        if isinstance(value.base, int):
            return self.mask if value.base else None
        going = self.mask & (value.base != 0)
        return self.mask if going.sum() == self.mask.sum() else going

    def _mark_carried(self, carried: _Carried, node: c_ast.Node, together: int, trip: int) -> None:
        """Gives what the loop changes a form of its own: the compiler sees a variable there."""
        for obj, at, advance in carried.values():
            value = obj.cells.get(at)
            number = value.offset if isinstance(value, Pointer) else value
            if not isinstance(number, Int) or advance is None:
                continue
            alignment = power_of_two(advance * together) if advance else 1
            before = form_of(number)
            key = self.key(node, f"{obj.key}+{at}#{trip}")
            form = sum_of(before, atom(key, alignment)) if trip == 0 else atom(key, alignment)
            if trip and before.terms:
                form = Form(form.terms, min(form.alignment, before.alignment))
            marked = Int(number.base, number.type, number.terms, form)
            if isinstance(value, Pointer):
                self.store.set_cell(obj, at, replace(value, offset=marked))
            else:
                self.store.set_cell(obj, at, marked)

    def _is_run_time(self, node: c_ast.Node, cond: c_ast.Node | None) -> bool:
        """Whether the compiler cannot know the trip count: the header names what a launch sets."""
        init = getattr(node, "init", None)
        named = {n for part in (init, cond) if part is not None for n in self.names_in(part)}
        return bool(named & {"threadIdx", "blockDim", "blockIdx", "gridDim"})

    def _iteration(self, name: str, step: c_ast.Node | None, body: c_ast.Node, loop: Loop) -> None:
        counter = self.lookup(name) if name else None
        shown = counter.object.cells.get(0) if isinstance(counter, Variable) else None
        pushed = isinstance(shown, Int) and shown.constant is not None
        if pushed:
            self.loop_values.append((name, shown.constant))  # type: ignore[union-attr, arg-type]
        before = self.mask
        try:
            self.execute(body)
        finally:
            if pushed:
                self.loop_values.pop()
        if loop.continued.any():
            alive = self.mask | loop.continued
            self.mask = before if (alive == before).all() else alive
            loop.continued = self.none_active()
        if step is not None and self.mask.any():
            self.evaluate(step)

    def _generalized(
        self,
        node: c_ast.Node,
        cond: c_ast.Node | None,
        step: c_ast.Node | None,
        body: c_ast.Node,
    ) -> None:
        """One iteration that stands for all: see the module's docstring."""
        loop = self.loops[-1]
        mask = self.mask
        trip = self.algebra.symbol(
            self.key(node, "iteration"), "the iteration", I32, nonnegative=True
        )
        forms: dict[tuple[int, int], tuple[Object, int, Value]] = {}
        text = f"`{self.source(cond)}` holds" if cond is not None else ""
        if text:
            self.assumptions.append(text)
        self.frame.uncertain += 1
        self.store.begin()
        try:
            for _ in range(_ROUNDS):
                if not self._find_changes(forms, trip, step, body, loop, mask):
                    break
            self._set_forms(forms)
            if not self.trace.is_muted or self._returned_inside:
                self.trace.fence("block")
                self.mask = mask
                self._iteration("", step, body, loop)
                self.trace.fence("block")
                self._set_forms(forms)
        finally:
            self.frame.uncertain -= 1
            self.store.commit()
        loop.broken = self.none_active()
        self.mask = mask

    def _set_forms(self, forms: dict[tuple[int, int], tuple[Object, int, Value]]) -> None:
        for obj, offset, value in forms.values():
            self.store.set_cell(obj, offset, value)

    def _find_changes(
        self,
        forms: dict[tuple[int, int], tuple[Object, int, Value]],
        trip: Int,
        step: c_ast.Node | None,
        body: c_ast.Node,
        loop: Loop,
        mask: Mask,
    ) -> bool:
        """A dry run of one iteration; updates the general forms, says whether any changed."""
        starts = set(forms)
        self._set_forms(forms)
        self.trace.mute()
        self.store.begin()
        self.mask = mask
        notes = dict(self.unfollowed)
        returned = len(self.frame.returns)
        try:
            self._iteration("", step, body, loop)
        finally:
            self.trace.unmute()
            ends = self.store.rollback()
            self.mask = mask
            self.unfollowed = notes
            self._returned_inside = len(self.frame.returns) > returned
            del self.frame.returns[returned:]
            loop.broken = self.none_active()
            loop.continued = self.none_active()
        changed = False
        for key, (obj, offset, end) in ends.items():
            begin = obj.cells.get(offset)
            if begin is None or end is None or same(begin, end):
                continue
            general = self._general(begin, end, trip, obj, key in starts)
            if general is not None and not (key in forms and same(forms[key][2], general)):
                forms[key] = (obj, offset, general)
                changed = True
        return changed

    def _general(
        self, begin: Value, end: Value, trip: Int, obj: Object, seen: bool
    ) -> Value | None:
        """The value at the start of any iteration; None when the form that is set holds."""
        if isinstance(begin, FloatValue) and isinstance(end, FloatValue):
            return None
        if isinstance(begin, Int) and isinstance(end, Int):
            delta = self.algebra.add(end, begin, -1)
            if not delta.terms:
                if not seen:
                    advance = self.algebra.multiply(Int(delta.base, begin.type), trip)
                    if isinstance(advance, Int):
                        general = self.algebra.add(begin, advance)
                        return Int(general.base, begin.type, general.terms)
                elif any(s.key == t.key for s, _ in begin.terms for t, _ in trip.terms):
                    return None  # begin + delta * trip became begin + delta * (trip + 1)
            if begin.is_uniform and end.is_uniform:
                key = f"loop:{obj.key}:{trip.terms[0][0].key if trip.terms else ''}"
                floor = _is_nonnegative(begin) and _is_nonnegative(end)
                return self.algebra.symbol(key, obj.name, begin.type, nonnegative=floor)
            return Unknown(f"`{obj.name}` changes in a loop in a way that is not followed")
        if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
            offset = self._general(begin.offset, end.offset, trip, obj, seen)
            if offset is None:
                return None
            if isinstance(offset, Int):
                return Pointer(begin.object, offset, begin.target, begin.is_volatile)
            return offset
        if isinstance(begin, Unknown):
            return None
        if isinstance(end, Unknown):
            return end
        if (
            isinstance(begin, Pointer)
            and isinstance(end, Pointer)
            and begin.object.space is not Space.SHARED
            and end.object.space is not Space.SHARED
        ):
            return None
        return Unknown(f"`{obj.name}` changes in a loop in a way that is not followed")


def _is_floating(kind: CType) -> bool:
    if isinstance(kind, RecordType):
        return bool(kind.members) and all(_is_floating(m.type) for m in kind.members)
    return isinstance(kind, FloatType)


def _advance(begin: Value | None, end: Value | None, trips: int) -> int | None:
    """What a cell changes by each iteration; 0 when not by a constant, None for no number."""
    if isinstance(begin, Pointer) and isinstance(end, Pointer) and begin.object is end.object:
        begin, end = begin.offset, end.offset
    if not isinstance(begin, Int) or not isinstance(end, Int):
        return None
    if not isinstance(begin.base, int) or not isinstance(end.base, int):
        change = np.unique(np.asarray(end.base) - np.asarray(begin.base))
        if len(change) != 1 or begin.terms != end.terms:
            return 0
        total = int(change[0])
    else:
        total = end.base - begin.base
    return total // trips if total % trips == 0 else 0


def _is_nonnegative(value: Int) -> bool:
    base = value.base if isinstance(value.base, int) else int(value.base.min())
    return base >= 0 and all(
        s.nonnegative and (c >= 0 if isinstance(c, int) else c.min() >= 0) for s, c in value.terms
    )


def _spelled(kind: CType) -> str:
    if isinstance(kind, IntType):
        return ("" if kind.signed else "u") + f"int{kind.bits}" if not kind.is_bool else "bool"
    return getattr(kind, "name", None) or getattr(kind, "spelling", "") or "pointer"


def _is_braced(init: c_ast.Node) -> bool:
    return isinstance(init, c_ast.InitList) and len(init.exprs or ()) != 1


def _is_call(node: c_ast.Node | None, name: str) -> bool:
    return (
        isinstance(node, c_ast.FuncCall)
        and isinstance(node.name, c_ast.ID)
        and node.name.name == name
    )


def _init_arguments(init: c_ast.Node) -> list[c_ast.Node] | None:
    """The operands of `(args)` and `{..}` initializers; None for `= expression`."""
    if isinstance(init, c_ast.InitList):
        return list(init.exprs or ())
    if _is_call(init, "__ctor") or _is_call(init, "__brace"):
        return list(init.args.exprs) if init.args is not None else []
    return None


def _first_argument(init: c_ast.Node | None) -> c_ast.Node | None:
    if init is None:
        return None
    arguments = _init_arguments(init)
    if arguments is None:
        return init
    return arguments[0] if arguments else None


def _condition_of(cond: c_ast.Node) -> c_ast.Node:
    """The condition of an `if`, without the mark of `if constexpr`."""
    if isinstance(cond, c_ast.FuncCall) and _is_call(cond, "__constexpr"):
        return cond.args.exprs[0]
    return cond


def _counter(node: c_ast.Node) -> str:
    init = getattr(node, "init", None)
    if isinstance(init, c_ast.DeclList) and init.decls:
        return init.decls[0].name or ""
    if isinstance(init, c_ast.Decl):
        return init.name or ""
    if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
        return init.lvalue.name  # type: ignore[no-any-return]
    return ""


def _flat_cases(
    items: list[c_ast.Node],
) -> list[tuple[c_ast.Node | None, bool, c_ast.Node | None]]:
    """(label, is default, statement) in program order, so that cases fall through."""
    flat: list[tuple[c_ast.Node | None, bool, c_ast.Node | None]] = []
    for item in items:
        if isinstance(item, c_ast.Case):
            flat.append((item.expr, False, None))
            flat += _flat_cases(list(item.stmts or ()))
        elif isinstance(item, c_ast.Default):
            flat.append((None, True, None))
            flat += _flat_cases(list(item.stmts or ()))
        else:
            flat.append((None, False, item))
    return flat


__all__ = ["Interpreter"]
