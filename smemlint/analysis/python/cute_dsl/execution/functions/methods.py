"""Methods of layouts, pointers, element types and enumerations, and functions about threads."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

import numpy as np

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.call import (
    Call,
    executed,
    function,
    method,
    reason_of,
)
from smemlint.analysis.python.cute_dsl.execution.functions.tensors import aligned
from smemlint.analysis.python.cute_dsl.execution.recording.elements import access_pointer
from smemlint.analysis.python.cute_dsl.execution.state import Execution, Kernel
from smemlint.analysis.python.cute_dsl.execution.values import (
    DATA,
    Cute,
    Number,
    Opaque,
    Pointer,
    layout_of,
    payload_of,
)
from smemlint.analysis.python.interpreter.arguments import BoundArguments
from smemlint.analysis.python.interpreter.values import UNKNOWN, DType, Unknown, Value
from smemlint.analysis.simt.domain.ctypes import I32
from smemlint.analysis.simt.domain.lanes import elected, settled
from smemlint.analysis.simt.domain.values import AffineInt
from smemlint.facts import AccessKind
from smemlint.layout import cute
from smemlint.reasons import ReasonCode

_WARP = 32
_GROUP = 128


# ---- threads


def _lanes(values: object) -> Number:
    return Number(AffineInt(settled(np.asarray(values, dtype=np.int64)), I32))


def _kernel(call: Call) -> Kernel:
    if call.run.kernel is None:
        raise cute.CuteError(f"`{call.name}` outside of a kernel")
    return call.run.kernel


@function("thread_idx")
def thread_idx(call: Call) -> Value:
    """Evaluates `thread_idx()`."""
    kernel = _kernel(call)
    x, y, _ = kernel.block
    index = np.arange(kernel.threads)
    return (_lanes(index % x), _lanes(index // x % y), _lanes(index // (x * y)))


@function("elect_one")
def elect_one(call: Call) -> Value:
    """Evaluates `elect_one()`, the context of what one thread of each warp executes."""
    return _lanes(elected(_kernel(call).mask))


@function("lane_idx")
def lane_idx(call: Call) -> Value:
    """Evaluates `lane_idx()`."""
    return _lanes(np.arange(_kernel(call).threads) % _WARP)


@function("warp_idx")
def warp_idx(call: Call) -> Value:
    """Evaluates `warp_idx()`."""
    return _lanes(np.arange(_kernel(call).threads) // _WARP)


@function("canonical_warp_group_idx", "warpgroup_idx", "canonical_warp_idx")
def warp_group_idx(call: Call) -> Value:
    """Returns the number of a group of four warps."""
    return _lanes(np.arange(_kernel(call).threads) // (_GROUP if "group" in call.name else _WARP))


@function("block_idx", "grid_dim", "cluster_idx", "cluster_dim", "block_in_cluster_idx",
          "block_in_cluster_dim", "cluster_size")  # fmt: skip
def block_idx(call: Call) -> Value:
    """Evaluates the numbers of blocks and clusters: the same for all threads."""
    names = {"block_idx": "blockIdx", "grid_dim": "gridDim"}
    name = names.get(call.name, call.name)
    parts = (call.run.domain.symbol(f"{name}.{d}", f"{name}.{d}", nonnegative=True) for d in "xyz")
    return tuple(Number(p) for p in parts)


@function("block_idx_in_cluster")
def block_idx_in_cluster(call: Call) -> Value:
    """Returns the number of a block in its cluster."""
    return Number(call.run.domain.symbol("block_in_cluster", "block_in_cluster", nonnegative=True))


@function("block_dim")
def block_dim(call: Call) -> Value:
    """Evaluates `block_dim()`."""
    return _kernel(call).block


@function("make_warp_uniform", "assume", "static", "const_expr", "target_version", "nanosleep")
def same(call: Call) -> Value:
    """Evaluates functions that return their argument."""
    return call.given.positional[0] if call.given.positional else UNKNOWN


@function("sync_threads", "barrier", "barrier_arrive", "sync_warp", "cluster_wait",
          "cp_async_wait_group", "mbarrier_wait", "arrive_and_wait",
          "cp_async_commit_group")  # fmt: skip
def synchronize(call: Call) -> Value:
    """Evaluates barriers, which no access moves across."""
    if call.run.kernel is not None:
        call.run.kernel.trace.fence("barrier")
    return None


@function("prefetch", "print", "printf", "print_tensor")
def without_accesses(call: Call) -> Value:
    """Evaluates functions without lane accesses."""
    return None


@function("elem_less")
def elem_less(call: Call) -> Value:
    """Evaluates `elem_less(a, b)`: whether each coordinate is below its bound."""
    return _below(call, call.value(0, "lhs"), call.value(1, "rhs"))


def _below(call: Call, one: Value, bound: Value) -> Value:
    if not isinstance(one, tuple | list) or not isinstance(bound, tuple | list):
        if isinstance(one, int) and isinstance(bound, int):
            return one < bound
        return numbers.calculate(call.run, ast.Lt(), one, bound)
    found: Value = True
    for part in (_below(call, a, b) for a, b in zip(one, bound, strict=False)):
        if part is False:
            return False
        if part is not True:
            is_first = found is True
            found = part if is_first else numbers.calculate(call.run, ast.BitAnd(), found, part)
    return found


@function("any_", "all_", "is_valid_leaf", "where", "full", "full_like", "zeros_like")
def data(call: Call) -> Value:
    """Evaluates functions of coordinates and vectors of registers."""
    return DATA


# ---- numbers


@function("min", "max")
def extreme(call: Call) -> Value:
    """Evaluates `min` and `max`, of numbers at run time, too."""
    values = call.given.positional
    if len(values) == 1 and isinstance(values[0], tuple | list):
        values = list(values[0])
    if all(isinstance(v, int | float) for v in values) and values:
        return (min if call.name == "min" else max)(values)  # type: ignore[type-var]
    found = numbers.operand_of(call.run, values[0])
    for value in values[1:]:
        other = numbers.operand_of(call.run, value)
        if not isinstance(found, AffineInt) or not isinstance(other, AffineInt):
            return Number(found if not isinstance(found, AffineInt) else other)
        chosen = call.run.domain.extreme(call.name == "max", found, other)
        is_alike = found.is_uniform and other.is_uniform and not isinstance(chosen, AffineInt)
        found = call.run.fresh(call.name, nonnegative=False) if is_alike else chosen
    return Number(found)


@function("log2")
def log2(call: Call) -> Value:
    """Evaluates `math.log2(number)`."""
    value = call.value(0, "x")
    return math.log2(value) if isinstance(value, int | float) and value > 0 else UNKNOWN


@function("ceil", "floor", "sqrt", "gcd", "lcm", "prod", "isqrt")
def mathematics(call: Call) -> Value:
    """Evaluates functions of Python's `math`."""
    values = call.given.positional
    if len(values) == 1 and isinstance(values[0], tuple | list):
        if not all(isinstance(v, int) and abs(v) < 1 << 32 for v in values[0]):
            return UNKNOWN
        return getattr(math, call.name)(values[0][:8])  # type: ignore[no-any-return]
    if not all(isinstance(v, int | float) and abs(v) < 1 << 32 for v in values):
        return UNKNOWN
    return getattr(math, call.name)(*values)  # type: ignore[no-any-return]


# ---- layouts


@method("get_flat_coord", "get_hier_coord")
def coordinate_of(call: Call) -> Value:
    """Evaluates `layout.get_flat_coord(index)` and `get_hier_coord`."""
    layout = layout_of(call.owner)
    if layout is None:
        raise cute.CuteError(reason_of(call.owner, "no layout is known"))
    return call.result(layout.plain.flat_coordinate(call.integer(0, "idx")))


def mapped(run: Execution, callee: Cute, arguments: list[Value], node: ast.Call) -> Value:
    """Evaluates `layout(coordinate)`."""
    layout = layout_of(callee)
    assert layout is not None
    at = arguments[0] if len(arguments) == 1 else tuple(arguments)

    def offset(call: Call) -> Value:
        found = numbers.coordinate(call.run, at)
        if cute.int_tuples.has_underscore(found):
            return Cute(cute.slice_layout(layout, found)[0])
        return call.result(layout(found))

    return executed(offset, Call(run, "layout", callee, BoundArguments([], {}), node))


# ---- pointers


@method("align")
def align(call: Call) -> Value:
    """Evaluates `pointer.align(bytes)`."""
    pointer = payload_of(call.owner)
    if not isinstance(pointer, Pointer):
        return call.owner
    return Cute(aligned(pointer, call.static(0, "min_align")))


@method("llvm_ptr", "raw_ptr")
def as_number(call: Call) -> Value:
    """Returns an address as a number; of shared memory it stays what it points to."""
    pointer = payload_of(call.owner)
    is_shared = isinstance(pointer, Pointer) and pointer.space is cute.Space.SHARED
    return call.owner if is_shared else Opaque("address")


@function("load", "store")
def access_address(call: Call) -> Value:
    """Evaluates `arch.load(pointer, dtype)` and `arch.store(pointer, value)`."""
    pointer = payload_of(call.value(0, "ptr"))
    dtype = call.value(1, "dtype")
    if not isinstance(pointer, Pointer):
        raise cute.CuteError(reason_of(call.value(0, "ptr"), "a pointer is not known"))
    if isinstance(dtype, DType) and call.name == "load":
        pointer = replace(pointer, origin=replace(pointer.origin, dtype=dtype))
    return _accessed(call, pointer)


def pointer_access(call: Call) -> Value:
    """Evaluates `pointer.load()` and `pointer.store(value)`."""
    pointer = payload_of(call.owner)
    assert isinstance(pointer, Pointer)
    return _accessed(call, pointer)


def _accessed(call: Call, pointer: Pointer) -> Value:
    kind = AccessKind.LOAD if call.name == "load" else AccessKind.STORE
    call.run.reach(call.node, pointer)
    access_pointer(call.run, pointer, kind, call.node)
    return DATA if call.name == "load" else None


# ---- what leaves its owner


@method("set", "update", "advance", "with_", "bitcast", "ir_value", "to_llvm_ptr")
def returns_owner(call: Call) -> Value:
    """Evaluates methods whose effect is not followed."""
    return call.owner


@method("get_tile_size")
def get_tile_size(call: Call) -> Value:
    """Evaluates `tiled_mma.get_tile_size(mode)`."""
    mma = payload_of(call.owner)
    if not isinstance(mma, cute.TiledMma):
        return Unknown.because(
            ReasonCode.UNKNOWN_LAYOUT, reason_of(call.owner, "a tiled MMA is not known")
        )
    return mma.tile_size(call.static(0, "mode_idx"))
