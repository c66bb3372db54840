"""Functions of CUTLASS's builders that choose a layout or an operation for a tile.

Source: CUTLASS 4.7, `cutlass/gemm/collective/builders/sm90_common.inl`,
`cutlass/epilogue/collective/builders/sm90_common.inl`, `cutlass/detail/layout.hpp` and
`cute/arch/mma_sm90.hpp`.
"""

from __future__ import annotations

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.types import static_argument, static_number
from smemlint.analysis.simt.domain.ctypes import OpaqueType
from smemlint.analysis.simt.domain.values import AffineInt, Cute, Value
from smemlint.analysis.simt.types.template_arguments import type_argument, value_argument
from smemlint.layout import cute
from smemlint.layout.cute import IntTuple
from smemlint.layout.swizzle import Swizzle


@function("ss_op_selector", "rs_op_selector")
def _select_wgmma(call: Call) -> Value:
    """Evaluates `GMMA::ss_op_selector<A, B, C, Tile[, majors]>()`: the widest N."""
    tile = tuple(map(_extent, cute.wrap(_static_tuple(call, 3))))
    if len(tile) != 3:
        raise cute.CuteError("a tile that is known only at run time")
    op = cute.selected_warpgroup_mma(
        call.type_bits(0), call.type_bits(2), tile, reads_registers=call.name[0] == "r"
    )
    if op is None:
        raise cute.CuteError("no wgmma for this tile")
    return Cute(op)


@function("ss_smem_selector", "rs_smem_selector")
def _select_smem_atom(call: Call) -> Value:
    """Evaluates `ss_smem_selector<Major, T, BLK_MN, BLK_K>()`: the widest that divides."""
    major = value_argument(call.ev, call.types[0])
    if not isinstance(major, AffineInt) or major.constant is None:
        raise cute.CuteError("the major mode of an operand is not known")
    bits = call.type_bits(1)
    mn, k = (_extent(cute.wrap(_static_tuple(call, i))[0]) for i in (2, 3))
    is_narrow = call.name[0] == "r" and bits % 32 == 0
    name = cute.select_smem_atom("K" if not major.constant else "MN", bits, mn, k, is_narrow)
    atom = cute.smem_atom(name, bits) if name is not None else None
    if atom is None:
        raise cute.CuteError("no layout atom divides this tile")
    return Cute(atom)


@function("sm90_get_smem_store_op_for_accumulator", "sm90_get_smem_load_op_for_source")
def _select_epilogue_copy(call: Call) -> Value:
    """Evaluates `..<GmemStride, T[, EpilogueTile]>()`: matrices for 16 bits."""
    bits = call.type_bits(1)
    unit = _unit_mode(call)
    if bits != 16 or unit is None:
        return Cute(cute.AUTO_VECTORIZING_COPY)
    columns = _extent(cute.wrap(_static_tuple(call, 2))[1]) if len(call.types) > 2 else 16
    if columns % 8:
        raise cute.CuteError("no matrices divide this tile")
    choose = cute.stmatrix if "store" in call.name else cute.ldmatrix
    return Cute(choose(2 if columns % 16 else 4, is_transposed=unit == 0))


def _unit_mode(call: Call) -> int | None:
    """Returns which of the first two modes of a global stride is 1; None for neither."""
    ctype = type_argument(call.ev, call.types[0])
    if not isinstance(ctype, OpaqueType):
        raise cute.CuteError("the strides in global memory are not known")
    _, modes = call.ev.state.unit.template_arguments(ctype.spelling)
    return next((i for i, mode in enumerate(modes[:2]) if _is_one(call, mode)), None)


def _is_one(call: Call, mode: str) -> bool:
    value = static_argument(call.ev, mode)
    return isinstance(value, AffineInt) and value.constant == 1


@function("alignment_for_swizzle")
def _alignment_for_swizzle(call: Call) -> Value:
    payload = call.payload(0)
    swizzle = payload if isinstance(payload, Swizzle) else getattr(payload, "swizzle", None)
    if not isinstance(swizzle, Swizzle):
        swizzle = Swizzle(0, 4, 3)
    return static_number(1 << (swizzle.bits + swizzle.base + abs(swizzle.shift)))


def _static_tuple(call: Call, index: int) -> IntTuple:
    """Returns the value of a template argument that is the type of a number or of a tuple.

    Raises:
        CuteError: it is not known.
    """
    value = static_argument(call.ev, call.types[index]) if index < len(call.types) else None
    if value is None:
        raise cute.CuteError("the shape of a tile is not known")
    return call.convert.int_tuple(value)


def _extent(mode: IntTuple) -> int:
    size = cute.product(mode)
    if not isinstance(size, int):
        raise cute.CuteError("a tile that is known only at run time")
    return size
