"""Layouts that a source writes down, and the operands of its matrix products."""

from __future__ import annotations

from smemlint.facts.places import Certainty, SharedArray, Span
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption


@dataclass(frozen=True, slots=True, eq=False)
class LayoutUse:
    """A swizzle or shared layout that the source writes down, whether or not it is accessed.

    Attributes:
        span: of the swizzle or layout expression.
        family: `cute`, `cute-dsl`, `declared`, `triton-swizzled`, `triton-padded`, `nvmma`.
        spelled: as the source writes it.
        kernel: the function it stands in; empty at file level.
        swizzle: (B, M, S) of a CuTe swizzle; None for the other families.
        parameters: further named integers, e.g. (("vec", 8), ("per_phase", 1), ("max_phase", 8)).
        units: `elements` or `bytes`, what one step of the swizzled offset is; empty when unknown.
        element_bytes: of the data; 0 when unknown.
        shape, stride: flat extents and strides in `units` of the layout under it; empty when
            unknown.
        ranks: how many of them each top-level mode of the layout has; empty when unknown.
        offset: constant that is added before the swizzle, in `units`.
        extent: size of what is addressed, in `units`; None when unknown.
        alignment: bytes that the base is guaranteed to be a multiple of; None when unknown.
        array: the shared array that it addresses, where known.
        certainty, assumptions: as for an access.
        is_bound: it addresses shared memory as it stands: no atom that may still be tiled, no
            layout of registers or global memory. What depends on the whole extent is judged
            only then.
        base: byte of `array` where offset 0 lies; None when unknown.
        address: byte of the block's shared memory where offset 0 lies; None when unknown.
    """

    span: Span
    family: str
    spelled: str
    kernel: str = ""
    swizzle: tuple[int, int, int] | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    units: str = ""
    element_bytes: int = 0
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    extent: int | None = None
    alignment: int | None = None
    array: SharedArray | None = None
    certainty: Certainty = Certainty.PROVED
    assumptions: tuple[Assumption, ...] = ()
    is_bound: bool = False
    base: int | None = None
    address: int | None = None
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DotOperand:
    """An operand of a matrix product that a compiler places in shared memory.

    Attributes:
        name: `a` of shape (M, K) or `b` of shape (K, N).
        element: spelling of the element type.
        element_bits: its size; 0 when unknown.
        shape: of the tile; None for an extent that is not known.
        contiguous: the dimension of stride 1, `m`, `n` or `k`; empty when unknown.
        is_loaded: comes from memory as it is, not from registers.
        hidden: how the source hides from the compiler that elements are contiguous, in words;
            empty where it does not.
        hidden_dim: the dimension that is contiguous all the same; empty when unknown.
    """

    name: str
    element: str
    element_bits: int
    shape: tuple[int | None, ...]
    contiguous: str
    is_loaded: bool
    hidden: str = ""
    hidden_dim: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DotUse:
    """A matrix product of tiles, e.g. `tl.dot(a, b)`.

    Attributes:
        precision: of 32-bit operands, e.g. `tf32` or `ieee`; empty when unknown.
        stages: of the software pipeline; None when unknown or outside of a loop.
        warps: of the block; None when unknown.
        certainty, assumptions: as for an access.
    """

    span: Span
    kernel: str
    operands: tuple[DotOperand, DotOperand]
    precision: str = ""
    stages: int | None = None
    warps: int | None = None
    certainty: Certainty = Certainty.ASSUMED
    assumptions: tuple[Assumption, ...] = ()
