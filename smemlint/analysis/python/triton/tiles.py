"""Tiles of pointers and numbers: how far one step goes along each dimension.

A step that is not known is None, and nothing is concluded from it; one that a kernel's parameter
hides from the compiler stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

from smemlint.analysis.python.interpreter.arguments import integers
from smemlint.analysis.python.interpreter.values import (
    REST,
    UNKNOWN,
    DType,
    ModelValue,
    Scope,
    Value,
)
from smemlint.facts import DotOperand
from smemlint.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hidden(ModelValue):
    """A parameter of which the compiler of triton 3.9 does not learn all.

    Attributes:
        value: that a launch gives it; None where that is not known.
        how: what hides it, e.g. ``annotated `tl.int64` ``.
        is_one_hidden: the compiler does not learn of a value of 1.
        is_alignment_hidden: nor of a multiple of 16.
    """

    name: str
    value: int | None
    how: str
    is_one_hidden: bool
    is_alignment_hidden: bool


_ALIGNED = 16
"""What triton asks numbers to be multiples of, before its compiler learns of it."""
Step: TypeAlias = int | Hidden | None
Steps: TypeAlias = tuple[Step, ...]
Shape: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class HostTensor(ModelValue):
    """A tensor that host code makes; a stride that is not known is None."""

    dtype: DType
    shape: Shape
    strides: Steps


@dataclass(frozen=True, slots=True)
class Tile(ModelValue):
    """A block of numbers, of pointers, or of what was loaded from them.

    Attributes:
        steps: by how much the element offset, or the number itself, grows along each dimension.
        dtype: of what is pointed to, or was loaded.
        is_pointer, is_loaded: which of them it is; neither for what was computed.
    """

    shape: Shape
    steps: Steps
    dtype: DType | None = None
    is_pointer: bool = False
    is_loaded: bool = False


@dataclass(frozen=True, slots=True)
class Descriptor(ModelValue):
    """`tl.make_tensor_descriptor` or a host's `TensorDescriptor`: what it loads."""

    tile: Tile


def host_tensor(arguments: list[Value], named: Scope) -> Value:
    """Returns the tensor of `torch.empty((m, n), dtype=torch.float16)` and the like."""
    dtype = named.get("dtype")
    if not isinstance(dtype, DType):
        return UNKNOWN
    sizes: Sequence[Value] = arguments
    if len(arguments) == 1 and not isinstance(arguments[0], int):
        if not isinstance(arguments[0], tuple | list):
            return UNKNOWN  # one extent, or a shape of any rank
        sizes = arguments[0]
    if any(s is REST for s in sizes):
        return UNKNOWN
    shape = tuple(s if isinstance(s, int) else None for s in sizes)
    return HostTensor(dtype, shape, _rows(shape))


def _rows(shape: Shape) -> Steps:
    """Returns the strides of a contiguous tensor, as far as its inner extents are known."""
    steps: list[Step] = []
    for i in range(len(shape)):
        inner = [n for n in shape[i + 1 :] if n is not None]
        steps.append(prod(inner) if len(inner) == len(shape) - i - 1 else None)
    return tuple(steps)


def of_host(owner: HostTensor, name: str, arguments: list[Value]) -> Value:
    """Returns the result of a method of a tensor of the host."""
    first = arguments[0] if arguments else UNKNOWN
    if name in ("stride", "size") and not arguments:
        numbers = owner.strides if name == "stride" else owner.shape
        return tuple(UNKNOWN if n is None else n for n in numbers)
    if (
        name == "stride"
        and isinstance(first, int)
        and -len(owner.strides) <= first < len(owner.strides)
    ):
        step = owner.strides[first]
        return UNKNOWN if step is None else step
    if name == "t" and len(owner.shape) == 2:
        return HostTensor(owner.dtype, owner.shape[::-1], owner.strides[::-1])
    if name == "to" and isinstance(first, DType):
        return replace(owner, dtype=first)
    if name in ("contiguous", "cuda"):
        return replace(owner, strides=_rows(owner.shape)) if name == "contiguous" else owner
    return UNKNOWN


def loaded(pointer: Value) -> Value:
    """Returns the result of `tl.load`, whose argument is a tile of pointers to anything."""
    if isinstance(pointer, Tile) and not pointer.is_loaded:
        return replace(pointer, is_pointer=False, is_loaded=True)
    return UNKNOWN


def transposed(tile: Value, order: Sequence[Value]) -> Value:
    """Returns a tile with its dimensions in another order, reversed where none is given."""
    if not isinstance(tile, Tile):
        return UNKNOWN
    listed = order[0] if len(order) == 1 and isinstance(order[0], tuple | list) else [*order]
    axes = integers(listed) or tuple(reversed(range(len(tile.shape))))
    if sorted(axes) != list(range(len(tile.shape))):
        return UNKNOWN
    return replace(
        tile, shape=tuple(tile.shape[i] for i in axes), steps=tuple(tile.steps[i] for i in axes)
    )


def expanded(tile: Value, dim: Value) -> Value:
    """Returns a tile with another dimension of extent 1."""
    if not isinstance(tile, Tile) or not isinstance(dim, int) or not 0 <= dim <= len(tile.shape):
        return UNKNOWN
    return replace(
        tile,
        shape=(*tile.shape[:dim], 1, *tile.shape[dim:]),
        steps=(*tile.steps[:dim], 0, *tile.steps[dim:]),
    )


def scaled(tile: Tile, factor: Step) -> Tile:
    """Returns a tile of numbers times a number."""

    def times(step: Step) -> Step:
        if step == 0 or factor == 0:
            return 0
        if step == 1 or factor == 1:
            return factor if step == 1 else step
        return step * factor if isinstance(step, int) and isinstance(factor, int) else None

    return Tile(tile.shape, tuple(times(s) for s in tile.steps))


def summed(one: Value, other: Value, sign: int) -> Value:
    """Returns a sum of tiles and scalars; a pointer among them makes it one of pointers."""
    if isinstance(one, HostTensor):
        one = Tile((), (), one.dtype, is_pointer=True)
    if not isinstance(one, Tile):
        return other if isinstance(other, Tile) and not isinstance(one, HostTensor) else UNKNOWN
    if not isinstance(other, Tile):
        return one if not isinstance(other, HostTensor) else UNKNOWN
    if not one.shape:
        return replace(other, dtype=one.dtype, is_pointer=one.is_pointer)
    if not other.shape:
        return one
    if len(one.shape) != len(other.shape):
        return UNKNOWN
    shape: list[int | None] = []
    steps: list[Step] = []
    for n, m, s, t in zip(one.shape, other.shape, one.steps, other.steps, strict=True):
        shape.append(m if n == 1 else n)
        steps.append(_added(s, t, sign))
    return replace(one, shape=tuple(shape), steps=tuple(steps))


def _added(one: Step, other: Step, sign: int) -> Step:
    if isinstance(one, int) and isinstance(other, int):
        return one + sign * other
    if other == 0:
        return one
    return other if one == 0 and sign == 1 else None


def block_pointer(arguments: list[Value], named: Scope) -> Value:
    """Returns the result of `tl.make_block_ptr` (up to triton 3.8); `order` changes no code."""
    names = ("base", "shape", "strides", "offsets", "block_shape", "order")
    given = dict(zip(names, arguments, strict=False)) | named
    base, strides, shape = given.get("base"), given.get("strides"), given.get("block_shape")
    if not isinstance(strides, tuple | list) or not isinstance(shape, tuple | list):
        return UNKNOWN
    if len(strides) != len(shape):
        return UNKNOWN
    return Tile(
        tuple(n if isinstance(n, int) else None for n in shape),
        tuple(s if isinstance(s, int) else None for s in strides),
        base.dtype if isinstance(base, HostTensor) else None,
        is_pointer=True,
    )


def described(base: Value, named: Scope, arguments: list[Value]) -> Value:
    """Returns the result of `tl.make_tensor_descriptor(base, shape, strides, block_shape)`."""
    names = ("base", "shape", "strides", "block_shape")
    given = dict(zip(names, arguments, strict=False)) | named
    tile = block_pointer([base], {**given, "strides": given.get("strides")})
    return Descriptor(tile) if isinstance(tile, Tile) else UNKNOWN


def described_tensor(arguments: list[Value], named: Scope) -> Value:
    """Returns the result of `TensorDescriptor.from_tensor(tensor, block_shape)` of host code."""
    given = dict(zip(("tensor", "block_shape"), arguments, strict=False)) | named
    tensor, shape = given.get("tensor"), integers(given.get("block_shape"))
    if not isinstance(tensor, HostTensor) or shape is None or len(shape) != len(tensor.strides):
        return UNKNOWN
    return Descriptor(Tile(shape, tensor.strides, tensor.dtype, is_pointer=True))


def computed(arguments: list[Value]) -> Value:
    """Returns the result of an elementwise function: of its tiles only the shape is known."""
    tiles = [a for a in arguments if isinstance(a, Tile)]
    shapes = {t.shape for t in tiles}
    if len(shapes) != 1:
        return UNKNOWN
    (shape,) = shapes
    return Tile(shape, (None,) * len(shape))


def as_operand(value: Value) -> Tile | None:
    """Returns an operand of a matrix product as a tile; an unknown value has any shape."""
    if isinstance(value, Tile):
        return value if len(value.shape) == 2 else None
    return Tile((None, None), (None, None))


def operand(name: str, tile: Tile, dims: str) -> DotOperand:
    """Returns an operand with its dimension of stride 1, where exactly one is known to have it."""
    ones = [dim for dim, step in zip(dims, tile.steps, strict=True) if step == 1]
    dtype = tile.dtype
    hidden, dim = _hidden(tile, dims)
    return DotOperand(
        name,
        dtype.name if dtype is not None else "",
        dtype.bits if dtype is not None else 0,
        tile.shape,
        ones[0] if len(ones) == 1 else "",
        tile.is_loaded,
        hidden,
        dim,
    )


def _hidden(tile: Tile, dims: str) -> tuple[str, str]:
    """Returns how the source hides that elements are contiguous, and along which dimension."""
    if 1 in tile.shape or 0 in tile.steps:
        return "", ""  # what is not known may be in its place
    unknown_ones = [s for s in tile.steps if isinstance(s, Hidden) and s.is_one_hidden]
    for step, dim in zip(tile.steps, dims, strict=True):
        if isinstance(step, Hidden):
            if step.is_one_hidden and step.value == 1 and 1 not in tile.steps:
                return f"`{step.name}` is 1 and {step.how}", dim
            is_multiple = step.value is not None and step.value % _ALIGNED == 0
            if step.is_alignment_hidden and is_multiple and 1 in tile.steps:
                known = dims[tile.steps.index(1)]
                return f"`{step.name}` is a multiple of {_ALIGNED} and {step.how}", known
    if len(unknown_ones) == len(tile.steps) and all(s.value is None for s in unknown_ones):
        return " and ".join(f"`{s.name}` is {s.how}" for s in unknown_ones), ""
    return "", ""
