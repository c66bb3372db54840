"""MMA operations with their (thread, value) layouts: CuTe's `MMA_Traits` as data.

A layout maps (thread, value) to m + M*k (A), n + N*k (B) or m + M*n (C).

Source: CUTLASS 4.7, `cute/atom/mma_traits_sm{61,70,75,80,89,90,90_gmma,120}.hpp`.
"""

from __future__ import annotations

import re
from functools import cache

from smemlint.layout.cute.int_tuples import IntTuple
from smemlint.layout.cute.layouts import Layout
from smemlint.lazy_dataclasses import dataclass

ELEMENT_BITS = {
    "F64": 64, "F32": 32, "TF32": 32, "F16": 16, "BF16": 16, "E4M3": 8, "E5M2": 8,
    "S32": 32, "S8": 8, "U8": 8, "S4": 4, "U4": 4, "U1": 1, "C64": 128, "GC64": 128,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MmaOp:
    """An MMA operation.

    Attributes:
        shape: M, N and K.
        threads: logical thread to thread number.
        a: (thread, value) of A; so b and c.
        types: element types of D, A, B and C in the operation's name; empty where it has none.
        a_is_descriptor: whether A is read from shared memory by descriptor; so b_is_descriptor.
        accumulating_ctas: how many blocks hold C in tensor memory; 0 for registers.
        majors: the contiguous mode of A and of B in shared memory, where the name says so.
    """

    name: str
    shape: tuple[int, int, int]
    threads: Layout
    a: Layout
    b: Layout
    c: Layout
    types: tuple[str, ...] = ()
    a_is_descriptor: bool = False
    b_is_descriptor: bool = False
    accumulating_ctas: int = 0
    majors: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def element(self, operand: str) -> str:
        """Returns the type of the elements of D, A, B or C; empty where it is not known."""
        index = "DABC".find(operand) if len(operand) == 1 else -1
        return self.types[index] if 0 <= index < len(self.types) else ""

    def element_bits(self, operand: str) -> int:
        """Returns the width of the elements of an operand, A, B or C; 0 where it is not known."""
        return ELEMENT_BITS.get(self.element(operand), 0)


def _quads(values: IntTuple, quad: int, row: int, strides: IntTuple) -> Layout:
    """Returns a warp's layout: 4 threads of a quad by 8 rows."""
    return Layout(((4, 8), values), ((quad, row), strides))


_WARP = Layout(32)
_C_16X8 = _quads((2, 2), 32, 1, (16, 8))
_C_8X8 = _quads(2, 16, 1, 8)

# shape and width of the operands' class -> A, B, C
_WARP_MMAS: dict[tuple[str, str], tuple[Layout, Layout, Layout]] = {
    ("16x8x8", "16"): (_C_16X8, _C_8X8, _C_16X8),
    ("16x8x16", "16"): (
        _quads((2, 2, 2), 32, 1, (16, 8, 128)), _quads((2, 2), 16, 1, (8, 64)), _C_16X8,
    ),
    ("16x8x4", "32"): (_quads(2, 16, 1, 8), _quads(1, 8, 1, 0), _C_16X8),
    ("16x8x8", "32"): (_quads((2, 2), 16, 1, (8, 64)), _quads(2, 8, 1, 32), _C_16X8),
    ("8x8x4", "64"): (_quads(1, 8, 1, 0), _quads(1, 8, 1, 0), _C_8X8),
    ("16x8x4", "64"): (_quads(2, 16, 1, 8), _quads(1, 8, 1, 0), _C_16X8),
    ("16x8x8", "64"): (_quads((2, 2), 16, 1, (8, 64)), _quads(2, 8, 1, 32), _C_16X8),
    ("16x8x16", "64"): (_quads((2, 4), 16, 1, (8, 64)), _quads(4, 8, 1, 32), _C_16X8),
    ("8x8x16", "8"): (_quads(4, 32, 1, 8), _quads(4, 32, 1, 8), _C_8X8),
    ("16x8x16", "8"): (_quads((4, 2), 64, 1, (16, 8)), _quads(4, 32, 1, 8), _C_16X8),
    ("16x8x32", "8"): (
        _quads((4, 2, 2), 64, 1, (16, 8, 256)), _quads((4, 2), 32, 1, (8, 128)), _C_16X8,
    ),
    ("8x8x32", "4"): (_quads((8,), 64, 1, (8,)), _quads((8,), 64, 1, (8,)), _C_8X8),
    ("16x8x32", "4"): (_quads((8, 2), 128, 1, (16, 8)), _quads((8,), 64, 1, (8,)), _C_16X8),
    ("16x8x64", "4"): (
        _quads((8, 2, 2), 128, 1, (16, 8, 512)), _quads((8, 2), 64, 1, (8, 256)), _C_16X8,
    ),
    ("8x8x128", "1"): (_quads(32, 256, 1, 8), _quads(32, 256, 1, 8), _C_8X8),
    ("16x8x256", "1"): (
        _quads((32, 2, 2), 512, 1, (16, 8, 2048)), _quads((32, 2), 256, 1, (8, 1024)), _C_16X8,
    ),
}  # fmt: skip
_WARP_NAME = re.compile(
    r"SM(?P<arch>75|80|89|90|120)(?:_|::MMA_)(?P<shape>\d+x\d+x\d+)(?:_|::)?(?P<types>[A-Z][A-Z0-9]*)"
    r"_TN(?:_SATURATE|_XORPOPC|_ANDPOPC|_VS)?"
)
_TYPED_NAME = re.compile(r"SM120_16x8x(?P<k>32_TN|32_TN_VS|64_TN_VS)")
_TYPES = re.compile("|".join(sorted(ELEMENT_BITS, key=len, reverse=True)))

# ---- Volta's quad pairs

_QUAD_PAIR = Layout((4, 2), (1, 16))
_VOLTA_ROW = Layout((8, 4), (1, 8))
_VOLTA_COLUMN = Layout(((4, 2), 4), ((8, 4), 1))
_VOLTA_C16 = Layout((8, 8), (1, 8))
_VOLTA_C32 = Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))
_VOLTA_NAME = re.compile(r"SM70_8x8x4_(?P<types>F16F16F16F16|F32F16F16F32)_(?P<major>[TN]{2})")

TRAIT_LAYOUTS = {
    "SM70_QuadPair": _QUAD_PAIR, "SM70_8x4_Row": _VOLTA_ROW, "SM70_8x4_Col": _VOLTA_COLUMN,
    "SM70_8x8_16b": _VOLTA_C16, "SM70_8x8_32b": _VOLTA_C32, "SM80_8x4": _quads(1, 8, 1, 0),
    "SM80_8x8_Row": _C_8X8, "SM80_8x16_Row": _quads(4, 32, 1, 8), "SM80_16x8_Row": _C_16X8,
}  # fmt: skip
"""What CuTe's traits of MMAs are written with, and so are a user's: `CLayout = SM80_16x8_Row`."""

# ---- wgmma

_GMMA_NAME = re.compile(
    r"(?:SM90_|SM90::GMMA::MMA_|GMMA::MMA_|MMA_)64x(?P<n>\d+)x(?P<k>\d+)_(?P<types>[A-Z0-9]+)"
    r"_(?P<source>SS|RS)(?:_TN)?"
)
_GMMA_A = {8: (2, 64, 256), 16: (2, 128, 512), 32: (4, 256, 1024)}
"""K of the register operand A -> adjacent values, stride of a quad's threads, of the second half.

Keyed by K of the instruction: 8 for 32-bit, 16 for 16-bit, 32 for 8-bit elements."""


_SELECTED_A = {32: (8, "TF32"), 16: (16, "F16"), 8: (32, "E4M3")}
"""Bits of an element of A -> the depth of the instruction, and a type of that width."""
_SELECTED_N = (256, 192, 128, 96, 64, 32, 16, 8)


@cache
def mma_op(name: str) -> MmaOp | None:
    """Returns the MMA operation of that name, without template arguments; None if unknown."""
    if name == "UniversalFMA":
        one = Layout((1, 1))
        return MmaOp(name, (1, 1, 1), Layout(1), one, one, one)
    if name in ("SM61_DP4A", "SM61_DP2A"):
        k = 4 if name == "SM61_DP4A" else 2
        types = ("S32", "S8", "S8", "S32") if k == 4 else ()
        operand = Layout((1, k))
        return MmaOp(name, (1, 1, k), Layout(1), operand, operand, Layout((1, 1)), types)
    for pattern, make in (
        (_VOLTA_NAME, _volta),
        (_WARP_NAME, _warp_mma),
        (_GMMA_NAME, _warpgroup_mma),
    ):
        if found := pattern.fullmatch(name):
            return make(name, found)
    return None


def _volta(name: str, found: re.Match[str]) -> MmaOp:
    types = tuple(_TYPES.findall(found["types"]))
    a = _VOLTA_ROW if found["major"][0] == "T" else _VOLTA_COLUMN
    b = _VOLTA_ROW if found["major"][1] == "N" else _VOLTA_COLUMN
    c = _VOLTA_C16 if types[0] == "F16" else _VOLTA_C32
    return MmaOp(name, (8, 8, 4), _QUAD_PAIR, a, b, c, types)


def _warp_mma(name: str, found: re.Match[str]) -> MmaOp | None:
    types = tuple(_TYPES.findall(found["types"]))
    if len(types) != 4 or "".join(types) != found["types"]:
        return None
    bits = ELEMENT_BITS[types[1]]
    width = {128: 64}.get(bits, bits)
    layouts = _WARP_MMAS.get((found["shape"], str(width)))
    if layouts is None:
        return None
    m, n, k = map(int, found["shape"].split("x"))
    return MmaOp(name, (m, n, k), _WARP, *layouts, types)


@cache
def typed_warp_mma(name: str, accumulator_bits: int) -> MmaOp | None:
    """Returns an operation of sm_120 whose element types are template arguments; else None."""
    found, c_type = _TYPED_NAME.fullmatch(name), {16: "F16", 32: "F32"}.get(accumulator_bits)
    if found is None or c_type is None:
        return None
    k = int(found["k"][:2])
    bits = 256 // k
    types = (c_type, f"U{bits}", f"U{bits}", c_type)
    return MmaOp(name, (16, 8, k), _WARP, *_WARP_MMAS[f"16x8x{k}", str(bits)], types)


def _warpgroup_mma(name: str, found: re.Match[str]) -> MmaOp | None:
    types = tuple(_TYPES.findall(found["types"]))
    n, k = int(found["n"]), int(found["k"])
    if len(types) != 3 or n % 8 or not 8 <= n <= 256 or k not in _GMMA_A:
        return None
    reads_registers = found["source"] == "RS"
    return warpgroup_mma(n, k, name, (*types, types[0]), reads_registers=reads_registers)


def warpgroup_mma(
    n: int,
    k: int = 16,
    name: str = "",
    types: tuple[str, ...] = (),
    *,
    reads_registers: bool = False,
) -> MmaOp:
    """Returns wgmma.m64n<n>k<k>.

    Args:
        n: extent in elements.
        k: extent in elements.
        name: of the atom; empty for one after its extents.
        types: of D, A, B and C; empty where they do not matter.
        reads_registers: A is in registers, not in shared memory.
    """
    a = _descriptor_layout(64, k)
    if reads_registers:
        values, quad, half = _GMMA_A[k]
        if k == 8:
            a = Layout(((4, 8, 4), (2, 2)), ((64, 1, 16), (8, 256)))
        else:
            a = Layout(((4, 8, 4), (values, 2, 2)), ((quad, 1, 16), (64, 8, half)))
    c = Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))
    return MmaOp(
        name or f"SM90_64x{n}x{k}",
        (64, n, k),
        Layout(128),
        a,
        _descriptor_layout(n, k),
        c,
        types,
        not reads_registers,
        True,
    )


def selected_warpgroup_mma(
    a_bits: int, c_bits: int, tile: tuple[int, int, int], *, reads_registers: bool = False
) -> MmaOp | None:
    """Returns what `GMMA::ss_op_selector` (or `rs_op_selector`) chooses; None for no such tile.

    Of the extents of N that are there without CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED.

    Args:
        a_bits: of an element of A.
        c_bits: of an element of the accumulator.
        tile: M, N and K of a block, in elements.
        reads_registers: `rs_op_selector`: A is in registers.
    """
    m, n, k = tile
    depth, a_type = _SELECTED_A.get(a_bits, (0, ""))
    n = next((extent for extent in _SELECTED_N if n % extent == 0), 0)
    if not depth or not n or m % 64 or k % depth or c_bits not in (16, 32):
        return None
    c_type = "F32" if c_bits == 32 else "F16"
    types = (c_type, a_type, a_type, c_type)
    return warpgroup_mma(n, depth, "", types, reads_registers=reads_registers)


def _descriptor_layout(extent: int, k: int) -> Layout:
    return Layout((128, (extent, k)), (0, (1, extent)))
