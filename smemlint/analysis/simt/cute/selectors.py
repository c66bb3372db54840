"""Functions of CUTLASS's builders that choose a layout or an operation for a tile.

Source: CUTLASS 4.7, `cutlass/gemm/collective/builders/sm90_common.inl` and `sm100_common.inl`,
`cutlass/epilogue/collective/builders/sm90_common.inl` and `sm100_builder.inl`,
`cutlass/detail/layout.hpp` and `cute/arch/mma_sm90.hpp`.
"""

from __future__ import annotations

from smemlint.analysis.simt.cute.call import Call
from smemlint.analysis.simt.cute.functions import function
from smemlint.analysis.simt.cute.tensors import register_tensor
from smemlint.analysis.simt.cute.tiled import mma_of
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


@function("ss_smem_selector", "rs_smem_selector", "sm100_smem_selector")
def _select_smem_atom(call: Call) -> Value:
    """Evaluates `ss_smem_selector<Major, T, BLK_MN, BLK_K>()`: the widest that divides."""
    major = value_argument(call.ev, call.types[0])
    if not isinstance(major, AffineInt) or major.constant is None:
        raise cute.CuteError("the major mode of an operand is not known")
    bits = call.type_bits(1)
    mn, k = (_extent(cute.wrap(_static_tuple(call, i))[0]) for i in (2, 3))
    is_narrow = call.name[0] == "r" and bits % 32 == 0
    if call.name.startswith("sm100") and bits == 32 and major.constant:
        return _smem_atom(_WORDS_ATOM, bits)
    name = cute.select_smem_atom("K" if not major.constant else "MN", bits, mn, k, is_narrow)
    return _smem_atom(name, bits)


_WORDS_ATOM = "Layout_MN_SW128_32B_Atom"
"""What sm_100 takes for words whose rows are contiguous."""


def _smem_atom(name: str | None, bits: int) -> Value:
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


@function("sm100_get_epilogue_smem_swizzle_layout_atom")
def _select_epilogue_atom(call: Call) -> Value:
    """Evaluates `..<GmemStride, T, EpilogueTile>()`: the widest that divides what lies together."""
    bits, output = call.type_bits(1), _output(call, 1)
    tile = static_argument(call.ev, call.types[2])
    modes = call.convert.tiler(tile) if tile is not None else None
    if not isinstance(modes, tuple) or len(modes) != 2:
        raise cute.CuteError("the tile of an epilogue is not known")
    m, n = map(_contiguous, modes)
    if output.is_m_major and bits == 32:
        return _smem_atom(_WORDS_ATOM, bits)
    return _smem_atom(cute.select_smem_atom("MN" if output.is_m_major else "K", bits, m, n), bits)


@function("sm100_get_tmem_load_op")
def _select_tmem_load(call: Call) -> Value:
    """Evaluates `..<GmemStride, Accumulator, T, WarpTile, bool>()`."""
    rows, columns = map(_extent, cute.wrap(_static_tuple(call, 3)))
    output = _output(call, 2)
    if (rows, output.bits) == (32, 8):
        output = cute.Output(8, is_m_major=False)  # bytes are loaded by whole lanes; not in the DSL
    shape = cute.accumulator_load((rows, columns), (1, 1), call.type_bits(1), output)
    return Cute(cute.tensor_memory_copy(shape))


@function("sm100_get_smem_store_op", "sm100_get_smem_load_op")
def _select_register_copy(call: Call) -> Value:
    """Evaluates `..<GmemStride, T, Accumulator, TmemLoad>()`: what fits the values of that load."""
    load = static_argument(call.ev, call.types[3])
    op = load.payload if isinstance(load, Cute) else None
    if not isinstance(op, cute.CopyOp) or op.tensor_memory is None:
        raise cute.CuteError("a load of tensor memory that is not known")
    store = cute.accumulator_store(op.tensor_memory, call.type_bits(2), _output(call, 1))
    return Cute(cute.matching_load(store) if "load" in call.name else store)


def _contiguous(mode: cute.Tiler) -> int:
    """Returns how many coordinates of a tile's mode are neighbours."""
    if not isinstance(mode, int | cute.Layout):
        raise cute.CuteError("the tile of an epilogue is not known")
    layout = mode if isinstance(mode, cute.Layout) else cute.Layout(mode)
    return _extent(cute.coalesce(cute.right_inverse(layout)).mode(0).shape)


def _output(call: Call, element: int) -> cute.Output:
    """Returns the matrix whose stride is the first template argument."""
    unit = _unit_mode(call)
    if unit is None:
        raise cute.CuteError("neither rows nor columns of a matrix are contiguous")
    return cute.Output(call.type_bits(element), is_m_major=unit == 0)


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


@function("get_layoutSFA_TV", "get_layoutSFB_TV")
def _scale_factor_thread_value(call: Call) -> Value:
    operand: cute.Operand = "A" if "SFA" in call.name else "B"
    return Cute(cute.scale_factor_thread_value(mma_of(call, 0), operand))


@function("partition_fragment_SFA", "partition_fragment_SFB")
def _scale_factor_fragment(call: Call) -> Value:
    operand: cute.Operand = "A" if "SFA" in call.name else "B"
    factors = call.tensor(0)
    layout = cute.scale_factor_fragment(mma_of(call, 1), factors, 0, operand)
    return Cute(register_tensor(factors.bits, layout))
