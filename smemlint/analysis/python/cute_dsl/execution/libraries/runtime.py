"""Tensors that kernels are compiled for without data: `cute.runtime`'s fakes, and guesses."""

from __future__ import annotations

from smemlint.analysis.python.cute_dsl.execution.call import Call, function
from smemlint.analysis.python.cute_dsl.execution.libraries.host import (
    ALIGNMENT,
    TorchTensor,
    global_tensor,
    tensor_of_layout,
    unknown_stride,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Cute, Number, UnknownTensor
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
    layout = cute.Layout(call.int_tuple(1, "shape"), call.int_tuple(2, "stride"))
    dtype = call.dtype(0, "dtype")
    alignment = call.given.named.get("assumed_align")
    known = alignment if isinstance(alignment, int) and alignment > 0 else max(dtype.bits // 8, 1)
    return tensor_of_layout(call.run, dtype, layout, known)


@function("sym_int", "sym_int32", "sym_int64")
def symbolic_integer(call: Call) -> Value:
    """Evaluates `sym_int(divisibility=)`: a number of run time."""
    divisibility = call.given.named.get("divisibility", 1)
    is_known = isinstance(divisibility, int) and 0 < divisibility < 1 << 16
    return Number(call.run.fresh("extent", multiple=divisibility if is_known else 1))  # type: ignore[arg-type]


@function("make_fake_compact_tensor")
def make_fake_compact_tensor(call: Call) -> Value:
    """Evaluates `make_fake_compact_tensor(dtype, shape, stride_order=)`."""
    dtype, shape = call.value(0, "dtype"), call.value(1, "shape")
    known = dtype if isinstance(dtype, DType) else None
    order = integers(call.value(2, "stride_order", None))
    if known is None or not isinstance(shape, tuple | list):
        return Cute(UnknownTensor(cute.Space.GLOBAL, "the shape of a tensor is not known", known))
    leading = order.index(0) if order and 0 in order else 0
    host = TorchTensor(
        known, (2,) * len(shape), tuple(int(i == leading) for i in range(len(shape)))
    )
    return global_tensor(call.run, host, known, is_dynamic=True, leading=leading)
