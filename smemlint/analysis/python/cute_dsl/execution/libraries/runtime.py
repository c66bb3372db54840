"""Tensors that kernels are compiled for without data: `cute.runtime`'s fakes, and guesses."""

from __future__ import annotations

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import Call, function
from smemlint.analysis.python.cute_dsl.execution.libraries.dlpack import (
    ALIGNMENT,
    declared_alignment,
    packed_strides,
    tensor_of_layout,
    unknown_stride,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Cute, Number, Opaque, UnknownTensor
from smemlint.analysis.python.interpreter.arguments import integers
from smemlint.analysis.python.interpreter.values import DType, Value
from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.layout import cute


def symbolic_tensor(run: Execution, dtype: DType, rank: int) -> Value:
    """Returns a tensor of global memory whose last mode is contiguous, its rows aligned."""
    layout = cute.Layout(
        tuple(to_engine(run.fresh("extent"), run.domain) for _ in range(rank)),
        tuple(1 if at == rank - 1 else unknown_stride(run, dtype) for at in range(rank)),
    )
    return tensor_of_layout(run, dtype, layout, ALIGNMENT)


@function("make_fake_tensor")
def make_fake_tensor(call: Call) -> Value:
    """Evaluates `make_fake_tensor(dtype, shape, stride, assumed_align=)`."""
    dtype = call.dtype(0, "dtype")
    try:
        layout = cute.Layout(call.int_tuple(1, "shape"), call.int_tuple(2, "stride"))
    except cute.CuteError as error:
        return Cute(UnknownTensor(cute.Space.GLOBAL, str(error), dtype))
    alignment = declared_alignment(call, 4) or max(dtype.bits // 8, 1)
    return tensor_of_layout(call.run, dtype, layout, alignment)


@function("quack.make_fake_tensor")
def make_dynamic_tensor(call: Call) -> Value:
    """Evaluates QuACK's `make_fake_tensor(dtype, shape, divisibility=, leading_dim=)`."""
    if not call.has(0, "dtype"):
        return None
    dtype, extents = call.dtype(0, "dtype"), call.value(1, "shape")
    multiple, leading = call.static(2, "divisibility", 1), call.value(3, "leading_dim", -1)
    if not isinstance(extents, tuple | list) or not isinstance(leading, int | None):
        return Cute(UnknownTensor(cute.Space.GLOBAL, "a layout is not known", dtype))
    stride: list[cute.Integer] = [
        to_engine(call.run.fresh("a stride", multiple=max(multiple, 1)), call.run.domain)
        for _ in extents
    ]
    if leading is not None:
        stride[leading] = 1
    layout = cute.Layout(numbers.extents(call.run, extents), tuple(stride))
    return tensor_of_layout(call.run, dtype, layout, max(multiple * dtype.bits // 8, 1))


@function("sym_int", "sym_int32", "sym_int64")
def symbolic_integer(call: Call) -> Value:
    """Evaluates `sym_int(divisibility=)`: a number of run time."""
    divisibility = call.given.named.get("divisibility", 1)
    is_known = isinstance(divisibility, int) and 0 < divisibility < 1 << 16
    return Number(call.run.fresh("extent", multiple=divisibility if is_known else 1))  # type: ignore[arg-type]


@function("HardwareInfo")
def hardware_info(call: Call) -> Value:
    """Evaluates `cutlass.utils.HardwareInfo()`: what it tells of the device is not known."""
    return Opaque(call.name)


@function("make_fake_compact_tensor")
def make_fake_compact_tensor(call: Call) -> Value:
    """Evaluates `make_fake_compact_tensor(dtype, shape, stride_order=)`."""
    dtype, extents = call.value(0, "dtype"), call.value(1, "shape")
    known = dtype if isinstance(dtype, DType) else None
    if known is None or not isinstance(extents, tuple | list):
        return Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", known))
    shape = cute.leaves(numbers.extents(call.run, extents))
    places = integers(call.value(2, "stride_order", None)) or tuple(range(len(shape)))
    modes = sorted(range(len(shape)), key=lambda at: places[at])
    layout = cute.Layout(shape, packed_strides(call.run, shape, modes))
    alignment = declared_alignment(call, 4) or max(known.bits // 8, 1)
    return tensor_of_layout(call.run, known, layout, alignment)
