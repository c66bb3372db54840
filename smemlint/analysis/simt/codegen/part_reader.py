"""Reads statements for what is done with variables, and with what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from smemlint.analysis.simt.codegen.held_parts import Copy, Held, PartsRead, Way, is_number
from smemlint.analysis.simt.codegen.loaded_values import PURE
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

_CONDITIONAL = (ir.If, ir.Switch, ir.TernaryOp, ir.For, ir.While, ir.RangeFor)
_VECTOR = re.compile(r"make_\w+[234]")
_Operators: TypeAlias = "tuple[tuple[str, int], ...]"
_Made: TypeAlias = "tuple[Place, Held]"
"""What is made of others."""
THIS = "*this"
_UNKNOWN = ("", 0)
"""Of what a value is computed in any other way than by operators of its class."""
_CONVERSION = re.compile(r"__[a-z]\w*2[a-z]\w*")  # __half2float, __float22half2_rn


@dataclass(slots=True, eq=False)
class PartReader:
    """Reads statements for what is done with some variables.

    Attributes:
        own: variables that are declared once.
        loads: what is read of each load.
        referred: variables whose address is taken.
        given: variables that have a value that is no sum with what they held, or may have.
        passed: variables that a function was given, by reference perhaps.
        sums: variables, and what is loaded to be added to them.
        result: of a function; None where it is read.
        members: of the object that a method is called for.
    """

    values: dict[str, Held]
    own: set[str] = field(default_factory=set)
    loads: list[tuple[ir.Node, PartsRead]] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    sums: list[tuple[str, ir.Node]] = field(default_factory=list)
    result: Held | None = None
    members: frozenset[str] = frozenset()
    _left: Way = ()
    _way: Way = ()
    _aliases: dict[str, Place] = field(default_factory=dict)
    _counters: tuple[Counter, ...] = ()

    @property
    def _path(self) -> Way:
        return (*self._left, *self._way)

    def is_number(self, name: str) -> bool:
        """Returns whether a variable is one of numbers."""
        return is_number(self.values[name].ctype)

    def visit(self, node: ir.Node) -> None:
        """Takes a statement, or an expression."""
        match node:
            case ir.Return(expr=ir.Expression() as value) if self.result is not None:
                self._make(value, (Place(""), self.result))
                return
            case ir.Return() | ir.Break() | ir.Continue() | ir.Goto():
                self._left = (*self._left[-1:], (node, node))
            case ir.Decl(name=name, init=ir.Expression() as init) if name in self.values:
                self.write(Place(name), init, self.values[name], is_declared=True)
                return
            case ir.Decl(name=name, type=ir.PtrDecl() as kind, init=ir.Expression() as init):
                if name in self.own and self._name(node, kind, init):
                    return
                self.given.update(names_in(init))
                self._bind(init)
            case ir.Expression():
                if not self._is_change(node):
                    self._make(node)
                return
        counter = counter_of(node) if isinstance(node, ir.For) else None
        before = self._way, self._counters
        for child in node.children():
            if isinstance(node, ir.Compound) and is_void(child):
                continue
            if counter is not None and child is node.children()[-1]:
                self._counters = (*self._counters, counter)
                self._way = (*before[0], (counter, child))
            elif isinstance(node, _CONDITIONAL) and child is not getattr(node, "cond", None):
                self._way = (*before[0], (node, child))
            if isinstance(node, ir.Decl):
                self._make(child)
            else:
                self.visit(child)
        self._way, self._counters = before

    def _is_change(self, node: ir.Expression) -> bool:
        """Takes what gives a place a value; returns whether it does."""
        match node:
            case ir.Assignment(lvalue=changed) | ir.UnaryOp(expr=changed) if (
                isinstance(node, ir.Assignment) or node.op in ir.STEPS
            ):
                place = self._place(changed)
                if place is None:
                    return False
                held = self.values[place.name]
                if isinstance(node, ir.UnaryOp):
                    self.given.add(place.name)
                elif node.op != "=" or added_by(node) is not None:
                    self._change(place, node, held)
                else:
                    self.write(place, node.rvalue, held)
                self._make_indices(changed)
                return True
        return False

    def _refer_to(self, name: str) -> None:
        self.referred.add(name)
        self._read(Place(name))

    def _read(self, place: Place) -> None:
        ways = self.values[place.name].reads.setdefault(place.pruned(), set())
        ways.add(self._path)

    def write(self, place: Place, value: ir.Node, held: Held, *, is_declared: bool = False) -> None:
        """Takes what is given to a place of a variable."""
        self.given.add(place.name)
        is_load = _is_load(value) or (is_declared and isinstance(value, ir.FuncCall))
        if is_load or not is_declared:
            held.writes.append(place.pruned())
        if is_load:
            self.loads.append((value, PartsRead(place.pruned(), held, self._path, is_declared)))
        self._make(value, (place, held))

    def _change(self, place: Place, node: ir.Assignment, held: Held) -> None:
        """Takes what changes a place by what it held."""
        first, into = len(self.loads), (place, held)
        if node.op == "=":
            self._make(node.rvalue, into, is_same=False)
        else:
            self._make(node.rvalue, into, ((node.op, 1),), is_same=False)
            self._copy(place, into, ((node.op, 0),), is_same=False)
        if added_by(node) is None or place.steps or place.name in self.passed:
            self.given.add(place.name)
        self.sums += ((place.name, load) for load, _ in self.loads[first:])

    def _copy(self, source: Place, into: _Made, operators: _Operators, *, is_same: bool) -> None:
        place, held = into
        is_same &= not any(step.is_number and step.ctype is not None for step in source.steps)
        if is_same and not place.steps and held.ctype is not None:
            source = source.then(Step(ctype=held.ctype, is_number=True))
        copy = Copy(source, place, held, is_same, self._path, operators)
        self.values[source.name].copies.append(copy)

    def _make(
        self,
        value: ir.Node,
        into: _Made | None = None,
        operators: _Operators = (),
        *,
        is_same: bool = True,
    ) -> None:
        """Takes what a place is made of; what is read, where there is none."""
        source = self._place(value)
        if source is not None:
            if into is None:
                self._read(source)
            else:
                self._copy(source, into, operators, is_same=is_same)
            self._make_indices(value, into)
            return
        number, steps = _unconverted(value)
        member = _member_of_value(number)
        part = member if member is not None else Place("", steps)
        loaded = Held()
        if into is None:
            loaded.reads[part] = {self._path}
        else:
            is_same &= part.steps == ()
            loaded.copies.append(Copy(part, *into, is_same, self._path, operators))
        if member is not None:
            number, into, operators = number.children()[0], (Place(""), loaded), ()
        elif _is_load(number):
            self.loads.append((number, PartsRead(Place(""), loaded, is_declared=True)))
        computed = (*operators, _UNKNOWN)
        match number:
            case _ if (parts := _members(number)) is not None:
                for i, each in enumerate(parts):
                    to = into and (into[0] if operators else into[0].then(Step(index=i)), into[1])
                    self._make(each, to, computed, is_same=False)
            case ir.BinaryOp(op=op, left=left, right=right):
                self._make(left, into, (*operators, (op, 0)), is_same=False)
                self._make(right, into, (*operators, (op, 1)), is_same=False)
            case ir.TernaryOp(cond=cond, iftrue=one, iffalse=other):
                self._make(cond, into, computed, is_same=False)
                before = self._way
                for way in (one, other):
                    self._way = (*before, (number, way))
                    self._make(way, into, operators, is_same=is_same)
                self._way = before
            case ir.StructRef(name=whole):  # the member is no variable
                self._make(whole, into, computed, is_same=False)
            case ir.FuncCall() if not is_pure(number):
                self._take(number)
            case ir.ArrayRef() | ir.Cast() | ir.FuncCall() | ir.UnaryOp(op="*" | "-" | "~" | "!"):
                for each in number.children():
                    self._make(each, into, computed, is_same=False)
            case _:
                self._take(number)

    def _take(self, node: ir.Node) -> None:
        """Takes an expression that does more than compute a value of others."""
        match node:
            case ir.FuncCall(args=args):
                self.passed.update(names_in(*args))
                for value in args:  # a reference may be bound to it
                    if isinstance(value, ir.ArrayRef | ir.UnaryOp):
                        self._bind(value)
            case ir.Lambda():
                for name in self.values.keys() & set(names_in(node)):
                    self._refer_to(name)
            case ir.UnaryOp(op="&", expr=expr) if (place := self._place(expr)) is not None:
                self._refer_to(place.name)
            case ir.Assembly(outputs=outputs):
                self.given.update(names_in(*outputs))
            case ir.Assignment(lvalue=changed) | ir.UnaryOp(expr=changed):
                if self._is_change(node):
                    self._make(changed)
                    return
                self.given.update(names_in(changed))
        for child in node.children():
            if isinstance(child, ir.Expression):
                self._make(child)
            else:
                self.visit(child)

    def _make_indices(self, node: ir.Node, into: _Made | None = None) -> None:
        """Takes what a part of a variable is found by, of which another one is made, or read."""
        match node:
            case ir.ArrayRef(name=inner, subscript=index) | ir.BinaryOp(left=inner, right=index):
                self._make(index, into, (_UNKNOWN,), is_same=False)
                self._make_indices(inner, into)
            case ir.UnaryOp(expr=inner) | ir.Cast(expr=inner) | ir.StructRef(name=inner):
                self._make_indices(inner, into)

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

    def _place(self, node: ir.Node) -> Place | None:
        """Returns the bytes of a variable that an expression names."""
        match node:
            case ir.ID(name=name) if name in self.values:
                return Place(name, counters=self._counters)
            case ir.ID(name=name) if name in self._aliases:
                return Place(self._aliases[name].name)  # its address is taken: all
            case ir.ID(name=name) if name in self.members:
                return Place(THIS, (Step(name),), self._counters)
            case ir.StructRef(type="->", name=ir.ID(name="this"), field=ir.ID(name=name)) if (
                THIS in self.values
            ):
                return Place(THIS, (Step(name),), self._counters)
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


def names_in(*nodes: ir.Node) -> Iterator[str]:
    """Yields the names of variables in nodes."""
    return (each.name for node in nodes for each in node.walk() if isinstance(each, ir.ID))


def is_void(item: ir.Node) -> bool:
    """Returns whether a statement names a variable and does nothing with it."""
    return isinstance(item.expr if isinstance(item, ir.Cast) else item, ir.ID)


def added_by(node: ir.Assignment) -> ir.Node | None:
    """Returns what an assignment adds to what a variable held; None where it does not add."""
    match node:
        case ir.Assignment(op="+=" | "-=", rvalue=added):
            return added
        case ir.Assignment(
            op="=", lvalue=ir.ID(name=name), rvalue=ir.BinaryOp(op="+" | "-" as op) as value
        ):
            if isinstance(value.left, ir.ID) and value.left.name == name:
                return value.right
            if op == "+" and isinstance(value.right, ir.ID) and value.right.name == name:
                return value.left
    return None


def _members(node: ir.Node) -> Sequence[ir.Node] | None:
    """Returns what the members of an object are made of, one by one; None for what makes none."""
    match node:
        case ir.InitList(exprs=parts) | ir.BraceList(args=parts) | ir.Construct(args=parts):
            return parts
        case ir.FuncCall(name=ir.ID(name=name), args=parts) if _VECTOR.fullmatch(name):
            return parts
    return None


def is_pure(call: ir.FuncCall) -> bool:
    """Returns whether a function gives a value that is made of its operands, and does no more."""
    name = call.name.name if isinstance(call.name, ir.ID) else ""
    return name in PURE or _CONVERSION.fullmatch(name) is not None


def _member_of_value(node: ir.Node) -> Place | None:
    """Returns the member that is taken of an object that an expression computes; None for none."""
    match node:
        case ir.StructRef(name=ir.BinaryOp() | ir.FuncCall(), type=".", field=ir.ID(name=member)):
            return Place("", (Step(member),))
    return None


def _is_load(node: ir.Node) -> bool:
    """Returns whether an expression may be a load."""
    return isinstance(node, ir.ArrayRef | ir.StructRef) or (
        isinstance(node, ir.UnaryOp) and node.op == "*"
    )


def _unconverted(node: ir.Node) -> tuple[ir.Node, tuple[Step, ...]]:
    """Returns the number that one is converted from, and the steps from it."""
    steps: list[Step] = []
    while (number := converted(node)) is not None:
        node, step = number
        steps.insert(0, step)
    return node, tuple(steps)
