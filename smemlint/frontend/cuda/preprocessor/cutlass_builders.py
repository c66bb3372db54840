"""What CUTLASS's `CollectiveBuilder` makes of a GEMM of sm_90 whose epilogue stores by TMA.

Operands reach wgmma by descriptors, without lane addresses; the epilogue writes D into shared
memory and reads C from it lane by lane, in a layout and by operations that follow from the element
type, the major mode and the tile. Of a schedule that is not listed, of operands that are converted
in registers, and of fusions that use shared memory themselves nothing is defined: these are noted.

Source: CUTLASS 4.7, `gemm/collective/builders/sm90_gmma_builder.inl`,
`epilogue/collective/builders/sm90_builder.inl`, `epilogue/collective/builders/sm90_common.inl`,
`epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp` and
`gemm/kernel/sm90_gemm_tma_warpspecialized{,_pingpong,_cooperative}.hpp`.
"""

from __future__ import annotations

BUILDERS = """\
namespace cutlass {
namespace layout {
struct RowMajor {};
struct ColumnMajor {};
}
namespace arch { struct OpClassTensorOp {}; }
namespace smemlint {
template <class Tag> struct OutputStride { using type = Tag; };
template <> struct OutputStride<cutlass::layout::RowMajor> {
  using type = cute::Stride<long, cute::_1, long>;
  static constexpr bool is_row_major = true;
};
template <> struct OutputStride<cutlass::layout::ColumnMajor> {
  using type = cute::Stride<cute::_1, long, long>;
  static constexpr bool is_row_major = false;
};
template <class Given, class Tile, class D, bool IsCooperative>
struct EpilogueTile { using type = Given; };
template <class C> struct HasSource { static constexpr bool value = true; };
template <> struct HasSource<void> { static constexpr bool value = false; };
}
namespace epilogue {
struct NoSmemWarpSpecialized {};
struct TmaWarpSpecialized {};
struct TmaWarpSpecializedCooperative {};
namespace fusion {
template <class Output, class Compute, class Source = Output, class Scalar = Compute, int Round = 0>
struct LinearCombination {};
}
namespace collective {
struct EpilogueTileAuto {};
struct EpilogueScheduleAuto {};
}
}
namespace smemlint {
template <class Tile, class D, bool IsCooperative>
struct EpilogueTile<epilogue::collective::EpilogueTileAuto, Tile, D, IsCooperative> {
  static constexpr int Widest =
      !IsCooperative && sizeof(D) == 1 && CUTE_STATIC_V(cute::size<1>(Tile{})) % 64 == 0 ? 64 : 32;
  static constexpr int Rows = CUTE_STATIC_V(cute::size<0>(Tile{}));
  static constexpr int Columns = CUTE_STATIC_V(cute::size<1>(Tile{}));
  static constexpr int M = Rows < (IsCooperative ? 128 : 64) ? Rows : (IsCooperative ? 128 : 64);
  static constexpr int N = Columns < Widest ? Columns : Columns % Widest == 0 ? Widest : 16;
  using type = cute::Shape<cute::Int<M>, cute::Int<N>>;
};
template <class Stride, class Element, class Tile, bool IsRowMajor>
struct OutputLayout {
  static constexpr auto Major = IsRowMajor ? cute::GMMA::Major::K : cute::GMMA::Major::MN;
  using Atom = decltype(cutlass::gemm::collective::detail::ss_smem_selector<
      Major, Element, decltype(cute::get<0>(Tile{})), decltype(cute::get<1>(Tile{}))>());
  using type = decltype(cute::tile_to_shape(
      Atom{}, Tile{},
      cute::conditional_t<IsRowMajor, cute::Step<cute::_1, cute::_2>,
                          cute::Step<cute::_2, cute::_1>>{}));
};
template <class Tile, class EpiTile, class C, class StrideC, bool IsRowC, class D, class StrideD,
          bool IsRowD>
struct TmaEpilogue {
  struct SharedStorage { alignas(128) char bytes[1024]; };
  struct Arguments {};
  struct Params {};
  template <class Accumulators, class Mma>
  __device__ void store(Accumulators& accumulators, Mma mma, int thread, char* bytes) {
    using namespace cute;
    using OpR2S = decltype(cutlass::epilogue::collective::detail::
                               sm90_get_smem_store_op_for_accumulator<StrideD, D, EpiTile>());
    Tensor sD = as_position_independent_swizzle_tensor(
        make_tensor(make_smem_ptr(reinterpret_cast<D*>(bytes)),
                    typename OutputLayout<StrideD, D, EpiTile, IsRowD>::type{}));
    auto atoms = make_tiled_copy_C_atom(Copy_Atom<SM90_U32x4_STSM_N, cutlass::half_t>{}, mma);
    auto r2s = make_tiled_copy_S(Copy_Atom<OpR2S, D>{}, atoms);
    auto thread_r2s = r2s.get_slice(thread);
    Tensor to = thread_r2s.partition_D(sD);
    Tensor rD = make_tensor<D>(shape(thread_r2s.partition_S(sD)));
    for (int i = 0; i < size<0>(Tile{}) / size<0>(EpiTile{}); ++i) {
      for (int j = 0; j < size<1>(Tile{}) / size<1>(EpiTile{}); ++j) {
        if constexpr (HasSource<C>::value) {
          load(atoms, rD, thread, bytes);
        }
        copy(r2s, rD, to);
        __syncthreads();
      }
    }
  }
  template <class Atoms, class Registers>
  __device__ void load(Atoms atoms, Registers rD, int thread, char* bytes) {
    using namespace cute;
    using OpS2R = decltype(cutlass::epilogue::collective::detail::
                               sm90_get_smem_load_op_for_source<StrideC, C, EpiTile>());
    Tensor sC = as_position_independent_swizzle_tensor(
        make_tensor(make_smem_ptr(reinterpret_cast<C*>(bytes)),
                    typename OutputLayout<StrideC, C, EpiTile, IsRowC>::type{}));
    auto s2r = make_tiled_copy_S(Copy_Atom<OpS2R, C>{}, atoms);
    auto thread_s2r = s2r.get_slice(thread);
    Tensor rC = make_tensor<C>(rD.layout());
    copy(s2r, thread_s2r.partition_S(sC), thread_s2r.retile_D(rC));
  }
};
struct NoSmemEpilogue {
  struct SharedStorage { char bytes[1]; };
  struct Arguments {};
  struct Params {};
  template <class Accumulators, class Mma>
  __device__ void store(Accumulators& accumulators, Mma mma, int thread, char* bytes) {}
};
template <bool IsDirect, class Tile, class Mma, int Atoms, int Consumers>
struct TmaMainloop {};
}
namespace epilogue { namespace collective {
template <class Arch, class Class, class Tile, class Cluster, class EpiTile, class Accumulator,
          class Compute, class C, class LayoutC, int AlignmentC, class D, class LayoutD,
          int AlignmentD, class Schedule, class Fusion = fusion::LinearCombination<D, Compute>>
struct CollectiveBuilder {};
template <bool IsCooperative, class Tile, class EpiTile, class C, class LayoutC, class D,
          class LayoutD>
struct TmaBuilder {
  using E = typename smemlint::EpilogueTile<EpiTile, Tile, D, IsCooperative>::type;
  using SC = smemlint::OutputStride<LayoutC>;
  using SD = smemlint::OutputStride<LayoutD>;
  using CollectiveOp = smemlint::TmaEpilogue<Tile, E, C, typename SC::type, SC::is_row_major, D,
                                             typename SD::type, SD::is_row_major>;
};
template <class Tile, class Cluster, class EpiTile, class Accumulator, class Compute, class C,
          class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD, class Fusion>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, EpiTile, Accumulator,
                         Compute, C, LayoutC, AlignmentC, D, LayoutD, AlignmentD,
                         TmaWarpSpecialized, Fusion>
    : TmaBuilder<false, Tile, EpiTile, C, LayoutC, D, LayoutD> {};
template <class Tile, class Cluster, class EpiTile, class Accumulator, class Compute, class C,
          class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD, class Fusion>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, EpiTile, Accumulator,
                         Compute, C, LayoutC, AlignmentC, D, LayoutD, AlignmentD,
                         TmaWarpSpecializedCooperative, Fusion>
    : TmaBuilder<true, Tile, EpiTile, C, LayoutC, D, LayoutD> {};
struct NoSmemBuilder { using CollectiveOp = smemlint::NoSmemEpilogue; };
template <class Tile, class Cluster, class EpiTile, class Accumulator, class Compute, class C,
          class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD, class Fusion>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, EpiTile, Accumulator,
                         Compute, C, LayoutC, AlignmentC, D, LayoutD, AlignmentD,
                         NoSmemWarpSpecialized, Fusion>
    : NoSmemBuilder {};
template <class Tile, class Cluster, class EpiTile, class Accumulator, class Compute, class C,
          class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD, class Fusion>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, EpiTile, Accumulator,
                         Compute, C, LayoutC, AlignmentC, D, LayoutD, AlignmentD,
                         EpilogueScheduleAuto, Fusion>
    : NoSmemBuilder {};
} }
namespace gemm { namespace collective {
struct StageCountAuto {};
struct KernelScheduleAuto {};
template <int Stages> struct StageCount {};
template <int Bytes> struct StageCountAutoCarveout {};
template <class Schedule, class Tile> struct Groups {};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecialized, Tile> {
  static constexpr int Atoms = 1, Consumers = 1;
};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecializedPingpong, Tile> {
  static constexpr int Atoms = 1, Consumers = 2;
};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecializedCooperative, Tile> {
  static constexpr int Atoms = 2, Consumers = 2;
};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecializedFP8FastAccum, Tile>
    : Groups<gemm::KernelTmaWarpSpecialized, Tile> {};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum, Tile>
    : Groups<gemm::KernelTmaWarpSpecializedPingpong, Tile> {};
template <class Tile> struct Groups<gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum, Tile>
    : Groups<gemm::KernelTmaWarpSpecializedCooperative, Tile> {};
template <class Tile> struct Groups<KernelScheduleAuto, Tile> {
  static constexpr int Atoms = CUTE_STATIC_V(cute::size<0>(Tile{})) == 64 ? 1 : 2;
  static constexpr int Consumers = 2;
};
template <class Arch, class Class, class A, class LayoutA, int AlignmentA, class B, class LayoutB,
          int AlignmentB, class Accumulator, class Tile, class Cluster, class Stages,
          class Schedule>
struct CollectiveBuilder {};
template <class A, class LayoutA, int AlignmentA, class B, class LayoutB, int AlignmentB,
          class Accumulator, class Tile, class Cluster, class Stages, class Schedule>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignmentA, B, LayoutB,
                         AlignmentB, Accumulator, Tile, Cluster, Stages, Schedule> {
  static constexpr bool IsDirect =
      sizeof(A) == sizeof(B) &&
      (sizeof(A) == 2 || (cute::is_same_v<LayoutA, cutlass::layout::RowMajor> &&
                          cute::is_same_v<LayoutB, cutlass::layout::ColumnMajor>));
  using Plan = Groups<Schedule, Tile>;
  using Mma = decltype(cute::make_tiled_mma(
      cute::GMMA::ss_op_selector<A, B, Accumulator, Tile>(),
      cute::Layout<cute::Shape<cute::Int<Plan::Atoms>, cute::_1, cute::_1>>{}));
  using CollectiveOp = smemlint::TmaMainloop<IsDirect, Tile, Mma, Plan::Atoms, Plan::Consumers>;
};
} }
namespace gemm { namespace kernel {
template <class Problem, class Tile, class Mma, int Atoms, int Consumers, class Epilogue_,
          class Scheduler>
struct GemmUniversal<Problem, smemlint::TmaMainloop<true, Tile, Mma, Atoms, Consumers>, Epilogue_,
                     Scheduler> {
  static constexpr int MaxThreadsPerBlock = 128 * Consumers + 128;
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
      epilogue.store(accumulators, mma, (threadIdx.x - 128) % (128 * Atoms), bytes);
    }
  }
};
} }
}
"""
