"""GEMMs that CUTLASS's `CollectiveBuilder` makes for sm_90, without its headers.

The figures of the epilogues are those that CuTe's own headers give for the same layouts and copies
(`fixtures/cute/copies.xz`): an element of 32 bits with contiguous rows takes twice its ideal.
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
using Tile = Shape<TILE, _128, _64>;
using Layout_ = cutlass::layout::MAJOR;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Shape<_1, _1, _1>, EPI, float, float,
    SOURCE, Layout_, 4, OUTPUT, Layout_, 4, cutlass::epilogue::STORE>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, OPERAND, cutlass::layout::RowMajor, 8,
    cutlass::half_t, cutlass::layout::ColumnMajor, 8, float, Tile, Shape<_1, _1, _1>,
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
PARTS = {
    "TILE": "_128",
    "EPI": "cutlass::epilogue::collective::EpilogueTileAuto",
    "MAJOR": "RowMajor",
    "SOURCE": "void",
    "OUTPUT": "float",
    "OPERAND": "cutlass::half_t",
    "STORE": "TmaWarpSpecializedCooperative",
    "SCHEDULE": "KernelTmaWarpSpecializedCooperative",
}
HALF = {"OUTPUT": "cutlass::half_t"}
COLUMNS = {"MAJOR": "ColumnMajor"}
SINGLE = {"STORE": "TmaWarpSpecialized", "SCHEDULE": "KernelTmaWarpSpecialized"}
PINGPONG = {"STORE": "TmaWarpSpecialized", "SCHEDULE": "KernelTmaWarpSpecializedPingpong"}


def facts_with(parts: dict[str, str]):
    text = GEMM
    for name, replacement in (PARTS | parts).items():
        text = text.replace(name, replacement)
    return facts_of(text)


@pytest.mark.parametrize(
    ("parts", "threads", "expected"),
    [  # kind, width, instructions of a block, ways
        ({}, 384, {("store", 8, 256, 2.0)}),
        ({"SOURCE": "float"}, 384, {("store", 8, 256, 2.0), ("load", 8, 256, 2.0)}),
        ({"EPI": "Shape<_128, _64>"}, 384, {("store", 8, 256, 2.0)}),
        (COLUMNS, 384, {("store", 4, 512, 1.0)}),
        (HALF, 384, {("stmatrix", 16, 64, 1.0)}),
        (HALF | COLUMNS, 384, {("stmatrix", 16, 64, 1.0)}),
        (HALF | {"SOURCE": "cutlass::half_t"}, 384,
         {("stmatrix", 16, 64, 1.0), ("ldmatrix", 16, 64, 1.0)}),
        (SINGLE | {"TILE": "_64"}, 256, {("store", 8, 128, 2.0)}),
        (PINGPONG | {"TILE": "_64"}, 384, {("store", 8, 256, 2.0)}),
        ({"SCHEDULE": "collective::KernelScheduleAuto"}, 384, {("store", 8, 256, 2.0)}),
    ],
)  # fmt: skip
def test_an_epilogue_by_tma_is_priced_where_the_kernel_is_made(parts, threads, expected):
    (kernel,) = facts_with(parts).kernels
    assert kernel.instance.block == (threads, 1, 1)
    found = {(str(a.kind), a.width_bytes, a.instructions, a.ways) for a in kernel.accesses}
    assert found == expected
    assert {a.span.line for a in kernel.accesses} == {18}
    assert all(a.certainty.is_decided for a in kernel.accesses)


@pytest.mark.parametrize(
    "parts",
    [
        {"STORE": "NoSmemWarpSpecialized"},
        {"STORE": "collective::EpilogueScheduleAuto"},
        {"STORE": "PtrArrayTmaWarpSpecializedCooperative"},
        {"OPERAND": "int8_t"},
        {"SCHEDULE": "KernelTmaWarpSpecializedOfTomorrow"},
    ],
)
def test_what_has_no_lane_accesses_or_is_not_followed_has_no_figure(parts):
    facts = facts_with(parts)
    assert not [a for kernel in facts.kernels for a in kernel.accesses]
    left_out = [n for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT]
    assert {n.span.line for n in left_out} >= {9, 19}
