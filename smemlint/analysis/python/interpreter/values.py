"""What is known of a value while Triton and Gluon sources are followed: a constant, or what it is.

Plain Python values (numbers, text, tuples, lists, dictionaries, None) stand for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import ast

    from smemlint.layout.register_layouts import RegisterLayout

Value: TypeAlias = Any
"""A plain Python value, or one of the classes below."""


class Individual:
    """What is equal to nothing but itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is not known, with the reason where there is more to say than that."""

    reason: str = ""


UNKNOWN = Unknown()
SEVERAL = Unknown("it is one of several values")
REST = Unknown("how many arguments there are is not known")
"""Ends the positional arguments of a call behind an unpacked sequence that is not known."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something imported, by its whole dotted name."""

    path: str

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type, e.g. `float16` of 16 bits."""

    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in registers; what is not known of it is None."""

    shape: tuple[int, ...] | None = None
    layout: RegisterLayout | None = None
    dtype: DType | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the file with the scopes it sees.

    Attributes:
        owner: the class that binds it, an `objects.Class`; None for none.
    """

    node: ast.FunctionDef
    scopes: tuple[dict[str, Value], ...]
    is_kernel: bool
    owner: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """An attribute of a value that is about to be called, e.g. `tile.load`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A call of a kernel with a grid.

    Attributes:
        function: what is launched.
        arguments: the values of its parameters that the call gives.
        options: keyword arguments that are no parameters, e.g. `num_warps`.
        line: of the call.
    """

    function: Function
    arguments: dict[str, Value]
    options: dict[str, Value] = field(default_factory=dict)
    line: int = 0


def joined(one: Value, other: Value) -> Value:
    """What holds of a value that is one or the other."""
    if one is other:
        return one
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return Tensor(
            one.shape if one.shape == other.shape else None,
            one.layout if one.layout == other.layout else None,
            one.dtype if one.dtype == other.dtype else None,
            one.reason or other.reason,
        )
    if type(one) is type(other) and is_plain(one) and one == other:
        return one
    return SEVERAL if all(v is SEVERAL or is_known(v) for v in (one, other)) else UNKNOWN


def is_plain(value: Value) -> bool:
    """Whether values of its type are compared by what they hold."""
    return not isinstance(value, Function | Method | Launch | Individual)


def is_known(value: Value) -> bool:
    """Whether the value is a constant through and through."""
    if isinstance(value, tuple | list):
        return all(is_known(v) for v in value)
    if isinstance(value, dict):
        return all(is_known(v) for v in value.values())
    return value is None or isinstance(value, int | float | str | bytes | range | DType)
