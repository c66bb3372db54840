"""CuTe's values in the evaluator, and their conversion from and to the layout engine."""

from __future__ import annotations

from typing import Any, TypeGuard

from smemlint.analysis.simt.cute.run_time import from_engine, to_engine
from smemlint.analysis.simt.domain.affine import AffineDomain
from smemlint.analysis.simt.domain.values import Cute, Pointer, Unknown, Value
from smemlint.facts import LayoutUse
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout, Coordinate, IntTuple, Order, Tiler
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import ReasonCode


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What a tensor points into.

    Attributes:
        pointer: to the object, with the element type.
        use: the swizzle as a fact; None without one.
    """

    pointer: Pointer
    use: LayoutUse | None = None

    def __str__(self) -> str:
        return f"{self.pointer.object.key}+{self.pointer.offset.identity()}"


@dataclass(frozen=True, slots=True, eq=False)
class ThreadSlice:
    """`tiled.get_slice(thread)` of a TiledCopy or a TiledMMA; of a TMA copy, a CTA's part."""

    tiled: cute.TiledCopy | cute.CopyAtom | cute.TiledMma
    thread: cute.Integer


def payload_of(value: Value) -> object:
    """Returns what a value of CuTe's is; None for others."""
    return value.payload if isinstance(value, Cute) else None


def tensor_of(value: Value) -> cute.Tensor | None:
    """Returns the tensor that a value is; None for others."""
    payload = payload_of(value)
    return payload if isinstance(payload, cute.Tensor) else None


_OF_TYPES = (cute.TiledCopy, cute.TiledMma, cute.CopyAtom, cute.MmaOp, cute.SmemAtom)


def has_one_value(value: object) -> TypeGuard[Cute]:
    """Returns whether a value is what all objects of its type are: an atom, or registers.

    So is a layout of numbers that its type tells.
    """
    payload = value.payload if isinstance(value, Cute) else None
    if isinstance(payload, cute.Layout | cute.ComposedLayout):
        return payload.is_static
    if isinstance(payload, cute.Tensor):
        return payload.space is cute.Space.REGISTER
    return isinstance(payload, _OF_TYPES)


def lacks_a_type(value: object) -> bool:
    """Returns whether a number that a value of CuTe's is made of is that of an unknown type.

    `Int<M>{}` is static whatever `M` is: where a kernel is given such a value, a caller may tell
    more of its type. A number of run time is none of these.
    """
    if isinstance(value, Unknown):
        return value.reason.code is ReasonCode.UNKNOWN_TYPE
    payload = value.payload if isinstance(value, Cute) else None
    if isinstance(payload, tuple):
        return any(map(lacks_a_type, payload))
    layout = payload.layout if isinstance(payload, cute.Tensor) else payload
    if not isinstance(layout, cute.Layout | cute.ComposedLayout):
        return False
    numbers = cute.leaves((layout.plain.shape, layout.plain.stride))
    return any(lacks_a_type(from_engine(n)) for n in numbers if isinstance(n, cute.DynamicInt))


def shared_tensor_of(value: Value) -> cute.Tensor | None:
    """Returns the tensor in shared memory that a value is; None for others."""
    tensor = tensor_of(value)
    return tensor if tensor is not None and tensor.is_shared else None


def layout_of(value: Value) -> AnyLayout | cute.SmemAtom | None:
    """Returns the layout that a value is, or that a tensor has; None for others."""
    payload = payload_of(value)
    if isinstance(payload, cute.Tensor):
        return payload.layout
    if isinstance(payload, cute.Layout | cute.ComposedLayout | cute.SmemAtom):
        return payload
    return None


def plain_layout_of(value: Value) -> cute.Layout | None:
    """Returns the same without the swizzle, which sizes do not depend on."""
    found = layout_of(value)
    if found is None:
        return None
    return found.layout if isinstance(found, cute.SmemAtom) else found.plain


class Converter:
    """Converts the evaluator's values into arguments of the engine.

    Raises:
        CuteError: a value is of another sort than the engine takes.
    """

    def __init__(self, domain: AffineDomain) -> None:
        self.domain = domain

    def integer(self, value: Value) -> cute.Integer:
        """Returns a number."""
        return to_engine(value, self.domain)

    def int_tuple(self, value: Value) -> IntTuple:
        """Returns a nested tuple of numbers."""
        tree = self.coordinate(value)
        if cute.int_tuples.has_underscore(tree):
            raise cute.CuteError("an underscore where a number is needed")
        return tree  # type: ignore[return-value]

    def coordinate(self, value: Value) -> Coordinate:
        """Returns a nested tuple of numbers and underscores."""
        payload = payload_of(value)
        if isinstance(payload, tuple):
            return tuple(self.coordinate(item) for item in payload)
        if payload in ("_", "X"):
            return cute.UNDERSCORE
        if isinstance(payload, cute.Layout):
            return payload.shape
        return self.integer(value)

    def tiler(self, value: Value) -> Tiler:
        """Returns a layout, a number, an underscore, or a tuple of such."""
        payload = payload_of(value)
        if isinstance(payload, cute.Layout):
            return payload
        if isinstance(payload, cute.ComposedLayout):
            raise cute.CuteError("a swizzled layout as a tiler")
        if isinstance(payload, tuple):
            return tuple(self.tiler(item) for item in payload)
        if payload in ("_", "X"):
            return cute.UNDERSCORE
        return self.integer(value)

    def order(self, value: Value) -> Order:
        """Returns `LayoutLeft`, `LayoutRight` or ranks of modes."""
        payload = payload_of(value)
        if payload == "LayoutLeft":
            return "left"
        return "right" if payload == "LayoutRight" else self.int_tuple(value)

    def layout(self, value: Value) -> cute.Layout:
        """Returns a layout without a swizzle; a shape is a compact one."""
        payload = payload_of(value)
        if isinstance(payload, cute.Layout):
            return payload
        if isinstance(payload, cute.ComposedLayout | cute.SmemAtom | cute.Tensor):
            raise cute.CuteError("a plain layout is needed")
        if isinstance(value, Unknown):
            raise cute.CuteError(value.reason.text)  # a number, or anything else
        return cute.Layout(self.int_tuple(value))


def value_of(tree: Any) -> Value:
    """Returns the evaluator's value of a number, a nested tuple or an object of the engine."""
    if isinstance(tree, tuple):
        return Cute(tuple(map(value_of, tree)))
    if isinstance(tree, int | cute.DynamicInt):
        return from_engine(tree)
    return Cute("_") if tree is cute.UNDERSCORE else Cute(tree)


def first_unknown(values: list[Value]) -> Unknown | None:
    """Returns the first value that is not known."""
    return next((value for value in values if isinstance(value, Unknown)), None)
