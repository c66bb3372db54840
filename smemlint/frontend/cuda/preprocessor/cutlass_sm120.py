"""What CUTLASS's `CollectiveBuilder` makes of a dense GEMM of sm_120.

Two warp groups load A and B from shared memory by ldmatrix, along K, which is contiguous, and
multiply them by mma.sync: as one (cooperative) or in turns (pingpong). Scale factors of a few
elements of a row each are loaded lane by lane in the layout that TMA leaves them in; those of
blocks of a tile come by cp.async and are loaded once a tile. The epilogue is that of sm_90 with
half of its matrices. Sparse operands, and results narrower than a byte, have no definition.

Source: CUTLASS 4.7, `gemm/collective/builders/sm120_{common,mma,array_mma,blockscaled_mma,
blockwise_mma}_builder.inl`, `gemm/collective/sm120_{,blockscaled_}mma{,_array}_tma{,_blockwise_
scaling}.hpp` and `epilogue/collective/builders/sm120_{builder,common}.inl`.
"""

from __future__ import annotations

from smemlint.frontend.cuda.preprocessor.cutlass_builders import epilogue_builder, specialized

_COLLECTIVES = """\
namespace cutlass {
template <class T> struct nv_float4_t {};
template <class T> struct mx_float4_t {};
template <class T> struct mx_float6_t {};
template <class T> struct mx_float8_t {};
namespace smemlint {
template <class T, int Vector_> struct Scaled {
  using type = T;
  static constexpr int Vector = Vector_;
};
template <class T> struct Sm120Operand : Scaled<T, 0> {};
template <class T> struct Sm120Operand<cutlass::nv_float4_t<T>> : Scaled<T, 16> {};
template <class T> struct Sm120Operand<cutlass::mx_float4_t<T>> : Scaled<T, 32> {};
template <class T> struct Sm120Operand<cutlass::mx_float6_t<T>> : Scaled<T, 32> {};
template <class T> struct Sm120Operand<cutlass::mx_float8_t<T>> : Scaled<T, 32> {};
template <class T> struct Sm120Operand<cute::tuple<T, cutlass::float_ue4m3_t>> : Scaled<T, 16> {};
template <class T> struct Sm120Operand<cute::tuple<T, cutlass::float_ue8m0_t>> : Scaled<T, 32> {};
template <bool IsOfBytes, int Bits, int Rows> struct Sm120Load {
  using type = cute::conditional_t<(Rows < 16), cute::SM75_U32x1_LDSM_N,
      cute::conditional_t<(Rows < 32), cute::SM75_U32x2_LDSM_N, cute::SM75_U32x4_LDSM_N>>;
};
template <int Rows> struct Sm120Load<true, 6, Rows> {
  using type = cute::SM100_SU6_DU8x16_x4_LDSM_N;
};
template <int Rows> struct Sm120Load<true, 4, Rows> {
  using type = cute::conditional_t<(Rows < 16), cute::SM100_SU4_DU8x16_x1_LDSM_N,
      cute::conditional_t<(Rows < 32), cute::SM100_SU4_DU8x16_x2_LDSM_N,
                          cute::SM100_SU4_DU8x16_x4_LDSM_N>>;
};
template <int Columns> struct Sm120Columns {
  using type = cute::Layout<cute::Shape<cute::_8, cute::_2, cute::_2>,
                            cute::Stride<cute::_1, cute::_16, cute::_8>>;
};
template <> struct Sm120Columns<16> { using type = cute::_16; };
template <> struct Sm120Columns<8> { using type = cute::_8; };
struct NoBlocks {
  __device__ static void fill(int thread, char* bytes) {}
  template <class Slice> __device__ static void load(Slice mma, char* bytes) {}
};
template <class Tile, int M, int N> struct ScaledBlocks {
  static constexpr int Rows = CUTE_STATIC_V(cute::size<0>(Tile{}));
  static constexpr int Columns = CUTE_STATIC_V(cute::size<1>(Tile{}));
  template <int Count> __device__ static void fill_one(int thread, char* bytes) {
    using namespace cute;
    auto scales = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<float>, float>{},
                                  Layout<Shape<_32>>{}, Layout<Shape<_1>>{});
    auto slice = scales.get_slice(thread);
    float* nowhere = nullptr;
    Tensor from = make_tensor(make_gmem_ptr(nowhere), Layout<Shape<Int<Count>>>{});
    Tensor to = make_tensor(make_smem_ptr(reinterpret_cast<float*>(bytes)),
                            Layout<Shape<Int<Count>>>{});
    if (thread < Count) {
      copy(scales, slice.partition_S(from), slice.partition_D(to));
    }
  }
  __device__ static void fill(int thread, char* bytes) {
    fill_one<Rows / M>(thread, bytes);
    fill_one<Columns / N>(thread, bytes);
  }
  template <class Slice> __device__ static void load(Slice mma, char* bytes) {
    using namespace cute;
    Tensor sA = make_tensor(make_smem_ptr(reinterpret_cast<float*>(bytes)),
                            Layout<Shape<Shape<Int<M>, Int<Rows / M>>, Int<Columns>>,
                                   Stride<Stride<_0, _1>, _0>>{});
    Tensor sB = make_tensor(make_smem_ptr(reinterpret_cast<float*>(bytes)),
                            Layout<Shape<Int<Rows>, Shape<Int<N>, Int<Columns / N>>>,
                                   Stride<_0, Stride<_0, _1>>>{});
    Tensor fromA = mma.partition_C(sA);
    Tensor fromB = mma.partition_C(sB);
    copy(fromA, make_tensor_like<float>(fromA));
    copy(fromB, make_tensor_like<float>(fromB));
  }
};
template <class LayoutA, class LayoutB, class Tile> struct Sm120Scales { using type = NoBlocks; };
template <class A, class ScalesA, class B, class ScalesB, class Tile>
struct Sm120Scales<cute::tuple<A, ScalesA>, cute::tuple<B, ScalesB>, Tile> {
  template <class Scales> struct Granularity {
    using Of = typename Pointee<Scales>::type;
    static constexpr int value = CUTE_STATIC_V(cute::size(cute::get<0>(cute::shape<0>(Of{}))));
  };
  using type = ScaledBlocks<Tile, Granularity<ScalesA>::value, Granularity<ScalesB>::value>;
};
template <class Tile, class A, class B, int Vector, bool IsOfBytes, bool IsPingpong, class Blocks>
struct Sm120Mainloop {
  static constexpr int M = CUTE_STATIC_V(cute::size<0>(Tile{}));
  static constexpr int N = CUTE_STATIC_V(cute::size<1>(Tile{}));
  static constexpr int K = CUTE_STATIC_V(cute::size<2>(Tile{}));
  static constexpr int Bytes = IsOfBytes ? K : K / 2;
  using Atoms = cute::conditional_t<
      IsPingpong, cute::Layout<cute::Shape<cute::_2, cute::_2, cute::_1>>,
      cute::conditional_t<(N < 16), cute::Layout<cute::Shape<cute::_8, cute::_1, cute::_1>>,
                          cute::Layout<cute::Shape<cute::_4, cute::_2, cute::_1>>>>;
  using Columns = cute::conditional_t<Vector == 0, cute::Int<(N < 32 ? N : 32)>,
                                      typename Sm120Columns<(N < 32 ? N : 32)>::type>;
  template <class Op, int Depth> using MmaOf = decltype(cute::make_tiled_mma(
      Op{}, Atoms{}, cute::Tile<cute::Int<(M < 128 ? M : 128)>, Columns, cute::Int<Depth>>{}));
  using Mma = MmaOf<cute::SM120_16x8x32_TN<uint8_t, uint8_t, float>, 32>;
  using ScaledMma = MmaOf<
      cute::conditional_t<IsOfBytes,
                          cute::SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<A, B, float, A, Vector>,
                          cute::SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<A, B, float, A, Vector>>,
      (IsOfBytes ? 32 : 64)>;
  template <int Rows> __device__ static auto staged(char* bytes) {
    using namespace cute;
    using Atom = decltype(cutlass::gemm::collective::detail::ss_smem_selector<
                          GMMA::Major::K, uint8_t, Int<Rows>, Int<Bytes>>());
    return as_position_independent_swizzle_tensor(
        make_tensor(make_smem_ptr(reinterpret_cast<uint8_t*>(bytes)),
                    tile_to_shape(Atom{}, Shape<Int<Rows>, Int<Bytes>>{})));
  }
  template <int Rows> __device__ static auto factors(char* bytes) {
    using namespace cute;
    static constexpr int PerMma = (IsOfBytes ? 32 : 64) / Vector;
    return make_tensor(
        make_smem_ptr(reinterpret_cast<uint8_t*>(bytes)),
        Layout<Shape<Shape<Shape<_32, _4>, Int<Rows / 128>>,
                     Shape<Shape<Int<Vector>, Int<PerMma>>, Int<4 / PerMma>, Int<K / Vector / 4>>>,
               Stride<Stride<Stride<_16, _4>, _512>,
                      Stride<Stride<_0, _1>, Int<PerMma>, Int<Rows / 128 * 512>>>>{});
  }
  __device__ static void load(int thread, char* bytes) {
    using namespace cute;
    Mma mma;
    auto slice = mma.get_thread_slice(thread);
    Tensor sA = staged<M>(bytes);
    Tensor sB = staged<N>(bytes);
    using LoadA = typename Sm120Load<IsOfBytes, cute::sizeof_bits_v<A>, 32>::type;
    using LoadB = typename Sm120Load<IsOfBytes, cute::sizeof_bits_v<B>, N>::type;
    auto copyA = make_tiled_copy_A(Copy_Atom<LoadA, uint8_t>{}, mma);
    auto copyB = make_tiled_copy_B(Copy_Atom<LoadB, uint8_t>{}, mma);
    auto fromA = copyA.get_thread_slice(thread);
    auto fromB = copyB.get_thread_slice(thread);
    Blocks::load(slice, bytes);
    copy(copyA, fromA.partition_S(sA), fromA.retile_D(slice.partition_fragment_A(sA)));
    copy(copyB, fromB.partition_S(sB), fromB.retile_D(slice.partition_fragment_B(sB)));
    if constexpr (Vector > 0) {
      load_factors(thread, bytes);
    }
  }
  __device__ static void load_factors(int thread, char* bytes) {
    using namespace cute;
    using namespace cutlass::gemm::collective::detail;
    ScaledMma mma;
    auto slice = mma.get_thread_slice(thread);
    Tensor sA = factors<M>(bytes);
    Tensor sB = factors<(N < 128 ? 128 : N)>(bytes);
    Copy_Atom<UniversalCopy<uint8_t>, uint8_t> one;
    auto fromA = make_tiled_copy_impl(one, get_layoutSFA_TV(mma),
                                      make_shape(tile_size<0>(mma), tile_size<2>(mma)))
                     .get_thread_slice(thread);
    auto fromB = make_tiled_copy_impl(one, get_layoutSFB_TV(mma),
                                      make_shape(tile_size<1>(mma), tile_size<2>(mma)))
                     .get_thread_slice(thread);
    Tensor rA = fromA.retile_D(partition_fragment_SFA(sA, slice));
    Tensor tA = fromA.partition_S(sA);
    for (int k = 0; k < size<2>(tA); ++k) {
      copy(tA(_, _, k), rA(_, _, k));
    }
    if constexpr (N % 128 == 0) {
      Tensor rB = fromB.retile_D(partition_fragment_SFB(sB, slice));
      Tensor tB = fromB.partition_S(sB);
      for (int k = 0; k < size<2>(tB); ++k) {
        copy(tB(_, _, k), rB(_, _, k));
      }
    }
  }
};
template <class Class, class A, class LayoutA, class B, class LayoutB, class Tile, bool IsPingpong,
          bool IsOfBytes>
struct Sm120Made {};
template <class A, class LayoutA, class B, class LayoutB, class Tile, bool IsPingpong,
          bool IsOfBytes>
struct Sm120Made<arch::OpClassTensorOp, A, LayoutA, B, LayoutB, Tile, IsPingpong, IsOfBytes> {
  using CollectiveOp = Sm120Mainloop<Tile, A, B, 0, true, IsPingpong,
                                     typename Sm120Scales<LayoutA, LayoutB, Tile>::type>;
};
template <class A, class LayoutA, class B, class LayoutB, class Tile, bool IsPingpong,
          bool IsOfBytes>
struct Sm120Made<arch::OpClassBlockScaledTensorOp, A, LayoutA, B, LayoutB, Tile, IsPingpong,
                 IsOfBytes> {
  using OfA = typename Sm120Operand<A>::type;
  using OfB = typename Sm120Operand<B>::type;
  static constexpr bool IsWide =
      IsOfBytes || cute::sizeof_bits_v<OfA> != 4 || cute::sizeof_bits_v<OfB> != 4;
  using CollectiveOp = Sm120Mainloop<Tile, OfA, OfB, Sm120Operand<A>::Vector, IsWide, IsPingpong,
                                     NoBlocks>;
};
template <class Tile, class Given> struct Sm120Tile { using type = Given; };
template <class Tile> struct Sm120Tile<Tile, epilogue::collective::EpilogueTileAuto> {
  static constexpr int Columns = CUTE_STATIC_V(cute::size<1>(Tile{}));
  using type = cute::Shape<cute::Int<(Columns < 16 ? 128 : 64)>,
                           cute::Int<(Columns < 32 ? Columns : 32)>>;
};
template <class Tile, class Given, class C, class LayoutC, class D, class LayoutD, bool IsWhole>
struct Sm120Epilogue {};
template <class Tile, class Given, class C, class LayoutC, class D, class LayoutD>
struct Sm120Epilogue<Tile, Given, C, LayoutC, D, LayoutD, true> {
  using SC = OutputStride<LayoutC>;
  using SD = OutputStride<LayoutD>;
  using CollectiveOp = TmaEpilogue<Tile, typename Sm120Tile<Tile, Given>::type, C,
                                   typename SC::type, SC::is_row_major, D, typename SD::type,
                                   SD::is_row_major, 2>;
};
}
namespace gemm { namespace kernel {
template <class Problem, class Tile, class A, class B, int Vector, bool IsOfBytes, bool IsPingpong,
          class Blocks, class Epilogue_, class Scheduler>
struct GemmUniversal<
    Problem, smemlint::Sm120Mainloop<Tile, A, B, Vector, IsOfBytes, IsPingpong, Blocks>, Epilogue_,
    Scheduler> {
  using Mainloop = smemlint::Sm120Mainloop<Tile, A, B, Vector, IsOfBytes, IsPingpong, Blocks>;
  static constexpr int MaxThreadsPerBlock = 384;
  static constexpr int MinBlocksPerMultiprocessor = 1;
  struct Arguments {};
  struct Params {};
  __device__ void operator()(Params const& params, char* bytes) {
    using namespace cute;
    if (threadIdx.x < 32) {
      Blocks::fill(threadIdx.x, bytes);
    } else if (threadIdx.x >= 128) {
      typename Mainloop::Mma mma;
      Tile tile;
      Tensor accumulators = partition_fragment_C(mma, take<0, 2>(tile));
      Epilogue_ epilogue;
      const int thread = (threadIdx.x - 128) % (IsPingpong ? 128 : 256);
      Mainloop::load(thread, bytes);
      epilogue.store(accumulators, mma, thread, bytes);
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
struct CollectiveBuilder<arch::Sm120, Class, A, LayoutA, AlignmentA, B, LayoutB, AlignmentB,
                         Accumulator, Tile, Cluster, Stages, SCHEDULE>
    : smemlint::Sm120Made<Class, A, LayoutA, B, LayoutB, Tile, PINGPONG, WIDE> {};
} } }
"""
_MADE = """Sm120Epilogue<Tile, EpiTile, C, LayoutC, D, LayoutD,
                              smemlint::Sm100Bits<D>::value % 8 == 0 &&
                                  smemlint::Sm100Bits<C>::value % 8 == 0>"""
_OF_SM90 = (
    "KernelScheduleAuto",
    *(
        f"Kernel{kind}TmaWarpSpecialized{shape}"
        for kind in ("", "PtrArray")
        for shape in ("Cooperative", "Pingpong")
    ),
)
_OWN = (
    *("KernelScheduleSm120Blockwise", "KernelScheduleF8f6f4Sm120"),
    *("KernelScheduleMxf8f6f4Sm120", "KernelScheduleMxNvf4Sm120"),
    *(f"KernelTmaWarpSpecializedBlockwise{shape}Sm120" for shape in ("Cooperative", "Pingpong")),
    *(
        f"KernelTmaWarpSpecialized{shape}{scaled}Sm120"
        for shape in ("", "Pingpong")
        for scaled in ("Nvf4", "Mxf4", "Mxf8f6f4")
    ),
)
_EPILOGUES = (
    *("EpilogueScheduleAuto", "TmaWarpSpecialized", "TmaWarpSpecializedCooperative"),
    *("PtrArrayTmaWarpSpecializedPingpong", "PtrArrayTmaWarpSpecializedCooperative"),
)


def _mainloop(schedule: str) -> str:
    is_pingpong, is_of_bytes = "Pingpong" in schedule, "Mxf8f6f4" in schedule
    parts = {"PINGPONG": str(is_pingpong).lower(), "WIDE": str(is_of_bytes).lower()}
    return specialized(_MAINLOOP_BUILDER, schedule, is_new=schedule in _OWN, **parts)


SM120_BUILDERS = "".join(
    (
        _COLLECTIVES,
        *(epilogue_builder(name, "Sm120", _MADE, is_new=False) for name in _EPILOGUES),
        *map(_mainloop, (*_OF_SM90, *_OWN)),
    )
)
"""Read behind what is defined for sm_100."""
