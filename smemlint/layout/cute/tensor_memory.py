"""Tensor memory of tcgen05: accumulators that MMAs leave there, and copies to and from it.

No access of tensor memory has a bank, but which values a thread loads from it decides what it
stores to shared memory afterwards.

Source: CUTLASS 4.7, `cute/atom/copy_traits_sm100.hpp`, `mma_traits_sm100.hpp`,
`mma_traits_sm100_frag.hpp` and `cute/arch/tmem_allocator_sm100.hpp`; checked against
nvidia-cutlass-dsl 4.8.1 (tests/layout/cute/test_tensor_memory.py).
"""

from __future__ import annotations

import re

from smemlint.layout.cute.algebra import coalesce, composition
from smemlint.layout.cute.copy_traits import LANE_BITS, WORD
from smemlint.layout.cute.int_tuples import IntTuple, compact_strides, product
from smemlint.layout.cute.integers import CuteError, static
from smemlint.layout.cute.inverses import upcast
from smemlint.layout.cute.layouts import Layout, make_layout
from smemlint.layout.cute.mma_traits import MmaOp
from smemlint.layout.cute.products import tiled_product
from smemlint.layout.cute.tensors import Space, Tensor
from smemlint.layout.cute.tiled_copy import CopyAtom, TiledCopy, make_cotiled_copy

_LANES, _COLUMNS = 128, 16384
_MMA_NAME = re.compile(r"SM100_MMA_(?:F16BF16|TF32|S8)(?P<pair>_2x1SM)?_(?P<source>SS|TS)")
_OPERAND_BITS = 256
"""Of a row of A or B that one instruction reads."""


def make_tensor_memory_copy(atom: CopyAtom, tensor: Tensor) -> TiledCopy:
    """Returns `make_tmem_copy(atom, tensor)`: four warps, each at its quarter of the lanes.

    Raises:
        CuteError: the atom is none of tensor memory, or the layout has no inverse.
    """
    shape = atom.op.tensor_memory
    if shape is None or tensor.space is not Space.TENSOR_MEMORY:
        raise CuteError(f"{atom} does not copy a tensor of tensor memory")
    if atom.bits != tensor.bits:
        raise CuteError(f"{atom} does not copy elements of {tensor.bits} bits")
    warps = Layout((32, 4), (0, 32 * LANE_BITS // atom.bits))
    values = coalesce(upcast(shape.addresses, atom.bits))
    return make_cotiled_copy(atom, make_layout(warps, values), tensor.layout.plain)


# ---- MMAs


def tensor_memory_mma(
    shape: tuple[int, int, int],
    ctas: int,
    types: tuple[str, ...] = (),
    majors: tuple[str, ...] = (),
    *,
    reads_memory: bool = True,
) -> MmaOp:
    """Returns tcgen05.mma of that shape by one or two blocks, whose C lies in tensor memory.

    Args:
        shape: M, N and K of one instruction.
        ctas: how many blocks execute it together.
        types: element types of D, A, B and C.
        majors: the contiguous mode of A and of B in shared memory, `K` or `MN`.
        reads_memory: whether A is read from shared memory by descriptor.
    """
    m, n, k = shape
    return MmaOp(
        f"SM100_MMA_{m}x{n}x{k}{'_2SM' if ctas == 2 else ''}",
        shape,
        Layout(ctas),
        _shared_by(ctas, m, k),
        _shared_by(ctas, n, k),
        Layout((ctas, (m // ctas, n)), (m // ctas if ctas > 1 else 0, (1, m))),
        types,
        reads_memory,
        True,
        ctas,
        majors,
    )


def named_tensor_memory_mma(name: str, bits: int, m: int, n: int) -> MmaOp | None:
    """Returns `SM100_MMA_F16BF16_SS<A, B, C, m, n, ..>` and its like; None for other names."""
    found = _MMA_NAME.fullmatch(name)
    if found is None or not bits:
        return None
    ctas = 2 if found["pair"] else 1
    shape = (m, n, _OPERAND_BITS // bits)
    return tensor_memory_mma(shape, ctas, reads_memory=found["source"] == "SS")


def _shared_by(ctas: int, extent: int, k: int) -> Layout:
    """Maps (block, value) of an operand whose rows are divided among the blocks."""
    part = extent // ctas
    return Layout((ctas, (part, k)), (part if ctas > 1 else 0, (1, extent)))


def accumulator(mma: MmaOp, shape: IntTuple, bits: int) -> Tensor:
    """Returns the tensor of tensor memory for a partitioned C: `make_fragment_C(shape)`.

    Raises:
        CuteError: there is no accumulator of that shape.
    """
    if not isinstance(shape, tuple) or not isinstance(shape[0], tuple) or len(shape[0]) != 2:
        raise CuteError(f"{shape} is not the shape of an accumulator")
    m, n = (static(product(extent)) for extent in shape[0])
    tile = _tile(m, n, mma.accumulating_ctas)
    rests = shape[1:]
    # Where A lies in tensor memory, too, C takes the same lanes: half of them stay free.
    step = 2 if (m, mma.accumulating_ctas) == (64, 1) and not mma.a_is_descriptor else 1
    repeated = tiled_product(tile, Layout(rests, compact_strides(rests, step))) if rests else tile
    lanes = Layout((_LANES, _COLUMNS), (LANE_BITS // bits, max(WORD // bits, 1)))
    return Tensor(Space.TENSOR_MEMORY, bits, composition(lanes, repeated))


def _tile(m: int, n: int, ctas: int) -> Layout:
    """Maps (M, N) to lane + 128 * column of one instruction's C: `tmem_frg`."""
    match ctas, m:
        case _, 128:
            return Layout((128, n), (1, 128))
        case 1, 64:
            return Layout(((16, 4), n), ((1, 32), 128))
        case 2, 64:
            return Layout((64, (n // 2, 2)), (1, (128, 64)))
        case 2, 32:
            return Layout((32, (n // 4, 4)), (1, (128, 32)))
    raise CuteError(f"there is no accumulator of {m}x{n}")
