"""Values of an executed CuTe DSL program that are no constants of Python."""

from __future__ import annotations

import ast
from typing import TypeAlias

from smemlint.analysis.python.interpreter.values import (
    BoundMethod,
    DType,
    Function,
    ModelValue,
    Scope,
    Value,
)
from smemlint.analysis.simt.domain.values import AffineInt, Object
from smemlint.analysis.simt.domain.values import Unknown as UnknownNumber
from smemlint.facts import LayoutUse
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout, Integer
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Reason, ReasonCode

DTYPES = {
    "Float64": 64, "Float32": 32, "TFloat32": 32, "Float16": 16, "BFloat16": 16, "Float8E5M2": 8,
    "Float8E4M3FN": 8, "Float8E4M3": 8, "Float8E4M3B11FNUZ": 8, "Float8E8M0FNU": 8,
    "Float6E3M2FN": 6, "Float6E2M3FN": 6, "Float4E2M1FN": 4, "Int64": 64, "Int32": 32, "Int16": 16,
    "Int8": 8, "Int4": 4, "Uint64": 64, "Uint32": 32, "Uint16": 16, "Uint8": 8, "Boolean": 8,
}  # fmt: skip
"""Types of `cutlass` -> bits; a Boolean is stored as a byte."""
FLOAT32 = DType("Float32", 32)
FLOAT64 = DType("Float64", 64)


@dataclass(frozen=True, slots=True, eq=False)
class Number(ModelValue):
    """A number that is known only at run time: by lane, with unknowns, or not at all."""

    value: AffineInt | UnknownNumber


DATA = Number(
    UnknownNumber(Reason(ReasonCode.DATA, "a value that was read from memory"), is_data=True)
)
"""A number that hangs on data."""


@dataclass(frozen=True, slots=True, eq=False)
class Cute(ModelValue):
    """A layout, swizzle, tensor, pointer, atom, tiled copy or MMA."""

    payload: object


@dataclass(frozen=True, slots=True)
class Opaque(ModelValue):
    """An object of a library that is the same for all threads of a warp: a pipeline's state."""

    name: str


@dataclass(frozen=True, slots=True)
class Rest(ModelValue):
    """The unpacked items of an opaque object: as many coordinates as are missing."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Partial(ModelValue):
    """`functools.partial(function, ..)`, or a function that the DSL compiled."""

    function: Value
    arguments: tuple[Value, ...]
    named: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Namespace(ModelValue):
    """An object with attributes: `SimpleNamespace(..)`, the result of `parse_args`."""

    attributes: Scope


@dataclass(frozen=True, slots=True)
class Architecture(ModelValue):
    """A member of `cutlass.base_dsl.Arch`: of the run, for which kernels are compiled.

    Attributes:
        capability: major and minor number of its compute capability.
    """

    capability: tuple[int, int]

    def compared(self, operation: ast.AST, name: str) -> bool | None:
        """Returns how it compares with one by its name; None where later ones do otherwise.

        Kernels of later architectures are read in a run for an earlier one, too.
        """
        digits = name.removeprefix("sm_").rstrip("af")
        if not digits.isdecimal() or len(digits) < 2:
            return None
        other = int(digits[:-1]), int(digits[-1])
        match operation:
            case ast.GtE() | ast.Lt() if other <= self.capability:
                return isinstance(operation, ast.GtE)
            case ast.Gt() | ast.LtE() if other < self.capability:
                return isinstance(operation, ast.Gt)
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared(ModelValue):
    """A kernel with its arguments, which `.launch(..)` executes."""

    kernel: Function | BoundMethod
    arguments: tuple[Value, ...]
    named: Scope
    node: ast.Call


@dataclass(frozen=True, slots=True, eq=False)
class LoopRange(ModelValue):
    """A range of a loop whose length is not known, or that is too long to be unrolled.

    Attributes:
        start, step: of its numbers.
    """

    start: Value
    step: Value


# ---- payloads


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What a tensor points into.

    Attributes:
        dtype: of its elements.
        object: of global or shared memory; None for registers.
        use: the layout as a fact; None where it is not static.
        modes: coordinates that an element of an identity tensor is; 0 where they are not followed.
    """

    dtype: DType
    object: Object | None = None
    use: LayoutUse | None = None
    modes: int = 0

    def __str__(self) -> str:
        return self.object.key if self.object is not None else self.dtype.name


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A pointer without a layout.

    Attributes:
        space: the memory.
        origin: what it points into.
        base: address in bits, before the swizzle.
        swizzle: of the byte address.
        alignment: bytes that it is declared to be a multiple of.
    """

    space: cute.Space
    origin: Origin
    base: Integer = 0
    swizzle: Swizzle | None = None
    alignment: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class UnknownTensor:
    """A tensor of which only the memory is known, or not even that.

    Attributes:
        space: the memory; None where it is not known.
        reason: why.
        dtype: of its elements.
        object: the array that it lies in; None where that is not known.
    """

    space: cute.Space | None
    reason: str
    dtype: DType | None = None
    object: Object | None = None

    @property
    def may_be_shared(self) -> bool:
        """Whether it may lie in shared memory."""
        return self.space in (None, cute.Space.SHARED)


@dataclass(frozen=True, slots=True, eq=False)
class ThreadSlice:
    """`tiled.get_slice(thread)` of a TiledCopy or a TiledMMA."""

    tiled: cute.TiledCopy | cute.TiledMma
    thread: Integer


@dataclass(frozen=True, slots=True, eq=False)
class WithoutLanes:
    """A copy atom without lane addresses.

    Attributes:
        mechanism: `TMA`, `bulk copy` or `tensor memory`.
        reason: why it is not known which values it gives to which thread.
        thread: of a slice; None for a tiled copy.
    """

    mechanism: str
    reason: str = ""
    thread: Integer | None = None


class TmaInfo(tuple["Value", ...]):
    """What makes a TMA atom: the atom and its tensor, which are unpacked, and more attributes.

    Attributes:
        attributes: by name.
    """

    attributes: Scope

    @classmethod
    def of(cls, atom: Value, tensor: Value, layout: Value) -> TmaInfo:
        """Returns the pair with the layout of shared memory that it was made for."""
        found = cls((atom, tensor))
        found.attributes = {"atom": atom, "tma_tensor": tensor, "smem_layout": layout}
        return found


@dataclass(frozen=True, slots=True, eq=False)
class OpValue:
    """An operation of `cute.nvgpu` before it is made an atom.

    Attributes:
        name: of its class.
        module: that the class is of: `warp`, `warpgroup`, `tcgen05`.
        arguments: as given.
    """

    name: str
    module: str
    arguments: tuple[Value, ...]
    named: Scope


AnyTensor: TypeAlias = "cute.Tensor | UnknownTensor"


def payload_of(value: Value) -> object:
    """Returns what a value of CuTe is; None for others."""
    return value.payload if isinstance(value, Cute) else None


def layout_of(value: Value) -> AnyLayout | None:
    """Returns the layout that a value is, or that a tensor has; None for others."""
    payload = payload_of(value)
    if isinstance(payload, cute.Tensor):
        return payload.layout
    return payload if isinstance(payload, cute.Layout | cute.ComposedLayout) else None


def array_of(tensor: AnyTensor) -> Object | None:
    """Returns the shared array that a tensor points into; None where it is not known."""
    if isinstance(tensor, UnknownTensor):
        return tensor.object
    if not tensor.is_shared:
        return None
    return tensor.origin.object if isinstance(tensor.origin, Origin) else None
