"""The model of Triton: which dimension of a tile has stride 1, and which tiles are multiplied.

A tile of pointers has one step in elements for each dimension; a step that is not known is None,
and nothing is concluded from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field, replace

from smemlint.analysis.python.element_types import (
    DTYPES,
    TORCH_CONSTRUCTORS,
    TORCH_DEFAULT_TYPE,
    TORCH_LIKE_CONSTRUCTORS,
)
from smemlint.analysis.python.interpreter import RecordingModel
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.constant_folding import ceiling_quotient
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    Scope,
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
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption

_TORCH_8_BIT = {
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "int8": "int8", "uint8": "uint8",
}  # fmt: skip
"""Of torch's tensors, by default."""
_ELEMENTWISE = frozenset(
    ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "abs", "maximum", "minimum", "where")
)
_KEEPS = frozenset(("multiple_of", "max_contiguous", "advance", "assume", "constexpr"))


@dataclass(eq=False)
class TritonModel(RecordingModel):
    """The model of Triton's names, with a record of matrix products.

    Attributes:
        span_of: the place of a node.
        kernel, stages, warps, assumptions: of the launch that is interpreted.
        is_in_loop: returns whether a loop is around the current statement.
    """

    span_of: Callable[[ast.AST], Span]
    kernel: str = ""
    stages: int | None = None
    warps: int | None = None
    assumptions: tuple[Assumption, ...] = ()
    dots: list[DotUse] = field(default_factory=list)
    is_in_loop: Callable[[], bool] = lambda: False

    # ---- calls

    def call(self, callee: Value, given: BoundArguments, node: ast.Call) -> Value:
        """Returns the result of a function of Triton or torch, or of a method of their values."""
        if isinstance(callee, Method):
            return self._call_method(callee, given.positional)
        if not isinstance(callee, Symbol):
            return UNKNOWN
        if callee.name == "dot":
            return self._dot(given, node)
        arguments, named = given.positional, given.named
        first = arguments[0] if arguments else UNKNOWN
        if (
            callee.path in TORCH_LIKE_CONSTRUCTORS
            and isinstance(first, HostTensor)
            and "dtype" not in named
        ):
            return first  # its strides, too: what is analysed is dense
        if callee.path in TORCH_CONSTRUCTORS:
            return host_tensor(arguments, {"dtype": TORCH_DEFAULT_TYPE, **named})
        if callee.name == "multiple_of" and isinstance(first, Hidden):
            return replace(first, is_alignment_hidden=False)
        if callee.name in _FUNCTIONS:
            return _FUNCTIONS[callee.name](arguments, named)
        if callee.name in _ELEMENTWISE:
            return computed(arguments)
        return first if callee.name in _KEEPS else UNKNOWN

    def _call_method(self, method: Method, arguments: list[Value]) -> Value:
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

    def _dot(self, given: BoundArguments, node: ast.Call) -> Value:
        a = as_operand(given.get(0, "input", None))
        b = as_operand(given.get(1, "other", None))
        if a is None or b is None or not (a.is_loaded or b.is_loaded):
            return UNKNOWN
        result = Tile((a.shape[0], b.shape[1]), (None, None))
        if self.is_paused:
            return result
        precision = given.get(3, "input_precision", "tf32")
        if "allow_tf32" in given.named:
            allowed = given.named["allow_tf32"]
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

    # ---- attributes, subscripts, operators

    def symbol(self, symbol: Symbol, node: ast.expr) -> Value:
        """Returns the element type of this name, or the name itself."""
        name = symbol.name
        if symbol.path.startswith("torch."):
            name = _TORCH_8_BIT.get(name, name)
        bits = DTYPES.get(name)
        return DType(name, bits) if bits is not None else symbol

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """Returns an attribute of a tile, a tensor of the host or an element type."""
        match owner:
            case Tile():
                return transposed(owner, []) if name == "T" else Method(owner, name)
            case HostTensor() if name == "dtype":
                return owner.dtype
            case HostTensor() if name == "shape":
                return tuple(UNKNOWN if n is None else n for n in owner.shape)
            case HostTensor() if name == "T":
                return of_host(owner, "t", [])
            case HostTensor() | Descriptor():
                return Method(owner, name)
            case DType() if name == "element_ty":
                return owner
        return UNKNOWN

    def subscript(self, owner: Value, key: ast.expr, value: Value) -> Value:
        """Returns `x[:, None]`: a tile with another dimension of extent 1."""
        if not isinstance(owner, Tile):
            return UNKNOWN
        for dim, part in enumerate(key.elts if isinstance(key, ast.Tuple) else [key]):
            if isinstance(part, ast.Constant) and part.value is None:
                owner = expanded(owner, dim)
            elif not (isinstance(part, ast.Slice) and part.lower is part.upper is None):
                return UNKNOWN
        return owner

    def binary(self, operation: ast.AST, one: Value, other: Value) -> Value:
        """Returns a sum of offsets, or offsets scaled by a number."""
        if isinstance(operation, ast.Add | ast.Sub):
            return summed(one, other, 1 if isinstance(operation, ast.Add) else -1)
        if isinstance(operation, ast.Mult):
            tile, factor = (one, other) if isinstance(one, Tile) else (other, one)
            if isinstance(tile, Tile) and not isinstance(factor, Tile):
                return scaled(tile, factor if isinstance(factor, int | Hidden) else None)
            return UNKNOWN
        if isinstance(operation, ast.Mod) and isinstance(one, Tile) and not isinstance(other, Tile):
            return one  # `offsets % M` keeps its steps but where it wraps
        return UNKNOWN


# ---- functions of the language that record nothing


def _arange(arguments: list[Value], named: Scope) -> Value:
    match arguments[:2]:
        case [int(start), int(end)]:
            return Tile((end - start,), (1,))
    return Tile((None,), (1,))


def _load_descriptor(arguments: list[Value], named: Scope) -> Value:
    first = _first(arguments)
    return loaded(first.tile) if isinstance(first, Descriptor) else UNKNOWN


def _describe(arguments: list[Value], named: Scope) -> Value:
    return described(_first(arguments), named, arguments)


def _first(arguments: list[Value]) -> Value:
    return arguments[0] if arguments else UNKNOWN


_FUNCTIONS: dict[str, Callable[[list[Value], Scope], Value]] = {
    "arange": _arange,
    "load": lambda arguments, _: loaded(_first(arguments)),
    "trans": lambda arguments, _: transposed(_first(arguments), arguments[1:]),
    "make_block_ptr": block_pointer,
    "make_tensor_descriptor": _describe,
    "TensorDescriptor": _describe,
    "load_tensor_descriptor": _load_descriptor,
    "from_tensor": described_tensor,
    "Config": config,
    "cdiv": lambda arguments, _: ceiling_quotient(arguments),
    "expand_dims": lambda arguments, _: expanded(
        _first(arguments), arguments[1] if len(arguments) > 1 else UNKNOWN
    ),
}
