"""A call of a function of the DSL with its arguments, and the tables of what is known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    AnyTensor,
    Cute,
    Number,
    Opaque,
    ThreadSlice,
    UnknownTensor,
    WithoutLanes,
    array_of,
    layout_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout, Coordinate, Integer, IntTuple, Tiler
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode
from smemlint.registration import registers


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call; where an argument is no such thing, a method that reads it raises `CuteError`.

    Attributes:
        run: the execution.
        name: of the function or method.
        owner: what a method is called on; None for functions.
        given: the arguments.
        node: where it stands.
    """

    run: Execution
    name: str
    owner: Value
    given: BoundArguments
    node: ast.Call

    def value(self, at: int, name: str, default: Value = UNKNOWN) -> Value:
        """Returns an argument."""
        return self.given.get(at, name, default)

    def has(self, at: int, name: str) -> bool:
        """Returns whether an argument is given and is not None."""
        return self.given.has(at, name) and self.value(at, name) is not None

    def any_layout(self, at: int, name: str) -> AnyLayout:
        """Returns a layout, or that of a tensor."""
        return needed_layout(self.value(at, name))

    def layout(self, at: int, name: str) -> cute.Layout:
        """Returns a layout without a swizzle; a shape is a compact one."""
        value = self.value(at, name)
        if isinstance(value, int | tuple | list):
            return cute.Layout(numbers.int_tuple(self.run, value))
        found = needed_layout(value)
        if not isinstance(found, cute.Layout):
            raise cute.CuteError("a plain layout is needed")
        return found

    def tensor(self, at: int, name: str) -> AnyTensor:
        """Returns a tensor."""
        return needed_tensor(self.value(at, name))

    def tiled_copy(self, at: int, name: str) -> cute.TiledCopy:
        """Returns a tiled copy, also that of a thread's slice."""
        found = _whole(payload_of(self.value(at, name)))
        if isinstance(found, WithoutLanes) and found.reason:
            raise cute.CuteError(found.reason)
        if not isinstance(found, cute.TiledCopy):
            raise cute.CuteError(reason_of(self.value(at, name), "a tiled copy is not known"))
        return found

    def tiled_mma(self, at: int, name: str) -> cute.TiledMma:
        """Returns a tiled MMA, also that of a thread's slice."""
        found = _whole(payload_of(self.value(at, name)))
        if not isinstance(found, cute.TiledMma):
            raise cute.CuteError(reason_of(self.value(at, name), "a tiled MMA is not known"))
        return found

    def atom(self, at: int, name: str) -> cute.CopyAtom:
        """Returns a copy atom."""
        found = _whole(payload_of(self.value(at, name)))
        if isinstance(found, cute.TiledCopy):
            return found.atom
        if not isinstance(found, cute.CopyAtom):
            raise cute.CuteError(reason_of(self.value(at, name), "a copy atom is not known"))
        return found

    def dtype(self, at: int, name: str) -> DType:
        """Returns an element type."""
        value = self.value(at, name)
        if not isinstance(value, DType) or value.bits < 1:
            raise cute.CuteError(reason_of(value, "an element type is not known"))
        return value

    def integer(self, at: int, name: str, default: Value = UNKNOWN) -> Integer:
        """Returns a number."""
        return numbers.integer(self.run, self.value(at, name, default))

    def static(self, at: int, name: str, default: Value = UNKNOWN) -> int:
        """Returns a number that is known while compiling."""
        return cute.static(self.integer(at, name, default))

    def int_tuple(self, at: int, name: str) -> IntTuple:
        """Returns a shape or stride."""
        return numbers.int_tuple(self.run, self.value(at, name))

    def coordinate(self, at: int, name: str) -> Coordinate:
        """Returns a coordinate."""
        return numbers.coordinate(self.run, self.value(at, name))

    def tiler(self, at: int, name: str) -> Tiler:
        """Returns a tiler."""
        return numbers.tiler(self.run, self.value(at, name))

    def result(self, tree: object) -> Value:
        """Returns a result of the engine as a value."""
        return numbers.value_of(self.run, tree)


def _whole(payload: object) -> object:
    """Returns the tiled copy or MMA of which a slice is a thread's part; others as they are."""
    return payload.tiled if isinstance(payload, ThreadSlice) else payload


def reason_of(value: Value, otherwise: str) -> str:
    """Returns why a value is not known."""
    return str(value.reason) if isinstance(value, Unknown) and value.reason else otherwise


def needed_layout(value: Value) -> AnyLayout:
    """Returns the layout that a value is or has.

    Raises:
        CuteError: it has none.
    """
    found = layout_of(value)
    if found is None:
        payload = payload_of(value)
        otherwise = payload.reason if isinstance(payload, UnknownTensor) else "no layout is known"
        raise cute.CuteError(reason_of(value, otherwise))
    return found


def needed_tensor(value: Value) -> AnyTensor:
    """Returns the tensor that a value is; one of which nothing is known for an unknown value.

    Raises:
        CuteError: it is something else.
    """
    payload = payload_of(value)
    if isinstance(payload, cute.Tensor | UnknownTensor):
        return payload
    if isinstance(value, Unknown):
        return UnknownTensor(None, reason_of(value, "a tensor is not known"))
    return UnknownTensor(None, "a value that is no tensor")


Handler: TypeAlias = Callable[[Call], Value]
FUNCTIONS: dict[str, Handler] = {}
"""Functions of `cutlass` by the last part of their names."""
METHODS: dict[str, Handler] = {}
"""Methods of the DSL's values by name."""
_Handler = TypeVar("_Handler", bound=Handler)


def function(*names: str) -> Callable[[_Handler], _Handler]:
    """Registers a function of the DSL."""
    return registers(FUNCTIONS, names)


def method(*names: str) -> Callable[[_Handler], _Handler]:
    """Registers a method of the DSL's values."""
    return registers(METHODS, names)


_VIEWS = frozenset((
    "composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "coalesce",
    "filter", "filter_zeros", "flatten", "group_modes", "append", "prepend", "select", "slice_",
    "local_tile", "local_partition", "domain_offset", "recast_tensor", "transpose_view", "expand",
))  # fmt: skip
"""Functions that give other views of tensors."""


_EXTENTS = frozenset(("size", "cosize", "rank", "ceil_div", "round_up", "size_in_bytes"))
"""Functions whose results are alike in all threads if their arguments are."""


_OF_WARPS = ("pipeline", "Scheduler", "Barrier", "PersistentTile", "cpasync", "tcgen05")


def is_of_warps(symbol: Symbol) -> bool:
    """Returns whether objects of a class of a library are the same for all threads of a warp."""
    return any(part in symbol.path for part in _OF_WARPS)


def is_uniform(value: Value) -> bool:
    """Returns whether a value is known to be the same for all threads."""
    match value:
        case Unknown():
            return value.is_uniform
        case Number(value=AffineInt() as number):
            return number.is_uniform
        case tuple() | list():
            return all(map(is_uniform, value))
        case Opaque() | Cute(payload=UnknownTensor()):  # of a tensor the extents are
            return True
    return is_known(value)


def executed(handler: Handler, call: Call) -> Value:
    """Returns the result of a call; what CuTe refuses or nobody knows is unknown, with a reason."""
    try:
        return handler(call)
    except cute.CuteError as error:
        text = f"`{call.name}`: {error}" if "`" not in str(error) else str(error)
    except (TypeError, ValueError, IndexError, ArithmeticError, AssertionError, RecursionError):
        text = f"`{call.name}` is not followed with these arguments"
    if call.name in _VIEWS:
        for value in call.given.positional:
            tensor = payload_of(value)
            if isinstance(tensor, cute.Tensor | UnknownTensor):
                return Cute(UnknownTensor(tensor.space, text, object=array_of(tensor)))
    is_alike = call.name in _EXTENTS and all(map(is_uniform, call.given.positional))
    return Unknown(Reason(ReasonCode.NOT_MODELLED, text), is_uniform=is_alike)
