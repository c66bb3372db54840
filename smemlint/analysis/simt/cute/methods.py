"""Methods of CuTe's classes: tables from names to the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from smemlint.analysis.simt.cute import (
    coordinates,
    each,
    numbers,
    selectors,
    tensor_functions,
    tiled,
)
from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import FUNCTIONS
from smemlint.analysis.simt.cute.tensor_memory import accumulator
from smemlint.analysis.simt.cute.tensors import data_of, like_registers
from smemlint.analysis.simt.cute.tma import tma_tensor
from smemlint.analysis.simt.cute.values import ThreadSlice, payload_of, value_of
from smemlint.analysis.simt.domain.swizzled import swizzled
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Value
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle

Method = Callable[[Any, Call], Value]


_REGISTERED = (coordinates, each, numbers, selectors, tensor_functions, tiled)
"""Modules that add functions to the table by being imported."""

_BYTE = 8
_QUERIES = frozenset(("size", "cosize", "rank", "shape", "stride", "layout"))
_QUERIED = (cute.Tensor, cute.Layout, cute.ComposedLayout, cute.SmemAtom)


def call_method(value: Value, call: Call) -> Value | None:
    """Returns the value of a method of one of CuTe's classes; None where it has none.

    Raises:
        CuteError: what CuTe refuses to compile, or an argument is not known.
    """
    payload = payload_of(value)
    if call.name in _QUERIES and isinstance(payload, _QUERIED):
        return FUNCTIONS[call.name](_with_self(value, call))
    for type_, table in _METHODS:
        if isinstance(payload, type_):
            method = table.get(call.name)
            return method(payload, call) if method is not None else None
    return None


def _with_self(value: Value, call: Call) -> Call:
    return Call(call.ev, call.name, call.types, (value, *call.values), call.node)


def _slice(tiled: cute.TiledCopy | cute.CopyAtom | cute.TiledMma, call: Call) -> Value:
    if isinstance(tiled, cute.CopyAtom) and tiled.op.has_lane_addresses:
        raise cute.CuteError("a slice of a copy atom, which has no threads")
    return Cute(ThreadSlice(tiled, call.convert.integer(call.values[0])))


def _itself(payload: object, call: Call) -> Value:
    return Cute(payload)


def _with_barrier(op: cute.CopyOp, call: Call) -> Value:
    """Evaluates `Copy_Traits<SM90_BULK_COPY_AUTO>{}.with(barrier)`, which is copied with as it is.

    Raises:
        CuteError: it moves values lane by lane, and the traits do not say which.
    """
    if op.has_lane_addresses:
        raise cute.CuteError("the traits of a copy without the type of its values")
    return Cute(cute.CopyAtom(op, _BYTE))


# ---- TiledCopy


def _partition(own: ThreadSlice, call: Call) -> Value:
    if isinstance(own.tiled, cute.CopyAtom):
        return Cute(cute.partition_for_tma(call.tensor(0)))
    side: Literal["S", "D"] = call.name[-1]  # type: ignore[assignment]
    assert isinstance(own.tiled, cute.TiledCopy)
    return Cute(own.tiled.partition(call.tensor(0), own.thread, side))


def _retile(own: ThreadSlice, call: Call) -> Value:
    assert isinstance(own.tiled, cute.TiledCopy)
    return Cute(own.tiled.retile(call.tensor(0)))


# ---- TiledMMA


def _operand(call: Call) -> Literal["A", "B", "C"]:
    return call.name[-1]  # type: ignore[return-value]


def _partition_operand(own: ThreadSlice, call: Call) -> Value:
    assert isinstance(own.tiled, cute.TiledMma)
    return Cute(own.tiled.partition(call.tensor(0), own.thread, _operand(call)))


def _partition_fragment(own: ThreadSlice, call: Call) -> Value:
    assert isinstance(own.tiled, cute.TiledMma)
    operand = _operand(call)
    part = own.tiled.partition(call.tensor(0), own.thread, operand)
    return Cute(_fragment(own.tiled, part, operand))


def _make_fragment(own: ThreadSlice | cute.TiledMma, call: Call) -> Value:
    mma = own.tiled if isinstance(own, ThreadSlice) else own
    assert isinstance(mma, cute.TiledMma)
    return Cute(_fragment(mma, call.tensor(0), _operand(call)))


def _fragment(
    mma: cute.TiledMma, part: cute.Tensor, operand: Literal["A", "B", "C"]
) -> cute.Tensor:
    """Registers for an operand; one that is read by descriptor stays where it is."""
    reads_descriptor = {"A": mma.op.a_is_descriptor, "B": mma.op.b_is_descriptor}.get(operand)
    if reads_descriptor:
        return part
    if operand == "C" and mma.op.accumulating_ctas:
        return accumulator(mma.op, part)
    return like_registers(part, mma.fragment(part, operand))


def _thread_value(mma: cute.TiledMma, call: Call) -> Value:
    operand: Literal["A", "B", "C"] = call.name[len("get_layout")]  # type: ignore[assignment]
    return Cute(mma.thread_value(operand))


def _side(copy: cute.TiledCopy, call: Call) -> Value:
    side: Literal["S", "D"] = call.name[len("get_layout")]  # type: ignore[assignment]
    return Cute(copy.layout_of(side))


# ---- tensors and layouts


def _data(tensor: cute.Tensor, call: Call) -> Value:
    """Evaluates `t.data()`; the iterator of an identity tensor is the tensor itself."""
    return Cute(tensor) if tensor.space is cute.Space.COORDINATE else data_of(tensor)


def _compose(own: cute.Tensor | cute.Layout | cute.ComposedLayout, call: Call) -> Value:
    values = call.values
    tiler: Any = call.convert.tiler(values[0] if len(values) == 1 else Cute(values))
    return Cute(own.apply(lambda layout: cute.composition(layout, tiler)))


def _with_shape(own: cute.Layout | cute.ComposedLayout, call: Call) -> Value:
    values = call.values
    shape = call.convert.int_tuple(values[0] if len(values) == 1 else Cute(values))
    return Cute(own.apply(lambda layout: cute.composition(layout, cute.Layout(shape))))


def _coordinate(layout: cute.Layout, call: Call) -> Value:
    """Evaluates `get_hier_coord(i)` and `get_1d_coord(i)`."""
    index = call.convert.integer(call.values[0])
    found = cute.idx2crd(index, layout.shape, layout.stride)
    is_nested = call.name == "get_hier_coord"
    return value_of(found if is_nested else cute.Layout(layout.shape)(found))


def _apply(swizzle: Swizzle, call: Call) -> Value:
    """Evaluates `swizzle(i)` and `swizzle.apply(i)`, which kernels compute indexes with."""
    (index,) = call.values
    return swizzled(index, swizzle) if isinstance(index, AffineInt) else index


def _part(own: cute.ComposedLayout | cute.SmemAtom, call: Call) -> Value:
    """Evaluates `layout_a()`, which is the swizzle, and `layout_b()`.

    Up to CUTLASS 3.1 they are `swizzle_fn()` and `layout_fn()`, and the offset is `offset_fn()`.
    """
    return Cute(own.swizzle if call.name in ("layout_a", "swizzle_fn") else own.layout)


def _offset(own: cute.ComposedLayout | cute.SmemAtom, call: Call) -> Value:
    """Evaluates `offset()`, which is a number of elements, or stands for a swizzled pointer.

    Raises:
        CuteError: some of its bits are static, and others are not.
    """
    if isinstance(own, cute.SmemAtom):
        return Cute(cute.PointerFlag.SHARED)
    if not isinstance(own.offset, int | cute.DynamicInt):
        raise cute.CuteError("the offset of a slice")
    return value_of(own.offset)


_SLICES: dict[str, Method] = {
    **dict.fromkeys(("partition_S", "partition_D"), _partition),
    **dict.fromkeys(("retile_S", "retile_D"), _retile),
    **dict.fromkeys(("partition_A", "partition_B", "partition_C"), _partition_operand),
    **dict.fromkeys(
        ("partition_fragment_A", "partition_fragment_B", "partition_fragment_C"),
        _partition_fragment,
    ),
    **dict.fromkeys(("make_fragment_A", "make_fragment_B", "make_fragment_C"), _make_fragment),
}
TENSOR_METHODS = frozenset(_SLICES)
"""Methods that give a tensor and access nothing."""
_COPIES: dict[str, Method] = {
    **dict.fromkeys(("get_slice", "get_thread_slice"), _slice),
    **dict.fromkeys(("get_layoutS_TV", "get_layoutD_TV"), _side),
    "get_tma_tensor": tma_tensor,
    "with": _itself,
    "call": lambda atom, call: FUNCTIONS["copy"](_with_self(Cute(atom), call)),
}
_MMAS: dict[str, Method] = {
    **dict.fromkeys(("get_slice", "get_thread_slice"), _slice),
    **dict.fromkeys(("make_fragment_A", "make_fragment_B", "make_fragment_C"), _make_fragment),
    **dict.fromkeys(("get_layoutA_TV", "get_layoutB_TV", "get_layoutC_TV"), _thread_value),
    "tile_size_mnk": lambda mma, call: value_of(mma.tile_size(call.static_types()[0])),
    "get_thr_layout_vmnk": lambda mma, _: Cute(mma.thread_layout),
    "with": _itself,
}
_TENSORS: dict[str, Method] = {
    "data": _data,
    "compose": _compose,
    "tensor": lambda tensor, call: Cute(tensor.mode(*call.static_types())),
}
_ATOMS: dict[str, Method] = {
    **dict.fromkeys(("layout_a", "layout_b", "swizzle_fn", "layout_fn"), _part),
    **dict.fromkeys(("offset", "offset_fn"), _offset),
}
_LAYOUTS: dict[str, Method] = {
    "compose": _compose,
    "with_shape": _with_shape,
    "get_flat_coord": lambda layout, call: value_of(
        layout.flat_coordinate(call.convert.integer(call.values[0]))
    ),
    **dict.fromkeys(("get_hier_coord", "get_1d_coord"), _coordinate),
}
_METHODS: tuple[tuple[type | tuple[type, ...], dict[str, Method]], ...] = (
    (ThreadSlice, _SLICES),
    ((cute.TiledCopy, cute.CopyAtom), _COPIES),
    (cute.CopyOp, {"with": _with_barrier}),
    (cute.TiledMma, _MMAS),
    (cute.Tensor, _TENSORS),
    (cute.Layout, _LAYOUTS),
    (cute.ComposedLayout, {**_LAYOUTS, **_ATOMS}),
    (cute.SmemAtom, _ATOMS),
    (Swizzle, {"apply": _apply}),
)
