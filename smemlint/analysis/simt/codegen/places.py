"""Places: bytes of variables, as the text of a statement names them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from smemlint.analysis.simt.codegen.unroll import stays_a_loop
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass

Index: TypeAlias = "int | str | tuple[str, Index, Index]"
"""A number, a name, or an operator and its operands."""


_BITS_OF_DOUBLE = {
    "__double2loint": (("int",), 0),
    "__double2hiint": (("int",), 1),
    "__double_as_longlong": (("long", "long"), 0),
    "__longlong_as_double": (("double",), 0),
}
"""Functions that give bits of what they take: as which type, and which of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """From a place to a part of it, or to the same bytes as another type.

    Attributes:
        member: its name; empty for an element.
        index: of an element of an array, or behind a place as another type; None if open.
        ctype: that type; None for a part.
        is_number: it is a conversion to the number of that type, or a shift.
        shift: the bytes that a number is shifted by to the right.
    """

    member: str = ""
    index: Index | None = 0
    ctype: ir.Node | None = None
    is_number: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Counter:
    """A variable that a loop counts with, which the compiler unrolls if the numbers are constants.

    Attributes:
        name: of the variable.
        first, end, step: from where to in front of where, and by how much.
    """

    name: str
    first: Index
    end: Index
    step: Index


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a variable.

    Attributes:
        steps: to the bytes.
        counters: of the loops around, outermost first.
    """

    name: str
    steps: tuple[Step, ...] = ()
    counters: tuple[Counter, ...] = ()

    def then(self, step: Step) -> Place:
        """Returns a part of the place."""
        return Place(self.name, (*self.steps, step), self.counters)

    def constants(self) -> set[str]:
        """Returns the names that its bytes are computed of beside those that loops count with."""
        indexes = [step.index for step in self.steps]
        indexes += (index for c in self.counters for index in (c.first, c.end, c.step))
        counted = {counter.name for counter in self.counters}
        return {name for index in indexes for name in _names(index)} - counted

    def pruned(self) -> Place:
        """Returns the place with those counters that it is computed of."""
        names = {name for step in self.steps for name in _names(step.index)}
        kept: list[Counter] = []
        for counter in reversed(self.counters):
            if counter.name in names:
                kept.insert(0, counter)
                names.update(_names((",", counter.first, (",", counter.end, counter.step))))
        return Place(self.name, self.steps, tuple(kept))


def _names(index: Index | None) -> Iterator[str]:
    """Yields the names in an index."""
    if isinstance(index, str):
        yield index
    elif isinstance(index, tuple):
        yield from chain(_names(index[1]), _names(index[2]))


def converted(node: ir.Node) -> tuple[ir.Node, Step] | None:
    """Returns the number that one is converted or shifted from, and the step to it."""
    match node:
        case ir.Cast(to_type=ir.Typename(type=ir.TypeDecl() as ctype), expr=expr):
            return expr, Step(ctype=ctype, is_number=True)
        case ir.BinaryOp(op=">>", left=left, right=ir.Constant(value=bits)) if bits.isdecimal():
            return left, Step(is_number=True, shift=int(bits[:3]) // 8)
        case ir.BinaryOp(op="&", left=left, right=ir.Constant()):
            return left, Step(is_number=True)
        case ir.FuncCall(name=ir.ID(name=name), args=(arg,)) if name in _BITS_OF_DOUBLE:
            words, index = _BITS_OF_DOUBLE[name]
            return arg, Step(index=index, ctype=ir.TypeDecl(ir.IdentifierType(words)))
    return None


def index_of(node: ir.Node) -> Index | None:
    """Returns an index in numbers and names; None for what is made of others."""
    match node:
        case ir.Constant(value=value) if value.isdecimal() and len(value) < 6:
            return int(value)
        case ir.ID(name=name):
            return name
        case ir.BinaryOp(op="+" | "-" | "*" | "/" as op, left=left, right=right):
            first, second = index_of(left), index_of(right)
            return None if first is None or second is None else (op, first, second)
    return None


def counter_of(node: ir.For) -> Counter | None:
    """Returns what a loop counts with that names its bounds and changes it nowhere else."""
    match node:
        case ir.For(
            init=ir.DeclList(decls=(ir.Decl(name=name, init=ir.Expression() as init),)),
            cond=ir.BinaryOp(op="<" | "<=" as op, left=ir.ID(name=left), right=right),
            next=ir.UnaryOp(op="++" | "p++", expr=ir.ID(name=stepped))
            | ir.Assignment(op="+=", lvalue=ir.ID(name=stepped)),
        ) if name == left == stepped and not stays_a_loop(node.pragma):
            by = index_of(node.next.rvalue) if isinstance(node.next, ir.Assignment) else 1
            first, end = index_of(init), index_of(right)
            if first is None or end is None or by is None:
                return None
            if any(_gives(each, name) for each in node.stmt.walk()):
                return None
            return Counter(name, first, ("+", end, 1) if op == "<=" else end, by)
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
