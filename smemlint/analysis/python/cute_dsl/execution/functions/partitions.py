"""Slices of tiled copies and MMAs by thread, and the parts of tensors that threads have."""

from __future__ import annotations

from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    method,
    needed_layout,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import registers, undecided
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    Origin,
    ThreadSlice,
    UnknownTensor,
    WithoutLanes,
    array_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import DType, Value
from smemlint.layout import cute
from smemlint.reasons import ReasonCode


@method("get_slice")
def get_slice(call: Call) -> Value:
    """Evaluates `tiled.get_slice(thread)`."""
    tiled = payload_of(call.owner)
    tiled = tiled.tiled if isinstance(tiled, ThreadSlice) else tiled
    if isinstance(tiled, WithoutLanes):
        return Cute(replace(tiled, thread=call.integer(0, "thr_idx")))
    if not isinstance(tiled, cute.TiledCopy | cute.TiledMma):
        raise cute.CuteError(reason_of(call.owner, "what is sliced is not known"))
    return Cute(ThreadSlice(tiled, call.integer(0, "thr_idx")))


def _slice_of(call: Call) -> ThreadSlice:
    found = payload_of(call.owner)
    if isinstance(found, WithoutLanes):
        raise cute.CuteError(found.reason or f"of {found.mechanism}, which has no lane addresses")
    if not isinstance(found, ThreadSlice):
        raise cute.CuteError(reason_of(call.owner, "a slice of threads is not known"))
    return found


@method("partition_S", "partition_D")
def partition_copy(call: Call) -> Value:
    """Evaluates `thr_copy.partition_S(tensor)` and `partition_D`."""
    return _partitioned(call, "src" if call.name[-1] == "S" else "dst", cute.TiledCopy, "copy")


@method("partition_A", "partition_B", "partition_C")
def partition_mma(call: Call) -> Value:
    """Evaluates `thr_mma.partition_A(tensor)`, `_B` and `_C`."""
    return _partitioned(call, "input", cute.TiledMma, "MMA")


def _partitioned(
    call: Call, parameter: str, kind: type[cute.TiledCopy | cute.TiledMma], what: str
) -> Value:
    """Returns a thread's part of a tensor, as the last letter of the method says of which side."""
    tensor = needed_tensor(call.value(0, parameter))
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    try:
        part = _slice_of(call)
        if not isinstance(part.tiled, kind):
            raise cute.CuteError(f"a slice of a tiled {what} is needed")
        side = call.name[-1]
        return Cute(part.tiled.partition(tensor, part.thread, side))  # type: ignore[arg-type]
    except cute.CuteError as error:
        return Cute(undecided(tensor, f"`{call.name}`: {error}"))


@method("retile", "retile_S", "retile_D")
def retile(call: Call) -> Value:
    """Evaluates `thr_copy.retile(registers)`."""
    tensor = needed_tensor(call.value(0, "src"))
    owner = payload_of(call.owner)
    tiled = owner.tiled if isinstance(owner, ThreadSlice) else owner
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    if not isinstance(tiled, cute.TiledCopy):
        return Cute(undecided(tensor, reason_of(call.owner, "a tiled copy is not known")))
    try:
        return Cute(tiled.retile(tensor))
    except cute.CuteError as error:
        return Cute(undecided(tensor, f"`{call.name}`: {error}"))


@method("make_fragment_A", "make_fragment_B", "make_fragment_C")
def make_operand(call: Call) -> Value:
    """Evaluates `tiled_mma.make_fragment_A(tensor or shape)`, `_B` and `_C`."""
    owner = payload_of(call.owner)
    mma = owner.tiled if isinstance(owner, ThreadSlice) else owner
    value = call.value(0, "input")
    if isinstance(payload_of(value), UnknownTensor) or not isinstance(mma, cute.TiledMma):
        return Cute(UnknownTensor(cute.Space.REGISTER, "an operand is not known"))
    operand: cute.Operand = call.name[-1]  # type: ignore[assignment]
    bits = mma.op.element_bits("D" if operand == "C" else operand)
    names = {64: "Float64", 32: "Float32", 16: "Float16", 8: "Int8"}
    dtype = DType(names.get(bits, "registers"), bits or 32)
    if operand == "C" and mma.op.accumulating_ctas:
        found = cute.accumulator(mma.op, _accumulated_shape(call, value), dtype.bits)
        return Cute(replace(found, origin=Origin(dtype)))
    if isinstance(value, tuple | list):
        return Cute(registers(dtype, cute.Layout(numbers.int_tuple(call.run, value))))
    tensor = needed_tensor(value)
    if isinstance(tensor, UnknownTensor):
        return Cute(UnknownTensor(cute.Space.REGISTER, tensor.reason))
    if not bits and isinstance(tensor.origin, Origin):
        dtype = tensor.origin.dtype
    reads_memory = mma.op.b_is_descriptor if operand == "B" else mma.op.a_is_descriptor
    if operand != "C" and reads_memory:
        array = array_of(tensor)
        if array is not None:
            text = f"`{array.name}` is read by an MMA's descriptor, which has no lane addresses"
            call.run.note(call.node, text, array, ReasonCode.NO_LANES)
        return Cute(UnknownTensor(cute.Space.REGISTER, "a descriptor of shared memory", dtype))
    made = mma.fragment(tensor, operand, dtype.bits)
    return Cute(replace(made, origin=Origin(dtype), alignment=32))


def _accumulated_shape(call: Call, value: Value) -> cute.IntTuple:
    is_shape = isinstance(value, tuple | list)
    return numbers.int_tuple(call.run, value) if is_shape else needed_layout(value).shape


@method("partition_shape_A", "partition_shape_B", "partition_shape_C")
def partition_shape(call: Call) -> Value:
    """Evaluates `tiled_mma.partition_shape_C((m, n))`."""
    mma = payload_of(call.owner)
    mma = mma.tiled if isinstance(mma, ThreadSlice) else mma
    if not isinstance(mma, cute.TiledMma):
        raise cute.CuteError(reason_of(call.owner, "a tiled MMA is not known"))
    operand: cute.Operand = call.name[-1]  # type: ignore[assignment]
    whole = cute.Tensor(cute.Space.REGISTER, 32, cute.Layout(call.int_tuple(0, "shape")))
    return call.result(mma.partition(whole, 0, operand).shape)
