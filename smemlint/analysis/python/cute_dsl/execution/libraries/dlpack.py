"""Tensors of CuTe that host code makes of those of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import Call, function, method
from smemlint.analysis.python.cute_dsl.execution.libraries.torch import TorchTensor
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    Origin,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import integers
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Value
from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.layout import cute
from smemlint.layout.cute import Integer
from smemlint.reasons import Assumption, Topic

ALIGNMENT = 16
_ALIGNED = Assumption(
    Topic.ALIGNMENT, f"tensors whose alignment is not known lie at multiples of {ALIGNMENT} bytes"
)
"""Bytes that tensors and their rows are taken to begin on a multiple of."""


def global_tensor(
    run: Execution,
    tensor: Value,
    dtype: Value,
    *,
    is_dynamic: bool,
    leading: Value = None,
    alignment: int = 0,
) -> Value:
    """Returns a tensor of global memory.

    Dynamic extents are symbols; dynamic strides have the values that are passed.

    Args:
        run: the execution.
        tensor: what is passed.
        dtype: of its elements.
        is_dynamic: the compiled kernel takes tensors of other shapes, too.
        leading: the dimension of stride 1; the one that has it now where that is no number.
        alignment: bytes that the pointer is declared to be a multiple of; 0 for an element's.
    """
    known = dtype if isinstance(dtype, DType) else None
    if not isinstance(tensor, TorchTensor) or known is None:
        return Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", known))
    shape: tuple[Integer, ...] = tensor.shape
    stride: tuple[Integer, ...] = tensor.stride
    if is_dynamic:
        one = leading if isinstance(leading, int) else _leading(tensor)
        shape = tuple(to_engine(run.fresh("extent"), run.domain) for _ in shape)
        stride = tuple(
            1 if at == one else cute.DynamicInt(step) for at, step in enumerate(tensor.stride)
        )
    try:
        layout = cute.Layout(shape, stride)
    except cute.CuteError as error:
        return Cute(UnknownTensor(cute.Space.GLOBAL, str(error), known))
    return tensor_of_layout(run, known, layout, alignment or max(known.bits // 8, 1))


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
    dtype = tensor.dtype if isinstance(tensor, TorchTensor) else None
    alignment = declared_alignment(call, 1)
    return global_tensor(call.run, tensor, dtype, is_dynamic=False, alignment=alignment)


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
    dtype = tensor.origin.dtype
    return global_tensor(
        call.run,
        TorchTensor(dtype, tuple(map(int, shape)), tuple(map(int, stride))),  # type: ignore[arg-type]
        dtype,
        is_dynamic=True,
        leading=call.value(0, "leading_dim", None),
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


@function("cute_tensor_like")
def cute_tensor_like(call: Call) -> Value:
    """Evaluates `cute_tensor_like(reference, dtype, ..)`: both tensors."""
    like, dtype = call.value(0, "data_ref"), call.value(1, "cutlass_dtype")
    is_dynamic = call.value(2, "is_dynamic_layout", True) is not False
    alignment = declared_alignment(call, 3)
    made = global_tensor(call.run, like, dtype, is_dynamic=is_dynamic, alignment=alignment)
    is_known = isinstance(like, TorchTensor) and isinstance(dtype, DType)
    return made, replace(like, dtype=dtype) if is_known else UNKNOWN  # type: ignore[type-var]


@function("convert_cute_tensor")
def convert_cute_tensor(call: Call) -> Value:
    """Evaluates `convert_cute_tensor(source, tensor, dtype, ..)`: the tensor."""
    return call.value(1, "cute_tensor")


@function("create_cute_tensor_for_fp8")
def create_cute_tensor_for_fp8(call: Call) -> Value:
    """Evaluates `create_cute_tensor_for_fp8(storage, dtype, leading_dim, ..)`."""
    return global_tensor(
        call.run,
        call.value(0, "storage_tensor"),
        call.value(1, "dtype"),
        is_dynamic=True,
        leading=call.value(2, "leading_dim"),
        alignment=ALIGNMENT,
    )
