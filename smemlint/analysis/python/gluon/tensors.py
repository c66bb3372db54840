"""Tensors in registers: which layout operations on them give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from smemlint.analysis.python.element_types import TORCH_DEFAULT_TYPE
from smemlint.analysis.python.gluon.tensor_memory import TensorMemory
from smemlint.analysis.python.gluon.values import AUTOMATIC, HostTensor, Tensor
from smemlint.analysis.python.interpreter.arguments import BoundArguments, are_integers, integers
from smemlint.analysis.python.interpreter.constant_folding import call_builtin, ceiling_quotient
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Method, Unknown, Value
from smemlint.layout.register_layouts import RegisterLayout, Slice

_TRANSPARENT = frozenset(("constexpr", "to_tensor", "multiple_of", "max_contiguous", "assume"))
_ELEMENTWISE = frozenset((
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "abs", "where", "maximum",
    "minimum", "fma", "cast", "floor", "ceil", "erf", "sigmoid", "clamp", "bitcast", "div_rn",
    "sqrt_rn", "fdiv", "add", "sub", "mul",
))  # fmt: skip
_LOADS = frozenset(("load", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"))
_REDUCTIONS = frozenset(("sum", "max", "min", "reduce", "xor_sum"))


# ---- tensors of host code


def host_tensor(given: BoundArguments) -> Value:
    """Returns the tensor of `torch.empty(2, 3, dtype=torch.float16)` and the like."""
    dtype = given.named.get("dtype", TORCH_DEFAULT_TYPE)
    if not isinstance(dtype, DType):
        return UNKNOWN
    extents: Value = given.positional
    if len(given.positional) == 1 and isinstance(given.positional[0], tuple | list):
        extents = given.positional[0]
    return HostTensor(integers(extents), dtype)


def of_host(owner: HostTensor, name: str, given: BoundArguments) -> Value:
    """Returns the result of a method of a host's tensor, or of `torch.empty_like(tensor)`."""
    dtype = given.named.get("dtype", given.get(0, "dtype", owner.dtype))
    if name in ("contiguous", "cuda", "clone"):
        return owner
    if name in ("stride", "size") and not given.positional and owner.shape is not None:
        return owner.shape if name == "size" else (UNKNOWN,) * len(owner.shape)
    if name.endswith("_like"):
        dtype = given.named.get("dtype", owner.dtype)
    elif name != "to":
        return UNKNOWN
    return replace(owner, dtype=dtype) if isinstance(dtype, DType) else UNKNOWN


# ---- elementwise operations


def elementwise(values: Sequence[Value]) -> Value:
    """Returns the tensor that an elementwise operation on tensors and scalars gives."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        return UNKNOWN
    shape = tensors[0].shape
    for other in tensors[1:]:
        shape = _broadcast(shape, other.shape)
    layouts = {t.layout for t in tensors}
    layout = tensors[0].layout if len(layouts) == 1 else None
    reason = next((t.reason for t in tensors if t.reason), None)
    return Tensor(shape, layout, tensors[0].dtype, reason)


def _broadcast(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(max(a, b) for a, b in zip(one, other, strict=True))


# ---- functions of the language


def call_tensor_function(name: str, given: BoundArguments) -> Value:
    """Returns the result of a function of Gluon or Triton on tensors in registers."""
    first = given.get(0, "")
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](given)
    if name in _TRANSPARENT:
        return first
    if name in _REDUCTIONS:
        return of_tensor(first, name, BoundArguments(given.positional[1:], given.named))
    if name in _LOADS:
        # The pointers' type is not known here; their layout is the result's.
        return replace(first, dtype=None) if isinstance(first, Tensor) else UNKNOWN
    return elementwise(given.positional) if name in _ELEMENTWISE else UNKNOWN


def _tensor(shape: Value, layout: Value, dtype: Value = None) -> Tensor:
    return Tensor(
        integers(shape),
        layout if isinstance(layout, RegisterLayout) else None,
        dtype if isinstance(dtype, DType) else None,
        layout.reason if isinstance(layout, Unknown) else None,
    )


def _arange(given: BoundArguments) -> Value:
    start, end = given.get(0, "start"), given.get(1, "end")
    shape: Value = UNKNOWN
    if isinstance(start, int) and isinstance(end, int):
        shape = (end - start,)
    return _tensor(shape, given.get(2, "layout", AUTOMATIC), DType("int32", 32))


def _full(given: BoundArguments) -> Value:
    return _tensor(given.get(0, ""), given.get(3, "layout", AUTOMATIC), given.get(2, "dtype"))


def _zeros(given: BoundArguments) -> Value:
    return _tensor(given.get(0, ""), given.get(2, "layout", AUTOMATIC), given.get(1, "dtype"))


def _convert_layout(given: BoundArguments) -> Value:
    tensor, layout = given.get(0, ""), given.get(1, "layout")
    if not isinstance(tensor, Tensor):
        return _tensor(UNKNOWN, layout)
    return _tensor(tensor.shape, layout, tensor.dtype)


def _set_auto_layout(given: BoundArguments) -> Value:
    tensor = given.get(0, "")
    shape = tensor.shape if isinstance(tensor, Tensor) else None
    return _tensor(shape, given.get(1, "layout"))


def _wait(given: BoundArguments) -> Value:
    deps = given.get(1, "deps", given.get(0, ""))
    return deps[0] if isinstance(deps, list | tuple) and len(deps) == 1 else deps


def _next_power_of_2(given: BoundArguments) -> Value:
    number = given.get(0, "")
    return 1 << (number - 1).bit_length() if isinstance(number, int) and number > 0 else UNKNOWN


def _static_range(given: BoundArguments) -> Value:
    ends = given.positional[:3]
    return call_builtin("range", ends) if are_integers(ends) else UNKNOWN


_FUNCTIONS: dict[str, Callable[[BoundArguments], Value]] = {
    "arange": _arange,
    "full": _full,
    "zeros": _zeros,
    "full_like": lambda given: given.get(0, ""),
    "zeros_like": lambda given: given.get(0, ""),
    "convert_layout": _convert_layout,
    "set_auto_layout": _set_auto_layout,
    "expand_dims": lambda _: Tensor(),
    "warpgroup_mma": lambda given: given.get(2, "acc"),
    "mma_v2": lambda given: given.get(2, "acc"),
    "warpgroup_mma_wait": _wait,
    "warpgroup_mma_init": lambda given: given.get(0, ""),
    "cdiv": lambda given: ceiling_quotient(given.positional),
    "next_power_of_2": _next_power_of_2,
    "static_range": _static_range,
    "range": lambda _: UNKNOWN,
}


# ---- methods and attributes


def of_tensor(owner: Value, name: str, given: BoundArguments) -> Value:
    """Returns the result of a method of a tensor."""
    if not isinstance(owner, Tensor):
        return UNKNOWN
    if name == "to":
        dtype = given.get(0, "dtype")
        return replace(owner, dtype=dtype if isinstance(dtype, DType) else None)
    if name in _REDUCTIONS:
        axis = given.get(0, "axis", None)
        if isinstance(axis, int) and owner.shape is not None and 0 <= axis < len(owner.shape):
            layout = Slice(axis, owner.layout) if owner.layout is not None else None
            return Tensor(owner.shape[:axis] + owner.shape[axis + 1 :], layout, owner.dtype)
        return UNKNOWN
    if name in _ELEMENTWISE:
        return elementwise([owner, *given.positional])
    return Tensor()


def attribute_of(owner: Tensor | TensorMemory, name: str) -> Value:
    """Returns an attribute of a tensor."""
    if name == "shape":
        return [*owner.shape] if owner.shape is not None else UNKNOWN
    if name == "dtype":
        return owner.dtype or UNKNOWN
    return Method(owner, name)
