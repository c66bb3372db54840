"""Expressions, of Python those that C does not have, too."""

from __future__ import annotations

from smemlint.frontend.ir.node import Expression, Node
from smemlint.frontend.ir.types import Typename
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ID(Expression):
    """A name: an identifier, a qualified name `a::b` or a template-id `f<64>`, as spelled."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Unparsed(Expression):
    """An expression that could not be parsed; a notice of the function says where and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expression):
    """A literal; `type` is `int`, `double`, `char` or `string` with its prefixes."""

    type: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRef(Expression):
    """`name[subscript]`."""

    name: Expression
    subscript: Expression


@dataclass(frozen=True, slots=True, eq=False)
class StructRef(Expression):
    """`name.field` or `name->field`; `type` is the operator."""

    name: Expression
    type: str
    field: ID


@dataclass(frozen=True, slots=True, eq=False)
class ExprList(Expression):
    """Expressions joined by the comma operator."""

    exprs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FuncCall(Expression):
    """`name(args)`."""

    name: Expression
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UnaryOp(Expression):
    """An operator with one operand; `p++` and `p--` are the postfix ones, `sizeof` takes a type."""

    op: str
    expr: Expression | Typename


STEPS = frozenset(("++", "--", "p++", "p--"))
"""Operators that change their operand by one."""


@dataclass(frozen=True, slots=True, eq=False)
class BinaryOp(Expression):
    """`left op right`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class TernaryOp(Expression):
    """`cond ? iftrue : iffalse`."""

    cond: Expression
    iftrue: Expression
    iffalse: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assignment(Expression):
    """`lvalue op rvalue`; `op` is `=`, `+=` or its like."""

    op: str
    lvalue: Expression
    rvalue: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expression):
    """`(to_type)expr`."""

    to_type: Typename
    expr: Expression


@dataclass(frozen=True, slots=True, eq=False)
class InitList(Expression):
    """`{a, b}` as the initializer of a declaration."""

    exprs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NamedInitializer(Expression):
    """`.name[0] = expr` in a list of initializers."""

    name: tuple[Node, ...]
    expr: Expression


def names_place(node: Node) -> bool:
    """Returns whether the value of an expression is read from the place that it names."""
    if isinstance(node, UnaryOp):
        return node.op == "*"
    return isinstance(node, ID | ArrayRef | StructRef)


def called_name(callee: Node) -> str:
    """Returns the last component of the name that a call spells; empty where it spells none."""
    if isinstance(callee, StructRef):
        callee = callee.field
    name = getattr(callee, "name", "")
    if not isinstance(name, str):
        return ""
    end = len(name)
    if name.endswith(">") and "<" in name:  # `f<C>` of `A<B>::f<C>`
        end, depth = end - 1, 1
        while depth and end:
            end -= 1
            depth += (name[end] == ">") - (name[end] == "<")
    return name[:end].rpartition("::")[2].strip()


@dataclass(frozen=True, slots=True, eq=False)
class FloorDivision(Expression):
    """`left // right`, rounded down."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class FloorModulo(Expression):
    """`left % right`, with the sign of `right`."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class WrappedIndex(Expression):
    """An index into `extent` elements, from the end where it is negative.

    Attributes:
        extent: how many elements there are; None of what a caller passes.
        is_counted: a loop around it changes a name in it.
    """

    index: Expression
    extent: Expression | None
    is_counted: bool


@dataclass(frozen=True, slots=True, eq=False)
class Extent(Expression):
    """An extent or stride that an array brings along: one number for all threads."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Expression):
    """An expression that is not lowered; its operands are evaluated, its value is not."""

    text: str
    args: tuple[Expression, ...]
