"""What CUTLASS chooses for the epilogues of tcgen05 kernels: tiles, loads and stores.

Source: CUTLASS 4.7, `cutlass/epilogue/collective/builders/sm100_builder.inl`
(`sm100_get_tmem_load_op`, `sm100_get_smem_store_op`, `sm100_get_smem_load_op`), and the functions
of the same purpose in nvidia-cutlass-dsl 4.8.1, `cutlass/utils/blackwell_helpers.py`.
"""

from __future__ import annotations

from math import gcd

from smemlint.layout.cute.algebra import coalesce
from smemlint.layout.cute.copy_traits import (
    AUTO_VECTORIZING_COPY,
    CopyOp,
    Mechanism,
    TensorMemoryShape,
    ldmatrix,
    ldmatrix_transposed_bytes,
    stmatrix,
    stmatrix_transposed_bytes,
)
from smemlint.layout.cute.integers import CuteError
from smemlint.layout.cute.layouts import Layout
from smemlint.lazy_dataclasses import dataclass

_WIDTHS = ((32, 32), (32, 16), (32, 8), (32, 6), (32, 4), (16, 16))
"""Bits of an accumulator, and of what is written."""
_LANES = 32
"""Of a warp's quarter of tensor memory."""


@dataclass(frozen=True, slots=True)
class Output:
    """A matrix that an epilogue reads or writes.

    Attributes:
        bits: width of an element.
        is_m_major: whether rows (M) are contiguous.
    """

    bits: int
    is_m_major: bool

    def least_columns(self, warps_n: int) -> int:
        """Returns the columns of a tile below which TMA cannot store it."""
        if self.is_m_major:
            return 8 * warps_n
        return (128 if self.bits == 6 else 128 // self.bits) * warps_n


def warps_of(tile_m: int, ctas: int) -> tuple[int, int]:
    """Returns how the four warps of an epilogue lie over M and N."""
    return (2, 2) if tile_m == 64 and ctas == 2 else (4, 1)


def epilogue_tile(
    tile: tuple[int, int], ctas: int, d: Output, c: Output | None = None
) -> tuple[Layout, Layout]:
    """Returns the tile that an epilogue handles at once, by mode.

    Raises:
        CuteError: the tile is too small for TMA.
    """
    m, n = tile
    warps_m, warps_n = warps_of(m, ctas)
    rows = min(m, _LANES * warps_m)
    columns = _preferred_columns(rows, tile, d, c)
    while n % columns:
        columns //= 2
    least = max(d.least_columns(warps_n), c.least_columns(warps_n) if c else 8 * warps_n)
    if n < least:
        raise CuteError(f"a tile of {m}x{n} is too small for TMA")
    columns = min(n, max(columns, least))
    if n % columns:
        columns = n
    by_warp = Layout((columns // warps_n, warps_n), (1, n // warps_n))
    return Layout(rows), coalesce(by_warp)


def _preferred_columns(rows: int, tile: tuple[int, int], d: Output, c: Output | None) -> int:
    if c is None:
        return (8192 if d.bits == 4 else 4096) // rows
    m, n = tile
    match max(c.bits, d.bits):
        case 32:
            return 16 if m > 64 and n <= 128 else 32
        case 16:
            return 32 if n <= 128 else 64
    return 64


def accumulator_load(
    epilogue: tuple[int, int], warps: tuple[int, int], accumulator_bits: int, d: Output
) -> TensorMemoryShape:
    """Returns the load that fits an epilogue's tile: `get_tmem_load_op`.

    Raises:
        CuteError: there is no load for this tile or these types.
    """
    lanes, columns = epilogue[0] // warps[0], epilogue[1] // warps[1]
    if lanes not in (16, _LANES):
        raise CuteError(f"a warp of this epilogue reads {lanes} lanes of tensor memory")
    widths = (accumulator_bits, d.bits)
    if widths not in _WIDTHS or (lanes == 16 and d.bits < 8):
        raise CuteError(f"no epilogue turns {widths[0]} bits of {lanes} lanes into {d.bits} bits")
    bits = _load_bits(lanes, widths, is_m_major=d.is_m_major)
    by_halves = bits != 32
    row = columns * accumulator_bits
    shape = (16 if by_halves or lanes == 16 else 32), bits
    unit = 64 if shape == (16, 32) else bits
    most = 128 if bits == 32 else 64 if bits == 128 else 32
    if row % unit:
        raise CuteError(f"no load of tensor memory reads {row} bits of a lane")
    repeat = gcd(row // unit, most)
    return TensorMemoryShape(*shape, repeat, is_packed=accumulator_bits == 16)


def _load_bits(lanes: int, widths: tuple[int, int], *, is_m_major: bool) -> int:
    """Returns the bits of a lane that one repetition reads; 32 are read by whole lanes."""
    accumulator, d = widths
    if lanes == _LANES and (not is_m_major or widths == (32, 32) or d < 8):
        return 32
    if accumulator == 16:
        return 128
    if d == 32:
        return 256 if is_m_major else 128
    if d == 8 and not is_m_major:
        return 32
    return 256


def accumulator_store(load: TensorMemoryShape, accumulator_bits: int, d: Output) -> CopyOp:
    """Returns what stores to shared memory what a load of tensor memory gave."""
    widths = (accumulator_bits, d.bits)
    shape = (load.lanes, load.bits)
    by_16 = (
        (widths == (32, 32) and not d.is_m_major and shape == (16, 128) and not load.is_packed)
        or (widths == (32, 16) and shape == (16, 256) and not load.is_packed)
        or (widths == (16, 16) and shape == (16, 128) and load.is_packed)
    )
    if by_16 and load.repeat <= 64:
        return stmatrix(2 if load.repeat == 1 else 4, is_transposed=d.is_m_major)
    by_8 = widths == (32, 8) and d.is_m_major and shape == (16, 256) and not load.is_packed
    if by_8 and load.repeat <= 32:
        return stmatrix_transposed_bytes(min(load.repeat, 4))
    return AUTO_VECTORIZING_COPY


def matching_load(store: CopyOp) -> CopyOp:
    """Returns what loads from shared memory the values that a store of an epilogue writes."""
    if store.mechanism is not Mechanism.STMATRIX:
        return AUTO_VECTORIZING_COPY
    if not store.name.startswith("SM100_"):
        return ldmatrix(store.matrices, is_transposed=store.is_transposed)
    if store.matrices == 1:
        return AUTO_VECTORIZING_COPY
    return ldmatrix_transposed_bytes(store.matrices // 2)
