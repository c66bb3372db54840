"""GEMMs that CUTLASS's `CollectiveBuilder` makes for sm_90, sm_100 and sm_120, without its headers.

The figures of sm_90 are those that CuTe's own headers give for the same layouts and copies
(`fixtures/cute/copies.xz`): an element of 32 bits with contiguous rows takes twice its ideal. What
the four warps of an epilogue of sm_100 touch was logged by CUTLASS 4.7's own builder and CuTe's own
`copy`, compiled with g++ 12 as `tests/oracle/record_cute_copies.py` does, for one tile of the
epilogue (the tile beside each row); a block has as many as divide its own. None has a conflict.
Tiles of sparse operands are those that `sm100_sparse_compute_tile_shape_or_override` gives, compiled
so, for 360 of 360 schedules, widths and tiles of blocks.
Instructions of sm_120 are those of SASS (CUTLASS 4.7, nvcc 13.5, sm_120a) of examples 87b and 79a,
of which a warp executes those of one tile of the mainloop and of one of the epilogue.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.reasons import ReasonCode

GEMM = """#include <cute/tensor.hpp>
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
using namespace cute;
using half = cutlass::half_t;
using Tile = Shape<TILE>;
using Cluster = Shape<CLUSTER, _1, _1>;
using Layout_ = cutlass::layout::MAJOR;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::ARCH, cutlass::arch::CLASS, Tile, Cluster, EPI, float, float, SOURCE, TAG, 4,
    OUTPUT, TAG, 4, cutlass::epilogue::STORE>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::ARCH, cutlass::arch::CLASS, OPERAND, OF_A, 8, OTHER, OF_B, 8, float, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
        sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::SCHEDULE>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int>, Mainloop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
int main() {
  typename Gemm::Arguments arguments{};
  Gemm gemm;
  if (gemm.initialize(arguments, nullptr) != 0) return 1;
  return gemm.run() == 0;
}
"""
KERNEL = 19
"""Line of the kernel."""
AUTO = {
    "STORE": "collective::EpilogueScheduleAuto",
    "SCHEDULE": "collective::KernelScheduleAuto",
}
SM90 = {
    "ARCH": "Sm90",
    "TILE": "_128, _128, _64",
    "CLUSTER": "_1",
    "CLASS": "OpClassTensorOp",
    "EPI": "cutlass::epilogue::collective::EpilogueTileAuto",
    "MAJOR": "RowMajor",
    "TAG": "Layout_",
    "SOURCE": "void",
    "OUTPUT": "float",
    "OPERAND": "half",
    "OTHER": "half",
    "OF_A": "cutlass::layout::RowMajor",
    "OF_B": "cutlass::layout::ColumnMajor",
    "STORE": "TmaWarpSpecializedCooperative",
    "SCHEDULE": "KernelTmaWarpSpecializedCooperative",
}
SM100 = (
    SM90 | AUTO | {"ARCH": "Sm100", "TILE": "_256, _128, _64", "CLUSTER": "_2", "SOURCE": "float"}
)
COLUMNS = {"MAJOR": "ColumnMajor"}
HALF_OUT = {"OUTPUT": "half"}
LOW = {"TILE": "_64, _128, _64"}
SINGLE = {"STORE": "TmaWarpSpecialized", "SCHEDULE": "KernelTmaWarpSpecialized"}
PINGPONG = {"STORE": "TmaWarpSpecialized", "SCHEDULE": "KernelTmaWarpSpecializedPingpong"}
GROUPED = {
    "TAG": "Layout_*",
    "STORE": "PtrArrayTmaWarpSpecializedCooperative",
    "SCHEDULE": "KernelPtrArrayTmaWarpSpecializedCooperativeFP8FastAccum",
}
HALF = {"SOURCE": "half", "OUTPUT": "half"}
ALONE = {"CLUSTER": "_1", "STORE": "TmaWarpSpecialized1Sm"}
PAIR = {"TILE": "_128, _128, _64"}
BYTES = {"SOURCE": "void", "OUTPUT": "int8_t"}
SPARSE = {
    "CLASS": "OpClassSparseTensorOp",
    "SCHEDULE": "KernelSparseTmaWarpSpecialized2SmSm100",
    "STORE": "TmaWarpSpecialized2Sm",
}
SPARSE_SCALED = {
    "CLASS": "OpClassBlockScaledSparseTensorOp",
    "SCHEDULE": "KernelSparseTmaWarpSpecialized2SmMxf8f6f4Sm100",
    "STORE": "TmaWarpSpecialized2SmMxf8f6f4",
}
BY_OPERANDS = (
    "cute::conditional_t<cutlass::gemm::collective::detail::is_input_fp8<cutlass::float_e4m3_t, B>(),"
    " half, float>"
)


def facts_with(parts: dict[str, str]):
    text = GEMM
    for name, replacement in parts.items():
        text = text.replace(name, replacement)
    return facts_of(text)


@pytest.mark.parametrize(
    ("parts", "threads", "expected"),
    [  # kind, width, instructions of a block, ways
        ({}, 384, {("store", 8, 256, 2.0)}),
        ({"SOURCE": "float"}, 384, {("store", 8, 256, 2.0), ("load", 8, 256, 2.0)}),
        ({"EPI": "Shape<_128, _64>"}, 384, {("store", 8, 256, 2.0)}),
        (COLUMNS, 384, {("store", 4, 512, 1.0)}),
        (HALF_OUT, 384, {("stmatrix", 16, 64, 1.0)}),
        (HALF_OUT | COLUMNS, 384, {("stmatrix", 16, 64, 1.0)}),
        ({"OUTPUT": BY_OPERANDS.replace("B>", "cutlass::float_e5m2_t>")}, 384,
         {("stmatrix", 16, 64, 1.0)}),
        ({"OUTPUT": BY_OPERANDS.replace("B>", "half>")}, 384, {("store", 8, 256, 2.0)}),
        (HALF, 384, {("stmatrix", 16, 64, 1.0), ("ldmatrix", 16, 64, 1.0)}),
        (SINGLE | LOW, 256, {("store", 8, 128, 2.0)}),
        (PINGPONG | LOW, 384, {("store", 8, 256, 2.0)}),
        ({"SCHEDULE": "collective::KernelScheduleAuto"}, 384, {("store", 8, 256, 2.0)}),
        (GROUPED, 384, {("store", 8, 256, 2.0)}),
        (GROUPED | HALF_OUT | {"TILE": "_256, _128, cute::Int<512 / sizeof_bits<half>::value>"}, 384,
         {("stmatrix", 16, 128, 1.0)}),
        (LOW | {"STORE": "PtrArrayTmaWarpSpecializedPingpong",
                "SCHEDULE": "KernelPtrArrayTmaWarpSpecializedPingpong"}, 384,
         {("store", 8, 256, 2.0)}),
        ({"TAG": "typename cutlass::layout::LayoutTranspose<Layout_>::type", "OPERAND": "int8_t"},
         384, {("store", 4, 512, 1.0)}),
    ],
)  # fmt: skip
def test_an_epilogue_of_sm_90_by_tma_is_priced_where_the_kernel_is_made(parts, threads, expected):
    (kernel,) = facts_with(SM90 | parts).kernels
    assert kernel.instance.block == (threads, 1, 1)
    found = {(str(a.kind), a.width_bytes, a.instructions, a.ways) for a in kernel.accesses}
    assert found == expected
    assert {a.span.line for a in kernel.accesses} == {KERNEL}
    assert all(a.certainty.is_decided for a in kernel.accesses)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [  # kind, width, instructions of a block, wavefronts
        ({}, {("store", 16, 8 * 16, 4), ("load", 16, 8 * 16, 4)}),  # 128x16
        ({"SCHEDULE": "KernelTmaWarpSpecialized2SmSm100", "STORE": "PtrArrayTmaWarpSpecialized2Sm"},
         {("store", 16, 8 * 16, 4), ("load", 16, 8 * 16, 4)}),
        (ALONE | PAIR | {"SOURCE": "void"}, {("store", 16, 4 * 32, 4)}),  # 128x32
        (ALONE | PAIR | COLUMNS, {("store", 4, 8 * 64, 1), ("load", 4, 8 * 64, 1)}),  # 128x16
        (HALF | {"TILE": "_256, _256, _64"},
         {("store", 16, 4 * 32, 4), ("load", 16, 4 * 32, 4)}),  # 128x64
        (ALONE | HALF | COLUMNS | {"TILE": "_128, _64, _64"},
         {("stmatrix", 16, 2 * 16, 4), ("ldmatrix", 16, 2 * 16, 4)}),  # 128x32
        (PAIR | {"SOURCE": "void", "OUTPUT": "half"}, {("store", 16, 2 * 16, 4)}),  # 64x(32,2)
        (ALONE | HALF | {"TILE": "_64, _128, _64"},
         {("stmatrix", 16, 4 * 8, 4), ("ldmatrix", 16, 4 * 8, 4)}),  # 64x32
        (ALONE | BYTES | COLUMNS | {"TILE": "_64, _128, _64"},
         {("stmatrix", 16, 2 * 8, 4)}),  # 64x64
        (ALONE | BYTES | {"TILE": "_128, _96, _64"}, {("store", 16, 3 * 8, 4)}),  # 128x32
        (HALF | {"TILE": "_256, _256, _256", "CLASS": "OpClassBlockScaledTensorOp"},
         {("store", 16, 2 * 64, 4), ("load", 16, 2 * 64, 4)}),  # 128x128
        ({"SOURCE": "half", "EPI": "Shape<_128, _64>"},
         {("store", 16, 2 * 64, 4), ("load", 16, 2 * 32, 4)}),
        ({"CLUSTER": "int", "TILE": "_128, _128, _64"},  # 128x16, as one SM has it
         {("store", 16, 8 * 16, 4), ("load", 16, 8 * 16, 4)}),
        (COLUMNS | {"CLUSTER": "int", "SCHEDULE": "KernelTmaWarpSpecialized2SmSm100"},
         {("store", 4, 8 * 64, 1), ("load", 4, 8 * 64, 1)}),  # 128x16 of two SMs' 256x128
        (SPARSE, {("store", 16, 8 * 16, 4), ("load", 16, 8 * 16, 4)}),  # 128x16
        (SPARSE | COLUMNS, {("store", 4, 8 * 64, 1), ("load", 4, 8 * 64, 1)}),
        (SPARSE | HALF | COLUMNS | {"TILE": "_256, _192, _64"},  # 128x64
         {("stmatrix", 16, 3 * 32, 4), ("ldmatrix", 16, 3 * 32, 4)}),
        (SPARSE_SCALED | HALF | COLUMNS | {"TILE": "_256, _192, _64"},  # 128x32
         {("stmatrix", 16, 6 * 16, 4), ("ldmatrix", 16, 6 * 16, 4)}),
    ],
)  # fmt: skip
def test_an_epilogue_of_sm_100_is_priced_where_the_kernel_is_made(parts, expected):
    (kernel,) = facts_with(SM100 | parts).kernels
    assert kernel.instance.block == (256, 1, 1)
    found = {
        (str(a.kind), a.width_bytes, a.instructions, a.wavefronts.max) for a in kernel.accesses
    }
    assert found == expected
    assert all(a.certainty.is_decided and a.ways == 1.0 for a in kernel.accesses)


@pytest.mark.parametrize(
    ("schedule", "arch"),
    [
        ("Blockwise2SmSm100", "Sm100"),
        ("2SmFastFP32SmemSm100", "Sm100"),
        ("2SmMixedInputSm100", "Sm100"),
        ("2SmBlockScaledMxNvf4UltraVs16Sm103", "Sm103"),
        ("2SmBlockScaledMxNvf4UltraVs32Sm103DisablePrefetch", "Sm103"),
    ],
)
def test_warps_that_scale_split_or_convert_stand_beside_an_epilogue_of_sm_100(schedule, arch):
    """CUTLASS's builder of epilogues for sm_103 is that of sm_100."""
    parts = {
        "ARCH": arch,
        "SCHEDULE": f"KernelTmaWarpSpecialized{schedule}",
        "STORE": "TmaWarpSpecialized2Sm",
    }
    (kernel,) = facts_with(SM100 | parts).kernels
    assert kernel.instance.block == (384, 1, 1)
    found = {(str(a.kind), a.width_bytes, a.instructions) for a in kernel.accesses}
    assert found == {("store", 16, 8 * 16), ("load", 16, 8 * 16)}  # 128x16
    assert all(a.ways == 1.0 for a in kernel.accesses)


def test_a_convolution_of_sm_100_has_the_epilogue_of_a_gemm():
    conv = GEMM.replace("gemm/collective", "conv/collective")
    conv = conv.replace("gemm/device/gemm_u", "conv/device/conv_u")
    conv = conv.replace("gemm/kernel/gemm_u", "conv/kernel/conv_u")
    conv = conv.replace("cutlass::gemm::", "cutlass::conv::").replace("GemmU", "ConvU")
    conv = conv.replace("CLASS, OPERAND", "CLASS, cutlass::conv::Operator::kFprop, OPERAND")
    tag = {"TAG": "cutlass::layout::TensorNHWC"}
    for name, part in (SM100 | ALONE | HALF | tag | {"TILE": "_128, _128, Shape<_64>"}).items():
        conv = conv.replace(name, part)
    (kernel,) = facts_of(conv).kernels
    assert {a.span.line for a in kernel.accesses} == {KERNEL}
    found = {(str(a.kind), a.width_bytes, a.instructions, a.ways) for a in kernel.accesses}
    assert found == {("store", 16, 4 * 16, 1.0), ("load", 16, 4 * 16, 1.0)}  # 128x32


SM120 = (
    SM90
    | AUTO
    | {
        "ARCH": "Sm120",
        "TILE": "_128, _128, _128",
        "SOURCE": "cutlass::bfloat16_t",
        "OUTPUT": "cutlass::bfloat16_t",
        "OPERAND": "cutlass::float_e4m3_t",
        "OTHER": "cutlass::float_e4m3_t",
    }
)
SCALES = "decltype(cutlass::detail::Sm120BlockwiseScaleConfig<1, 128, 128>::deduce_layoutSF"
BLOCKWISE = {
    "OF_A": f"cute::tuple<cutlass::layout::RowMajor, {SCALES}A())>",
    "OF_B": f"cute::tuple<cutlass::layout::ColumnMajor, {SCALES}B())>",
}
FOUR_BITS = {
    "CLASS": "OpClassBlockScaledTensorOp",
    "OPERAND": "cutlass::nv_float4_t<Narrow>",
    "OTHER": "cutlass::nv_float4_t<cutlass::float_e2m1_t>",
    "using half =": "using Narrow = cutlass::float_e2m1_t; using half =",
}
WARP = 8 * 24, 8 * 16
"""Instructions of eight warps: ldmatrix of A and B; stmatrix of D, and ldmatrix of C."""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [  # kind, width, instructions of a block, wavefronts, ideal
        ({}, {("ldmatrix", 16, WARP[0], 4.0, 4.0)}),
        (BLOCKWISE, {("ldmatrix", 16, WARP[0], 4.0, 4.0), ("load", 4, 8 * 5, 1.0, 1.0),
                     ("async_copy", 4, 5, 1.0, 1.0)}),
        (BLOCKWISE | {"SCHEDULE": "KernelScheduleSm120Blockwise"},
         {("ldmatrix", 16, WARP[0], 4.0, 4.0), ("load", 4, 8 * 5, 1.0, 1.0),
          ("async_copy", 4, 5, 1.0, 1.0)}),
        # Rows r and r + 8 of A's factors, 128 bytes apart, meet in a bank; four of B are 16 bytes.
        (FOUR_BITS, {("ldmatrix", 16, 8 * 12, 4.0, 4.0), ("load", 16, 8 * (4 + 4), 2.0, 1.5)}),
        ({"OTHER": "cutlass::float_e2m1_t"}, {("ldmatrix", 16, WARP[0], 4.0, 4.0)}),
    ],
)  # fmt: skip
def test_a_gemm_of_sm_120_is_priced_where_the_kernel_is_made(parts, expected):
    (kernel,) = facts_with(SM120 | parts).kernels
    assert kernel.instance.block == (384, 1, 1)
    found = {
        (str(a.kind), a.width_bytes, a.instructions, a.wavefronts.mean, a.ideal.mean)
        for a in kernel.accesses
    }
    epilogue = {(kind, 16, WARP[1], 2.0, 2.0) for kind in ("ldmatrix", "stmatrix")}
    assert found == expected | epilogue
    assert {a.span.line for a in kernel.accesses} == {KERNEL}
    assert all(a.certainty.is_decided for a in kernel.accesses)


@pytest.mark.parametrize(
    "parts",
    [
        SM90 | {"STORE": "NoSmemWarpSpecialized"},
        SM90 | {"STORE": "collective::EpilogueScheduleAuto"},
        SM90 | {"SCHEDULE": "KernelTmaWarpSpecializedOfTomorrow"},
        SM100 | {"STORE": "NoSmemWarpSpecialized2Sm"},
        SM100 | SPARSE | {"SOURCE": "void"},
        SM100 | {"OPERAND": "int8_t"},
        SM100 | {"OUTPUT": "cutlass::float_e2m1_t"},
        SM100 | {"SCHEDULE": "KernelTmaWarpSpecialized2SmOfTomorrow"},
    ],
)
def test_what_has_no_lane_accesses_or_is_not_followed_has_no_figure(parts):
    facts = facts_with(parts)
    assert not [a for kernel in facts.kernels for a in kernel.accesses]
    left_out = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert KERNEL + 1 in {n.span.line for n in left_out}


@pytest.mark.parametrize(
    ("of_a", "expected"), [("Row", {("store", 16, 32, 1.0)}), ("Column", set())]
)
def test_kernels_take_layouts_and_the_mma_of_a_mainloop_that_was_built(of_a, expected):
    """A vector along rows lies apart in tiles whose columns are contiguous: CuTe refuses that copy."""
    kernel = """
__global__ void k() {
  __shared__ half s[size(typename Mainloop::SmemLayoutA{})];
  Tensor sA = make_tensor(make_smem_ptr(s), typename Mainloop::SmemLayoutA{});
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half>{},
                               Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto to = tiled.get_slice(threadIdx.x).partition_D(sA(_, _, 2));
  copy(tiled, make_tensor<half>(shape(to)), to);
}
void go() { k<<<1, size(typename Mainloop::TiledMma{})>>>(); }
"""
    count = "Carveout<static_cast<int>(\n        sizeof(typename Epilogue::SharedStorage))>"
    text = GEMM.split("using Kernel")[0].replace(f"StageCountAuto{count}", "StageCount<3>") + kernel
    for name, part in (SM90 | {"OF_A": f"cutlass::layout::{of_a}Major"}).items():
        text = text.replace(name, part)
    (found,) = facts_of(text).kernels
    assert (found.instance.block, found.arrays[0].bytes) == ((256, 1, 1), 128 * 64 * 3 * 2)
    assert {
        (str(a.kind), a.width_bytes, a.instructions, a.ways) for a in found.accesses
    } == expected


def test_what_is_for_sm_90a_alone_is_read():
    """CUTLASS's `arch/config.h` defines it for `-arch=sm_90a`, without which wgmma does not compile."""
    text = """#include <cute/tensor.hpp>
__global__ void k() {
  __shared__ float s[256];
#if !defined(CUTLASS_ARCH_MMA_SM90A_ENABLED)
  s[2 * threadIdx.x] = 0;
#else
  s[4 * threadIdx.x] = 0;
#endif
#if defined(CUTLASS_ARCH_MMA_SM100A_ENABLED)
  s[8 * threadIdx.x] = 0;
#endif
}
void go() { k<<<1, 32>>>(); }
"""
    (kernel,) = facts_of(text).kernels
    assert [a.ways for a in kernel.accesses] == [4.0]
