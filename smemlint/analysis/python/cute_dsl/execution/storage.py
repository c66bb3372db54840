"""Shared memory of a kernel: allocators, structs and their fields."""

from __future__ import annotations

import ast
from dataclasses import replace

from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    function,
    method,
    needed_layout,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import tensor_at
from smemlint.analysis.python.cute_dsl.execution.state import Execution, Kernel
from smemlint.analysis.python.cute_dsl.execution.values import (
    Cute,
    Origin,
    Pointer,
    UnknownTensor,
    payload_of,
)
from smemlint.analysis.python.cute_dsl.memory import (
    Allocator,
    MemRange,
    StructType,
    struct_of_class,
)
from smemlint.analysis.python.interpreter.values import UNKNOWN, Class, DType, Unknown, Value
from smemlint.analysis.simt.cute.run_time import from_engine, to_engine
from smemlint.analysis.simt.domain.values import AffineInt, offset_of
from smemlint.layout import cute
from smemlint.layout.swizzle import Swizzle
from smemlint.lazy_dataclasses import dataclass
from smemlint.reasons import ReasonCode

_BYTE = DType("Uint8", 8)
_LARGEST_ALIGNMENT = 1024
_PARTITIONS = "SmemPartition"


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A struct in shared memory.

    Attributes:
        type: its fields.
        at: the byte where it begins.
        alignment: what that is a multiple of.
        node: the allocation.
    """

    type: StructType
    at: AffineInt
    alignment: int
    node: ast.AST


@dataclass(frozen=True, slots=True, eq=False)
class StorageField:
    """A field of such a struct: a pointer with its name."""

    pointer: Pointer
    size: int | None


def _kernel_of(call: Call) -> Kernel:
    """Returns the kernel in which an allocator allocates.

    What lies in the reserved partition is moved to the front, whenever it is allocated.
    """
    kernel = call.run.kernel
    if not isinstance(call.owner, Allocator) or kernel is None:
        raise cute.CuteError(reason_of(call.owner, "an allocation outside of a kernel"))
    if "partition" in call.given.named or _PARTITIONS in call.run.texts.text_of(kernel.node).text:
        kernel.next_byte = None
    return kernel


@method("allocate")
def allocate(call: Call) -> Value:
    """Evaluates `allocator.allocate(bytes, type or struct, byte_alignment)`."""
    kernel = _kernel_of(call)
    what, alignment = call.value(0, "size_or_type"), _alignment(call.value(1, "byte_alignment", 1))
    if isinstance(what, StructType):
        alignment = max(alignment, what.alignment or 1)
        if what.alignment is None and kernel.next_byte:
            kernel.next_byte = None
        _, at = call.run.allocate("", _BYTE, what.size, alignment, call.node)
        kernel.arrays.pop()  # its fields are the arrays
        return Cute(Storage(what, at, alignment, call.node))
    dtype = what if isinstance(what, DType) else _BYTE
    size = dtype.bits // 8 if isinstance(what, DType) else what if isinstance(what, int) else None
    return Cute(_allocated(call, dtype, size, alignment))


def _allocated(call: Call, dtype: DType, size: int | None, alignment: int) -> Pointer:
    call.run.reached.add(call.run.span_of(call.node))
    alignment = max(alignment, dtype.bits // 8, 1)
    array, at = call.run.allocate("", dtype, size, alignment, call.node)
    base = numbers_to_bits(call.run, at)
    return Pointer(cute.Space.SHARED, Origin(dtype, array), base, None, alignment)


def numbers_to_bits(run: Execution, at: AffineInt) -> cute.Integer:
    """Returns a byte as an address of the engine, in bits."""
    known = at.constant
    return 8 * known if known is not None else to_engine(at, run.domain) * 8


@method("allocate_array")
def allocate_array(call: Call) -> Value:
    """Evaluates `allocator.allocate_array(dtype, count, byte_alignment=)`."""
    _kernel_of(call)
    dtype, count = call.dtype(0, "element_type"), call.value(1, "num_elems", 1)
    size = count * dtype.bits // 8 if isinstance(count, int) else None
    return Cute(_allocated(call, dtype, size, _alignment(call.value(2, "byte_alignment", 1))))


@function("alloc_smem")
def alloc_smem(call: Call) -> Value:
    """Evaluates `arch.alloc_smem(dtype, count, alignment=)`: a pointer."""
    if call.run.kernel is None:
        raise cute.CuteError("an allocation outside of a kernel")
    dtype, count = call.dtype(0, "element_type"), call.value(1, "size_in_elems", 1)
    size = -(-count * dtype.bits // 8) if isinstance(count, int) else None
    alignment = _alignment(call.value(2, "alignment", None))
    return Cute(_allocated(call, dtype, size, alignment))


@function("get_dyn_smem")
def get_dyn_smem(call: Call) -> Value:
    """Evaluates `arch.get_dyn_smem(dtype, alignment=)`: where all dynamic shared memory begins."""
    kernel = call.run.kernel
    if kernel is None:
        raise cute.CuteError("shared memory outside of a kernel")
    dtype, alignment = call.dtype(0, "element_type"), _alignment(call.value(1, "alignment", None))
    if kernel.dynamic is None:
        kernel.next_byte = None if kernel.next_byte else kernel.next_byte  # behind static arrays
        kernel.dynamic = _allocated(call, dtype, None, alignment)
    origin = Origin(dtype, kernel.dynamic.origin.object)
    return Cute(replace(kernel.dynamic, origin=origin, alignment=max(alignment, dtype.bits // 8)))


@method("allocate_tensor")
def allocate_tensor(call: Call) -> Value:
    """Evaluates `allocator.allocate_tensor(dtype, layout, byte_alignment, swizzle)`."""
    kernel = _kernel_of(call)
    try:
        dtype = call.dtype(0, "element_type")
        value = call.value(1, "layout")
        is_shape = isinstance(value, tuple | list | int)
        layout = call.layout(1, "layout") if is_shape else needed_layout(value)
        swizzle = _swizzle(call, 3)
    except cute.CuteError as error:
        kernel.next_byte = None
        return Cute(UnknownTensor(cute.Space.SHARED, f"`allocate_tensor`: {error}"))
    alignment = _alignment(call.value(2, "byte_alignment", 1))
    extent = layout.plain.cosize  # of a layout that is compiled for a number that nobody gives
    size = -(-extent * dtype.bits // 8) if isinstance(extent, int) else None
    pointer = replace(_allocated(call, dtype, size, alignment), swizzle=swizzle)
    return Cute(tensor_at(call.run, pointer, layout, call.node))


def _alignment(given: Value, default: int = 1) -> int:
    """Returns the alignment given in bytes; the default where unknown or not valid."""
    return given if isinstance(given, int) and 1 <= given <= _LARGEST_ALIGNMENT else default


def _swizzle(call: Call, at: int) -> Swizzle | None:
    if not call.has(at, "swizzle"):
        return None
    swizzle = payload_of(call.value(at, "swizzle"))
    if not isinstance(swizzle, Swizzle):
        raise cute.CuteError(reason_of(call.value(at, "swizzle"), "a swizzle is not known"))
    return swizzle


# ---- fields


def field_of(run: Execution, storage: Storage, name: str) -> Value | None:
    """Returns a field of a struct in shared memory; None where it has none of that name."""
    found = storage.type.fields.get(name)
    if found is None or run.kernel is None:
        return None
    offset, field = found
    alignment = field.alignment
    if offset is not None:
        at = run.domain.add(storage.at, offset_of(offset))
    else:
        at = run.start_of(name, alignment)
    if field.struct is not None:
        return Cute(Storage(field.struct, at, alignment, storage.node))
    base = at.constant or 0
    arrays = (a for a in run.kernel.arrays if a.name == name and a.shared and a.shared.base == base)
    array = next(arrays, None) or run.array(name, field.dtype, at, alignment, storage.node)
    pointer = Pointer(
        cute.Space.SHARED, Origin(field.dtype, array), numbers_to_bits(run, at), None, alignment
    )
    return Cute(StorageField(pointer, field.size))


def storage_at(type: StructType, pointer: Value, node: ast.AST) -> Value:
    """Returns `Storage(pointer)`: the struct where a pointer points to."""
    found = payload_of(pointer)
    if not isinstance(found, Pointer) or found.space is not cute.Space.SHARED:
        return Unknown.because(
            ReasonCode.UNKNOWN_ADDRESS,
            reason_of(pointer, "a pointer to shared memory is not known"),
        )
    at = from_engine(found.base // 8)
    if not isinstance(at, AffineInt):
        return Unknown(at.reason)
    return Cute(Storage(type, at, found.alignment or 1, node))


def struct_method(call: Call) -> Value:
    """Returns what the methods of a struct's type say about its size."""
    owner = call.owner
    assert isinstance(owner, StructType)
    if call.name in ("size_in_bytes", "__sizeof__"):
        return (
            owner.size
            if owner.size is not None
            else Unknown.because(ReasonCode.UNKNOWN_TYPE, "the size of a struct is not known")
        )
    return owner.alignment if owner.alignment is not None else UNKNOWN


@function("struct")
def struct(call: Call) -> Value:
    """Evaluates `cute.struct(owner)` of a class whose annotations were assigned."""
    owner = call.value(0, "cls")
    found = struct_of_class(owner) if isinstance(owner, Class) else None
    return found if found is not None else UNKNOWN


@method("get_tensor")
def get_tensor(call: Call) -> Value:
    """Evaluates `storage.field.get_tensor(layout, swizzle=, dtype=)`."""
    field = payload_of(call.owner)
    if not isinstance(field, StorageField):
        reason = reason_of(call.owner, "a field of shared memory is not known")
        return Cute(UnknownTensor(cute.Space.SHARED, reason))
    try:
        value = call.value(0, "layout")
        is_shape = isinstance(value, tuple | list | int)
        layout = call.layout(0, "layout") if is_shape else needed_layout(value)
        swizzle = _swizzle(call, 1)
        origin = field.pointer.origin
        if call.has(2, "dtype"):
            origin = replace(origin, dtype=call.dtype(2, "dtype"))
    except cute.CuteError as error:
        return Cute(UnknownTensor(cute.Space.SHARED, f"`get_tensor`: {error}"))
    pointer = replace(field.pointer, swizzle=swizzle, origin=origin)
    return Cute(tensor_at(call.run, pointer, layout, call.node))


@method("data_ptr")
def data_ptr(call: Call) -> Value:
    """Evaluates `storage.field.data_ptr()`."""
    field = payload_of(call.owner)
    if not isinstance(field, StorageField):
        raise cute.CuteError(reason_of(call.owner, "a field of shared memory is not known"))
    return Cute(field.pointer)


def range_of(value: Value, name: str) -> Value:
    """Returns `MemRange[dtype, count]` or `Align[type, alignment]`."""
    from smemlint.analysis.python.cute_dsl.memory import as_range

    if not isinstance(value, tuple) or len(value) != 2:
        return MemRange(_BYTE, None, 1)
    element, number = value
    if name == "MemRange":
        dtype = element if isinstance(element, DType) and element.bits else None
        if dtype is None:
            return MemRange(_BYTE, None, 1)
        size = -(-dtype.bits * number // 8) if isinstance(number, int) else None
        return MemRange(dtype, size, max(dtype.bits // 8, 1))
    found = as_range(element) or MemRange(_BYTE, None, 1)
    return replace(found, alignment=max(_alignment(number), found.alignment))
