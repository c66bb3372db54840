"""Types and what they declare: a declarator wraps the type that it changes."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from smemlint.frontend.ir.node import Expression, Node, Statement, Type
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class IdentifierType(Type):
    """The words of a type: `("unsigned", "int")`, `("float4",)`, `("A<int>::T",)`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UnparsedType(Type):
    """A type that could not be parsed."""


@dataclass(frozen=True, slots=True, eq=False)
class TypeDecl(Type):
    """The innermost declarator: a type with its qualifiers."""

    type: Type
    quals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PtrDecl(Type):
    """A pointer; with `&` or `&&` among the qualifiers a reference."""

    type: Type
    quals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ArrayDecl(Type):
    """An array; `dim` is None where the extent is left open."""

    type: Type
    dim: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class FuncDecl(Type):
    """A function that returns `type`; a variadic one takes more operands than it names."""

    params: tuple[Decl, ...]
    type: Type
    is_variadic: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Typename(Type):
    """A type-id: a type without a declared name."""

    type: Type
    quals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Struct(Type):
    """`struct name { decls }`; None for one that is only mentioned.

    Attributes:
        align: what `alignas` and its like demand of the whole.
        pack: bytes that `#pragma pack` aligns members to at most; 0 without one.
        is_packed: members are not aligned but for what they ask for themselves.
        is_virtual: it declares virtual methods.
    """

    name: str | None
    decls: tuple[Declaration, ...] | None
    align: tuple[Expression | Typename, ...] = field(default=(), metadata={"is_child": False})
    pack: int = 0
    is_packed: bool = False
    is_virtual: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Union(Type):
    """`union name { decls }`; None for one that is only mentioned.

    Attributes:
        align, pack, is_packed: as those of a struct.
    """

    name: str | None
    decls: tuple[Declaration, ...] | None
    align: tuple[Expression | Typename, ...] = field(default=(), metadata={"is_child": False})
    pack: int = 0
    is_packed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Enumerator(Node):
    """`name = value` of an enum."""

    name: str
    value: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Enum(Type):
    """`enum name : underlying { .. }`; None for one that is only mentioned.

    Attributes:
        underlying: the type that is written; None where it is not.
    """

    name: str | None
    enumerators: tuple[Enumerator, ...] | None
    underlying: Typename | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Decl(Statement):
    """A variable, parameter, member or function.

    Attributes:
        name: empty for an unnamed parameter and for a record that is only defined.
        storage: `extern`, `static`, `constexpr`, `__shared__`, ...
        quals: of the outermost type: `const`, `volatile`.
        align: what `alignas` and `__align__` demand.
        bitsize: width of a bit-field.
    """

    name: str
    type: Type
    init: Expression | None = None
    bitsize: Expression | None = None
    quals: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    align: tuple[Expression | Typename, ...] = field(default=(), metadata={"is_child": False})


@dataclass(frozen=True, slots=True, eq=False)
class DeclList(Statement):
    """Declarations that share their specifiers, in the head of a `for`."""

    decls: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Typedef(Statement):
    """`using name = type`."""

    name: str
    type: Type


Declaration: TypeAlias = Decl | DeclList | Typedef
"""What introduces names."""
