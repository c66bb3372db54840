"""Built-in functions of CUDA C++: barriers, atomics, lane identities, conversions, groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smemlint.analysis.simt.builtins import atomics, python_operators
from smemlint.analysis.simt.builtins.atomics import is_one_for_a_warp
from smemlint.analysis.simt.builtins.cute_functions import CuteCalls
from smemlint.analysis.simt.domain.ctypes import (
    FLOAT,
    HALF,
    I32,
    NAMED,
    U32,
    U64,
    FloatType,
    IntType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Space
from smemlint.analysis.simt.domain.scev import Form, form_of
from smemlint.analysis.simt.domain.values import (
    Aggregate,
    FloatValue,
    Int,
    OpenCondition,
    Pointer,
    Unknown,
    Value,
    assuming,
    number,
    settled,
)
from smemlint.analysis.simt.state import WARP, Place
from smemlint.facts import AccessKind
from smemlint.hardware.atomics import LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable as Function

    from pycparser import c_ast

    Handler = Function[["Intrinsics", tuple[str, ...], c_ast.FuncCall], Value]

BLOCK_GROUP = RecordType("thread_block", (), 1, 1)
"""cooperative_groups::thread_block"""

_ATOMICS = {
    "atomicAdd": "add", "atomicSub": "add", "atomicExch": "exch", "atomicMin": "min",
    "atomicMax": "max", "atomicInc": "inc", "atomicDec": "dec", "atomicCAS": "cas",
    "atomicAnd": "and", "atomicOr": "or", "atomicXor": "xor",
}  # fmt: skip
_BARRIERS = frozenset(
    (
        "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count",
        "__syncwarp", "__threadfence_block", "__threadfence", "__threadfence_system",
        "__pipeline_wait_prior", "__pipeline_commit", "syncthreads", "arch_fence_view_async_shared",
        "cp_async_fence", "cp_async_wait", "cp_async_wait_all",
    )
)  # fmt: skip
_SHUFFLES = frozenset(("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"))
_FLOAT_RESULTS = frozenset(
    (
        "expf", "exp", "exp2f", "exp2", "logf", "log", "log2f", "sqrtf", "sqrt", "rsqrtf", "rsqrt",
        "fabsf", "fabs", "fmaxf", "fminf", "fmaf", "fma", "powf", "pow", "tanhf", "tanh", "sinf",
        "cosf", "sin", "cos", "__expf", "__logf", "__fdividef", "__frcp_rn", "__fmul_rn", "erff",
        "__fadd_rn", "__fmaf_rn", "__half2float", "__bfloat162float", "__int_as_float", "ceilf",
        "floorf", "rintf", "roundf", "__low2float", "__high2float", "__uint_as_float", "fmodf",
    )
)  # fmt: skip
_HALF_RESULTS = frozenset(
    (
        "__float2half", "__float2half_rn", "__float2half2_rn", "__float2bfloat16",
        "__float2bfloat16_rn", "__hadd", "__hmul", "__hfma", "__hmax", "__hsub", "__hdiv", "hexp",
        "__hfma2", "__hadd2", "__hmul2", "__ushort_as_half",
    )
)  # fmt: skip
PURE_FUNCTIONS = _FLOAT_RESULTS | _HALF_RESULTS | {"max", "min", "__hfma2", "__hadd2", "__hmul2"}
"""Functions that only give a number."""


class Intrinsics(CuteCalls):
    """Evaluates built-in functions."""

    def intrinsic(
        self, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
    ) -> Value | None:
        """The value of a built-in function; None when the name is none."""
        last = name.rsplit("::", 1)[-1]
        handler = _TABLE.get(last)
        if handler is None and last.startswith("make_") and last[5:] in NAMED:
            kind = NAMED[last[5:]]
            if isinstance(kind, RecordType) and not self.unit.functions_named(last):
                return self.construct(kind, _exprs(node), node)
        if handler is None:
            return self.cute_call(last, arguments, node)
        is_overloaded = bool(self.unit.functions_named(last)) and last not in _RESERVED
        if is_overloaded and self.frame.name.split(":", 1)[0] != last:
            return None  # an overload for vectors calls the built-in one for scalars
        if len(_exprs(node)) < _FEWEST.get(last, 0):
            self.values(node)
            return self.not_followed(node, f"`{last}` is called with too few arguments")
        result = handler(self, arguments, node)
        if isinstance(result, OpenCondition):  # an argument's: it is no truth value any more
            return Unknown(result.reason, result.is_data)
        return result

    def values(self, node: c_ast.FuncCall) -> list[Value]:
        """The arguments' values."""
        return [self.evaluate(a) for a in _exprs(node)]

    # ---- cooperative groups

    def builtin_method(
        self, value: Aggregate, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
    ) -> Value | None:
        """Methods of thread groups."""
        kind = value.type
        if not isinstance(kind, RecordType) or kind.name not in (
            "thread_block",
            "thread_block_tile",
        ):
            return None
        size = kind.size if kind.name == "thread_block_tile" else 0
        linear = self.geometry.linear
        match name:
            case "sync" | "barrier_arrive" | "barrier_wait" | "arrive" | "wait":
                self.trace.fence("barrier")
                return number(0)
            case "thread_rank":
                return Int(linear % size if size else linear, U32)
            case "size" | "num_threads":
                return Int(size or int(np.prod(self.geometry.block)), U32)
            case "meta_group_rank" if size:
                return Int(linear // size, U32)
            case "meta_group_size" if size:
                return Int(-(-int(np.prod(self.geometry.block)) // size), U32)
            case "thread_index":
                return self._triple("threadIdx")
            case "group_index":
                return self._triple("blockIdx")
            case "group_dim" | "dim_threads":
                return self._triple("blockDim")
            case _:
                values = self.values(node)
                if any(isinstance(v, FloatValue) for v in values):
                    return FloatValue(FLOAT)
                return Unknown(f"the result of `{name}` depends on data", is_data=True)

    def _triple(self, name: str) -> Value:
        cells = {4 * i: self.coordinate(name, axis) for i, axis in enumerate("xyz")}
        return Aggregate(NAMED["dim3"], cells)


def _exprs(node: c_ast.FuncCall) -> list[c_ast.Node]:
    return list(node.args.exprs) if node.args is not None else []


def _barrier(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    m.values(node)
    for frame in m.frames:
        frame.opens_with_barrier(m.trace)
    m.trace.fence("barrier")
    return number(0)


def _nothing(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    m.values(node)
    return number(0)


def _held(
    m: Intrinsics, node: c_ast.FuncCall, a: Int, b: Int, made: Int | Unknown
) -> Int | Unknown:
    """Of a value that varies by thread and a bound that is not known: the value, and that said."""
    if isinstance(made, Int) or a.is_uniform == b.is_uniform:
        return made
    first, second = _exprs(node)
    inside, spelled = (b, second) if a.is_uniform else (a, first)
    return assuming(inside, f"`{m.source(node)}` is `{m.source(spelled)}`")


def _extreme(largest: bool) -> Handler:
    def handle(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
        values = m.values(node)
        if len(values) == 2:
            a, b = values
            if isinstance(a, Int) and isinstance(b, Int):
                return _held(m, node, a, b, m.algebra.extreme(largest, a, b))
            if isinstance(a, FloatValue) or isinstance(b, FloatValue):
                return a if isinstance(a, FloatValue) else b
            for value in values:
                if isinstance(value, Unknown):
                    uniform = all(getattr(v, "is_uniform", False) for v in values)
                    return Unknown(value.reason, value.is_data, uniform)
        return Unknown("the larger or smaller of two values")

    return handle


def _multiply_24(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    values = m.values(node)
    return m.binary("*", values[0], values[1], node)


def _absolute(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    value = m.values(node)[0]
    if isinstance(value, Int) and value.is_concrete:
        return Int(settled(np.abs(value.base)), value.type)
    return value if isinstance(value, FloatValue | Unknown) else Unknown("an absolute value")


def _bit_count(of: Function[[int], int]) -> Handler:
    def handle(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
        values = m.values(node)
        value = values[0]
        if isinstance(value, Int) and value.constant is not None:
            return number(of(value.constant & 0xFFFFFFFF))
        if isinstance(value, Int) and value.is_concrete and not isinstance(value.base, int):
            lanes = [of(int(v) & 0xFFFFFFFF) for v in value.base]
            return Int(np.array(lanes, dtype=np.int64), I32)
        return Unknown("a bit count of a value that is not known", is_data=True)

    return handle


def _reversed_bits(value: int) -> int:
    return int(f"{value:032b}"[::-1], 2)


def _through(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """`__ldg(p)`, `std::move(x)` and other functions that give what they are given."""
    return m.values(node)[0]


def _load(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    place = m.target_of(m.values(node)[0], node)
    return m.read(place, node) if isinstance(place, Place) else place


def _float(kind: FloatType) -> Handler:
    def handle(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
        m.values(node)
        return FloatValue(kind)

    return handle


def _shared_address(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    value = m.values(node)[0]
    return m.address(value, U64) if isinstance(value, Pointer) else value


def _shuffle(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """Shuffles of known numbers are followed; all else is data."""
    values = m.values(node)
    last = m.unit.template_arguments(node.name.name)[0]
    if len(values) >= 3:
        value, lane = values[1], values[2]
        if isinstance(value, FloatValue):
            return value
        width = values[3].constant if len(values) > 3 and isinstance(values[3], Int) else WARP
        is_broadcast = last == "__shfl_sync" and is_one_for_a_warp(lane)
        if isinstance(value, Int) and value.is_uniform:
            return Int(value.base, value.type, value.terms, _seen(value, is_broadcast))
        everyone = m.mask.sum() == m.geometry.exists.sum()
        if (
            isinstance(value, Int)
            and isinstance(lane, Int)
            and value.is_concrete
            and lane.is_concrete
            and width == WARP
            and everyone
        ):
            made = _shuffled(value, lane, last)
            made.form = _seen(made, is_broadcast)
            return made
    return Unknown("a value from another lane", is_data=True)


def _seen(value: Int, is_broadcast: bool) -> Form:
    """The form of what a shuffle gives: from one lane to all, it is one for the warp."""
    form = form_of(value)
    return replace(form, hangs_on_lane=False) if is_broadcast else form


def _shuffled(value: Int, operand: Int, name: str) -> Int:
    lanes = np.broadcast_to(np.asarray(value.base), np.shape(value.base)).reshape(-1, WARP)
    own = np.arange(WARP, dtype=np.int64)
    shift = np.broadcast_to(np.asarray(operand.base), lanes.size).reshape(-1, WARP)
    match name:
        case "__shfl_sync":
            source = shift % WARP
        case "__shfl_xor_sync":
            source = own ^ shift
        case "__shfl_up_sync":
            source = np.where(own - shift < 0, own, own - shift)
        case _:
            source = np.where(own + shift >= WARP, own, own + shift)
    return Int(np.take_along_axis(lanes, source % WARP, axis=1).reshape(-1), value.type)


def _atomic(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    exprs = _exprs(node)
    name = m.unit.template_arguments(node.name.name)[0].rsplit("::", 1)[-1]
    pointer = m.evaluate(exprs[0])
    operands = [m.evaluate(a) for a in exprs[1:]]
    place = m.target_of(pointer, node)
    if not isinstance(place, Place):
        return place
    if place.object.space is Space.SHARED:
        base = name.removesuffix("_block").removesuffix("_system")
        operation = f"{_ATOMICS[base]}.{_suffix(place)}"
        operand = operands[0]
        if base == "atomicSub" and isinstance(operand, Int):
            operand = m.algebra.add(Int(0, operand.type), operand, -1)
        is_used = m.discarded is not node
        operation = atomics.compiled(operation, operand, is_used=is_used)
        if operation in LOOPS:  # a compare-and-swap loop loads the old value first
            old = Place(place.object, place.offset, place.type, volatile=True)
            m.record(AccessKind.LOAD, old, node)
        mask = m.mask
        m.mask = atomics.issuing(mask, operation, place.offset, operand, is_used=is_used)
        m.record(AccessKind.ATOMIC, place, node, operation=operation)
        m.mask = mask
    kind = place.type
    return (
        FloatValue(kind)
        if isinstance(kind, FloatType)
        else Unknown("the result of an atomic", is_data=True)
    )


def _suffix(place: Place) -> str:
    kind = place.type
    if isinstance(kind, IntType):
        return f"{'s' if kind.signed else 'u'}{kind.bits}"
    if isinstance(kind, FloatType):
        return {"half": "f16", "__nv_bfloat16": "bf16"}.get(kind.name, f"f{kind.size * 8}")
    return {"half2": "f16x2", "__half2": "f16x2"}.get(
        getattr(kind, "name", ""), f"b{kind.size * 8}"
    )


def _this_block(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    return Aggregate(BLOCK_GROUP, {})


def _tile(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    values = m.values(node)
    size = m.value_argument(arguments[0]) if arguments else values[1] if len(values) > 1 else None
    if isinstance(size, Int) and size.constant in (1, 2, 4, 8, 16, 32):
        return Aggregate(RecordType("thread_block_tile", (), size.constant or 1, 1), {})
    return Unknown("a tile of a size that is not known")


def _warp_id(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    return Int(m.geometry.linear // WARP, I32)


def _lane_id(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    return Int(m.geometry.linear % WARP, I32)


def _copy_async(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """`__pipeline_memcpy_async(dst, src, size)`: counted, without a verdict."""
    values = m.values(node)
    place = m.target_of(values[0], node)
    size = values[2].constant if isinstance(values[2], Int) else None
    if isinstance(place, Place) and place.object.space is Space.SHARED and size:
        m.emit(AccessKind.ASYNC_COPY, place.object, place.offset, size, node)
    return number(0)


def _memcpy_async(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    """`memcpy_async([group,] dst, src, size[, pipeline])`: counted, without a verdict."""
    values = m.values(node)
    if isinstance(values[0], Pointer):
        target, rest = values[:1], values[2:]
    else:
        target, rest = values[1:2], values[3:]
    if not target or not isinstance(target[0], Pointer):
        return number(0)
    pointer = target[0]
    if pointer.object.space is Space.SHARED:
        bytes_ = rest[0].constant if rest and isinstance(rest[0], Int) else None
        width = next((w for w in (16, 8, 4) if bytes_ and bytes_ % w == 0), 4)
        is_shared_out = target != values[:1]
        why = Unknown("a group shares out the bytes of the copy")
        offset = why if is_shared_out else pointer.offset
        m.emit(AccessKind.ASYNC_COPY, pointer.object, offset, width, node)
    return number(0)


def _load_fragment(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    from smemlint.analysis.simt.builtins import wmma

    return wmma.move(m, node, is_store=False)


def _store_fragment(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    from smemlint.analysis.simt.builtins import wmma

    return wmma.move(m, node, is_store=True)


def _static_assert(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    return number(0)


def _assembly(m: Intrinsics, arguments: tuple[str, ...], node: c_ast.FuncCall) -> Value:
    from smemlint.analysis.simt.builtins import ptx

    return ptx.run(m, node)


_TABLE: dict[str, Handler] = {
    **dict.fromkeys(_BARRIERS, _barrier),
    **dict.fromkeys(_SHUFFLES, _shuffle),
    **dict.fromkeys(_FLOAT_RESULTS, _float(FLOAT)),
    **dict.fromkeys(_HALF_RESULTS, _float(HALF)),
    **dict.fromkeys(
        (n + s for n in _ATOMICS for s in ("", "_block", "_system")), _atomic
    ),
    **dict.fromkeys(("printf", "assert", "__trap", "__nanosleep", "__assume"), _nothing),
    **dict.fromkeys(("move", "forward", "__builtin_expect", "__builtin_assume_aligned"), _through),
    **dict.fromkeys(("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"), _load),
    **dict.fromkeys(("min", "umin", "__vimin", "llmin"), _extreme(False)),
    **dict.fromkeys(("max", "umax", "__vimax", "llmax"), _extreme(True)),
    **dict.fromkeys(("__mul24", "__umul24"), _multiply_24),
    **dict.fromkeys(("abs", "labs", "iabs"), _absolute),
    "__popc": _bit_count(lambda v: v.bit_count()),
    "__clz": _bit_count(lambda v: 32 - v.bit_length()),
    "__ffs": _bit_count(lambda v: (v & -v).bit_length()),
    "__brev": _bit_count(_reversed_bits),
    **dict.fromkeys(
        ("__cvta_generic_to_shared", "cast_smem_ptr_to_uint", "__nvvm_get_smem_pointer"),
        _shared_address,
    ),
    "this_thread_block": _this_block,
    "tiled_partition": _tile,
    "sync": _barrier,
    **dict.fromkeys(("canonical_warp_idx", "canonical_warp_idx_sync"), _warp_id),
    **dict.fromkeys(("canonical_lane_idx", "__laneid", "LaneId"), _lane_id),
    "__pipeline_memcpy_async": _copy_async,
    "__static_assert": _static_assert,
    "asm": _assembly,
    "memcpy_async": _memcpy_async,
    "load_matrix_sync": _load_fragment,
    "store_matrix_sync": _store_fragment,
    **python_operators.TABLE,
}  # fmt: skip
_FEWEST: dict[str, int] = {
    **dict.fromkeys(
        (n for n, h in _TABLE.items() if h in (_through, _load, _absolute, _shared_address)), 1
    ),
    **dict.fromkeys(("__popc", "__clz", "__ffs", "__brev"), 1),
    **dict.fromkeys((n for n, h in _TABLE.items() if h in (_atomic, _multiply_24)), 2),
    **dict.fromkeys(("min", "umin", "__vimin", "llmin", "max", "umax", "__vimax", "llmax"), 2),
    **dict.fromkeys(("__pipeline_memcpy_async", "memcpy_async", *_SHUFFLES), 3),
    **dict.fromkeys(("load_matrix_sync", "store_matrix_sync"), 3),
    **dict.fromkeys(python_operators.TABLE, 2),
}  # fmt: skip
"""Arguments that a handler counts on; a call with fewer does not compile."""
_RESERVED = frozenset(n for n in _TABLE if n.startswith(("__", "atomic")) or n == "asm")
"""Names that stay built in even where the unit defines something of that name."""


__all__ = ["Intrinsics"]
