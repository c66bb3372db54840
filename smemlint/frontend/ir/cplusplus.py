"""Expressions of C++ and CUDA that C does not have."""

from __future__ import annotations

from smemlint.frontend.ir.expressions import ID
from smemlint.frontend.ir.node import Expression, Node, Statement, Type
from smemlint.frontend.ir.types import Typename
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Construct(Expression):
    """`T(args)` of a known type, any `T{args}`."""

    type: Type
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MemberInit(Statement):
    """`member(args)` in front of a constructor's body."""

    member: ID
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OtherMembers(Statement):
    """The end of `: a(x), b(y)`: other members take the values that they are declared with."""

    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Launch(Expression):
    """`kernel<<<configuration>>>(args)`."""

    kernel: Expression
    configuration: tuple[Expression, ...]
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AssemblyOperand(Node):
    """`"constraint"(expr)` of an `asm` statement."""

    constraint: str
    expr: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assembly(Expression):
    """`asm("template" : outputs : inputs)`; in the template `%[name]` is the operand's number."""

    template: str
    outputs: tuple[AssemblyOperand, ...]
    inputs: tuple[AssemblyOperand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BraceList(Expression):
    """`{a, b}` in an expression: what it initializes, the context says."""

    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DirectInit(Expression):
    """`(args)` as the initializer of a declaration."""

    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BindingElement(Expression):
    """The element of `value` that a name of a structured binding stands for."""

    index: int
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class RangeElement(Expression):
    """An element of `range`, which the variable of a range-based `for` stands for."""

    range: Expression


@dataclass(frozen=True, slots=True, eq=False)
class TypeArgument(Expression):
    """A type as the argument of a call."""

    type: Typename


@dataclass(frozen=True, slots=True, eq=False)
class PackExpansion(Expression):
    """`pattern...` as the argument of a call or in a list.

    Attributes:
        index: of the element that it stands for; -1 for all of them.
    """

    pattern: Expression
    index: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Expression):
    """`(init + ... + pattern)`.

    Attributes:
        args: the initial value, if there is one, and the pattern, as they are written.
        is_left: the first elements are put together first: `(... + pattern)`.
    """

    args: tuple[Expression, ...]
    op: str = ""
    is_left: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SizeofPack(Expression):
    """`sizeof...(pack)`."""

    pack: str


@dataclass(frozen=True, slots=True, eq=False)
class Requires(Expression):
    """`requires { a; b; }`; no operands where it asks for more than valid expressions."""

    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Throw(Expression):
    """`throw e`; what is thrown is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class New(Expression):
    """`new T[n]`: memory that no rule asks about.

    Attributes:
        args: of `new (p) T(x)`, where it makes an object: the place, and `T(x)`, which is left out
            where nothing initializes it, or it is an array; of `new T(x)` the place is 0.
    """

    args: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StaticAssert(Statement):
    """`static_assert(cond)`."""

    cond: Expression | None
