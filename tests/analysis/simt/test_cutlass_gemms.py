"""Kernels that CUTLASS's `GemmUniversal` makes of collectives, without its headers."""

from __future__ import annotations

import pytest
from conftest import facts_of

from smemlint.reasons import ReasonCode

GEMM = """#include <cute/tensor.hpp>
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/epilogue/collective/collective_epilogue.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
using namespace cute;
template <class Gemm> struct Runner {
  bool run(int n) {
    typename Gemm::GemmKernel::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm, n};
    Gemm gemm;
    if (gemm.can_implement(arguments) != 0) return false;
    return RUN == 0;
  }
};
int main(int argc, char **argv) {
  using TileShape = Shape<_128, _64, _128>;
  using Policy = cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<8, Shape<_1, _2, _1>, cutlass::gemm::SCHEDULE>;
  using Mma = decltype(make_tiled_mma(GMMA::ss_op_selector<int8_t, int8_t, int32_t, TileShape, GMMA::Major::K, GMMA::Major::K>()));
  using Atom = GMMA::Layout_K_SW128_Atom<int8_t>;
  using Mainloop = cutlass::gemm::collective::CollectiveMma<Policy, TileShape, int8_t, int, int8_t, int, Mma,
      SM90_TMA_LOAD, Atom, void, cute::identity, SM90_TMA_LOAD, Atom, void, cute::identity>;
  using Smem = ComposedLayout<Swizzle<3, 4, 3>, smem_ptr_flag_bits<32>,
                              Layout<Shape<Shape<_32, _4>, _64>, Stride<Stride<_1, BLOCK>, _32>>>;
  using Read = TiledCopy<Copy_Atom<DefaultCopy, int32_t>, Layout<Shape<_128, _16>, Stride<_16, _1>>, Shape<_128, _16>>;
  using Epilogue = cutlass::epilogue::collective::detail::Sm90TmaWarpSpecializedAdapter<
      cutlass::epilogue::collective::Epilogue<int, int, cutlass::epilogue::thread::LinearCombination<int32_t, 1, int32_t, int32_t>,
          Smem, Copy_Atom<DefaultCopy, int32_t>, Read, Copy_Atom<DefaultCopy, int8_t>>>;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
  Runner<cutlass::gemm::device::GemmUniversalAdapter<Kernel>> runner;
  return runner.run(argc);
}
"""
PARTS = {"RUN": "gemm.run()", "SCHEDULE": "KernelTmaWarpSpecialized", "BLOCK": "_2048"}


def facts_with(**parts: str):
    text = GEMM
    for name, replacement in (PARTS | parts).items():
        text = text.replace(name, replacement)
    return facts_of(text)


@pytest.mark.parametrize("run", ["gemm.run()", "gemm(arguments)", "gemm.run(nullptr)"])
def test_a_vectorized_epilogue_is_priced_where_it_is_written(run):
    """The figures are those of CUTLASS's `50_hopper_gemm_with_epilogue_swizzle`."""
    facts = facts_with(RUN=run)
    (kernel,) = facts.kernels
    assert kernel.instance.block == (256, 1, 1)
    found = {
        (str(a.kind), a.span.line, a.width_bytes, a.instructions, a.ways) for a in kernel.accesses
    }
    assert found == {("store", 27, 4, 256, 1.0), ("load", 27, 16, 64, 4.0)}
    assert all(a.certainty.is_decided for a in kernel.accesses)
    assert not facts.not_analysed


@pytest.mark.parametrize(
    "parts",
    [
        {"SCHEDULE": "KernelTmaWarpSpecializedPingpong"},
        {"SCHEDULE": "KernelTmaWarpSpecializedCooperative"},
    ],
)
def test_other_kernels_are_left_out_with_notes(parts):
    facts = facts_with(**parts)
    assert not [a for kernel in facts.kernels for a in kernel.accesses]
    notes = {n.span.line for n in facts.not_analysed if n.reason.code is ReasonCode.LEFT_OUT}
    assert notes == {30}


def test_no_note_stands_in_a_text_of_our_own():
    facts = facts_with(SCHEDULE="KernelTmaWarpSpecializedPingpong")
    notes = (*facts.not_analysed, *(n for kernel in facts.kernels for n in kernel.not_analysed))
    assert {n.span.path for n in notes} == {"k.cu"}
