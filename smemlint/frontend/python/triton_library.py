"""What Triton's names mean where they decide shared memory: which dimension of a tile has stride 1.

A tile of pointers is followed as one step in elements for each dimension; a step that is not known
is None, and nothing is concluded from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from smemlint.facts import DotOperand, DotUse, Span
from smemlint.frontend.python.abstract import (
    UNKNOWN,
    DType,
    Method,
    Symbol,
    Value,
    is_known,
)
from smemlint.frontend.python.gluon_library import DTYPES, integers

Steps = tuple[int | None, ...]
Shape = tuple[int | None, ...]

_TORCH_8_BIT = {
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "int8": "int8", "uint8": "uint8",
}  # fmt: skip
_MAKES_TENSORS = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "rand", "randn"))
_KEEPS = frozenset(("multiple_of", "max_contiguous", "advance", "assume", "constexpr"))


@dataclass(frozen=True, slots=True)
class HostTensor:
    """A tensor that host code makes; a stride that is not known is None."""

    dtype: DType
    shape: Shape
    strides: Steps


@dataclass(frozen=True, slots=True)
class Tile:
    """A block of numbers, of pointers, or of what was loaded from them.

    Attributes:
        shape: extents.
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
class Descriptor:
    """`tl.make_tensor_descriptor` or a host's `TensorDescriptor`: what it loads."""

    tile: Tile


@dataclass(eq=False)
class TritonLibrary:
    """The meaning of Triton's names, and a record of matrix products."""

    span_of: Callable[[ast.AST], Span]
    kernel: str = ""
    stages: int | None = None
    assumptions: tuple[str, ...] = ()
    dots: list[DotUse] = field(default_factory=list)
    is_in_loop: Callable[[], bool] = lambda: False
    _is_paused: bool = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is recorded inside."""
        before = self._is_paused
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = before

    def call(
        self, callee: Value, arguments: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        """See `follow.Library.call`."""
        if isinstance(callee, Method):
            return self._method(callee, arguments)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if callee.path in _MAKES_TENSORS:
            return _host_tensor(arguments, named)
        first = arguments[0] if arguments else UNKNOWN
        match callee.name:
            case "arange":
                ends = arguments[:2]
                known = len(ends) == 2 and all(isinstance(e, int) for e in ends)
                return Tile((ends[1] - ends[0] if known else None,), (1,))
            case "load":
                return _loaded(first)
            case "trans":
                return _transposed(first, arguments[1:])
            case "dot":
                self._dot(arguments, named, node)
                return UNKNOWN
            case "make_block_ptr":
                return _block_pointer(arguments, named)
            case "make_tensor_descriptor":
                return _described(first, named, arguments)
            case "load_tensor_descriptor":
                return _loaded(first.tile) if isinstance(first, Descriptor) else UNKNOWN
            case "zeros" | "full" | "program_id":
                return UNKNOWN
            case "cdiv":
                known = len(arguments) == 2 and all(isinstance(a, int) and a > 0 for a in arguments)
                return -(-arguments[0] // arguments[1]) if known else UNKNOWN
            case "expand_dims":
                return _expanded(first, arguments[1] if len(arguments) > 1 else UNKNOWN)
        return first if callee.name in _KEEPS else UNKNOWN

    def _method(self, method: Method, arguments: list[Value]) -> Value:
        owner, name = method.owner, method.name
        first = arguments[0] if arguments else UNKNOWN
        if isinstance(owner, HostTensor):
            return _of_host(owner, name, arguments)
        if isinstance(owner, Descriptor):
            return _loaded(owner.tile) if name == "load" else UNKNOWN
        if not isinstance(owner, Tile):
            return UNKNOWN
        if name == "trans":
            return _transposed(owner, arguments)
        if name == "to":
            same = owner.dtype is not None and first == owner.dtype
            return owner if same else replace(owner, dtype=None, is_loaded=False)
        return UNKNOWN

    def _dot(self, arguments: list[Value], named: dict[str, Value], node: ast.Call) -> None:
        given = dict(zip(("input", "other", "acc", "input_precision"), arguments, strict=False))
        given |= named
        a, b = given.get("input"), given.get("other")
        if self._is_paused or not isinstance(a, Tile) or not isinstance(b, Tile):
            return
        if len(a.shape) != 2 or len(b.shape) != 2:
            return
        precision = given.get("input_precision", "tf32")
        if "allow_tf32" in given:
            allowed = given["allow_tf32"]
            precision = ("tf32" if allowed else "ieee") if is_known(allowed) else ""
        self.dots.append(
            DotUse(
                self.span_of(node),
                self.kernel,
                (_operand("a", a, "mk"), _operand("b", b, "kn")),
                precision if isinstance(precision, str) else "",
                self.stages if self.is_in_loop() else None,
                assumptions=self.assumptions,
            )
        )

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """See `follow.Library.attribute`."""
        if isinstance(owner, Symbol):
            if owner.path.startswith("torch."):
                spelled = _TORCH_8_BIT.get(owner.name, owner.name)
            else:
                spelled = owner.name
            bits = DTYPES.get(spelled)
            return DType(spelled, bits) if bits is not None else owner
        if isinstance(owner, Tile):
            return _transposed(owner, []) if name == "T" else Method(owner, name)
        if isinstance(owner, HostTensor):
            if name == "dtype":
                return owner.dtype
            if name == "shape":
                return tuple(UNKNOWN if n is None else n for n in owner.shape)
            return _of_host(owner, "t", []) if name == "T" else Method(owner, name)
        if isinstance(owner, Descriptor | list):
            return Method(owner, name)
        if isinstance(owner, DType):
            return owner if name == "element_ty" else UNKNOWN
        return UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """See `follow.Library.subscript`: `x[:, None]` expands a tile."""
        if not isinstance(owner, Tile):
            return UNKNOWN
        for dim, part in enumerate(key.elts if isinstance(key, ast.Tuple) else [key]):
            if isinstance(part, ast.Constant) and part.value is None:
                owner = _expanded(owner, dim)
            elif not (isinstance(part, ast.Slice) and part.lower is part.upper is None):
                return UNKNOWN
        return owner

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """See `follow.Library.combined`: offsets add up, and scale with numbers."""
        if isinstance(operation, ast.Add | ast.Sub):
            return _sum(one, other, 1 if isinstance(operation, ast.Add) else -1)
        if isinstance(operation, ast.Mult):
            tile, factor = (one, other) if isinstance(one, Tile) else (other, one)
            if isinstance(tile, Tile) and not isinstance(factor, Tile):
                number = factor if isinstance(factor, int) else None
                return _scaled(tile, number)
            return UNKNOWN
        if isinstance(operation, ast.Mod) and isinstance(one, Tile) and not isinstance(other, Tile):
            return one  # `offsets % M` keeps its steps but where it wraps
        return UNKNOWN


# ---- tiles


def _host_tensor(arguments: list[Value], named: dict[str, Value]) -> Value:
    """A tensor of `torch.empty((m, n), dtype=torch.float16)` and the like: rows of stride 1."""
    dtype = named.get("dtype")
    if not isinstance(dtype, DType):
        return UNKNOWN
    sizes = arguments
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = list(sizes[0])
    shape = tuple(s if isinstance(s, int) else None for s in sizes)
    return HostTensor(dtype, shape, (*[None] * (len(shape) - 1), 1)[-len(shape) :])


def _of_host(owner: HostTensor, name: str, arguments: list[Value]) -> Value:
    first = arguments[0] if arguments else UNKNOWN
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
        steps: Steps = (*[None] * (len(owner.shape) - 1), 1)
        return replace(owner, strides=steps if name == "contiguous" else owner.strides)
    return UNKNOWN


def _loaded(pointer: Value) -> Value:
    if isinstance(pointer, Tile) and pointer.is_pointer:
        return replace(pointer, is_pointer=False, is_loaded=True)
    return UNKNOWN


def _transposed(tile: Value, order: Sequence[Value]) -> Value:
    if not isinstance(tile, Tile):
        return UNKNOWN
    given = integers(order[0] if len(order) == 1 and isinstance(order[0], tuple | list) else order)
    axes = given or tuple(reversed(range(len(tile.shape))))
    if sorted(axes) != list(range(len(tile.shape))):
        return UNKNOWN
    return replace(
        tile, shape=tuple(tile.shape[i] for i in axes), steps=tuple(tile.steps[i] for i in axes)
    )


def _expanded(tile: Value, dim: Value) -> Value:
    if not isinstance(tile, Tile) or not isinstance(dim, int) or not 0 <= dim <= len(tile.shape):
        return UNKNOWN
    return replace(
        tile,
        shape=(*tile.shape[:dim], 1, *tile.shape[dim:]),
        steps=(*tile.steps[:dim], 0, *tile.steps[dim:]),
    )


def _scaled(tile: Tile, factor: int | None) -> Tile:
    def times(step: int | None) -> int | None:
        if step == 0:
            return 0
        return step * factor if step is not None and factor is not None else None

    return Tile(tile.shape, tuple(times(s) for s in tile.steps))


def _sum(one: Value, other: Value, sign: int) -> Value:
    """Tiles and scalars; a pointer among them makes it one of pointers."""
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
    steps: list[int | None] = []
    for n, m, s, t in zip(one.shape, other.shape, one.steps, other.steps, strict=True):
        shape.append(m if n == 1 else n)
        steps.append(s + sign * t if s is not None and t is not None else None)
    return replace(one, shape=tuple(shape), steps=tuple(steps))


def _block_pointer(arguments: list[Value], named: dict[str, Value]) -> Value:
    names = ("base", "shape", "strides", "offsets", "block_shape", "order")
    given = dict(zip(names, arguments, strict=False)) | named
    base, strides, shape = given.get("base"), given.get("strides"), given.get("block_shape")
    if not isinstance(strides, tuple | list) or not isinstance(shape, tuple | list):
        return UNKNOWN
    return Tile(
        tuple(n if isinstance(n, int) else None for n in shape),
        tuple(s if isinstance(s, int) else None for s in strides),
        base.dtype if isinstance(base, HostTensor) else None,
        is_pointer=True,
    )


def _described(base: Value, named: dict[str, Value], arguments: list[Value]) -> Value:
    names = ("base", "shape", "strides", "block_shape")
    given = dict(zip(names, arguments, strict=False)) | named
    tile = _block_pointer([base], {**given, "strides": given.get("strides")})
    return Descriptor(tile) if isinstance(tile, Tile) else UNKNOWN


def _operand(name: str, tile: Tile, dims: str) -> DotOperand:
    """An operand with the dimension of stride 1, where exactly one is known to have it."""
    ones = [dim for dim, step in zip(dims, tile.steps, strict=True) if step == 1]
    dtype = tile.dtype
    return DotOperand(
        name,
        dtype.name if dtype is not None else "",
        dtype.bits if dtype is not None else 0,
        tile.shape,
        ones[0] if len(ones) == 1 else "",
        tile.is_loaded,
    )
