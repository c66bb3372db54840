"""What Triton's names mean where they decide shared memory: which dimension of a tile has stride 1.

A tile of pointers is followed as one step in elements for each dimension; a step that is not known
is None, and nothing is concluded from it.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from smemlint.analysis.python.gluon.values import DTYPES
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    Symbol,
    Value,
    is_known,
)
from smemlint.analysis.python.triton.launches import config
from smemlint.analysis.python.triton.tiles import (
    Descriptor,
    Hidden,
    HostTensor,
    Tile,
    as_operand,
    block_pointer,
    computed,
    described,
    described_tensor,
    expanded,
    host_tensor,
    loaded,
    of_host,
    operand,
    scaled,
    summed,
    transposed,
)
from smemlint.facts import DotUse, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TORCH_8_BIT = {
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "int8": "int8", "uint8": "uint8",
}  # fmt: skip
_MAKES_TENSORS = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "rand", "randn"))
_MAKES_LIKE = frozenset(f"{maker}_like" for maker in _MAKES_TENSORS)
_DEFAULT_TYPE = DType("float32", 32)
"""Of torch's tensors where nothing is said."""
_ELEMENTWISE = frozenset(
    ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "abs", "maximum", "minimum", "where")
)
_KEEPS = frozenset(("multiple_of", "max_contiguous", "advance", "assume", "constexpr"))


@dataclass(eq=False)
class TritonLibrary:
    """The meaning of Triton's names, and a record of matrix products."""

    span_of: Callable[[ast.AST], Span]
    kernel: str = ""
    stages: int | None = None
    warps: int | None = None
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
        first = arguments[0] if arguments else UNKNOWN
        if callee.path in _MAKES_LIKE and isinstance(first, HostTensor) and "dtype" not in named:
            return first  # its strides, too: what we follow is dense
        if callee.path in _MAKES_TENSORS:
            return host_tensor(arguments, {"dtype": _DEFAULT_TYPE, **named})
        if callee.name == "multiple_of" and isinstance(first, Hidden):
            return replace(first, is_alignment_hidden=False)
        match callee.name:
            case "arange":
                ends = arguments[:2]
                known = len(ends) == 2 and all(isinstance(e, int) for e in ends)
                return Tile((ends[1] - ends[0] if known else None,), (1,))
            case "load":
                return loaded(first)
            case "trans":
                return transposed(first, arguments[1:])
            case "dot":
                return self._dot(arguments, named, node)
            case "make_block_ptr":
                return block_pointer(arguments, named)
            case "make_tensor_descriptor":
                return described(first, named, arguments)
            case "load_tensor_descriptor":
                return loaded(first.tile) if isinstance(first, Descriptor) else UNKNOWN
            case "TensorDescriptor.from_tensor" | "from_tensor":
                return described_tensor(arguments, named)
            case "TensorDescriptor":
                return described(first, named, arguments)
            case "Config":
                return config(arguments, named)
            case "zeros" | "full" | "program_id":
                return UNKNOWN
            case "cdiv":
                known = len(arguments) == 2 and all(isinstance(a, int) and a > 0 for a in arguments)
                return -(-arguments[0] // arguments[1]) if known else UNKNOWN
            case "expand_dims":
                return expanded(first, arguments[1] if len(arguments) > 1 else UNKNOWN)
        if callee.name in _ELEMENTWISE:
            return computed(arguments)
        return first if callee.name in _KEEPS else UNKNOWN

    def _method(self, method: Method, arguments: list[Value]) -> Value:
        owner, name = method.owner, method.name
        first = arguments[0] if arguments else UNKNOWN
        if isinstance(owner, HostTensor):
            return of_host(owner, name, arguments)
        if isinstance(owner, Descriptor):
            return loaded(owner.tile) if name == "load" else UNKNOWN
        if not isinstance(owner, Tile):
            return UNKNOWN
        if name == "trans":
            return transposed(owner, arguments)
        if name == "to":
            same = owner.dtype is not None and first == owner.dtype
            return owner if same else replace(owner, dtype=None, is_loaded=False)
        return UNKNOWN

    def _dot(self, arguments: list[Value], named: dict[str, Value], node: ast.Call) -> Value:
        given = dict(zip(("input", "other", "acc", "input_precision"), arguments, strict=False))
        given |= named
        a, b = as_operand(given.get("input")), as_operand(given.get("other"))
        if a is None or b is None or not (a.is_loaded or b.is_loaded):
            return UNKNOWN
        result = Tile((a.shape[0], b.shape[1]), (None, None))
        if self._is_paused:
            return result
        precision = given.get("input_precision", "tf32")
        if "allow_tf32" in given:
            allowed = given["allow_tf32"]
            precision = ("tf32" if allowed else "ieee") if is_known(allowed) else ""
        self.dots.append(
            DotUse(
                self.span_of(node),
                self.kernel,
                (operand("a", a, "mk"), operand("b", b, "kn")),
                precision if isinstance(precision, str) else "",
                self.stages if self.is_in_loop() else None,
                self.warps,
                assumptions=self.assumptions,
            )
        )
        return result

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
            return transposed(owner, []) if name == "T" else Method(owner, name)
        if isinstance(owner, HostTensor):
            if name == "dtype":
                return owner.dtype
            if name == "shape":
                return tuple(UNKNOWN if n is None else n for n in owner.shape)
            return of_host(owner, "t", []) if name == "T" else Method(owner, name)
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
                owner = expanded(owner, dim)
            elif not (isinstance(part, ast.Slice) and part.lower is part.upper is None):
                return UNKNOWN
        return owner

    def combined(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """See `follow.Library.combined`: offsets add up, and scale with numbers."""
        if isinstance(operation, ast.Add | ast.Sub):
            return summed(one, other, 1 if isinstance(operation, ast.Add) else -1)
        if isinstance(operation, ast.Mult):
            tile, factor = (one, other) if isinstance(one, Tile) else (other, one)
            if isinstance(tile, Tile) and not isinstance(factor, Tile):
                number = factor if isinstance(factor, int | Hidden) else None
                return scaled(tile, number)
            return UNKNOWN
        if isinstance(operation, ast.Mod) and isinstance(one, Tile) and not isinstance(other, Tile):
            return one  # `offsets % M` keeps its steps but where it wraps
        return UNKNOWN
