"""The statements of a PTX kernel as plain data."""

from __future__ import annotations

from typing import TypeAlias

from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason


@dataclass(frozen=True, slots=True)
class Name:
    """A register, a variable or a special register."""

    text: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number; of floating-point literals, their bits."""

    value: int


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`, a predicate read as its complement."""

    name: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """`p|q`, two destinations; either may be the sink `_`."""

    first: Name
    second: Name


@dataclass(frozen=True, slots=True)
class Sum:
    """`name + number` outside of an address."""

    name: Name
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ..}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or a tensor's address, whose further operands are in `rest`."""

    base: Name | Immediate
    offset: int = 0
    rest: tuple[Operand, ...] = ()


Operand: TypeAlias = Name | Immediate | Negated | Pair | Sum | Vector | Address


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a source file, of one level of inlining."""

    file: int
    line: int
    column: int
    function: str = ""


Location: TypeAlias = tuple[Frame, ...]
"""Where an instruction comes from, the innermost inlined function first; empty if not known."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction.

    Attributes:
        opcode: its parts, e.g. `("ld", "shared", "v4", "f32")`.
        operands: destinations first.
        guard: the predicate that it runs under.
        is_negated: it runs where the predicate does not hold.
        line: in the PTX text, from 1.
        call: where the first of the directives in front of it stands, if that is another place: the
            call whose inlined function it begins.
    """

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: str = ""
    is_negated: bool = False
    line: int = 0
    location: Location = ()
    call: Location = ()

    @property
    def spelling(self) -> str:
        """The opcode as the text spells it."""
        return ".".join(self.opcode)


@dataclass(frozen=True, slots=True)
class Label:
    """The target of branches."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable.

    Attributes:
        name: as declared; mangled.
        space: `shared`, `local`, `const`, `global` or `param`.
        type: of an element, e.g. `b8`.
        extents: of an array, slowest first; None where the text leaves one out.
        alignment: in bytes; 0 where not given.
        is_extern: it has no size of its own: dynamic shared memory.
        line: in the PTX text, from 1.
    """

    name: str
    space: str
    type: str
    extents: tuple[int | None, ...] = ()
    alignment: int = 0
    is_extern: bool = False
    line: int = 0
    location: Location = ()


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers that a scope declares.

    Attributes:
        type: e.g. `b32` or `pred`.
        counted: prefixes with how many registers each stands for.
    """

    type: str
    names: tuple[str, ...]
    counted: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """`.branchtargets`: where an indirect branch can go."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """`{` or `}` of a scope that declares names of its own."""

    is_open: bool


Statement: TypeAlias = Operation | Label | Variable | Registers | Targets | Scope


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Text that is no PTX.

    Attributes:
        line: in the PTX text, from 1.
    """

    line: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of one function.

    Attributes:
        unreadable: what ended the reading early; None for a whole body.
    """

    statements: tuple[Statement, ...]
    unreadable: Unreadable | None = None


def names_in(operand: Operand) -> tuple[str, ...]:
    """Returns the names that an operand holds, of registers and variables."""
    match operand:
        case Name(text):
            return (text,)
        case Negated(name) | Sum(name, _):
            return names_in(name)
        case Pair(first, second):
            return (first.text, second.text)
        case Vector(items):
            return tuple(name for item in items for name in names_in(item))
        case Address(base, _, rest):
            return tuple(name for item in (base, *rest) for name in names_in(item))
        case _:
            return ()
