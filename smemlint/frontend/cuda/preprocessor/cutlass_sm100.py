"""What CUTLASS's `CollectiveBuilder` makes of GEMMs of sm_100 and sm_103 whose epilogue is by TMA.

Operands reach tcgen05 by descriptors, without lane addresses; four warps load the accumulators from
tensor memory, write D into shared memory and read C from it, in a layout and by operations that
follow from the element types, the major mode and the tile; of convolutions, too. What warps that
scale, split or convert operands do besides is noted. Elements narrower than a byte, epilogues of
sparse operands whose C is not as wide as D, and schedules that are not listed have no definition.

Source: CUTLASS 4.7, `epilogue/collective/builders/sm10{0,3}_builder.inl`,
`epilogue/collective/sm100_epilogue{,_array}_tma_warpspecialized.hpp` and
`gemm/kernel/sm10{0_gemm,3_blockscaled_gemm}{,_array}_tma_warpspecialized.hpp`.
"""

from __future__ import annotations

from smemlint.frontend.cuda.preprocessor.cutlass_builders import epilogue_builder, specialized

_EPILOGUE = """\
namespace cutlass {
namespace arch {
struct OpClassBlockScaledTensorOp {};
struct OpClassBlockScaledSparseTensorOp {};
}
namespace smemlint {
template <bool IsKnown_, bool IsScaled_ = false, bool IsSparse_ = false> struct Sm100Features {
  static constexpr bool IsKnown = IsKnown_, IsScaled = IsScaled_, IsSparse = IsSparse_;
};
template <class Class> struct Sm100Class : Sm100Features<false> {};
template <> struct Sm100Class<arch::OpClassTensorOp> : Sm100Features<true> {};
template <> struct Sm100Class<arch::OpClassBlockScaledTensorOp> : Sm100Features<true, true> {};
template <> struct Sm100Class<arch::OpClassSparseTensorOp> : Sm100Features<true, false, true> {};
template <> struct Sm100Class<arch::OpClassBlockScaledSparseTensorOp>
    : Sm100Features<true, true, true> {};
enum Sm100Scales { NoScales, Mxf8f6f4, Nvf4, Mxf4 };
template <Sm100Scales Scales, int Ctas, int N, int K, int Bits> struct Sm100SparseTile {
  static constexpr bool IsPair = Ctas == 2, IsWord = Bits == 32;
  static constexpr bool IsHalved = N == 64 ||
      (Scales == NoScales ? Bits == 8 ||
           (IsWord ? IsPair && (N == 128 ? K == 64 || K == 256 : N == 256 && K == 32) : N == 128)
       : Scales == Mxf8f6f4 ? (IsWord ? IsPair && N < 256 : N == 128 || (IsPair && N == 192))
       : Scales == Nvf4 ? !IsWord && (N == 128 || (!IsPair && N == 256 && K < 512))
       : !IsWord || N < 256);
  static constexpr bool IsSmall = Scales == NoScales && N == 64 && !IsWord;
  static constexpr bool IsLarge = Scales == Nvf4 && IsWord && N == 256 && K == 512;
  static constexpr int bits = (IsLarge ? 32 : IsSmall ? 4 : IsHalved ? 8 : 16) * 8192;
};
template <class Given, int M, int N, int WarpsM, int WarpsN, int Columns>
struct Sm100Tile { using type = Given; };
template <int M, int N, int WarpsM, int WarpsN, int Columns>
struct Sm100Tile<epilogue::collective::EpilogueTileAuto, M, N, WarpsM, WarpsN, Columns> {
  static constexpr int Rows = M < 32 * WarpsM ? M : 32 * WarpsM;
  static constexpr int Most = N < Columns ? N : Columns;
  static constexpr int Each = (N % Most == 0 ? Most : N) / WarpsN;
  using type = decltype(cute::make_tile(
      cute::Layout<cute::Int<Rows>>{},
      cute::coalesce(cute::Layout<cute::Shape<cute::Int<Each>, cute::Int<WarpsN>>,
                                  cute::Stride<cute::_1, cute::Int<N / WarpsN>>>{})));
};
template <int M, int N, int WarpsM, int WarpsN>
struct Sm100Tile<epilogue::collective::EpilogueTileAuto, M, N, WarpsM, WarpsN, 0> {
  static constexpr int Rows = M < 32 * WarpsM ? M : 32 * WarpsM;
  using type = decltype(cute::make_tile(cute::Int<Rows>{}, cute::Int<128>{}));
};
template <class T> struct Sm100Bits { static constexpr int value = cute::sizeof_bits_v<T>; };
template <> struct Sm100Bits<void> { static constexpr int value = 0; };
template <int Ctas, int Rows, int Columns> struct Sm100Mma {
  using type = cute::SM100_MMA_F16BF16_SS<cutlass::half_t, cutlass::half_t, float, Rows, Columns,
                                          cute::UMMA::Major::K, cute::UMMA::Major::K>;
};
template <int Rows, int Columns> struct Sm100Mma<2, Rows, Columns> {
  using type = cute::SM100_MMA_F16BF16_2x1SM_SS<cutlass::half_t, cutlass::half_t, float, Rows,
                                                Columns, cute::UMMA::Major::K,
                                                cute::UMMA::Major::K>;
};
template <class Class, Sm100Scales Scales, int Ctas, class Tile, class Given, class Accumulator,
          class C, class LayoutC, class D, class LayoutD>
struct Sm100TmaEpilogue {
  struct SharedStorage { alignas(128) char bytes[1024]; };
  struct Arguments {};
  struct Params {};
  using StrideC = typename OutputStride<LayoutC>::type;
  using StrideD = typename OutputStride<LayoutD>::type;
  static constexpr int Rows = CUTE_STATIC_V(cute::size<0>(Tile{})), M = Rows / Ctas;
  static constexpr int CtasOfMma = Rows > 128 ? 2 : Ctas;  // of the mainloop, of any cluster
  static constexpr int N = CUTE_STATIC_V(cute::size<1>(Tile{}));
  static constexpr int K = CUTE_STATIC_V(cute::size<2>(Tile{}));
  static constexpr int WarpsN = Ctas == 2 && M == 64 ? 2 : 1, WarpsM = 4 / WarpsN;
  static constexpr int BitsC = Sm100Bits<C>::value, BitsD = Sm100Bits<D>::value;
  static constexpr int Bits = BitsC < BitsD ? BitsD : BitsC;
  static constexpr int Preferred = BitsC == 0 ? 4096 / (M < 32 * WarpsM ? M : 32 * WarpsM)
      : Bits == 32 ? (M > 64 && N <= 128 ? 16 : 32) : Bits == 16 ? (N <= 128 ? 32 : 64) : 64;
  static constexpr int LeastC =
      BitsC == 0 || !OutputStride<LayoutC>::is_row_major ? 8 * WarpsN : 128 / BitsC * WarpsN;
  static constexpr int LeastD =
      !OutputStride<LayoutD>::is_row_major ? 8 * WarpsN : 128 / BitsD * WarpsN;
  static constexpr int Least = LeastC < LeastD ? LeastD : LeastC;
  static constexpr int Columns = Sm100Class<Class>::IsSparse
      ? Sm100SparseTile<Scales, Ctas, N, K, BitsC>::bits / M / (BitsC ? BitsC : 1)
      : Sm100Class<Class>::IsScaled && N == 256 ? 0 : Preferred < Least ? Least : Preferred;
  using EpiTile = typename Sm100Tile<Given, M, N, WarpsM, WarpsN, Columns>::type;
  using EpiShape = decltype(cute::product_each(cute::shape(EpiTile{})));
  using WarpTile = decltype(cute::shape_div(EpiShape{}, cute::Shape<cute::Int<WarpsM>,
                                                                    cute::Int<WarpsN>>{}));
  using Load = decltype(cutlass::epilogue::collective::detail::sm100_get_tmem_load_op<
                        StrideD, Accumulator, D, WarpTile, false>());
  template <class Element, class Stride, bool IsRowMajor>
  __device__ static auto staged(char* bytes) {
    using namespace cute;
    using Atom = decltype(cutlass::epilogue::collective::detail::
                              sm100_get_epilogue_smem_swizzle_layout_atom<Stride, Element,
                                                                          EpiTile>());
    return as_position_independent_swizzle_tensor(make_tensor(
        make_smem_ptr(reinterpret_cast<Element*>(bytes)),
        tile_to_shape(Atom{}, EpiShape{},
                      conditional_t<IsRowMajor, Step<_1, _2>, Step<_2, _1>>{})));
  }
  __device__ void store(int thread, char* bytes) {
    using namespace cute;
    auto mma = make_tiled_mma(typename Sm100Mma<CtasOfMma, Rows, N>::type{}).get_slice(0);
    Accumulator* nowhere = nullptr;
    Tensor whole = make_tensor(make_gmem_ptr(nowhere), Layout<Shape<Int<Rows>, Int<N>>>{});
    Tensor accumulators = mma.make_fragment_C(mma.partition_C(whole));
    Tensor tiles = flat_divide(accumulators(make_coord(_, _), _0{}, _0{}), EpiTile{});
    auto t2r = make_tmem_copy(Load{}, tiles(_, _, _0{}, _0{}));
    Tensor sD = staged<D, StrideD, OutputStride<LayoutD>::is_row_major>(bytes);
    Tensor rD = make_tensor<D>(shape(t2r.get_slice(thread).partition_D(sD)));
    using OpR2S = decltype(cutlass::epilogue::collective::detail::sm100_get_smem_store_op<
                           StrideD, D, Accumulator, Load>());
    auto r2s = make_tiled_copy_D(Copy_Atom<OpR2S, D>{}, t2r);
    auto thread_r2s = r2s.get_slice(thread);
    for (int i = 0; i < Rows / CtasOfMma * N / size(EpiShape{}); ++i) {
      if constexpr (HasSource<C>::value) {
        load(t2r, rD, thread, bytes);
      }
      copy(r2s, thread_r2s.retile_S(rD), thread_r2s.partition_D(sD));
      __syncthreads();
    }
  }
  template <class TmemCopy, class Registers>
  __device__ void load(TmemCopy t2r, Registers rD, int thread, char* bytes) {
    using namespace cute;
    using OpS2R = decltype(cutlass::epilogue::collective::detail::sm100_get_smem_load_op<
                           StrideC, C, Accumulator, Load>());
    Tensor sC = staged<C, StrideC, OutputStride<LayoutC>::is_row_major>(bytes);
    auto s2r = make_tiled_copy_D(Copy_Atom<OpS2R, C>{}, t2r);
    auto thread_s2r = s2r.get_slice(thread);
    Tensor rC = make_tensor<C>(rD.layout());
    copy(s2r, thread_s2r.partition_S(sC), thread_s2r.retile_D(rC));
  }
};
struct Sm100NoSmemEpilogue : NoSmemEpilogue {
  __device__ void store(int thread, char* bytes) {}
};
struct Sm100NoSmemBuilder { using CollectiveOp = Sm100NoSmemEpilogue; };
template <bool IsKnown, class Class, Sm100Scales Scales, int Ctas, class... Parts>
struct Sm100Builder {};
template <class Class, Sm100Scales Scales, int Ctas, class... Parts>
struct Sm100Builder<true, Class, Scales, Ctas, Parts...> {
  using CollectiveOp = Sm100TmaEpilogue<Class, Scales, Ctas, Parts...>;
};
template <class Class, class C, class D> constexpr bool is_known_by_sm100() {
  return Sm100Class<Class>::IsKnown && Sm100Bits<D>::value % 8 == 0 &&
         Sm100Bits<C>::value % 8 == 0 &&
         (!Sm100Class<Class>::IsSparse || Sm100Bits<C>::value == Sm100Bits<D>::value);
}
template <class M, bool IsStatic = cute::is_static_v<M>> struct Sm100Cluster {
  static constexpr int value = 1;
};
template <class M> struct Sm100Cluster<M, true> { static constexpr int value = M::value; };
template <class Class, int M, int Cluster> struct Sm100Auto {
  static constexpr int ctas =
      Cluster % 2 == 0 && (M == 256 || (M == 128 && !Sm100Class<Class>::IsScaled)) ? 2 : 1;
};
template <bool IsKnown, int Threads = 256> struct Sm100Mainloop {};
struct Sm100Transformed { using CollectiveOp = Sm100Mainloop<true, 384>; };
template <class Class, class A, class B> struct Sm100Operands {
  using CollectiveOp = Sm100Mainloop<
      Sm100Class<Class>::IsKnown && (Sm100Class<Class>::IsScaled || sizeof(A) == sizeof(B))>;
};
}
namespace epilogue { namespace collective {
template <class Class, class Tile, class Cluster, class EpiTile, class Accumulator, class Compute,
          class C, class LayoutC, int AlignmentC, class D, class LayoutD, int AlignmentD,
          class Schedule, class Fusion>
struct CollectiveBuilder<arch::Sm103, Class, Tile, Cluster, EpiTile, Accumulator, Compute, C,
                         LayoutC, AlignmentC, D, LayoutD, AlignmentD, Schedule, Fusion>
    : CollectiveBuilder<arch::Sm100, Class, Tile, Cluster, EpiTile, Accumulator, Compute, C,
                        LayoutC, AlignmentC, D, LayoutD, AlignmentD, Schedule, Fusion> {};
} }
namespace gemm { namespace kernel {
template <class Problem, int Threads, class Epilogue_, class Scheduler>
struct GemmUniversal<Problem, smemlint::Sm100Mainloop<true, Threads>, Epilogue_, Scheduler> {
  static constexpr int MaxThreadsPerBlock = Threads;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct Arguments {};
  struct Params {};
  __device__ void operator()(Params const& params, char* bytes) {
    if (threadIdx.x >= Threads - 128) {
      Epilogue_ epilogue;
      epilogue.store(threadIdx.x % 128, bytes);
    }
  }
};
} }
}
"""
_MAINLOOP_BUILDER = """\
namespace cutlass { namespace gemm {
DECLARATIONnamespace collective {
template <class Class, class A, class LayoutA, int AlignmentA, class B, class LayoutB,
          int AlignmentB, class Accumulator, class Tile, class Cluster, class Stages>
struct CollectiveBuilder<arch::ARCH, Class, A, LayoutA, AlignmentA, B, LayoutB, AlignmentB,
                         Accumulator, Tile, Cluster, Stages, SCHEDULE>
    : smemlint::MADE {};
} } }
"""
_CONVOLUTION = """\
namespace cutlass { namespace conv {
enum class Operator { kFprop, kDgrad, kWgrad };
DECLARED
namespace collective {
using gemm::collective::KernelScheduleAuto;
using gemm::collective::StageCountAuto;
using gemm::collective::StageCount;
using gemm::collective::StageCountAutoCarveout;
template <class Arch, class Class, Operator Way, class A, class LayoutA, int AlignmentA, class B,
          class LayoutB, int AlignmentB, class Accumulator, class Tile, class Cluster,
          class Stages, class Schedule>
struct CollectiveBuilder {};
BUILDERS
}
namespace kernel {
template <class Problem, class Mainloop, class Epilogue_, class Scheduler = void>
struct ConvUniversal : gemm::kernel::GemmUniversal<Problem, Mainloop, Epilogue_, Scheduler> {};
}
namespace device {
template <class Kernel> using ConvUniversalAdapter = gemm::device::GemmUniversalAdapter<Kernel>;
}
} }
"""
_CONVOLUTION_BUILDER = """\
template <class Class, Operator Way, class A, class LayoutA, int AlignmentA, class B,
          class LayoutB, int AlignmentB, class Accumulator, class Tile, class Cluster,
          class Stages>
struct CollectiveBuilder<arch::Sm100, Class, Way, A, LayoutA, AlignmentA, B, LayoutB, AlignmentB,
                         Accumulator, Tile, Cluster, Stages, SCHEDULE>
    : smemlint::Sm100Operands<Class, A, B> {};
"""
_AUTO = """smemlint::Sm100Auto<Class, CUTE_STATIC_V(cute::size<0>(Tile{})),
                             smemlint::Sm100Cluster<decltype(cute::get<0>(Cluster{}))>::value>::ctas"""
_ALL = ("", "PtrArray")
_SCALES = ("Mxf8f6f4", "Nvf4", "Mxf4")
_EPILOGUES = {
    "EpilogueScheduleAuto": ("NoScales", _AUTO),
    **{f"{kind}TmaWarpSpecialized{n}Sm": ("NoScales", n) for kind in _ALL for n in (1, 2)},
    **{f"TmaWarpSpecialized{n}Sm{name}": (name, n) for name in _SCALES for n in (1, 2)},
}
_NO_SMEM = tuple(
    f"{kind}{path}NoSmemWarpSpecialized{n}Sm"
    for kind in _ALL
    for path in ("", "FastF32", "Blockwise")
    for n in (1, 2)
)
_MADE = """Sm100Builder<smemlint::is_known_by_sm100<Class, C, D>(), Class,
                             smemlint::{}, {}, Tile, EpiTile, Accumulator, C, LayoutC, D,
                             LayoutD>"""
_MAINLOOPS = (
    "KernelScheduleAuto",
    *(
        f"Kernel{kind}TmaWarpSpecialized{n}Sm{scaled}Sm100"
        for kind in _ALL
        for n in (1, 2)
        for scaled in ("", *_SCALES)
    ),
    *(
        f"KernelSparseTmaWarpSpecialized{n}Sm{scaled}Sm100"
        for n in (1, 2)
        for scaled in ("", *_SCALES)
    ),
)
_TRANSFORMED = (
    *(f"KernelScheduleSm100{kind}Blockwise" for kind in _ALL),
    *(
        f"Kernel{kind}TmaWarpSpecialized{schedule}Sm100"
        for kind in _ALL
        for n in (1, 2)
        for schedule in (
            *(f"Blockwise{n}Sm", f"{n}SmFastFP32", f"{n}SmFastFP32Smem"),
            *(f"{n}SmMixedInput", f"{n}SmMixedInputSmem"),
        )
    ),
)
"""Of mainloops whose other warps scale, split or convert operands: these are not modelled."""
_ULTRA = (
    "KernelScheduleAuto",
    *(
        f"Kernel{kind}TmaWarpSpecialized{n}SmBlockScaledMxNvf4UltraVs{vector}Sm103{fetch}"
        for kind in _ALL
        for n in (1, 2)
        for vector in (16, 32)
        for fetch in ("", "TmaPrefetch", "DisablePrefetch")
    ),
)
"""Of sm_103, whose kernels have as many warps as those that transform operands."""
_CONVOLUTIONS = tuple(f"KernelImplicitTmaWarpSpecialized{n}SmSm100" for n in (1, 2))


def _convolutions() -> str:
    names = ("KernelScheduleAuto", *_CONVOLUTIONS)
    builders = (_CONVOLUTION_BUILDER.replace("SCHEDULE", name) for name in names)
    declared = "".join(f"struct {name} {{}};\n" for name in _CONVOLUTIONS)
    return _CONVOLUTION.replace("BUILDERS", "".join(builders)).replace("DECLARED", declared)


SM100_BUILDERS = "".join(
    (
        _EPILOGUE,
        *(
            epilogue_builder(name, "Sm100", _MADE.format(*made))
            for name, made in _EPILOGUES.items()
        ),
        *(epilogue_builder(name, "Sm100", "Sm100NoSmemBuilder") for name in _NO_SMEM),
        *(
            specialized(_MAINLOOP_BUILDER, name, ARCH=arch, MADE=made)
            for names, arch, made in (
                (_MAINLOOPS, "Sm100", "Sm100Operands<Class, A, B>"),
                (_TRANSFORMED, "Sm100", "Sm100Transformed"),
                (_ULTRA, "Sm103", "Sm100Transformed"),
            )
            for name in names
        ),
    )
)
CONVOLUTIONS = _convolutions()
"""Read behind what is defined for sm_90."""
