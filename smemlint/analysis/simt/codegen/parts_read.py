"""Vectors loaded into arrays, unions and other variables of which few bytes are read.

SASS of nvcc 13.0.88, sm_90, -O3, for a load of `float4` from shared memory:

| what it is loaded into, and read | loads |
| --- | --- |
| `union {float4 v; float f[4];} u; u.v = s[t];`, `u.f[0]` | LDS |
| `float f[4]; *(float4 *)f = s[t];`, `f[1]` | LDS |
| the same, `f[0] + f[1]`, or `for (i < 2) a += f[i]` | LDS.64 |
| the same, `f[0] + f[2]` | two LDS |
| the same, `f[0]`, and behind a condition that is not known the others | LDS.128 |
| the same, `f[n]`, `for (i < n) f[i]`, `for (i < 4) f[i]`, three elements | LDS.128 |
| `int4 v = s[t]; int *p = (int *)&v;`, `p[0]` | LDS |
| `float4 v[2]; v[0] = s[t]; v[1] = s[t + 32];`, `v[0].x + v[1].y` | an LDS each |
| `float f[8]; *(float4 *)f = s[t]; *(float4 *)(f + 4) = s[t + 32];`, `f[0] + f[5]` | an LDS each |

Reads count wherever they stand, in loops that do not run and in branches that are not taken, too.
Where a statement of the block that declares a variable assigns all of it, it is another one from
there on: of `v = s[t]; .. v = s[t + 32];` each load takes what is read up to the next. Of any other
place that is written twice it is not known who reads what, and what is read under a condition alone
may be loaded there: the first, with `if (t < 8)`, by 8 lanes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field

from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_PARTS_READ

_LOADS = (ir.ArrayRef, ir.StructRef, ir.UnaryOp)
_OPAQUE = (ir.Unparsed, ir.UnparsedType, ir.Lambda)
_CONDITIONAL = (ir.If, ir.Switch, ir.TernaryOp, ir.For, ir.While, ir.RangeFor)
_OTHERS = frozenset(("static", "extern", "__shared__", "volatile", "constexpr"))


@dataclass(frozen=True, slots=True)
class Step:
    """From a place to a part of it, or to the same bytes as another type.

    Attributes:
        member: its name; empty for an element.
        first, last: the elements of an array, or behind a place as another type; None if open.
        ctype: that type; None for a part.
    """

    member: str = ""
    first: int | None = 0
    last: int | None = 0
    ctype: ir.Node | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a variable."""

    name: str
    steps: tuple[Step, ...] = ()

    def then(self, step: Step) -> Place:
        """Returns a part of the place."""
        return Place(self.name, (*self.steps, step))


@dataclass(slots=True, eq=False)
class PartsRead:
    """What becomes of what is loaded into a place.

    Attributes:
        written: the place.
        reads: what is read of its variable, in no order.
        writes: all that is written of it.
        is_conditional: all reads stand under conditions that the load does not stand under.
    """

    written: Place
    reads: set[Place]
    writes: list[Place]
    is_conditional: bool


def parts_read(block: ir.Compound) -> dict[ir.Node, PartsRead]:
    """Returns what is read of the variables that a block declares, by what they are loaded with.

    Args:
        block: with the declarations.
    """
    declared = {d.name: d for d in block.block_items if isinstance(d, ir.Decl) and _is_kept(d)}
    if not declared or not any(map(_may_be_loaded, block.block_items)):
        return {}
    nodes = list(block.walk())
    if any(isinstance(node, _OPAQUE) for node in nodes):
        return {}
    names = [node.name for node in nodes if isinstance(node, ir.Decl)]
    reader = _Reader({name for name in declared if names.count(name) == 1})
    reader.own = {name for name in names if names.count(name) == 1}
    is_straight = not any(isinstance(i, ir.Label | ir.Case) for i in block.block_items)
    found: dict[ir.Node, PartsRead] = {}
    for item in block.block_items:
        match item:
            case ir.Assignment(op="=", lvalue=ir.ID(name=name), rvalue=value) if (
                is_straight and name in reader.values and name not in reader.referred
            ):
                reader.visit(value)  # which may be of what the variable was
                found.update(reader.values.pop(name).parts_by_load())
        reader.visit(item)
    for of_variable in reader.values.values():
        found.update(of_variable.parts_by_load())
    return found


def parts_of_parameter(body: ir.Compound, name: str) -> PartsRead | None:
    """Returns what a function reads of what it takes by value; None where that is not known."""
    nodes = list(body.walk())
    if any(isinstance(n, _OPAQUE) or (isinstance(n, ir.Decl) and n.name == name) for n in nodes):
        return None
    reader = _Reader({name})
    for item in body.block_items:
        reader.visit(item)
    reads, writes = reader.values[name].reads, [Place(name), *reader.values[name].writes]
    if not reads or len(reads) > MAX_PARTS_READ or len(writes) > MAX_PARTS_READ:
        return None
    return PartsRead(Place(name), reads, writes, is_conditional=False)


def _may_be_loaded(item: ir.Node) -> bool:
    """Returns whether a statement is, or may hold, a load of a variable."""
    return not isinstance(item, ir.Decl) or isinstance(item.init, _LOADS)


def _is_kept(node: ir.Decl) -> bool:
    """Returns whether a declaration is of an array, a class or a union of the thread's own."""
    if not node.name or not _OTHERS.isdisjoint((*node.storage, *node.quals)):
        return False
    kind = node.type
    while isinstance(kind, ir.ArrayDecl):
        kind = kind.type
    return isinstance(kind, ir.TypeDecl) and "volatile" not in kind.quals


@dataclass(slots=True, eq=False)
class _Value:
    """What is done with a variable until all of it is assigned.

    Attributes:
        reads, writes: places.
        loads: what is loaded into it, where, and on which way.
        ways: on which it is read.
    """

    reads: set[Place] = field(default_factory=set)
    writes: list[Place] = field(default_factory=list)
    loads: list[tuple[ir.Node, Place, tuple[ir.Node, ...]]] = field(default_factory=list)
    ways: set[tuple[ir.Node, ...]] = field(default_factory=set)

    def parts_by_load(self) -> Iterator[tuple[ir.Node, PartsRead]]:
        """Yields what is read of it by what loads it."""
        if max(len(self.reads), len(self.writes)) > MAX_PARTS_READ:
            return
        for load, place, way in self.loads:
            is_conditional = not any(path == way[: len(path)] for path in self.ways)
            yield load, PartsRead(place, self.reads, self.writes, is_conditional)


@dataclass(slots=True, eq=False)
class _Reader:
    """Reads statements for what is done with some variables."""

    names: set[str]
    own: set[str] = field(default_factory=set)
    values: dict[str, _Value] = field(default_factory=lambda: defaultdict(_Value))
    referred: set[str] = field(default_factory=set)
    _left: tuple[ir.Node, ...] = ()
    _way: tuple[ir.Node, ...] = ()
    _aliases: dict[str, Place] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)

    def visit(self, node: ir.Node) -> None:
        """Takes a statement or an expression."""
        match node:
            case ir.Assignment(op="=", lvalue=lvalue, rvalue=value):
                place = self._place(lvalue)
                if place is not None:
                    self._write(place, value)
                    self._visit_value(value)
                    self._visit_indices(lvalue)
                    return
            case ir.Decl() if isinstance(node.init, _LOADS) and node.name in self.names:
                self._write(Place(node.name), node.init)
            case ir.Decl(type=ir.PtrDecl() as kind, init=init) if init is not None:
                if node.name in self.own and self._name(node, kind, init):
                    return
                self._bind(init)
            case ir.Return() | ir.Break() | ir.Continue() | ir.Goto():
                self._left = (*self._left[-1:], node)
            case ir.For() if self._counter(node):
                return
            case ir.FuncCall(args=args):
                self._refer(args)
            case ir.UnaryOp(op="&", expr=expr) if (place := self._place(expr)) is not None:
                self._refer_to(place.name)
            case ir.Expression():
                place = self._place(node)
                if place is not None:
                    self._read(place)
                    self._visit_indices(node)
                    return
        before = self._way
        for child in node.children():
            if isinstance(node, _CONDITIONAL) and child is not getattr(node, "cond", None):
                self._way = (*before, child)
            if isinstance(node, ir.Expression | ir.Decl):
                self._visit_value(child)
            else:
                self.visit(child)
        self._way = before

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
        self.values[place.name].ways.add((*self._left, *self._way))
        self.values[place.name].reads.add(place)

    def _write(self, place: Place, value: ir.Node) -> None:
        self.values[place.name].writes.append(place)
        if isinstance(value, _LOADS):
            way = (*self._left, *self._way)
            self.values[place.name].loads.append((value, place, way))

    def _bind(self, value: ir.Node) -> None:
        """Takes what a reference is bound to."""
        place = self._place(value)
        if place is not None:
            self._refer_to(place.name)

    def _name(self, node: ir.Decl, kind: ir.PtrDecl, init: ir.Node) -> bool:
        """Takes a pointer that is initialized with the address of a variable."""
        if not {"&", "&&", "volatile"}.isdisjoint(kind.quals):
            return False
        pointed = self._pointed(init)
        if pointed is None and isinstance(init, ir.ID | ir.UnaryOp | ir.BinaryOp):
            start = self._start(init)
            pointed = start.then(Step("", 0, 0, kind.type)) if start is not None else None
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

    def _counter(self, node: ir.For) -> bool:
        """Takes a loop whose counter runs from 0 to a literal; False for all others."""
        match node:
            case ir.For(
                init=ir.DeclList(decls=(ir.Decl(name=name, init=ir.Constant(value="0")),)),
                cond=ir.BinaryOp(op="<", left=ir.ID(name=left), right=ir.Constant(value=most)),
                next=ir.UnaryOp(op="++" | "p++", expr=ir.ID(name=stepped)),
            ) if name == left == stepped and most.isdecimal() and len(most) < 4:
                if any(_gives(each, name) for each in node.stmt.walk()):
                    return False
                before = self._counters.get(name)
                self._counters[name] = int(most)
                self.visit(node.stmt)
                del self._counters[name]
                if before is not None:
                    self._counters[name] = before
                return True
        return False

    def _element(self, index: ir.Node) -> Step:
        match index:
            case ir.Constant(value=value) if value.isdecimal() and len(value) < 6:
                return Step("", int(value), int(value))
            case ir.ID(name=name) if name in self._counters:
                return Step("", 0, self._counters[name] - 1)
        return Step("", None, None)

    def _place(self, node: ir.Node) -> Place | None:
        """Returns the bytes of a variable that an expression names."""
        match node:
            case ir.ID(name=name) if name in self.names:
                return Place(name)
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
            case ir.ArrayRef(name=whole, subscript=index):
                step = self._element(index)
                pointed = self._pointed(whole)
                if pointed is not None:
                    last = pointed.steps[-1]
                    if last.ctype is None or last.first != 0 or last.last != 0:
                        return Place(pointed.name)
                    moved = Step("", step.first, step.last, last.ctype)
                    return Place(pointed.name, (*pointed.steps[:-1], moved))
                place = self._place(whole)
                return place.then(step) if place is not None else None
        return None

    def _pointed(self, node: ir.Node) -> Place | None:
        """Returns the bytes that a pointer points to, which a cast made."""
        match node:
            case ir.ID(name=name) if name in self._aliases:
                return self._aliases[name]
            case ir.Cast(to_type=ir.Typename(type=ir.PtrDecl(type=target)), expr=expr):
                place = self._start(expr)
                return place.then(Step("", 0, 0, target)) if place is not None else None
        return None

    def _start(self, node: ir.Node) -> Place | None:
        """Returns the bytes whose address an expression is, which is cast."""
        match node:
            case ir.UnaryOp(op="&", expr=expr):
                return self._place(expr)
            case ir.BinaryOp(op="+", left=array, right=index):
                place = self._place(array)
                return place.then(self._element(index)) if place is not None else None
            case ir.ID() | ir.StructRef() | ir.ArrayRef():
                return self._place(node)
        return None


def _gives(node: ir.Node, name: str) -> bool:
    """Returns whether an expression gives a variable another value."""
    match node:
        case ir.Assignment(lvalue=ir.ID(name=given)):
            return given == name
        case ir.UnaryOp(op="++" | "--" | "p++" | "p--" | "&", expr=ir.ID(name=given)):
            return given == name
        case ir.Decl(name=given):
            return given == name
    return False
