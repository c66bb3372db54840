"""Functions and methods of the DSL that make, cut and move tensors."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import zip_longest
from math import gcd

import numpy as np

from smemlint.analysis.cute_facts import tensor_use
from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    function,
    method,
    needed_layout,
    needed_tensor,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    AnyTensor,
    Cute,
    Number,
    Opaque,
    Origin,
    Pointer,
    Rest,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Symbol, Value
from smemlint.analysis.simt.cute.identity import coordinates_in, identity_tensor
from smemlint.analysis.simt.cute.run_time import to_engine
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import SharedArray
from smemlint.layout import cute
from smemlint.layout.cute import AnyLayout
from smemlint.layout.swizzle import Swizzle
from smemlint.reasons import ReasonCode

INDEX = DType("coordinate", 8)
"""Of coordinate tensors, whose addresses are coordinates and have no unit."""
_BYTE = DType("Uint8", 8)
_WINDOW = 1024
"""Bytes that shared memory begins on a multiple of."""


# ---- makers


@function("make_tensor")
def make_tensor(call: Call) -> Value:
    """Evaluates `make_tensor(pointer, layout)`."""
    payload = payload_of(call.value(0, "iterator"))
    value = call.value(1, "layout")
    if not isinstance(payload, Pointer):
        if isinstance(payload, UnknownTensor):
            return Cute(payload)
        raise cute.CuteError(reason_of(call.value(0, "iterator"), "a pointer is not known"))
    try:
        layout: AnyLayout
        if isinstance(value, tuple | list | int):
            layout = cute.Layout(numbers.int_tuple(call.run, value))
        else:
            layout = needed_layout(value)
    except cute.CuteError as error:
        return Cute(UnknownTensor(payload.space, str(error), payload.origin.dtype))
    return Cute(tensor_at(call.run, payload, layout, call.node))


def tensor_at(run: Execution, pointer: Pointer, layout: AnyLayout, node: ast.AST) -> cute.Tensor:
    """Returns the tensor of a pointer and a layout, or of what is tried in place of these."""
    if isinstance(layout, cute.ComposedLayout):
        layout = cute.compose_swizzle(layout.swizzle, layout.layout, layout.offset)
    swizzle = pointer.swizzle
    if swizzle is not None and swizzle.is_identity:
        swizzle = None
    array, at = _place_of(pointer)
    if run.trial is not None and run.trial.layout.concerns(array, at):
        layout, swizzle = run.trial.layout.applied(layout, swizzle)
    tensor = cute.Tensor(
        pointer.space,
        pointer.origin.dtype.bits,
        layout,
        pointer.base,
        swizzle,
        pointer.origin,
        pointer.alignment,
    )
    kernel = run.kernel
    if not tensor.is_shared or kernel is None:
        return tensor
    use = tensor_use(run.span_of(node), kernel.name, tensor, array, at)
    if use is not None and use.swizzle is not None:
        use = kernel.layouts.setdefault((use.span, use.spelled, use.units, use.base), use)
    return replace(tensor, origin=replace(pointer.origin, use=use))


def _place_of(pointer: Pointer) -> tuple[SharedArray | None, int | None]:
    """Returns the shared array and the byte that a pointer points to, where known."""
    array = pointer.origin.object.shared if pointer.origin.object is not None else None
    if array is None or not isinstance(pointer.base, int):
        return array, None
    return array, pointer.base // 8 - array.base


@function("make_rmem_tensor", "make_fragment", "make_rmem_tensor_like", "make_fragment_like")
def make_registers(call: Call) -> Value:
    """Evaluates what makes tensors of registers: by a layout, a shape, or like another tensor."""
    value = call.given.positional[0] if call.given.positional else UNKNOWN
    payload = payload_of(value)
    dtype = call.value(1, "dtype")
    if call.name == "make_fragment_like" and isinstance(payload, cute.Layout | cute.ComposedLayout):
        return Cute(cute.make_fragment_like(payload.plain))
    if isinstance(payload, UnknownTensor):
        return Cute(UnknownTensor(cute.Space.REGISTER, payload.reason, payload.dtype))
    if not isinstance(dtype, DType):
        held = payload.origin if isinstance(payload, cute.Tensor) else None
        dtype = held.dtype if isinstance(held, Origin) else UNKNOWN
    try:
        layout = _register_layout(call, value)
    except cute.CuteError as error:
        return Cute(UnknownTensor(cute.Space.REGISTER, str(error)))
    if not isinstance(dtype, DType):
        return Cute(UnknownTensor(cute.Space.REGISTER, "an element type is not known"))
    return Cute(registers(dtype, layout))


def _register_layout(call: Call, value: Value) -> cute.Layout:
    if isinstance(value, tuple | list | int):
        return cute.Layout(numbers.int_tuple(call.run, value))
    found = needed_layout(value)
    if call.name == "make_fragment_like":
        return cute.make_fragment_like(found.plain)
    if call.name == "make_rmem_tensor_like":
        return cute.make_layout_like(found.plain)
    return found.plain


def registers(dtype: DType, layout: cute.Layout) -> cute.Tensor:
    """Returns a tensor of registers."""
    return replace(
        cute.make_register_tensor(dtype.bits, layout), origin=Origin(dtype), alignment=32
    )


@method("to")
def converted(call: Call) -> Value:
    """Evaluates `tensor.to(dtype)`: registers with the values of a tensor."""
    tensor = needed_tensor(call.owner)
    if isinstance(tensor, UnknownTensor):
        return Cute(UnknownTensor(cute.Space.REGISTER, tensor.reason))
    return Cute(registers(call.dtype(0, "dtype"), cute.make_layout_like(tensor.layout.plain)))


@function("make_identity_tensor")
def make_identity_tensor(call: Call) -> Value:
    """Evaluates `make_identity_tensor(shape)`, whose elements are coordinates."""
    layout = cute.Layout(call.int_tuple(0, "shape"))
    found = identity_tensor(layout)
    if not isinstance(layout.shape, tuple) or not isinstance(found.origin, int):
        return Cute(replace(found, layout=layout, origin=Origin(INDEX)))
    return Cute(replace(found, origin=Origin(INDEX, modes=found.origin)))


@function("recast_ptr")
def recast_ptr(call: Call) -> Value:
    """Evaluates `recast_ptr(pointer, swizzle_=, dtype=)`; the default is no swizzle."""
    payload = payload_of(call.value(0, "ptr"))
    if not isinstance(payload, Pointer):
        why = payload.reason if isinstance(payload, UnknownTensor) else "a pointer is not known"
        raise cute.CuteError(reason_of(call.value(0, "ptr"), why))
    dtype = call.value(2, "dtype")
    swizzle = payload_of(call.value(1, "swizzle_"))
    origin = payload.origin
    if isinstance(dtype, DType):
        origin = replace(origin, dtype=dtype)
    elif call.has(2, "dtype"):
        raise cute.CuteError(reason_of(dtype, "an element type is not known"))
    if call.has(1, "swizzle_") and not isinstance(swizzle, Swizzle):
        raise cute.CuteError(reason_of(call.value(1, "swizzle_"), "a swizzle is not known"))
    kept = swizzle if isinstance(swizzle, Swizzle) else None
    return Cute(replace(payload, origin=origin, swizzle=kept))


@function("recast_tensor")
def recast_tensor(call: Call) -> Value:
    """Evaluates `recast_tensor(tensor, dtype)`."""
    tensor, dtype = call.tensor(0, "src"), call.dtype(1, "dtype")
    if isinstance(tensor, UnknownTensor):
        return Cute(replace(tensor, dtype=dtype))
    origin = tensor.origin
    assert isinstance(origin, Origin)
    return Cute(replace(tensor.recast(dtype.bits), origin=replace(origin, dtype=dtype)))


@function("make_ptr")
def make_ptr(call: Call) -> Value:
    """Evaluates `make_ptr(dtype, value, space, assumed_align=)`: a pointer to an array of its own.

    In shared memory it is only known where the value is the address of another pointer.
    """
    space, given = call.value(2, "mem_space", None), call.value(0, "dtype")
    if isinstance(space, Symbol) and space.name == "gmem" and not isinstance(given, DType):
        reason = reason_of(given, "an element type is not known")
        return Cute(UnknownTensor(cute.Space.GLOBAL, reason))
    dtype = call.dtype(0, "dtype")
    if isinstance(space, Symbol) and space.name == "tmem":
        return Cute(Pointer(cute.Space.TENSOR_MEMORY, Origin(dtype)))
    alignment = call.given.named.get("assumed_align")
    known = alignment if isinstance(alignment, int) and alignment > 0 else max(dtype.bits // 8, 1)
    if not isinstance(space, Symbol) or space.name != "gmem":
        address = payload_of(call.value(1, "value"))
        if not isinstance(address, Pointer):
            return Cute(UnknownTensor(None, "a pointer that is made of a number", dtype))
        origin = replace(address.origin, dtype=dtype)
        return Cute(replace(address, origin=origin, alignment=known))
    origin, value = Origin(dtype, call.run.global_array(dtype)), call.value(1, "value")
    base = numbers.integer(call.run, value) * 8 if isinstance(value, Number) else 0  # by thread
    return Cute(Pointer(cute.Space.GLOBAL, origin, base, alignment=known))


@function("map_dsmem_ptr")
def map_dsmem_ptr(call: Call) -> Value:
    """Evaluates `map_dsmem_ptr(pointer, rank)`: memory of another block of the cluster.

    What goes there has no banks that a profiler counts, and takes as long whatever banks it meets
    in (H100, fixtures/gpu/cluster.json).
    """
    pointer = payload_of(call.value(0, "ptr"))
    if not isinstance(pointer, Pointer):
        raise cute.CuteError(reason_of(call.value(0, "ptr"), "a pointer is not known"))
    array = pointer.origin.object
    name = f"`{array.name}`" if array is not None and array.name else "shared memory"
    text = f"{name} of another block is accessed, which has no lane addresses"
    call.run.note(call.node, text, array, ReasonCode.NO_LANES)
    elsewhere = Origin(pointer.origin.dtype, call.run.global_array(pointer.origin.dtype))
    return Cute(Pointer(cute.Space.GLOBAL, elsewhere, alignment=pointer.alignment))


# ---- cutting


@function("local_tile")
def local_tile(call: Call) -> Value:
    """Evaluates `local_tile(tensor, tiler, coordinate, proj=)`."""
    tensor = call.tensor(0, "input")
    if isinstance(tensor, UnknownTensor) and tensor.space is not cute.Space.COORDINATE:
        return Cute(tensor)
    tiler, at = call.tiler(1, "tiler"), call.coordinate(2, "coord")
    if isinstance(tensor, UnknownTensor):  # whose tiles have the extents of the tiler
        tensor = _coordinates(call.run, tensor, at)
    projection = call.value(3, "proj", None)
    if isinstance(projection, tuple) and isinstance(tiler, tuple) and isinstance(at, tuple):
        kept = [p is not None for p in projection]  # what it does not name stays, too
        tiler = tuple(t for t, k in zip_longest(tiler, kept[: len(tiler)], fillvalue=True) if k)
        at = tuple(c for c, k in zip_longest(at, kept[: len(at)], fillvalue=True) if k)
    return Cute(cute.local_tile(tensor, tiler, at))


def _coordinates(run: Execution, tensor: UnknownTensor, at: cute.Coordinate) -> cute.Tensor:
    """Returns a tensor of coordinates with a mode of unknown extent for each of a tile's."""
    modes = len(at) if isinstance(at, tuple) else 1
    shape, stride = (
        tuple(to_engine(run.fresh(name), run.domain) for _ in range(modes))
        for name in ("extent", "stride")
    )
    origin = Origin(tensor.dtype or INDEX)
    return cute.Tensor(
        cute.Space.COORDINATE, origin.dtype.bits, cute.Layout(shape, stride), origin=origin
    )


@function("local_partition")
def local_partition(call: Call) -> Value:
    """Evaluates `local_partition(tensor, threads, index, proj=)`."""
    tensor = call.tensor(0, "target")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    threads, index = call.layout(1, "tiler"), call.integer(2, "index")
    projection = call.value(3, "proj", 1)
    if isinstance(projection, tuple):
        kept = tuple(cute.UNDERSCORE if p is None else 1 for p in projection)
        return Cute(cute.local_partition(tensor, threads, index, kept))
    return Cute(cute.local_partition(tensor, threads, index))


@function("domain_offset")
def domain_offset(call: Call) -> Value:
    """Evaluates `domain_offset(coordinate, tensor)`."""
    tensor = call.tensor(1, "tensor")
    if isinstance(tensor, UnknownTensor):
        return Cute(tensor)
    return Cute(tensor.domain_offset(call.coordinate(0, "coord")))


# ---- elements


def undecided(tensor: cute.Tensor, reason: str) -> UnknownTensor:
    """Returns a tensor in the same memory of which a reason says why no more is known."""
    origin = tensor.origin
    return UnknownTensor(tensor.space, reason, origin.dtype if isinstance(origin, Origin) else None)


def item_of(run: Execution, tensor: AnyTensor, key: Value) -> AnyTensor | None:
    """Returns `tensor[key]` where that keeps a mode; None for one element."""
    if key is None:
        return tensor
    if isinstance(tensor, UnknownTensor):
        return tensor if _keeps_a_mode(key) else None
    key = _spread(key, tensor.rank)
    if not _keeps_a_mode(key):
        return None
    try:
        return tensor.slice(numbers.coordinate(run, key))
    except cute.CuteError as error:
        return undecided(tensor, str(error))


def coordinate_at(run: Execution, tensor: cute.Tensor, key: Value) -> Value:
    """Returns the coordinates that an element of an identity tensor is."""
    origin, kernel = tensor.origin, run.kernel
    if not isinstance(origin, Origin) or not origin.modes:
        return DATA
    try:
        number = tensor.address_of(numbers.coordinate(run, key))
    except cute.CuteError:
        return DATA
    active = kernel.mask if kernel is not None else np.ones(1, np.bool_)
    found = coordinates_in(number, origin.modes, active)
    if found is None:
        return (DATA,) * origin.modes
    return tuple(n.constant if isinstance(number, int) else Number(n) for n in found)


def _spread(key: Value, rank: int) -> Value:
    """Returns the key with a coordinate for each mode, where it has `...` or unpacks an object."""
    if key is ...:
        return (None,) * rank
    if not isinstance(key, tuple):
        return key
    at = next((i for i, part in enumerate(key) if part is ... or isinstance(part, Rest)), None)
    if at is None:
        return key
    rest = key[at]
    missing = Opaque(rest.name) if isinstance(rest, Rest) else None
    return (*key[:at], *(missing,) * max(rank - len(key) + 1, 0), *key[at + 1 :])


def _keeps_a_mode(key: Value) -> bool:
    if isinstance(key, tuple | list):
        return any(map(_keeps_a_mode, key))
    return key is None


def aligned(pointer: Pointer, number: int) -> Pointer:
    """Returns `pointer.align(number)`."""
    return replace(pointer, alignment=number)


def moved(run: Execution, pointer: Pointer, by: Value, sign: int = 1) -> Pointer:
    """Returns a pointer some elements further, or with a sign of -1 before."""
    offset = numbers.integer(run, by)
    step = offset * (sign * pointer.origin.dtype.bits)
    known = abs(step) // 8 if isinstance(step, int) else pointer.origin.dtype.bits // 8
    kept = gcd(pointer.alignment, known) if pointer.alignment else 0
    return replace(pointer, base=pointer.base + step, alignment=kept)


def combined_address(run: Execution, operation: ast.AST, pointer: Pointer, by: Value) -> Value:
    """Returns `address & n` or `address ^ n` of an address in shared memory as a pointer.

    Raises:
        CuteError: the number may reach the bits in which the window of shared memory begins.
    """
    found = numbers.operand_of(run, by)
    if not isinstance(found, AffineInt) or found.terms or not _is_below(found.base, _WINDOW):
        raise cute.CuteError("which bits of an address are meant is not known")
    result = numbers.calculate(run, operation, numbers.value_of(run, pointer.base // 8), by)
    if isinstance(operation, ast.BitAnd):
        return result
    return Cute(replace(pointer, base=numbers.integer(run, result) * 8))


def _is_below(lanes: object, most: int) -> bool:
    return bool(np.all((np.asarray(lanes) >= 0) & (np.asarray(lanes) < most)))


def pointer_of(tensor: cute.Tensor) -> Pointer:
    """Returns `tensor.iterator`."""
    origin = tensor.origin
    assert isinstance(origin, Origin)
    return Pointer(tensor.space, origin, tensor.base, tensor.swizzle, tensor.alignment)
