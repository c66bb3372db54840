"""A GEMM of CUTLASS 3 whose epilogue goes through shared memory lane by lane.

`GemmUniversal` of a warp-specialized mainloop of sm_90 with the vectorized epilogue of sm_70: one
warp group fills operands by TMA, another one multiplies them by wgmma, both without lane addresses,
and exchanges the accumulators through shared memory. What the builders make has an `operator()` of
its own (`cutlass_builders`), no other combination has one.

Source: CUTLASS 4.7, `cutlass/gemm/dispatch_policy.hpp`, `gemm/collective/collective_mma_decl.hpp`,
`gemm/kernel/sm90_gemm_tma_warpspecialized.hpp`, `gemm/device/gemm_universal_adapter.h`,
`epilogue/collective/detail.hpp`, `epilogue/collective/sm70_epilogue_vectorized.hpp` and
`epilogue/thread/linear_combination.h`.
"""

from __future__ import annotations

from smemlint.frontend.cuda.preprocessor.cutlass_builders import BUILDERS
from smemlint.frontend.cuda.preprocessor.cutlass_sm100 import CONVOLUTIONS, SM100_BUILDERS
from smemlint.frontend.cuda.preprocessor.cutlass_sm120 import SM120_BUILDERS

_GEMM = """\
#pragma once
#include "cutlass/device_kernel.h"
namespace cutlass { namespace epilogue {
namespace thread {
template <class Output, int Count, class Accumulator = Output, class Compute = Output>
struct LinearCombination { using ElementAccumulator = Accumulator; };
}
struct EpilogueSimtVectorized {};
namespace collective {
template <class StrideC_, class StrideD_, class Op, class SmemLayout, class CopyR2S, class CopyS2R,
          class CopyR2G, class Schedule = EpilogueSimtVectorized>
struct Epilogue {
  using Element = typename Op::ElementAccumulator;
  template <class Tile, class Accumulators, class Mma>
  __device__ void operator()(Tile tile, Accumulators& accumulators, Mma mma, int thread,
                             char* bytes) {
    using namespace cute;
    Tensor sAcc = make_tensor(make_smem_ptr(reinterpret_cast<Element*>(bytes)), SmemLayout{});
    auto r2s = make_tiled_copy_C(CopyR2S{}, mma);
    auto thread_r2s = r2s.get_thread_slice(thread);
    Tensor from = thread_r2s.retile_S(accumulators);
    Tensor to = thread_r2s.partition_D(sAcc);
    auto s2r = CopyS2R{};
    Tensor read = s2r.get_thread_slice(thread).partition_S(sAcc);
    Tensor values = make_tensor<Element>(shape(read));
    for (int i = 0; i < size<0>(tile) / size<0>(sAcc); ++i) {
      for (int j = 0; j < size<1>(tile) / size<1>(sAcc); ++j) {
        for (int m = 0; m < size<1>(to); ++m) {
          for (int n = 0; n < size<2>(to); ++n) {
            copy(r2s, from(_, i * size<1>(to) + m, j * size<2>(to) + n), to(_, m, n));
          }
        }
        __syncthreads();
        copy(s2r, read, values);
        __syncthreads();
      }
    }
  }
};
namespace detail {
template <class Op> struct Sm90TmaWarpSpecializedAdapter {};
}
} }
namespace gemm {
struct KernelTmaWarpSpecialized;
template <int Stages, class Cluster, class Schedule = KernelTmaWarpSpecialized>
struct MainloopSm90TmaGmmaWarpSpecialized {};
namespace collective {
template <class Policy, class Tile, class A, class StrideA, class B, class StrideB, class Mma,
          class GmemA, class AtomA, class CopyA, class TransformA, class GmemB, class AtomB,
          class CopyB, class TransformB>
struct CollectiveMma {};
}
namespace kernel {
template <class Problem, class Mainloop, class Epilogue_, class Scheduler = void>
struct GemmUniversal {};
template <class Problem, int Stages, class Cluster, class Tile, class A, class StrideA, class B,
          class StrideB, class Mma, class GmemA, class AtomA, class CopyA, class TransformA,
          class GmemB, class AtomB, class CopyB, class TransformB, class Epilogue_>
struct GemmUniversal<
    Problem,
    collective::CollectiveMma<
        MainloopSm90TmaGmmaWarpSpecialized<Stages, Cluster, KernelTmaWarpSpecialized>, Tile, A,
        StrideA, B, StrideB, Mma, GmemA, AtomA, CopyA, TransformA, GmemB, AtomB, CopyB, TransformB>,
    epilogue::collective::detail::Sm90TmaWarpSpecializedAdapter<Epilogue_>, void> {
  static constexpr int MaxThreadsPerBlock = CUTE_STATIC_V(cute::size(Mma{})) + 128;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct Arguments {};
  struct Params {};
  __device__ void operator()(Params const& params, char* bytes) {
    using namespace cute;
    if (threadIdx.x >= 128) {
      Mma mma;
      Tile tile;
      Tensor accumulators = partition_fragment_C(mma, take<0, 2>(tile));
      Epilogue_ epilogue;
      epilogue(tile, accumulators, mma, threadIdx.x % 128, bytes);
    }
  }
};
}
namespace device {
template <class Kernel>
struct GemmUniversalAdapter {
  using GemmKernel = Kernel;
  using Arguments = typename Kernel::Arguments;
  using Params = typename Kernel::Params;
  int run() {
    Params params;
    device_kernel<GemmKernel><<<1, GemmKernel::MaxThreadsPerBlock, 232448>>>(params);
    return 0;
  }
  template <class Stream> int run(Stream stream) { return run(); }
  template <class Args, class Workspace>
  int run(Args const& args, Workspace* workspace) { return run(); }
  template <class Args, class Workspace, class Stream>
  int run(Args const& args, Workspace* workspace, Stream stream) { return run(); }
  int operator()() { return run(); }
  template <class Args> int operator()(Args const& args) { return run(); }
  template <class Args, class Workspace>
  int operator()(Args const& args, Workspace* workspace) { return run(); }
  template <class Args, class Workspace, class Stream>
  int operator()(Args const& args, Workspace* workspace, Stream stream) { return run(); }
};
}
} }
"""
_WHERE = "cutlass/gemm/kernel/gemm_universal.hpp"
_SAME = f'#pragma once\n#include "{_WHERE}"\n'
GEMM_TEXTS = {
    _WHERE: "".join((_GEMM, BUILDERS, SM100_BUILDERS, SM120_BUILDERS, CONVOLUTIONS)),
    **dict.fromkeys(
        (
            "cutlass/gemm/dispatch_policy.hpp",
            "cutlass/gemm/collective/collective_builder.hpp",
            "cutlass/gemm/collective/collective_mma.hpp",
            "cutlass/gemm/device/gemm_universal_adapter.h",
            "cutlass/conv/collective/collective_builder.hpp",
            "cutlass/conv/device/conv_universal_adapter.hpp",
            "cutlass/conv/dispatch_policy.hpp",
            "cutlass/conv/kernel/conv_universal.hpp",
            "cutlass/epilogue/collective/collective_builder.hpp",
            "cutlass/epilogue/collective/collective_epilogue.hpp",
            "cutlass/epilogue/collective/default_epilogue.hpp",
            "cutlass/epilogue/thread/linear_combination.h",
        ),
        _SAME,
    ),
}
"""Texts by the names of the headers that they stand for."""
