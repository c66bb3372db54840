"""Values of the interpreter: Python constants, and what is known of everything else."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field
from types import EllipsisType
from typing import TypeAlias, TypeGuard

from smemlint.layout.register_layouts import RegisterLayout
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_BASES
from smemlint.limits.errors import TooLarge
from smemlint.limits.sizes import nested, require_tree
from smemlint.reasons import Reason, ReasonCode

Constant: TypeAlias = "bool | int | float | complex | str | bytes | range | EllipsisType | None"
"""Immutable values of Python, which stand for themselves."""
Key: TypeAlias = "int | str | DType | Symbol | tuple[int | str | DType | Symbol, ...]"
"""Keys of dictionaries that are followed."""
Value: TypeAlias = (
    "Constant | list[Value] | tuple[Value, ...] | dict[Key, Value] | Unknown | Symbol | DType"
    " | Function | Method | Class | Instance | BoundMethod | Super | RegisterLayout | ModelValue"
)
"""What an expression evaluates to: a Python value, or one of the classes of this module."""
Scope: TypeAlias = "dict[str, Value]"
Scopes: TypeAlias = "tuple[Scope, ...]"
"""The scopes that a statement sees, the innermost last."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The top element: any value, with the reason where users read one.

    Attributes:
        is_uniform: it is the same for all threads, as what the host computes is.
    """

    reason: Reason | None = None
    is_uniform: bool = False

    @staticmethod
    def because(code: ReasonCode, text: str) -> Unknown:
        """Returns an unknown value with its reason."""
        return Unknown(Reason(code, text))


UNKNOWN = Unknown()
SEVERAL = Unknown.because(ReasonCode.UNKNOWN_CONDITION, "it is one of several values")
REST = Unknown.because(ReasonCode.UNKNOWN_VALUE, "how many arguments there are is not known")
"""Ends the positional arguments of a call behind an unpacked sequence that is not known."""
REST_OF_NAMES = "**"
"""Stands among the named arguments of a call for an unpacked table that is not known."""


class ModelValue:
    """Base of the values that the model of a library defines, e.g. a tile of registers."""

    __slots__ = ()

    def join(self, other: ModelValue) -> Value:
        """Returns the least value that covers this one and another one of the same class."""
        return self if self == other else UNKNOWN


@dataclass(frozen=True, slots=True)
class Symbol:
    """An imported or builtin name, with the dotted path of its module."""

    path: str

    @property
    def name(self) -> str:
        """Returns the last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type, e.g. `float16` of 16 bits."""

    name: str
    bits: int


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the file, with the scopes that it sees.

    Attributes:
        scopes: those around it.
        is_kernel: a decorator compiles it for the GPU.
        owner: the class that binds it, if any.
    """

    node: ast.FunctionDef
    scopes: Scopes
    is_kernel: bool
    owner: Class | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """An attribute of a value that is about to be called, e.g. `tile.load`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A class of the file.

    Attributes:
        members: what its body binds.
        bases: those of its bases that are known.
        libraries: the others of which a library is known to define them.
        linearization: the class and its bases in the order in which names are looked up.
    """

    node: ast.ClassDef
    members: Scope
    bases: tuple[Class, ...] = ()
    libraries: tuple[Symbol, ...] = ()
    linearization: list[Class] = field(default_factory=list)

    def __post_init__(self) -> None:
        orders = [base.linearization for base in self.bases[:MAX_BASES]]
        merged = _merged([*orders, self.bases[:MAX_BASES]])
        self.linearization.extend([self, *merged][:MAX_BASES])

    def member(self, name: str) -> Value:
        """Returns what the class or the nearest base binds to a name."""
        return next((c.members[name] for c in self.linearization if name in c.members), UNKNOWN)


def _merged(orders: Sequence[Sequence[Class]]) -> list[Class]:
    """Returns the classes of several orders, each behind what precedes it in any of them (C3)."""
    found: list[Class] = []
    while orders := [order for order in orders if order]:
        firsts = [order[0] for order in orders]
        followers = {c for order in orders for c in order[1:]}
        found.append(next((c for c in firsts if c not in followers), firsts[0]))
        orders = [[c for c in order if c is not found[-1]] for order in orders]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a class of the file.

    Attributes:
        attributes: the values of those that were assigned.
        unordered: attributes that several methods assign, while nobody knows the order of calls.
        open_paths: how many branches and loops on unknown conditions were around its creation.
    """

    type: Class
    attributes: Scope = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    open_paths: int = 0

    def assign(self, name: str, value: Value) -> None:
        """Gives an attribute its value, unless the order of assignments is not known."""
        if name not in self.unordered:
            self.attributes[name] = value

    def attribute(self, name: str) -> Value:
        """Returns what the object or its class binds to a name."""
        if name in self.unordered:
            return UNKNOWN
        return self.attributes[name] if name in self.attributes else self.type.member(name)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMethod:
    """A function of a class with the object or class that it is called on."""

    function: Function
    owner: Instance | Class


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """`super()` inside a method: names are looked up behind the method's class."""

    owner: Instance | Class
    behind: Class

    def attribute(self, name: str) -> Value:
        """Returns what the nearest class binds to a name that follows in the object's order."""
        made = self.owner.type if isinstance(self.owner, Instance) else self.owner
        order = made.linearization if self.behind in made.linearization else [self.behind]
        further = order[order.index(self.behind) + 1 :]
        return next((c.members[name] for c in further if name in c.members), UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A call of a kernel with a grid.

    Attributes:
        arguments: the values of its parameters that the call gives.
        options: keyword arguments that are no parameters, e.g. `num_warps`.
    """

    function: Function
    arguments: Scope
    options: Scope = field(default_factory=dict)
    line: int = 0


def join(one: Value, other: Value) -> Value:
    """Returns the least value that covers both: the value itself, `SEVERAL` or an `Unknown`."""
    if one is other:
        return one
    if type(one) is type(other):
        if isinstance(one, ModelValue) and isinstance(other, ModelValue):
            return one.join(other)
        if _equals(one, other):
            return one
    return SEVERAL if all(v is SEVERAL or is_known(v) for v in (one, other)) else UNKNOWN


def _equals(one: Value, other: Value) -> bool:
    """Returns whether two values are equal; those that are too large to compare are not."""
    try:
        require_tree((one, other))
    except TooLarge:
        return False
    return one == other


def is_key(value: Value) -> TypeGuard[Key]:
    """Returns whether a value is a key of dictionaries that are followed."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, int | str | DType | Symbol) for part in parts)


def is_known(value: Value) -> bool:
    """Returns whether the value is a constant, items of items included; too large ones are not."""
    if not isinstance(value, tuple | list | dict):
        return value is None or isinstance(value, int | float | str | bytes | range | DType)
    try:
        return all(isinstance(v, tuple | list | dict) or is_known(v) for v in nested((value,)))
    except TooLarge:
        return False
