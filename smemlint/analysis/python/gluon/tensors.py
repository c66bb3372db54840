"""Tensors in registers: which layout operations on them give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from smemlint.analysis.python.gluon.arguments import Given, integers
from smemlint.analysis.python.gluon.values import AUTOMATIC, HostTensor
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Method,
    Tensor,
    Unknown,
    Value,
)
from smemlint.layout.register_layouts import RegisterLayout, Slice

if TYPE_CHECKING:
    from collections.abc import Sequence

MAKES_TENSORS = frozenset(f"torch.{n}" for n in ("empty", "zeros", "ones", "rand", "randn"))
MAKES_LIKE = frozenset(f"{maker}_like" for maker in MAKES_TENSORS)
_TRANSPARENT = frozenset(("constexpr", "to_tensor", "multiple_of", "max_contiguous", "assume"))
_ELEMENTWISE = frozenset(
    [
        "exp",
        "exp2",
        "log",
        "log2",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "abs",
        "where",
        "maximum",
        "minimum",
        "fma",
        "cast",
        "floor",
        "ceil",
        "erf",
        "sigmoid",
        "clamp",
        "bitcast",
        "div_rn",
        "sqrt_rn",
        "fdiv",
        "add",
        "sub",
        "mul",
    ]
)
_LOADS = frozenset(("load", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"))


def host_tensor(given: Given) -> Value:
    """A tensor of `torch.empty(2, 3, dtype=torch.float16)` and the like."""
    dtype = given.named.get("dtype")
    if not isinstance(dtype, DType):
        return UNKNOWN
    extents = given.positional
    if len(extents) == 1 and isinstance(extents[0], tuple | list):
        extents = list(extents[0])
    return HostTensor(integers(extents), dtype)


def of_host(owner: HostTensor, name: str, given: Given) -> Value:
    """What a method of a host's tensor gives, or `torch.empty_like` and the like of it."""
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


def unified(values: Sequence[Value]) -> Value:
    """The tensor that elementwise operations on tensors and scalars give."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        return UNKNOWN
    ranked = [t for t in tensors if t.shape is not None]
    if len(ranked) < len(tensors):
        shape = None
    else:
        shape = ranked[0].shape
        for other in ranked[1:]:
            shape = _broadcast(shape, other.shape)
    layouts = {t.layout for t in tensors}
    layout = tensors[0].layout if len(layouts) == 1 else None
    return Tensor(
        shape, layout, tensors[0].dtype, next((t.reason for t in tensors if t.reason), "")
    )


def _broadcast(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(max(a, b) for a, b in zip(one, other, strict=True))


def _tensor(shape: Value, layout: Value, dtype: Value = None) -> Tensor:
    return Tensor(
        integers(shape),
        layout if isinstance(layout, RegisterLayout) else None,
        dtype if isinstance(dtype, DType) else None,
        layout.reason if isinstance(layout, Unknown) else "",
    )


def called(name: str, given: Given) -> Value:
    """Calls of names that are no layouts."""
    first = given.get(0, "")
    match name:
        case "arange":
            start, end = given.get(0, "start"), given.get(1, "end")
            is_known_range = isinstance(start, int) and isinstance(end, int)
            shape: Value = [end - start] if is_known_range else UNKNOWN
            return _tensor(shape, given.get(2, "layout", AUTOMATIC), DType("int32", 32))
        case "full":
            return _tensor(first, given.get(3, "layout", AUTOMATIC), given.get(2, "dtype"))
        case "zeros":
            return _tensor(first, given.get(2, "layout", AUTOMATIC), given.get(1, "dtype"))
        case "full_like" | "zeros_like":
            return first
        case "convert_layout":
            shape = first.shape if isinstance(first, Tensor) else UNKNOWN
            return _tensor(shape, given.get(1, "layout"), getattr(first, "dtype", None))
        case "set_auto_layout":
            shape = first.shape if isinstance(first, Tensor) else UNKNOWN
            return _tensor(shape, given.get(1, "layout"))
        case "expand_dims":
            return Tensor()
        case "sum" | "max" | "min" | "reduce" | "xor_sum":
            return of_tensor(first, name, Given(given.positional[1:], given.named))
        case "warpgroup_mma" | "mma_v2":
            return given.get(2, "acc")
        case "warpgroup_mma_wait":
            deps = given.get(1, "deps", first)
            return deps[0] if isinstance(deps, list | tuple) and len(deps) == 1 else deps
        case "warpgroup_mma_init":
            return first
        case "cdiv" | "next_power_of_2":
            return _number(name, given.positional)
        case "static_range" | "range":
            ends = given.positional[:3]
            is_static = name == "static_range" and ends and all(isinstance(v, int) for v in ends)
            return range(*ends) if is_static else UNKNOWN
    if name in _TRANSPARENT:
        return first
    if name in _LOADS:
        # The pointers' type is not known here; their layout is the result's.
        return replace(first, dtype=None) if isinstance(first, Tensor) else UNKNOWN
    if name in _ELEMENTWISE:
        return unified(given.positional)
    return UNKNOWN


def _number(name: str, values: Sequence[Any]) -> Value:
    if not values or not all(isinstance(v, int) and v > 0 for v in values):
        return UNKNOWN
    if name == "next_power_of_2":
        return 1 << (values[0] - 1).bit_length()
    return -(-values[0] // values[1]) if len(values) > 1 else UNKNOWN


def of_tensor(owner: Value, name: str, given: Given) -> Value:
    """What a method of a tensor gives."""
    if not isinstance(owner, Tensor):
        return UNKNOWN
    if name == "to":
        dtype = given.get(0, "dtype")
        return replace(owner, dtype=dtype if isinstance(dtype, DType) else None)
    if name in ("sum", "max", "min", "reduce", "xor_sum"):
        axis = given.get(0, "axis", None)
        if isinstance(axis, int) and owner.shape is not None and 0 <= axis < len(owner.shape):
            layout = Slice(axis, owner.layout) if owner.layout is not None else None
            return Tensor(owner.shape[:axis] + owner.shape[axis + 1 :], layout, owner.dtype)
        return UNKNOWN
    if name in _ELEMENTWISE:
        return unified([owner, *given.positional])
    return Tensor()


def attribute_of(owner: Tensor, name: str) -> Value:
    """An attribute of a tensor."""
    if name == "shape":
        return list(owner.shape) if owner.shape is not None else UNKNOWN
    if name == "dtype":
        return owner.dtype or UNKNOWN
    return Method(owner, name)
