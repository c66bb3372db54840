"""Copy operations with their (thread, bit) layouts: CuTe's `Copy_Traits` as data.

The codomain of the layouts is abstract; only `ref^-1 o src` and `ref^-1 o dst` matter.

Source: CUTLASS 4.7, `cute/atom/copy_traits.hpp` and `copy_traits_sm{50,75,80,90,100}.hpp`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from functools import cache

from smemlint.layout.cute.integers import CuteError
from smemlint.layout.cute.layouts import Layout
from smemlint.lazy_dataclasses import dataclass


class Mechanism(Enum):
    """How a copy operation moves data."""

    UNIVERSAL = "universal"
    AUTO_VECTORIZING = "auto-vectorizing"
    CP_ASYNC = "cp.async"
    LDMATRIX = "ldmatrix"
    STMATRIX = "stmatrix"
    TMA = "TMA"
    BULK = "bulk copy"
    TENSOR_MEMORY = "tensor memory"
    REGISTERS = "registers"


WORD = 32
"""Bits of a column of tensor memory."""
LANE_BITS = 1 << 21
"""Addresses of a column in neighbouring lanes of tensor memory are so many bits apart."""
WITHOUT_LANE_ADDRESSES = frozenset(
    (Mechanism.TMA, Mechanism.BULK, Mechanism.TENSOR_MEMORY, Mechanism.REGISTERS)
)


@dataclass(frozen=True, slots=True)
class TensorMemoryShape:
    """What one copy instruction of tensor memory moves: `.16x128b.x4`.

    Attributes:
        lanes: of tensor memory that a warp accesses, 16 or 32.
        bits: of a lane that one repetition moves; 32 of 16 lanes are two halves of 32.
        repeat: how often, along the columns.
        is_packed: whether words of tensor memory hold 16 bits each (`_16b`).
    """

    lanes: int
    bits: int
    repeat: int
    is_packed: bool = False

    def __str__(self) -> str:
        return f"{self.lanes}dp{self.bits}b{self.repeat}x{'_16b' if self.is_packed else ''}"

    @property
    def exists(self) -> bool:
        """Whether there is an instruction of this shape."""
        return (self.lanes, self.bits) in _SHAPES and self.repeat in _REPEATS

    @property
    def addresses(self) -> Layout:
        """The number of a bit to its address in tensor memory: `ValID`."""
        columns = Layout((16, self.row // 16), (1, WORD)) if self.is_packed else Layout(self.row)
        return Layout((columns.shape, self.lanes), (columns.stride, LANE_BITS))

    @property
    def row(self) -> int:
        """The bits of a lane that all repetitions move."""
        return (64 if (self.lanes, self.bits) == (16, 32) else self.bits) * self.repeat


@dataclass(frozen=True, slots=True)
class CopyOp:
    """A copy operation.

    Attributes:
        mechanism: how it moves data.
        bits: what one thread names with one address on the memory side; 0 where none.
        threads: logical thread numbers.
        source: (thread, bit) of the source.
        destination: (thread, bit) of the destination.
        reference: the side that a TiledCopy's thread-value layout speaks about.
        matrices: of ldmatrix and stmatrix.
        max_vector_bits: of an auto-vectorizing copy.
        is_zero_filling: whether a false predicate still executes (`.with(bool)`).
        is_global: of cp.async, whether it passes the L1 cache by.
        is_assembly: whether its load or store is inline assembly.
        source_bits, destination_bits: the width of the registers or vectors that a side is recast
            to; 0 where the mechanism says it.
        tensor_memory: what a copy of tensor memory moves.
    """

    name: str
    mechanism: Mechanism
    bits: int
    threads: Layout
    source: Layout
    destination: Layout
    reference: Layout
    matrices: int = 0
    is_transposed: bool = False
    max_vector_bits: int = 0
    is_zero_filling: bool = False
    is_global: bool = False
    is_assembly: bool = False
    source_bits: int = 0
    destination_bits: int = 0
    tensor_memory: TensorMemoryShape | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def has_lane_addresses(self) -> bool:
        """Whether each lane names an address in shared memory."""
        return self.mechanism not in WITHOUT_LANE_ADDRESSES

    @property
    def source_register_bits(self) -> int:
        """The width of the registers or vectors that the source is recast to."""
        return self.source_bits or (32 if self.mechanism is Mechanism.STMATRIX else self.bits)

    @property
    def destination_register_bits(self) -> int:
        """The width of the registers or vectors that the destination is recast to."""
        return self.destination_bits or (32 if self.mechanism is Mechanism.LDMATRIX else self.bits)


_ONE = Layout(1)


def _per_thread(name: str, mechanism: Mechanism, bits: int) -> CopyOp:
    layout = Layout((1, bits))
    return CopyOp(name, mechanism, bits, _ONE, layout, layout, layout)


def universal_copy(bits: int) -> CopyOp:
    """Returns `UniversalCopy` of a type of that width: one load or store of it."""
    return _per_thread(f"UniversalCopy<{bits}b>", Mechanism.UNIVERSAL, bits)


def cp_async(bits: int, *, is_global: bool = False, is_zero_filling: bool = False) -> CopyOp:
    """Returns `SM80_CP_ASYNC_CACHEALWAYS` of a type of that width.

    Args:
        bits: that one instruction copies.
        is_global: `CACHEGLOBAL` instead, which passes the L1 cache by.
        is_zero_filling: `ZFILL`: lanes without a predicate write zeros.

    Raises:
        CuteError: there is no such instruction.
    """
    if bits not in (32, 64, 128):
        raise CuteError(f"there is no cp.async of {bits} bits")
    name = f"SM80_CP_ASYNC_CACHE{'GLOBAL' if is_global else 'ALWAYS'}"
    name += "_ZFILL" if is_zero_filling else ""
    op = _per_thread(f"{name}<{bits}b>", Mechanism.CP_ASYNC, bits)
    return replace(op, is_zero_filling=is_zero_filling, is_global=is_global)


def auto_vectorizing_copy(max_vector_bits: int = 128) -> CopyOp:
    """Returns `AutoVectorizingCopyWithAssumedAlignment` of that many bits."""
    layout = Layout((1, 1), (0, 0))
    return CopyOp(
        f"AutoVectorizingCopyWithAssumedAlignment<{max_vector_bits}>",
        Mechanism.AUTO_VECTORIZING,
        0,
        _ONE,
        layout,
        layout,
        layout,
        max_vector_bits=max_vector_bits,
    )


AUTO_VECTORIZING_COPY = auto_vectorizing_copy(128)
DEFAULT_COPY = auto_vectorizing_copy(8)

# ---- matrices: the side in memory names 128 bits a lane; lanes beyond the rows repeat them

_WARP = Layout(32)
_ROWS = {
    1: Layout(((8, 4), 128), ((128, 0), 1)),
    2: Layout(((16, 2), 128), ((128, 0), 1)),
    4: Layout((32, 128), (128, 1)),
}
_REGISTERS_N = {
    1: Layout((32, 32), (32, 1)),
    2: Layout((32, (32, 2)), (32, (1, 1024))),
    4: Layout((32, (32, 4)), (32, (1, 1024))),
}
_REGISTERS_T = {
    1: Layout(((4, 8), (16, 2)), ((256, 16), (1, 128))),
    2: Layout(((4, 8), (16, 2, 2)), ((256, 16), (1, 128, 1024))),
    4: Layout(((4, 8), (16, 2, 4)), ((256, 16), (1, 128, 1024))),
}
_REGISTERS_T8 = {
    1: Layout(((4, 8), (8, 2, 2)), ((256, 8), (1, 128, 64))),
    2: Layout(((4, 8), (8, 2, 2, 2)), ((256, 8), (1, 128, 64, 1024))),
    4: Layout(((4, 8), (8, 2, 2, 4)), ((256, 8), (1, 128, 64, 1024))),
}
_ROWS_M16 = {
    1: Layout(((2, 2, 4, 2), 128), ((128, 1024, 256, 0), 1)),
    2: Layout(((2, 2, 4, 2), 128), ((128, 1024, 256, 2048), 1)),
}


def ldmatrix(matrices: int, *, is_transposed: bool = False) -> CopyOp:
    """Returns `SM75_U32x<n>_LDSM_N` or `SM75_U16x<2n>_LDSM_T` for 1, 2 or 4 matrices."""
    registers = (_REGISTERS_T if is_transposed else _REGISTERS_N)[matrices]
    name = f"SM75_U16x{2 * matrices}_LDSM_T" if is_transposed else f"SM75_U32x{matrices}_LDSM_N"
    return _load(name, _ROWS[matrices], registers, matrices, is_transposed)


def stmatrix(matrices: int, *, is_transposed: bool = False) -> CopyOp:
    """Returns `SM90_U32x<n>_STSM_N` or `SM90_U16x<2n>_STSM_T` for 1, 2 or 4 matrices."""
    registers = (_REGISTERS_T if is_transposed else _REGISTERS_N)[matrices]
    name = f"SM90_U16x{2 * matrices}_STSM_T" if is_transposed else f"SM90_U32x{matrices}_STSM_N"
    return _store(name, _ROWS[matrices], registers, matrices, is_transposed)


def ldmatrix_transposed_bytes(tiles: int) -> CopyOp:
    """Returns `SM100_U8x<8n>_LDSM_T`, ldmatrix.m16n16 of 1 or 2 tiles (2 or 4 row groups)."""
    registers = _REGISTERS_T8[2 * tiles]
    return _load(f"SM100_U8x{8 * tiles}_LDSM_T", _ROWS_M16[tiles], registers, 2 * tiles, True)


def stmatrix_transposed_bytes(matrices: int) -> CopyOp:
    """Returns `SM100_U8x<4n>_STSM_T`, stmatrix.m16n8 of 1, 2 or 4 matrices."""
    name = f"SM100_U8x{4 * matrices}_STSM_T"
    return _store(name, _ROWS[matrices], _REGISTERS_T8[matrices], matrices, True)


def _load(name: str, rows: Layout, registers: Layout, matrices: int, transposed: bool) -> CopyOp:
    return CopyOp(
        name, Mechanism.LDMATRIX, 128, _WARP, rows, registers, registers, matrices, transposed
    )


def _store(name: str, rows: Layout, registers: Layout, matrices: int, transposed: bool) -> CopyOp:
    return CopyOp(
        name, Mechanism.STMATRIX, 128, _WARP, registers, rows, registers, matrices, transposed
    )


# ---- tensor memory: no lane addresses, but what a thread holds afterwards

_SHAPES = {(16, 256), (16, 128), (16, 64), (16, 32), (32, 32)}
_REPEATS = (1, 2, 4, 8, 16, 32, 64, 128)


def tensor_memory_copy(shape: TensorMemoryShape, *, is_store: bool = False) -> CopyOp:
    """Returns `SM100_TMEM_LOAD_<shape>`, or the store.

    Raises:
        CuteError: there is no such copy.
    """
    if not shape.exists:
        raise CuteError(f"there is no copy of tensor memory of {shape}")
    memory = Layout((32, shape.lanes * shape.row), (0, 1))
    registers = _registers(shape)
    source, destination = (registers, memory) if is_store else (memory, registers)
    return CopyOp(
        f"SM100_TMEM_{'STORE' if is_store else 'LOAD'}_{shape}",
        Mechanism.TENSOR_MEMORY,
        0,
        Layout(32),
        source,
        destination,
        memory,
        tensor_memory=shape,
    )


def _registers(shape: TensorMemoryShape) -> Layout:
    """Maps (thread, bit of its registers) to the number of the bit in the copy."""
    bits, repeat, row = shape.bits, shape.repeat, shape.row
    match shape.lanes, bits:
        case 16, 256 | 128:
            part = bits // 4
            return Layout(((4, 8), (part, 2, repeat)), ((part, row), (1, 8 * row, bits)))
        case 16, 64:
            return Layout(((2, 2, 8), (32, repeat)), ((8 * row, 32, row), (1, 64)))
        case 16, 32:
            return Layout(((16, 2), 32 * repeat), ((row, 32 * repeat), 1))
    return Layout((32, row), (row, 1))


# ---- by name

_MATRIX_NAME = re.compile(
    r"SM75_U32x(?P<load>[124])_LDSM_N|SM75_U16x(?P<load_t>[248])_LDSM_T"
    r"|SM90_U32x(?P<store>[124])_STSM_N|SM90_U16x(?P<store_t>[248])_STSM_T"
    r"|SM100_U8x(?P<load_8>8|16)_LDSM_T|SM100_U8x(?P<store_8>4|8|16)_STSM_T"
    r"|SM100_SU[46]_DU8x16_x(?P<load_sub>[124])_LDSM_N"
)
_ELSEWHERE = (
    ("SM90_TMA_", Mechanism.TMA),
    ("SM100_TMA_", Mechanism.TMA),
    ("SM90_BULK_", Mechanism.BULK),
    ("SM100_TMEM_", Mechanism.TENSOR_MEMORY),
    ("SM100_UTCCP_", Mechanism.TENSOR_MEMORY),
    ("SM50_Shuffle_", Mechanism.REGISTERS),
    ("SM75_U32x1_MOVM_T", Mechanism.REGISTERS),
    ("SM100_LOAD_256bit", Mechanism.REGISTERS),
    ("SM100_STORE_256bit", Mechanism.REGISTERS),
)
_TENSOR_MEMORY = re.compile(
    r"SM100_TMEM_(?P<way>LOAD|STORE)_(?P<lanes>16|32)dp(?P<bits>\d{2,3})b(?P<repeat>\d{1,3})x(?P<packed>_16b)?"
)
_CP_ASYNC = re.compile(r"SM80_CP_ASYNC_CACHE(?P<where>ALWAYS|GLOBAL)(?P<fill>_ZFILL)?")


@cache
def copy_op(name: str, bits: int = 0) -> CopyOp | None:
    """Returns the copy operation of that name; None for an unknown one.

    Args:
        name: without template arguments.
        bits: the width of the template argument's type, or the assumed alignment of an
            auto-vectorizing copy.
    """
    if found := _MATRIX_NAME.fullmatch(name):
        return _matrix_op(found)
    if (found := _CP_ASYNC.fullmatch(name)) and bits:
        return cp_async(
            bits, is_global=found["where"] == "GLOBAL", is_zero_filling=bool(found["fill"])
        )
    if name == "UniversalCopy" and bits:
        return universal_copy(bits)
    if name == "AutoVectorizingCopyWithAssumedAlignment":
        return auto_vectorizing_copy(bits or 128)
    named = {"AutoVectorizingCopy": AUTO_VECTORIZING_COPY, "DefaultCopy": DEFAULT_COPY}
    if name in named:
        return named[name]
    if found := _TENSOR_MEMORY.fullmatch(name):
        lanes, width, repeat = (int(found[part]) for part in ("lanes", "bits", "repeat"))
        shape = TensorMemoryShape(lanes, width, repeat, is_packed=bool(found["packed"]))
        if shape.exists:
            return tensor_memory_copy(shape, is_store=found["way"] == "STORE")
    for prefix, mechanism in _ELSEWHERE:
        if name.startswith(prefix):
            return CopyOp(name, mechanism, 0, _ONE, _ONE, _ONE, _ONE)
    return None


def _matrix_op(found: re.Match[str]) -> CopyOp:
    group = found.lastgroup
    assert group is not None
    number = int(found[group])
    match group:
        case "load":
            return ldmatrix(number)
        case "load_t":
            return ldmatrix(number // 2, is_transposed=True)
        case "store":
            return stmatrix(number)
        case "store_t":
            return stmatrix(number // 2, is_transposed=True)
        case "load_8":
            return ldmatrix_transposed_bytes(number // 8)
        case "store_8":
            return stmatrix_transposed_bytes(number // 4)
    return _load(found[0], _ROWS[number], _REGISTERS_N[number], number, False)
