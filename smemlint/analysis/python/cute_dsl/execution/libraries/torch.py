"""Tensors of PyTorch, as host code makes and reshapes them, and element types by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function
from smemlint.analysis.python.cute_dsl.execution.values import DTYPES, FLOAT32, Namespace
from smemlint.analysis.python.interpreter.arguments import are_integers, integers
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, ModelValue, Value
from smemlint.hardware.arch import architecture
from smemlint.lazy_dataclasses import dataclass

TORCH_TYPES = {
    "float64": "Float64", "double": "Float64", "float32": "Float32", "float": "Float32",
    "float16": "Float16", "half": "Float16", "bfloat16": "BFloat16", "int64": "Int64",
    "long": "Int64", "int32": "Int32", "int": "Int32", "int16": "Int16", "int8": "Int8",
    "uint8": "Uint8", "bool": "Boolean", "float8_e4m3fn": "Float8E4M3FN",
    "float8_e5m2": "Float8E5M2", "float8_e8m0fnu": "Float8E8M0FNU",
}  # fmt: skip
_RANDOM = frozenset(("randint", "uniform", "normal"))
"""Functions that are given a range or a distribution first."""
_CONSTRUCTORS = _RANDOM | {"empty", "zeros", "ones", "rand", "randn", "random", "full"}
_ELEMENTWISE = frozenset((
    "cos", "exp", "log", "neg", "relu", "rsqrt", "sigmoid", "sin", "sqrt", "tanh",
))  # fmt: skip
_SAME = _ELEMENTWISE | frozenset((
    "cuda", "cpu", "contiguous", "clone", "detach", "requires_grad_", "random_", "fill_", "zero_",
    "normal_", "uniform_", "copy_", "to_dlpack", "__dlpack__", "sign", "abs",
))  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TorchTensor(ModelValue):
    """A tensor of PyTorch.

    Attributes:
        dtype: of its elements; None where it is not known.
        shape: extents.
        stride: strides in elements.
    """

    dtype: DType | None
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def dtype_named(name: str) -> DType | None:
    """Returns the element type of that name, of `cutlass` or of PyTorch."""
    name = TORCH_TYPES.get(name, name)
    bits = DTYPES.get(name)
    return DType(name, bits) if bits is not None else None


def torch_call(call: Call, name: str, otherwise: DType = FLOAT32) -> Value:
    """Returns the result of a function of PyTorch, or of NumPy.

    Args:
        call: the call.
        name: of the function.
        otherwise: the type of elements where the call does not name one.
    """
    if name == "arange" and are_integers(call.given.positional) and call.given.positional:
        numbers = range(*call.given.positional[:3])  # type: ignore[arg-type]
        dtype = _torch_dtype(call.given.named.get("dtype"), dtype_named("int64"))
        return TorchTensor(dtype, (len(numbers),), (1,)) if numbers else UNKNOWN
    if name in _CONSTRUCTORS:
        shape = integers(_sizes(call, name))
        if not shape:
            return UNKNOWN
        usual = dtype_named("int64") if name == "randint" else otherwise
        return TorchTensor(
            _torch_dtype(call.given.named.get("dtype"), usual), shape, _packed(shape)
        )
    if name in ("from_numpy", "as_tensor", "ascontiguousarray") and call.given.positional:
        held = call.given.positional[0]
        return held if isinstance(held, TorchTensor) else UNKNOWN
    if name in _ELEMENTWISE and call.given.positional:
        return elementwise(call.given.positional[0], 1.0)
    if name.endswith("_like") and call.given.positional:
        like = call.given.positional[0]
        if isinstance(like, TorchTensor):
            return replace(like, dtype=_torch_dtype(call.given.named.get("dtype"), like.dtype))
    if name == "is_available":
        return True
    if name == "get_device_properties":
        limit, (major, minor) = architecture(call.run.arch).shared_per_block, call.run.capability
        return Namespace({
            "shared_memory_per_block_optin": limit, "multi_processor_count": 132,
            "major": major, "minor": minor,
        })  # fmt: skip
    if name == "get_device_capability":
        return call.run.capability
    return UNKNOWN


def _sizes(call: Call, name: str) -> list[Value]:
    """Returns the extents that a function is asked for: by place, or in a list."""
    given: list[Value] = list(call.given.positional)
    if "size" in call.given.named:
        given = [call.given.named["size"]]
    elif name in _RANDOM:
        given = next(([g] for g in given if isinstance(g, tuple | list)), [])
    elif name == "full":
        given = given[:1]
    return list(given[0]) if len(given) == 1 and isinstance(given[0], tuple | list) else given


def elementwise(one: Value, other: Value) -> Value:
    """Returns what arithmetic makes of a tensor and a number, or of two tensors that are alike."""
    tensor, number = (one, other) if isinstance(one, TorchTensor) else (other, one)
    if not isinstance(tensor, TorchTensor) or tensor.dtype is None:
        return UNKNOWN
    if isinstance(number, TorchTensor):
        is_alike = (number.shape, number.dtype) == (tensor.shape, tensor.dtype)
        return tensor if is_alike else UNKNOWN
    if not isinstance(number, int | float):
        return UNKNOWN
    is_kept = isinstance(number, int) or "Float" in tensor.dtype.name
    return tensor if is_kept else replace(tensor, dtype=FLOAT32)


def _torch_dtype(value: Value, otherwise: DType | None) -> DType | None:
    if value is None:
        return otherwise
    return value if isinstance(value, DType) else None


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def torch_method(call: Call) -> Value:
    """Returns the result of a method of a tensor of PyTorch."""
    tensor = call.owner
    assert isinstance(tensor, TorchTensor)
    given = call.given.positional
    order = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    match call.name:
        case "permute":
            return _permuted(tensor, integers(list(order)))
        case "transpose" | "t":
            a, b = (given[0], given[1]) if len(given) == 2 else (0, 1)
            if not isinstance(a, int) or not isinstance(b, int):
                return UNKNOWN
            axes = list(range(len(tensor.shape)))
            axes[a], axes[b] = axes[b], axes[a]
            return _permuted(tensor, axes)
        case "to" | "type" | "astype":
            return replace(tensor, dtype=_converted(tensor, call))
        case "unsqueeze":
            at = given[0] if given and isinstance(given[0], int) else 0
            at = at % (len(tensor.shape) + 1)
            shape = (*tensor.shape[:at], 1, *tensor.shape[at:])
            step = tensor.stride[at] if at < len(tensor.stride) else 1
            return replace(
                tensor, shape=shape, stride=(*tensor.stride[:at], step, *tensor.stride[at:])
            )
        case "contiguous":
            return replace(tensor, stride=_packed(tensor.shape))
        case "half" | "bfloat16" | "float" | "double" | "int" | "long":
            return replace(tensor, dtype=dtype_named(call.name))
        case "size" | "stride":
            listed = tensor.shape if call.name == "size" else tensor.stride
            return _item(listed, call.value(0, "dim")) if call.given.has(0, "dim") else listed
        case "view" | "reshape":
            shape_given = integers(list(order))
            if shape_given is None or -1 in shape_given:
                return UNKNOWN
            return replace(tensor, shape=shape_given, stride=_packed(shape_given))
    if call.name in _SAME or call.name.endswith("_"):
        return tensor
    return UNKNOWN if given or call.given.named else _property(tensor, call.name)


def _permuted(tensor: TorchTensor, axes: Sequence[int] | None) -> Value:
    """Returns a tensor with its modes in that order."""
    modes = range(len(tensor.shape))
    if axes is None or sorted(a % len(modes) for a in axes) != list(modes):
        return UNKNOWN
    shape, stride = (tuple(of[a] for a in axes) for of in (tensor.shape, tensor.stride))
    return replace(tensor, shape=shape, stride=stride)


def _property(tensor: TorchTensor, name: str) -> Value:
    """Returns the result of a method without arguments."""
    match name:
        case "dim_order":
            axes = range(len(tensor.shape))
            return tuple(sorted(axes, key=lambda at: -tensor.stride[at]))
        case "dim" | "ndimension":
            return len(tensor.shape)
        case "numel":
            return math.prod(tensor.shape)
        case "element_size" if tensor.dtype is not None:
            return max(tensor.dtype.bits // 8, 1)
        case "is_contiguous":
            packed = _packed(tensor.shape)
            strides = zip(tensor.shape, tensor.stride, packed, strict=True)
            return all(stride == dense for extent, stride, dense in strides if extent != 1)
    return UNKNOWN


def _item(listed: tuple[int, ...], at: Value) -> Value:
    """Returns what `size(at)` and `stride(at)` mean."""
    return listed[at] if isinstance(at, int) and -len(listed) <= at < len(listed) else UNKNOWN


def _converted(tensor: TorchTensor, call: Call) -> DType | None:
    """Returns the element type after `to` or `type`; None where it is not known."""
    named = call.given.named.get("dtype")
    if named is not None:
        return named if isinstance(named, DType) else None
    return next((g for g in call.given.positional if isinstance(g, DType)), tensor.dtype)


def torch_attribute(tensor: TorchTensor, name: str) -> Value | None:
    """Returns an attribute of a tensor of PyTorch; None for a method."""
    named: dict[str, Value] = {
        "shape": tensor.shape,
        "dtype": tensor.dtype if tensor.dtype is not None else UNKNOWN,
        "T": replace(tensor, shape=tensor.shape[::-1], stride=tensor.stride[::-1]),
        "ndim": len(tensor.shape),
        "is_cuda": True,
    }
    return named.get(name)


@function("dtype")
def dtype_of(call: Call) -> Value:
    """Evaluates `cutlass.dtype(name)` and `cutlass.torch.dtype(type)`."""
    value = call.value(0, "dtype")
    if isinstance(value, DType):
        return value
    return (dtype_named(value) or UNKNOWN) if isinstance(value, str) else UNKNOWN


@function("matrix")
def matrix(call: Call) -> Value:
    """Evaluates `cutlass.torch.matrix(l, m, n, is_mode0_major, dtype)`: of shape (m, n, l)."""
    extents = integers([call.value(i, n) for i, n in enumerate(("l", "mode0", "mode1"))])
    is_first = call.value(3, "is_mode0_major")
    if isinstance(is_first, str):  # examples pass "k" or "m"
        is_first = bool(is_first)
    if extents is None or not isinstance(is_first, bool):
        return UNKNOWN
    batch, m, n = extents
    dtype = call.value(4, "cutlass_dtype")
    stride = (1, m, m * n) if is_first else (n, 1, m * n)
    return TorchTensor(dtype if isinstance(dtype, DType) else None, (m, n, batch), stride)


@function("create_and_permute_torch_tensor")
def create_and_permute(call: Call) -> Value:
    """Evaluates `create_and_permute_torch_tensor(shape, dtype, permute_order=)`."""
    shape = integers(call.value(0, "shape"))
    if shape is None:
        return UNKNOWN
    dtype, order = call.value(1, "dtype"), call.value(2, "permute_order", None)
    made = TorchTensor(dtype if isinstance(dtype, DType) else None, shape, _packed(shape))
    return made if order is None else _permuted(made, integers(order))
