"""Tensor memory in CuTe C++: accumulators, their copies, and shapes of partitioned operands."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.tensors import register_tensor
from smemlint.analysis.simt.cute.values import payload_of, value_of
from smemlint.analysis.simt.domain.values import Cute, Value
from smemlint.layout import cute


def accumulator(mma: cute.MmaOp, partition: cute.Tensor) -> cute.Tensor:
    """Returns `make_fragment_C(partition)`, with elements of the partition's type.

    Raises:
        CuteError: there is no accumulator of that shape.
    """
    result = cute.accumulator(mma, partition.layout.plain.shape, partition.bits)
    named = register_tensor(partition.bits, result.layout.plain)
    return replace(result, origin=partition.origin or named.origin)


@function("make_tmem_copy")
def _make_tmem_copy(call: Call) -> Value:
    """Evaluates `make_tmem_copy(op or atom, tensor)`."""
    tensor = call.tensor(1)
    payload = call.payload(0)
    if isinstance(payload, cute.CopyOp):
        payload = cute.CopyAtom(payload, tensor.bits)
    if not isinstance(payload, cute.CopyAtom):
        raise cute.CuteError("a copy atom that is not known")
    return Cute(cute.make_tensor_memory_copy(payload, tensor))


@function("tile_to_mma_shape")
def _tile_to_mma_shape(call: Call) -> Value:
    shape = call.convert.int_tuple(call.values[1])
    order = call.convert.order(call.values[2]) if len(call.values) > 2 else "left"
    atom = call.payload(0)
    if isinstance(atom, cute.SmemAtom):
        tiled = cute.tile_to_mma_shape(atom.layout, shape, order)
        return Cute(cute.SmemAtom(atom.swizzle, tiled))
    return Cute(cute.tile_to_mma_shape(call.layout(0), shape, order))


@function("partition_shape_A", "partition_shape_B")
def _partition_shape(call: Call) -> Value:
    mma = payload_of(call.values[0])
    if not isinstance(mma, cute.TiledMma):
        raise cute.CuteError("a TiledMMA that is not known")
    operand: Literal["A", "B"] = call.name[-1]  # type: ignore[assignment]
    shape = call.convert.int_tuple(call.values[1])
    whole = cute.make_register_tensor(8, cute.Layout(shape))
    return value_of(mma.partition(whole, 0, operand).shape)
