"""Host code: PyTorch tensors, their DLPack views as tensors of CuTe, and command lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, method
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DTYPES,
    FLOAT32,
    Cute,
    Namespace,
    Origin,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import are_integers, integers
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, ModelValue, Symbol, Value
from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.hardware.arch import architecture
from smemlint.layout import cute
from smemlint.layout.cute import Integer
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import Assumption, Topic

TORCH_TYPES = {
    "float64": "Float64", "double": "Float64", "float32": "Float32", "float": "Float32",
    "float16": "Float16", "half": "Float16", "bfloat16": "BFloat16", "int64": "Int64",
    "long": "Int64", "int32": "Int32", "int": "Int32", "int16": "Int16", "int8": "Int8",
    "uint8": "Uint8", "bool": "Boolean", "float8_e4m3fn": "Float8E4M3FN",
    "float8_e5m2": "Float8E5M2", "float8_e8m0fnu": "Float8E8M0FNU",
}  # fmt: skip
_CONSTRUCTORS = frozenset(("empty", "zeros", "ones", "rand", "randn", "randint", "full"))
_SAME = frozenset((
    "cuda", "cpu", "contiguous", "clone", "detach", "requires_grad_", "random_", "fill_", "zero_",
    "normal_", "uniform_", "copy_", "to_dlpack", "__dlpack__", "sign", "abs",
))  # fmt: skip
ALIGNMENT = 16
_ALIGNED = Assumption(
    Topic.ALIGNMENT, f"tensors whose alignment is not known lie at multiples of {ALIGNMENT} bytes"
)
"""Bytes that tensors and their rows are taken to begin on a multiple of."""


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


@dataclass(slots=True, eq=False)
class Parser(ModelValue):
    """An `argparse.ArgumentParser`.

    Attributes:
        options: name -> default.
        choices: name -> the values that it may have.
        flags: those that are either given or not.
    """

    options: dict[str, Value] = field(default_factory=dict)
    choices: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


def dtype_named(name: str) -> DType | None:
    """Returns the element type of that name, of `cutlass` or of PyTorch."""
    name = TORCH_TYPES.get(name, name)
    bits = DTYPES.get(name)
    return DType(name, bits) if bits is not None else None


# ---- PyTorch


def torch_call(call: Call, name: str) -> Value:
    """Returns the result of a function of PyTorch."""
    if name == "arange" and are_integers(call.given.positional) and call.given.positional:
        numbers = range(*call.given.positional[:3])  # type: ignore[arg-type]
        dtype = _torch_dtype(call.given.named.get("dtype"), dtype_named("int64"))
        return TorchTensor(dtype, (len(numbers),), (1,)) if numbers else UNKNOWN
    if name in _CONSTRUCTORS:
        given: list[Value] = list(call.given.positional)
        if name == "randint":
            given = next(([g] for g in given if isinstance(g, tuple | list)), [])
        if name == "full":
            given = given[:1]
        sizes = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
        shape = integers(list(sizes) if not isinstance(sizes, tuple) else sizes)
        if not shape:
            return UNKNOWN
        return TorchTensor(
            _torch_dtype(call.given.named.get("dtype"), FLOAT32), shape, _packed(shape)
        )
    if name.endswith("_like") and call.given.positional:
        like = call.given.positional[0]
        if isinstance(like, TorchTensor):
            return replace(like, dtype=_torch_dtype(call.given.named.get("dtype"), like.dtype))
    if name == "is_available":
        return True
    if name == "get_device_properties":
        limit = architecture(call.run.arch).shared_per_block
        return Namespace({"shared_memory_per_block_optin": limit, "multi_processor_count": 132})
    if name == "get_device_capability":
        return architecture(call.run.arch).capability
    return UNKNOWN


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
            axes = integers(list(order))
            if axes is None or sorted(a % len(tensor.shape) for a in axes) != list(
                range(len(tensor.shape))
            ):
                return UNKNOWN
            return replace(
                tensor,
                shape=tuple(tensor.shape[a] for a in axes),
                stride=tuple(tensor.stride[a] for a in axes),
            )
        case "transpose" | "t":
            a, b = (given[0], given[1]) if len(given) == 2 else (0, 1)
            if not isinstance(a, int) or not isinstance(b, int):
                return UNKNOWN
            axes_list = list(range(len(tensor.shape)))
            axes_list[a], axes_list[b] = axes_list[b], axes_list[a]
            return replace(
                tensor,
                shape=tuple(tensor.shape[i] for i in axes_list),
                stride=tuple(tensor.stride[i] for i in axes_list),
            )
        case "to" | "type":
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


# ---- tensors of CuTe


def global_tensor(
    run: Execution,
    tensor: TorchTensor,
    dtype: DType,
    *,
    is_dynamic: bool,
    leading: int | None = None,
    alignment: int = 0,
) -> Value:
    """Returns a tensor of global memory.

    Dynamic extents are symbols; dynamic strides have the values that are passed.

    Args:
        run: the execution.
        tensor: what is passed.
        dtype: of its elements.
        is_dynamic: the compiled kernel takes tensors of other shapes, too.
        leading: the dimension of stride 1; None for the one that has it now.
        alignment: bytes that the pointer is declared to be a multiple of; 0 for an element's.
    """
    shape: tuple[Integer, ...] = tensor.shape
    stride: tuple[Integer, ...] = tensor.stride
    if is_dynamic:
        one = leading if leading is not None else _leading(tensor)
        shape = tuple(to_engine(run.fresh("extent"), run.domain) for _ in shape)
        stride = tuple(
            1 if at == one else cute.DynamicInt(step) for at, step in enumerate(tensor.stride)
        )
    try:
        layout = cute.Layout(shape, stride)
    except cute.CuteError as error:
        return Cute(UnknownTensor(cute.Space.GLOBAL, str(error), dtype))
    return tensor_of_layout(run, dtype, layout, alignment or max(dtype.bits // 8, 1))


def tensor_of_layout(run: Execution, dtype: DType, layout: cute.Layout, alignment: int) -> Value:
    """Returns a tensor of an array of global memory of its own, of that alignment in bytes."""
    origin = Origin(dtype, run.global_array(dtype))
    return Cute(cute.Tensor(cute.Space.GLOBAL, dtype.bits, layout, 0, None, origin, alignment))


def unknown_stride(run: Execution, dtype: DType) -> Integer:
    """Returns a stride of rows that vectors of 16 bytes fit in."""
    elements = max(8 * ALIGNMENT // dtype.bits, 1)
    return to_engine(run.fresh("a stride", multiple=elements), run.domain)


def _leading(tensor: TorchTensor) -> int | None:
    found = [
        i
        for i, (n, d) in enumerate(zip(tensor.shape, tensor.stride, strict=True))
        if d == 1 and n > 1
    ]
    return found[0] if found else next((i for i, d in enumerate(tensor.stride) if d == 1), None)


@function("from_dlpack")
def from_dlpack(call: Call) -> Value:
    """Evaluates `from_dlpack(tensor, assumed_align=)`: a static layout until it is marked."""
    tensor = call.value(0, "tensor_dlpack")
    if not isinstance(tensor, TorchTensor) or tensor.dtype is None:
        dtype = tensor.dtype if isinstance(tensor, TorchTensor) else None
        return Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", dtype))
    alignment = declared_alignment(call, 1)
    return global_tensor(call.run, tensor, tensor.dtype, is_dynamic=False, alignment=alignment)


def declared_alignment(call: Call, position: int) -> int:
    """Returns the argument `assumed_align`; 0 for none, which is the size of an element."""
    given = call.value(position, "assumed_align", None)
    if given is not None and not isinstance(given, int):
        call.run.guessed.setdefault(_ALIGNED)
        return ALIGNMENT
    return given if given is not None and given > 0 else 0


@method("mark_layout_dynamic")
def mark_layout_dynamic(call: Call) -> Value:
    """Evaluates `mark_layout_dynamic(leading_dim=)`: nothing is known of the other strides."""
    tensor = payload_of(call.owner)
    if not isinstance(tensor, cute.Tensor) or not isinstance(tensor.origin, Origin):
        return call.owner
    shape, stride = cute.leaves(tensor.layout.shape), cute.leaves(tensor.layout.plain.stride)
    if not shape or not all(isinstance(n, int) for n in (*shape, *stride)):
        return call.owner
    dtype, leading = tensor.origin.dtype, call.value(0, "leading_dim", None)
    return global_tensor(
        call.run,
        TorchTensor(dtype, tuple(map(int, shape)), tuple(map(int, stride))),  # type: ignore[arg-type]
        dtype,
        is_dynamic=True,
        leading=leading if isinstance(leading, int) else None,
        alignment=tensor.alignment,
    )


@method("mark_compact_shape_dynamic")
def mark_compact_shape_dynamic(call: Call) -> Value:
    """Evaluates `mark_compact_shape_dynamic(mode, stride_order=, divisibility=)`."""
    tensor, mode = payload_of(call.owner), call.value(0, "mode")
    if not isinstance(tensor, cute.Tensor) or not isinstance(mode, int):
        return call.owner
    shape, stride = cute.leaves(tensor.layout.shape), cute.leaves(tensor.layout.plain.stride)
    order = _stride_order(call, stride)
    if order is None or mode not in order:
        return call.owner
    divisibility = call.value(2, "divisibility", 1)
    multiple = divisibility if isinstance(divisibility, int) and divisibility > 0 else 1
    extent = to_engine(call.run.fresh("extent", multiple=multiple), call.run.domain)
    marked = tuple(extent if at == mode else n for at, n in enumerate(shape))
    layout = cute.Layout(marked, packed_strides(call.run, marked, order[::-1]))
    return Cute(replace(tensor, layout=layout))


def _stride_order(call: Call, stride: Sequence[Integer]) -> tuple[int, ...] | None:
    """Returns the modes from the outermost to the innermost; None where that is not known."""
    given = call.value(1, "stride_order", None)
    order = integers(given) if isinstance(given, tuple | list) else None
    if order is not None and sorted(order) == list(range(len(stride))):
        return order
    passed = [v for v in (getattr(d, "value", d) for d in stride) if isinstance(v, int)]
    if len(passed) == len(stride):
        return tuple(sorted(range(len(stride)), key=lambda at: -passed[at]))
    ones = [at for at, d in enumerate(stride) if d == 1]
    return (1 - ones[0], ones[0]) if len(stride) == 2 and len(ones) == 1 else None


def packed_strides(
    run: Execution, shape: Sequence[Integer], order: Sequence[int]
) -> tuple[Integer, ...]:
    """Returns the strides of a tensor without gaps, of run time from the first such extent on.

    Args:
        run: the execution.
        shape: extents.
        order: modes, the innermost one first.
    """
    strides: list[Integer] = [1] * len(shape)
    step, is_static = 1, True
    for at in order:
        extent = shape[at]
        strides[at] = (
            step if is_static else to_engine(run.fresh("a stride", multiple=step), run.domain)
        )
        is_static = is_static and isinstance(extent, int)
        step *= extent if isinstance(extent, int) else extent.multiple
    return tuple(strides)


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
    axes = integers(order) if isinstance(order, tuple | list) else None
    if axes is None:
        return made if order is None else UNKNOWN
    return replace(
        made, shape=tuple(shape[a] for a in axes), stride=tuple(made.stride[a] for a in axes)
    )


@function("cute_tensor_like")
def cute_tensor_like(call: Call) -> Value:
    """Evaluates `cute_tensor_like(reference, dtype, ..)`: both tensors."""
    like, dtype = call.value(0, "data_ref"), call.value(1, "cutlass_dtype")
    is_dynamic = call.value(2, "is_dynamic_layout", True)
    known = dtype if isinstance(dtype, DType) else None
    if not isinstance(like, TorchTensor) or known is None:
        return (
            Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", known)),
            UNKNOWN,
        )
    host = replace(like, dtype=known)
    made = global_tensor(
        call.run,
        host,
        known,
        is_dynamic=is_dynamic is not False,
        alignment=declared_alignment(call, 3),
    )
    return (made, host)


@function("convert_cute_tensor")
def convert_cute_tensor(call: Call) -> Value:
    """Evaluates `convert_cute_tensor(source, tensor, dtype, ..)`: the tensor."""
    return call.value(1, "cute_tensor")


@function("create_cute_tensor_for_fp8")
def create_cute_tensor_for_fp8(call: Call) -> Value:
    """Evaluates `create_cute_tensor_for_fp8(storage, dtype, leading_dim, ..)`."""
    tensor, dtype, leading = (
        call.value(0, "storage_tensor"),
        call.value(1, "dtype"),
        call.value(2, "leading_dim"),
    )
    known = dtype if isinstance(dtype, DType) else None
    if not isinstance(tensor, TorchTensor) or known is None:
        return Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", known))
    at = leading if isinstance(leading, int) else None
    return global_tensor(call.run, tensor, known, is_dynamic=True, leading=at, alignment=ALIGNMENT)


# ---- command lines


def parser_method(call: Call, overrides: dict[str, Value]) -> Value:
    """Returns the result of a method of an `ArgumentParser`."""
    parser = call.owner
    assert isinstance(parser, Parser)
    match call.name:
        case "add_argument":
            _add_option(parser, call)
            return UNKNOWN
        case "parse_args" | "parse_known_args":
            parsed = Namespace(
                {**parser.options, **{k: v for k, v in overrides.items() if k in parser.options}}
            )
            return parsed if call.name == "parse_args" else (parsed, [])
        case "add_argument_group" | "add_mutually_exclusive_group":
            return parser
        case "set_defaults":
            parser.options.update(call.given.named)
    return UNKNOWN


def _add_option(parser: Parser, call: Call) -> None:
    flags = [f for f in call.given.positional if isinstance(f, str)]
    named = call.given.named
    dest = named.get("dest")
    name = (
        dest
        if isinstance(dest, str)
        else next((f for f in flags if f.startswith("--")), flags[0] if flags else "")
    )
    name = name.lstrip("-").replace("-", "_")
    if not name:
        return
    action = named.get("action")
    default = named.get("default", None)
    if action in ("store_true", "store_false"):
        default = named.get("default", action == "store_false")
        parser.flags.add(name)
    if isinstance(default, str) and isinstance(named.get("type"), Symbol):
        kind = named["type"]
        assert isinstance(kind, Symbol)
        if kind.name == "dtype":
            default = dtype_named(default) or UNKNOWN
        elif kind.name == "int" and default.isdigit():
            default = int(default)
    parser.options[name] = default
    choices = named.get("choices")
    if isinstance(choices, list | tuple):
        parser.choices[name] = tuple(choices)


@function("dtype")
def dtype_of(call: Call) -> Value:
    """Evaluates `cutlass.dtype(name)` and `cutlass.torch.dtype(type)`."""
    value = call.value(0, "dtype")
    if isinstance(value, DType):
        return value
    return (dtype_named(value) or UNKNOWN) if isinstance(value, str) else UNKNOWN
