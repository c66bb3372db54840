"""What code runs in: the threads of a block, masks of them, and what names are bound to."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smemlint.analysis.simt.domain.ctypes import (
    ArrayType,
    ClosureType,
    CType,
    FloatType,
    IntType,
    OpaqueType,
    PointerType,
    RecordType,
    StaticIntType,
    StaticType,
    VoidType,
)
from smemlint.analysis.simt.domain.values import (
    AffineInt,
    Aggregate,
    CallableValue,
    Cute,
    FloatValue,
    Object,
    Pointer,
    Value,
)
from smemlint.frontend import ir
from smemlint.lazy_dataclasses import dataclass, light_dataclass

WARP = 32
MAX_THREADS = 1024
"""Of a block."""
Mask: TypeAlias = NDArray[np.bool_]
"""Which threads of a block take part: bool of shape (32 * warps,)."""


@light_dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A name bound to an object of a type.

    Attributes:
        is_constant: None where that is not known.
        number: of a floating-point constant that a literal initializes.
    """

    object: Object
    type: CType
    is_constant: bool | None = None
    number: float | None = None


@dataclass(slots=True, eq=False)
class Lazy:
    """A constant, or a type, that is evaluated when it is first named.

    Attributes:
        node: what gives its value, or the `typedef`.
        scope: that takes the value.
        owner: the class whose static member it is, once that is known.
    """

    node: ir.Node
    scope: Scope
    owner: RecordType | None = None

    @property
    def is_type(self) -> bool:
        """Whether it stands for a type."""
        return isinstance(self.node, ir.Typedef)


Binding: TypeAlias = Variable | CType | Value | Lazy
Scope: TypeAlias = dict[str, Binding]


def content_of(binding: object) -> Value | None:
    """Returns what the first cell of a variable holds; None of all else that a name stands for."""
    return binding.object.cells.get(0) if isinstance(binding, Variable) else None


@light_dataclass(frozen=True, slots=True, eq=False)
class LValue:
    """Typed bytes of an object: what an lvalue expression names."""

    object: Object
    offset: AffineInt
    type: CType
    volatile: bool = False

    def pointer(self) -> Pointer:
        """Returns a pointer (or reference) to it."""
        return Pointer(self.object, self.offset, self.type, self.volatile)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Thread coordinates of a block, padded to whole warps, and the target that runs them.

    Attributes:
        x, y, z, linear: int64 of shape (32 * warps,).
        exists: which of these threads the block has.
    """

    block: tuple[int, int, int]
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    z: NDArray[np.int64]
    linear: NDArray[np.int64]
    exists: NDArray[np.bool_]
    arch: str

    @property
    def threads(self) -> int:
        """How many threads the block has."""
        return prod(self.block)

    @staticmethod
    def of(block: tuple[int, int, int], arch: str = "sm_90") -> Geometry:
        """Returns the geometry of a block shape."""
        bx, by, _ = block
        count = prod(block)
        linear = np.arange(-(-count // WARP) * WARP, dtype=np.int64)
        return Geometry(
            block, linear % bx, linear // bx % by, linear // (bx * by), linear, linear < count, arch
        )


CTYPES = (IntType, FloatType, VoidType, PointerType, ArrayType, RecordType, OpaqueType)
"""Bindings of these classes are types."""


@light_dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A call's argument: a place that is read when a parameter takes its value, or a value.

    Attributes:
        cast: the type that the argument is cast to, where its value is not known.
    """

    node: ir.Node
    place: LValue | None
    value: Value | None
    cast: CType | None = None

    @property
    def type(self) -> CType:
        """The type that template deduction sees."""
        if self.place is not None:
            return self.place.type
        if self.cast is not None:
            return self.cast
        return type_of(self.value) if self.value is not None else OpaqueType("auto")


def type_of(value: Value) -> CType:
    """Returns the type that `auto` or a deduced template parameter takes from a value."""
    match value:
        case AffineInt() if isinstance(value.type, StaticIntType) and value.constant is not None:
            return StaticType(f"Int<{value.constant}>", value=value)
        case AffineInt() | FloatValue() | Aggregate():
            return value.type
        case Pointer():
            return PointerType(value.target)
        case Cute():
            return StaticType(str(value), value=value)
        case CallableValue(name="lambda") if value.payload is not None:
            return ClosureType("auto", closure=value.payload)
        case _:
            return OpaqueType("auto")


def is_reference(type: CType) -> bool:
    """Returns whether a variable of this type is another name for what it points to."""
    return isinstance(type, PointerType) and type.is_reference


def is_any(mask: NDArray[np.bool_]) -> bool:
    """Returns whether one entry is set; searching bytes takes a quarter of the time of `any`."""
    return b"\1" in mask.tobytes()


def kept(mask: Mask, now: Mask) -> Mask:
    """Returns `mask` itself where `now` equals it: identity then shows that nothing changed."""
    return mask if now is mask or now.tobytes() == mask.tobytes() else now
