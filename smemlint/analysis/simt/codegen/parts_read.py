"""What is read of what a variable is loaded with: parts of classes, vectors, arrays and numbers.

SASS of nvcc 13.0.88, sm_90, -O3, for a load of `float4` from shared memory:

| what it is loaded into, and read | loads |
| --- | --- |
| `float4 v = s[t];`, x | LDS |
| the same, x and y, or z and w | LDS.64 |
| the same, y and z, x and z, or x and w | two LDS |
| the same, three members | LDS.128 |
| `union {float4 v; float f[4];} u; u.v = s[t];`, `u.f[0]` | LDS |
| `float f[4]; *(float4 *)f = s[t];`, `f[1]` | LDS |
| the same, `f[0] + f[1]`, or `for (i < 2) a += f[i]` | LDS.64 |
| the same, `f[0] + f[2]` | two LDS |
| the same, `f[0]`, and behind a condition that is not known the others | LDS.128 |
| the same, `f[n]`, `for (i < n) f[i]`, `for (i < 4) f[i]`, three elements | LDS.128 |
| the same, `for (i < 4) h[i] = 2 * f[i];`, `h[1]` | LDS |
| `int4 v = s[t]; int *p = (int *)&v;`, `p[0]` | LDS |
| `float4 v[2]; v[0] = s[t]; v[1] = s[t + 32];`, `v[0].x + v[1].y` | an LDS each |
| `float f[8]; *(float4 *)f = s[t]; *(float4 *)(f + 4) = s[t + 32];`, `f[0] + f[5]` | an LDS each |
| `long long v = s[t];`, `(int)v` or `v >> 32` | LDS |
| the same, `u = v * 3;`, `u >> 32` | LDS.64 |

Reads count wherever they stand, in loops that do not run and in branches that are not taken, too.
What is only copied to another variable, or computed for it, is read as far as that one is.
Where a statement of the block that declares a variable assigns all of it, it is another one from
there on: of `v = s[t]; .. v = s[t + 32];` each load takes what is read up to the next. Of any other
place that is written twice it is not known who reads what, and what is read under a condition alone
may be loaded there: the first, with `if (t < 8)`, by 8 lanes. With `if (c) x = v.x + v.y;
else x = v.w;` each way loads its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.codegen.loaded_values import is_own
from smemlint.analysis.simt.codegen.places import (
    Counter,
    Place,
    Step,
    converted,
    counter_of,
    index_of,
)
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

_Way: TypeAlias = "tuple[tuple[ir.Node | Counter, ir.Node], ...]"
"""The ways that a statement stands on, outermost first: what has several ways, and which it is."""
_LOADS = (ir.ArrayRef, ir.StructRef, ir.UnaryOp)
_UNREAD = (ir.Unparsed, ir.UnparsedType)
_CONDITIONAL = (ir.If, ir.Switch, ir.TernaryOp, ir.For, ir.While, ir.RangeFor)
_CONVERSION = re.compile(r"__[a-z]\w*2[a-z]\w*")  # __half2float, __float22half2_rn


@dataclass(slots=True, eq=False)
class Held:
    """What is done with a variable until all of it is assigned.

    Attributes:
        ctype: as it is declared; None where that is not known.
        reads: places, and the ways on which they are read.
        writes: places.
        copies: places of which others are made, those others, of what they are, and whether they
            have the same bytes: others are computed, of which each may hang on all.
    """

    ctype: ir.Node | None = None
    reads: dict[Place, set[_Way]] = field(default_factory=dict)
    writes: list[Place] = field(default_factory=list)
    copies: list[tuple[Place, Place, Held, bool]] = field(default_factory=list)

    def with_copies(self) -> list[Held]:
        """Returns this and what is made of it."""
        found, worklist = {self: None}, [self]
        while worklist:
            new = {made: None for *_, made, _ in worklist.pop().copies if made not in found}
            found |= new
            worklist += new
        return list(found)


@dataclass(frozen=True, slots=True, eq=False)
class PartsRead:
    """What becomes of what is loaded into a place.

    Attributes:
        written: the place.
        held: its variable.
        way: that the load stands on.
        is_declared: the variable is declared with it, and the load sinks to where it is read.
    """

    written: Place
    held: Held
    way: _Way = ()
    is_declared: bool = False

    def is_conditional(self, is_run: Callable[[Counter], bool]) -> bool:
        """Returns whether there may be other loads, on the ways on which it is read.

        Args:
            is_run: tells whether a loop surely is.
        """

        def kept(way: _Way) -> _Way:
            if self.is_declared:
                return tuple(step for step in way if isinstance(step[0], ir.If))
            return tuple(s for s in way if not (isinstance(s[0], Counter) and is_run(s[0])))

        held = self.held.with_copies()
        read = [{kept(way) for way in ways} for each in held for ways in each.reads.values()]
        every: set[_Way] = set().union(*read)
        if self.is_declared:
            return () not in every and any(ways != every for ways in read)
        own = kept(self.way)
        return not any(way == own[: len(way)] for way in every)


def parts_read(block: ir.Compound) -> dict[ir.Node, PartsRead]:
    """Returns what is read of the variables that a block declares, by what they are loaded with.

    Args:
        block: with the declarations.
    """
    declared = {d.name: d for d in block.block_items if isinstance(d, ir.Decl) and is_own(d)}
    if not declared or not any(map(_may_be_loaded, block.block_items)):
        return {}
    nodes = list(block.walk())
    if any(isinstance(node, _UNREAD) for node in nodes):
        return {}
    names = [node.name for node in nodes if isinstance(node, ir.Decl)]
    own = {name for name in names if names.count(name) == 1}
    reader = _Reader({n: Held(d.type) for n, d in declared.items() if n in own}, own)
    is_straight = not any(isinstance(i, ir.Label | ir.Case) for i in block.block_items)
    for item in block.block_items:
        match item:
            case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value) if (
                is_straight and name in reader.values and name not in reader.referred
            ):
                if any(isinstance(node, ir.ID) and node.name == name for node in value.walk()):
                    reader.visit(value)
                reader.values[name] = Held(declared[name].type)
        reader.visit(item)
    return dict(reversed(reader.loads))  # what is converted twice is visited from outside


def parts_of_parameter(body: ir.Compound, name: str) -> PartsRead | None:
    """Returns what a function reads of what it takes by value; None where that is not known."""
    nodes = list(body.walk())
    if any(isinstance(n, _UNREAD) or (isinstance(n, ir.Decl) and n.name == name) for n in nodes):
        return None
    held = Held(writes=[Place(name)])
    reader = _Reader({name: held})
    for item in body.block_items:
        reader.visit(item)
    return PartsRead(Place(name), held, is_declared=True) if held.reads else None


def _may_be_loaded(item: ir.Node) -> bool:
    """Returns whether a statement is, or may hold, a load of a variable."""
    return not isinstance(item, ir.Decl) or isinstance(item.init, ir.Expression)


@dataclass(slots=True, eq=False)
class _Reader:
    """Reads statements for what is done with some variables.

    Attributes:
        values: what they hold.
        own: variables that are declared once.
        loads: what is read of each load.
        referred: variables whose address is taken.
    """

    values: dict[str, Held]
    own: set[str] = field(default_factory=set)
    loads: list[tuple[ir.Node, PartsRead]] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)
    _left: _Way = ()
    _way: _Way = ()
    _aliases: dict[str, Place] = field(default_factory=dict)
    _counters: tuple[Counter, ...] = ()

    def visit(self, node: ir.Node) -> None:
        """Takes a statement or an expression."""
        if self._is_taken(node):
            return
        match node:
            case ir.Return() | ir.Break() | ir.Continue() | ir.Goto():
                self._left = (*self._left[-1:], (node, node))
            case ir.FuncCall(args=args):
                self._refer(args)
            case ir.Decl(type=ir.PtrDecl(), init=ir.Expression() as init):
                self._bind(init)
            case ir.Lambda():
                named = {each.name for each in node.walk() if isinstance(each, ir.ID)}
                for name in named & self.values.keys():
                    self._refer_to(name)
            case ir.UnaryOp(op="&", expr=expr) if (place := self._place(expr)) is not None:
                self._refer_to(place.name)
            case ir.Cast() | ir.BinaryOp():
                self._convert(node)
        before = self._way
        for child in node.children():
            if isinstance(node, _CONDITIONAL) and child is not getattr(node, "cond", None):
                self._way = (*before, (node, child))
            if isinstance(node, ir.Expression | ir.Decl):
                self._visit_value(child)
            else:
                self.visit(child)
        self._way = before

    def _is_taken(self, node: ir.Node) -> bool:
        """Takes a read, a write or a loop with a counter; returns whether it was one."""
        match node:
            case ir.Assignment(op="=", lvalue=lvalue, rvalue=value):
                place = self._place(lvalue)
                if place is not None:
                    self._write(place, value)
                    self._visit_indices(lvalue)
                return place is not None
            case ir.Decl(name=name, init=ir.Expression() as init) if name in self.values:
                self._write(Place(name), init, is_declared=True)
                return True
            case ir.Decl(name=name, type=ir.PtrDecl() as kind, init=ir.Expression() as init):
                return name in self.own and self._name(node, kind, init)
            case ir.For() if (counter := counter_of(node)) is not None:
                before = self._counters, self._way
                self._counters = (*self._counters, counter)
                self._way = (*self._way, (counter, node.stmt))
                self.visit(node.stmt)
                self._counters, self._way = before
                return True
            case ir.Expression() if (place := self._place(node)) is not None:
                self._read(place)
                self._visit_indices(node)
                return True
            case ir.StructRef(name=whole):  # the member is no variable
                self._visit_value(whole)
                return True
        return False

    def _convert(self, node: ir.Node) -> None:
        """Takes a number that is converted where it is loaded."""
        steps: list[Step] = []
        while (number := converted(node)) is not None:
            node, step = number
            steps.insert(0, step)
        if steps and isinstance(node, _LOADS):
            read = Held(reads={Place("", tuple(steps)): {()}})
            self.loads.append((node, PartsRead(Place(""), read, is_declared=True)))

    def _refer(self, values: Sequence[ir.Node | None]) -> None:
        """Takes what a reference may be bound to, through which neighbours may be read."""
        for value in values:
            if isinstance(value, ir.ArrayRef | ir.UnaryOp):
                self._bind(value)

    def _refer_to(self, name: str) -> None:
        self.referred.add(name)
        self._read(Place(name))

    def _visit_value(self, node: ir.Node) -> None:
        """Takes an expression whose value is read, which an assignment may be, too."""
        if isinstance(node, ir.Assignment):
            place = self._place(node.lvalue)
            if place is not None:
                self._read(place)
        self.visit(node)

    def _read(self, place: Place) -> None:
        ways = self.values[place.name].reads.setdefault(place.pruned(), set())
        ways.add((*self._left, *self._way))

    def _write(self, place: Place, value: ir.Node, *, is_declared: bool = False) -> None:
        held = self.values[place.name]
        is_load = isinstance(value, _LOADS) or (is_declared and isinstance(value, ir.FuncCall))
        if is_load or not is_declared:
            held.writes.append(place.pruned())
        if is_load:
            way = (*self._left, *self._way)
            self.loads.append((value, PartsRead(place.pruned(), held, way, is_declared)))
        self._make(value, place, held)

    def _make(self, value: ir.Node, place: Place, held: Held, *, is_same: bool = True) -> None:
        """Takes what a place is made of."""
        source = self._place(value)
        if source is not None:
            is_same &= not any(step.is_number and step.ctype is not None for step in source.steps)
            if is_same and not place.steps and held.ctype is not None:
                source = source.then(Step(ctype=held.ctype, is_number=True))
            self.values[source.name].copies.append((source, place, held, is_same))
            self._visit_indices(value)
            return
        match value:
            case ir.Cast() | ir.BinaryOp() | ir.InitList() | ir.UnaryOp(op="-" | "~" | "!"):
                parts: Sequence[ir.Node] = value.children()
            case ir.FuncCall(name=ir.ID(name=name), args=args) if _CONVERSION.fullmatch(name):
                parts = args
            case _:
                self._visit_value(value)
                return
        for part in parts:
            self._make(part, place, held, is_same=False)

    def _bind(self, value: ir.Node) -> None:
        """Takes what a reference is bound to: all of a variable but for an array in it."""
        place = self._place(value)
        if place is None:
            return
        last = place.steps[-1].ctype if place.steps else None
        if isinstance(last, ir.ArrayDecl):
            self.referred.add(place.name)
            self.values[place.name].writes.append(place)
            self._read(place)
        else:
            self._refer_to(place.name)

    def _name(self, node: ir.Decl, kind: ir.PtrDecl, init: ir.Node) -> bool:
        """Takes a pointer that is initialized with the address of a variable."""
        if not {"&", "&&", "volatile"}.isdisjoint(kind.quals):
            return False
        pointed = self._pointed(init)
        if pointed is None and isinstance(init, ir.ID | ir.UnaryOp | ir.BinaryOp):
            start = self._start(init)
            pointed = start.then(Step(ctype=kind.type)) if start is not None else None
        if pointed is None:
            return False
        self._aliases[node.name] = pointed
        self.referred.add(pointed.name)
        return True

    def _visit_indices(self, node: ir.Node) -> None:
        match node:
            case ir.ArrayRef(name=inner, subscript=index):
                self.visit(index)
                self._visit_indices(inner)
            case ir.BinaryOp(left=inner, right=index):
                self.visit(index)
                self._visit_indices(inner)
            case ir.UnaryOp(expr=inner) | ir.Cast(expr=inner) | ir.StructRef(name=inner):
                self._visit_indices(inner)

    def _place(self, node: ir.Node) -> Place | None:
        """Returns the bytes of a variable that an expression names."""
        match node:
            case ir.ID(name=name) if name in self.values:
                return Place(name, counters=self._counters)
            case ir.ID(name=name) if name in self._aliases:
                return Place(self._aliases[name].name)  # its address is taken: all
            case ir.StructRef(type=".", name=whole, field=ir.ID(name=name)):
                place = self._place(whole)
                return place.then(Step(name)) if place is not None else None
            case ir.StructRef(type="->", name=pointer, field=ir.ID(name=name)):
                place = self._pointed(pointer)
                return place.then(Step(name)) if place is not None else None
            case ir.UnaryOp(op="*", expr=pointer):
                return self._pointed(pointer)
            case ir.ArrayRef(name=whole, subscript=subscript):
                index = index_of(subscript)
                pointed = self._pointed(whole)
                if pointed is not None:
                    last = pointed.steps[-1]
                    if last.ctype is None or last.index != 0:
                        return Place(pointed.name)
                    moved = Step(index=index, ctype=last.ctype)
                    return Place(pointed.name, (*pointed.steps[:-1], moved), self._counters)
                place = self._place(whole)
                return place.then(Step(index=index)) if place is not None else None
        number = converted(node)
        place = self._place(number[0]) if number is not None else None
        return place.then(number[1]) if number is not None and place is not None else None

    def _pointed(self, node: ir.Node) -> Place | None:
        """Returns the bytes that a pointer points to, which a cast made."""
        match node:
            case ir.ID(name=name) if name in self._aliases:
                return self._aliases[name]
            case ir.Cast(to_type=ir.Typename(type=ir.PtrDecl(type=target)), expr=expr):
                place = self._start(expr)
                return place.then(Step(ctype=target)) if place is not None else None
        return None

    def _start(self, node: ir.Node) -> Place | None:
        """Returns the bytes whose address an expression is, which is cast."""
        match node:
            case ir.UnaryOp(op="&", expr=expr):
                return self._place(expr)
            case ir.BinaryOp(op="+", left=array, right=index):
                place = self._place(array)
                return place.then(Step(index=index_of(index))) if place is not None else None
            case ir.ID() | ir.StructRef() | ir.ArrayRef():
                return self._place(node)
        return None
