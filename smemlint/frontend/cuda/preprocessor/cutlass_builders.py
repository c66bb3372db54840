"""What CUTLASS's `CollectiveBuilder` makes of a GEMM of sm_90 whose epilogue stores by TMA.

The epilogue writes D into shared memory and reads C from it lane by lane, in a layout and by
operations that follow from the element type, the major mode and the tile; of one matrix, of arrays
and of groups of them alike. Most operands reach wgmma by descriptors, without lane addresses. What
mainloops read that convert, scale or transpose theirs in registers is not modelled: like schedules
that are not listed and fusions that use shared memory themselves, it is noted.

Source: CUTLASS 4.7, `gemm/collective/builders/sm90{,_sparse}_gmma_builder.inl`,
`epilogue/collective/builders/sm90_builder.inl`, `epilogue/collective/builders/sm90_common.inl`,
`epilogue/collective/sm90_epilogue{,_array}_tma_warpspecialized.hpp` and
`gemm/kernel/sm90_gemm{,_array}_tma_warpspecialized{,_pingpong,_cooperative}.hpp`.
"""

from __future__ import annotations

from itertools import product

_COLLECTIVES = """\
namespace cutlass {
namespace layout {
struct RowMajor {};
struct ColumnMajor {};
TENSORStemplate <class Tag> struct LayoutTranspose {};
template <> struct LayoutTranspose<RowMajor> { using type = ColumnMajor; };
template <> struct LayoutTranspose<ColumnMajor> { using type = RowMajor; };
}
namespace arch {
struct OpClassTensorOp {};
struct OpClassSparseTensorOp {};
}
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
STRIDES
template <class Tag> struct OutputStride<Tag*> : OutputStride<Tag> {};
template <class T> struct Pointee { using type = T; };
template <class T> struct Pointee<T*> { using type = T; };
template <int M, int N, int K, int MajorA = 0, int MajorB = 0> struct BlockwiseScaleConfig {
  template <int Rows>
  using Factors = cute::Layout<
      cute::Shape<cute::Shape<cute::Int<Rows>, cute::_1>, cute::Shape<cute::Int<K>, cute::_1>>>;
  static Factors<M> deduce_layoutSFA() { return {}; }
  static Factors<N> deduce_layoutSFB() { return {}; }
};
template <class Given, class Tile, class D, bool IsCooperative>
struct EpilogueTile { using type = Given; };
template <class C> struct HasSource { static constexpr bool value = true; };
template <> struct HasSource<void> { static constexpr bool value = false; };
}
namespace detail {
SCALES}
namespace epilogue {
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
          bool IsRowD, int Most = 4>
struct TmaEpilogue {
  static constexpr int Matrices = CUTE_STATIC_V(cute::size<1>(EpiTile{})) % 16 ? 2 : Most;
  using OpTile = cute::Shape<cute::_64, cute::Int<4 * Matrices>>;
  using Smallest = cute::conditional_t<Matrices == 4, cute::SM90_U32x4_STSM_N,
                                       cute::SM90_U32x2_STSM_N>;
  struct SharedStorage { alignas(128) char bytes[1024]; };
  struct Arguments {};
  struct Params {};
  template <class Accumulators, class Mma>
  __device__ void store(Accumulators& accumulators, Mma mma, int thread, char* bytes) {
    using namespace cute;
    using OpR2S = decltype(cutlass::epilogue::collective::detail::
                               sm90_get_smem_store_op_for_accumulator<StrideD, D, OpTile>());
    Tensor sD = as_position_independent_swizzle_tensor(
        make_tensor(make_smem_ptr(reinterpret_cast<D*>(bytes)),
                    typename OutputLayout<StrideD, D, EpiTile, IsRowD>::type{}));
    auto atoms = make_tiled_copy_C_atom(Copy_Atom<Smallest, cutlass::half_t>{}, mma);
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
                               sm90_get_smem_load_op_for_source<StrideC, C, OpTile>());
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
template <class Tag> struct OperandB : OutputStride<Tag> {};
template <> struct OperandB<layout::RowMajor> : OutputStride<layout::ColumnMajor> {};
template <> struct OperandB<layout::ColumnMajor> : OutputStride<layout::RowMajor> {};
template <class T> struct Multiplied { using type = T; };
template <> struct Multiplied<float> { using type = tfloat32_t; };
template <class Stages> struct StagesOf {};
template <class T, class Stride, class Rows, class Columns, class Stages> struct Staged {
  static constexpr bool IsKMajor = cute::is_same_v<decltype(cute::get<1>(Stride{})), cute::_1>;
  static constexpr auto Major = IsKMajor ? cute::GMMA::Major::K : cute::GMMA::Major::MN;
  using Atom = decltype(cutlass::gemm::collective::detail::ss_smem_selector<Major, T, Rows,
                                                                            Columns>());
  using type = decltype(cute::tile_to_shape(
      Atom{}, cute::Shape<Rows, Columns, cute::Int<StagesOf<Stages>::value>>{},
      cute::conditional_t<IsKMajor, cute::Step<cute::_1, cute::_2, cute::_3>,
                          cute::Step<cute::_2, cute::_1, cute::_3>>{}));
};
template <class A, class LayoutA, class B, class LayoutB, class Accumulator, class Tile, int Atoms,
          class Stages>
struct Sm90Operands {
  using ElementA = typename Multiplied<A>::type;
  using ElementB = typename Multiplied<B>::type;
  using TileShape = Tile;
  using StagedA = Staged<ElementA, typename Pointee<typename OutputStride<LayoutA>::type>::type,
                         decltype(cute::get<0>(Tile{})), decltype(cute::get<2>(Tile{})), Stages>;
  using StagedB = Staged<ElementB, typename Pointee<typename OperandB<LayoutB>::type>::type,
                         decltype(cute::get<1>(Tile{})), decltype(cute::get<2>(Tile{})), Stages>;
  using SmemLayoutAtomA = typename StagedA::Atom;
  using SmemLayoutAtomB = typename StagedB::Atom;
  using SmemLayoutA = typename StagedA::type;
  using SmemLayoutB = typename StagedB::type;
  using TiledMma = decltype(cute::make_tiled_mma(
      cute::GMMA::ss_op_selector<ElementA, ElementB, Accumulator, Tile, StagedA::Major,
                                 StagedB::Major>(),
      cute::Layout<cute::Shape<cute::Int<Atoms>, cute::_1, cute::_1>>{}));
};
template <class Tile, class Mma, int Atoms, int Consumers, class Operands>
struct TmaMainloop : Operands {};
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
struct NoSmemBuilder { using CollectiveOp = smemlint::NoSmemEpilogue; };
} }
namespace gemm { namespace collective {
namespace detail {
template <class T> constexpr bool is_fp8() {
  return cute::is_same_v<T, float_e4m3_t> || cute::is_same_v<T, float_e5m2_t>;
}
template <class A, class B> constexpr bool is_input_fp8() { return is_fp8<A>() && is_fp8<B>(); }
}
struct StageCountAuto {};
struct KernelScheduleAuto {};
template <int Stages> struct StageCount { static constexpr int value = Stages; };
template <int Bytes> struct StageCountAutoCarveout {};
template <class Epilogue_> struct StageCountAutoCarveoutEpi {};
} }
namespace smemlint {
template <int N> struct StagesOf<gemm::collective::StageCount<N>> {
  static constexpr int value = N;
};
}
namespace gemm { namespace collective {
template <class Schedule, class Tile> struct Groups {};
template <class Tile> struct Groups<KernelScheduleAuto, Tile> {
  static constexpr int Atoms = CUTE_STATIC_V(cute::size<0>(Tile{})) == 64 ? 1 : 2;
  static constexpr int Consumers = 2;
};
template <class Arch, class Class, class A, class LayoutA, int AlignmentA, class B, class LayoutB,
          int AlignmentB, class Accumulator, class Tile, class Cluster, class Stages,
          class Schedule>
struct CollectiveBuilder {};
template <class Class, class A, class LayoutA, int AlignmentA, class B, class LayoutB,
          int AlignmentB, class Accumulator, class Tile, class Cluster, class Stages,
          class Schedule>
struct CollectiveBuilder<arch::Sm90, Class, A, LayoutA, AlignmentA, B, LayoutB, AlignmentB,
                         Accumulator, Tile, Cluster, Stages, Schedule> {
  using Plan = Groups<Schedule, Tile>;
  using Mma = decltype(cute::make_tiled_mma(
      cute::GMMA::ss_op_selector<cutlass::half_t, cutlass::half_t, float, Tile>(),
      cute::Layout<cute::Shape<cute::Int<Plan::Atoms>, cute::_1, cute::_1>>{}));
  using CollectiveOp = smemlint::TmaMainloop<
      Tile, Mma, Plan::Atoms, Plan::Consumers,
      smemlint::Sm90Operands<A, LayoutA, B, LayoutB, Accumulator, Tile, Plan::Atoms, Stages>>;
};
} }
namespace gemm { namespace kernel {
template <class Problem, class Tile, class Mma, int Atoms, int Consumers, class Operands,
          class Epilogue_, class Scheduler>
struct GemmUniversal<Problem, smemlint::TmaMainloop<Tile, Mma, Atoms, Consumers, Operands>,
                     Epilogue_, Scheduler> {
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
_SCALES = """\
template <int M, int N, int K, int MajorA = 0, int MajorB = 0>
using SmBlockwiseScaleConfig = smemlint::BlockwiseScaleConfig<M, N, K>;
template <class Tile> auto sm_trivial_blockwise_scale_config(Tile) {
  return smemlint::BlockwiseScaleConfig<CUTE_STATIC_V(cute::size<0>(Tile{})),
                                        CUTE_STATIC_V(cute::size<1>(Tile{})),
                                        CUTE_STATIC_V(cute::size<2>(Tile{}))>{};
}
"""
_EPILOGUE_BUILDER = """\
namespace cutlass { namespace epilogue {
DECLARATIONnamespace collective {
template <class Class, class Tile, class Cluster, class EpiTile, class Accumulator, class Compute,
          class C, class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD,
          class Fusion>
struct CollectiveBuilder<arch::ARCH, Class, Tile, Cluster, EpiTile, Accumulator, Compute, C,
                         LayoutC, AlignmentC, D, LayoutD, AlignmentD, SCHEDULE, Fusion>
    : MADE {};
} } }
"""
_GROUPS = """\
namespace cutlass { namespace gemm {
DECLARATIONnamespace collective {
template <class Tile> struct Groups<SCHEDULE, Tile> {
  static constexpr int Atoms = ATOMS, Consumers = CONSUMERS;
};
} } }
"""
_BY_TMA = "TmaBuilder<{}, Tile, EpiTile, C, LayoutC, D, LayoutD>"
_EPILOGUES = {
    "EpilogueScheduleAuto": "NoSmemBuilder",
    "NoSmemWarpSpecialized": "NoSmemBuilder",
    "PtrArrayNoSmemWarpSpecialized": "NoSmemBuilder",
    "TmaWarpSpecialized": _BY_TMA.format("false"),
    "TmaWarpSpecializedCooperative": _BY_TMA.format("true"),
    "PtrArrayTmaWarpSpecialized": _BY_TMA.format("false"),
    "PtrArrayTmaWarpSpecializedPingpong": _BY_TMA.format("false"),
    "PtrArrayTmaWarpSpecializedCooperative": _BY_TMA.format("true"),
}
_ORDERS = ("NWC", "NHWC", "NDHWC", "KCS", "KCSR", "KCSRT")
"""Of the tensors that convolutions write: channels are contiguous, as columns of GEMMs are."""
_SHAPES = {"": (1, 1), "Pingpong": (1, 2), "Cooperative": (2, 2)}
_OPERANDS = ("", "MixedInput", "FP8FastAccum", "FP8Blockwise")


def specialized(builder: str, schedule: str, *, is_new: bool = True, **parts: str) -> str:
    """Returns a text for one schedule, which it declares, too, where no text before it has it."""
    is_declared = is_new and not schedule.endswith("Auto")
    declaration = f"struct {schedule} {{}};\n" if is_declared else ""
    for name, text in {"DECLARATION": declaration, "SCHEDULE": schedule, **parts}.items():
        builder = builder.replace(name, text)
    return builder


def epilogue_builder(schedule: str, arch: str, made: str, *, is_new: bool = True) -> str:
    """Returns the builder of an epilogue that has the collective of a base class."""
    parts = {"ARCH": arch, "MADE": f"smemlint::{made}"}
    return specialized(_EPILOGUE_BUILDER, schedule, is_new=is_new, **parts)


def _groups(kind: str, shape: str, operands: str) -> str:
    atoms, consumers = _SHAPES[shape]
    name = f"Kernel{kind}TmaWarpSpecialized{shape}{operands}"
    return specialized(_GROUPS, name, ATOMS=str(atoms), CONSUMERS=str(consumers))


def _collectives() -> str:
    parts = {
        "SCALES": "".join(
            _SCALES.replace("Sm", f"Sm{arch}").replace("sm_", f"sm{arch}_")
            for arch in (90, 100, 120)
        ),
        "TENSORS": "".join(f"struct Tensor{order} {{}};\n" for order in _ORDERS),
        "STRIDES": "\n".join(
            f"template <> struct OutputStride<cutlass::layout::Tensor{order}>"
            " : OutputStride<cutlass::layout::RowMajor> {};"
            for order in _ORDERS
        ),
    }
    text = _COLLECTIVES
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


BUILDERS = "".join(
    (
        _collectives(),
        *(epilogue_builder(name, "Sm90", made) for name, made in _EPILOGUES.items()),
        *(_groups(*parts) for parts in product(("", "PtrArray"), _SHAPES, _OPERANDS)),
    )
)
