"""Kernels built like CUTLASS's collectives: selectors, pipelines, TMA, run-time tuples, schedulers."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of, ways_of

from smemlint.analysis.analyze import analyze
from smemlint.config.settings import Settings
from smemlint.reasons import ReasonCode
from smemlint.sources.source import Source

HEAD = """#include <cute/tensor.hpp>
#include "cutlass/pipeline/pipeline.hpp"
#include "cutlass/fast_math.h"
using namespace cute;
"""

EPILOGUE = (
    HEAD
    + """
template <class Element, class Stride, class Tile> struct Epilogue {
  using Atom = decltype(cutlass::gemm::collective::detail::ss_smem_selector<
      GMMA::Major::MAJOR, Element, decltype(get<0>(Tile{})), decltype(get<1>(Tile{}))>());
  using Layout_ = decltype(tile_to_shape(Atom{}, Tile{}));
  using Op = std::conditional_t<(cutlass::arch::Sm90::kMinComputeCapability >= 90),
      decltype(cutlass::epilogue::collective::detail::sm90_get_smem_store_op_for_accumulator<Stride, Element, Tile>()),
      DefaultCopy>;
  __device__ void store() {
    extern __shared__ __align__(1024) char bytes[];
    Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<Element *>(bytes)), Layout_{});
    auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
    auto copy_ = make_tiled_copy_C(Copy_Atom<Op, Element>{}, mma);
    auto thr = copy_.get_slice(threadIdx.x);
    Tensor r = make_tensor<Element>(partition_shape_C(mma, Tile{}));
    copy(copy_, thr.retile_S(r), thr.partition_D(s));
  }
};
__global__ void k() { Epilogue<ELEMENT, STRIDE, Shape<_64, _64>> e; e.store(); }
void go() { k<<<1, 128, 65536>>>(); }
"""
)


@pytest.mark.parametrize(
    ("major", "element", "stride", "expected"),
    [  # the rules of sm90_common.inl; figures as of the same layouts in fixtures/cute
        ("K", "half_t", "cute::Stride<int64_t, _1, int64_t>", ("stmatrix", 16, 16, 1.0)),
        ("MN", "half_t", "cute::Stride<_1, int64_t, int64_t>", ("stmatrix", 16, 16, 1.0)),
        ("K", "float", "cute::Stride<int64_t, _1, int64_t>", ("store", 8, 64, 2.0)),
    ],
)
def test_builders_choose_layout_and_store(major, element, stride, expected):
    text = EPILOGUE.replace("MAJOR", major).replace("ELEMENT", element).replace("STRIDE", stride)
    (a,) = accesses_of(text)
    assert (str(a.kind), a.width_bytes, a.instructions, a.ways) == expected


PIPELINE = (
    HEAD
    + """
struct Main { static constexpr int kStages = 4; using PipelineState = cutlass::PipelineState<kStages>; };
template <class M> struct Kernel {
  using PipelineState = typename M::PipelineState;
  __device__ void run(int n, float *o) {
    extern __shared__ float buffer[];
    Tensor s = make_tensor(make_smem_ptr(buffer), Layout<Shape<_32, _32, _4>, Stride<_32, _1, Int<STAGE>>>{});
    PipelineState state;
    for (int i = 0; i < n; ++i) {
      o[threadIdx.x] = s(threadIdx.x, 0, state.index());
      ADVANCE;
    }
  }
};
__global__ void k(int n, float *o) { Kernel<Main> kernel; kernel.run(n, o); }
void go(float *o, int n) { k<<<1, 32, 65536>>>(n, o); }
"""
)


@pytest.mark.parametrize("advance", ["++state", "state += 3", "state.advance(2)"])
def test_stages_of_a_pipeline_are_counted(advance):
    text = PIPELINE.replace("STAGE>", "1024>").replace("ADVANCE", advance)
    assert ways_of(text) == [(14, "load", 32.0)]


def test_a_copy_by_tma_has_no_lane_addresses():
    text = (
        HEAD
        + """
using ShapeK = cute::Shape<int32_t, int32_t, int32_t>;
using StrideK = cute::Stride<int64_t, _1, int64_t>;
using SmemLayout = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _2>{}));
using Tma = decltype(make_tma_copy(SM90_TMA_LOAD{},
    make_tensor(make_gmem_ptr(static_cast<half_t const *>(nullptr)), ShapeK{}, StrideK{}), take<0, 2>(SmemLayout{})));
struct Params { Tma tma; ShapeK shape; };
__global__ void k(__grid_constant__ Params const params) {
  extern __shared__ __align__(1024) half_t buffer[];
  __shared__ uint64_t barrier;
  Tensor s = make_tensor(make_smem_ptr(buffer), SmemLayout{});
  Tensor m = params.tma.get_tma_tensor(params.shape)(_, _, blockIdx.y);
  Tensor g = local_tile(m, Shape<_64, _64>{}, make_coord(_, _0{}));
  auto block = params.tma.get_slice(_0{});
  copy(params.tma.with(barrier, 0), block.partition_S(g)(_, _, _, 1), block.partition_D(s)(_, _, _, 1));
}
void go(Params p) { k<<<1, 128, 65536>>>(p); }
"""
    )
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses == ()  # nor is the barrier read
    (note,) = kernel.not_analysed
    assert (note.span.line, "TMA" in note.reason.text) == (19, True)


SCHEDULED = (
    HEAD
    + """
template <int N> struct Scheduler {
  struct Params { cutlass::FastDivmod heads; };
  struct Work {
    int tile = 0;
    __device__ cute::tuple<int, int> coord(Params const &p) const {
      int block, head;
      block = p.heads.divmod(head, tile);
      return {block, head};
    }
    __device__ bool is_valid(int n) const { return tile < n; }
  };
  template <bool Producer = false> __device__ Work first() const { return {int(blockIdx.x)}; }
  __device__ Work next(Work w) const { return {w.tile + int(gridDim.x)}; }
};
template <class S> __global__ void k(typename S::Params p, int n, float *o) {
  __shared__ float s[32 * 32];
  S scheduler;
  for (auto w = scheduler.template first<true>(); w.is_valid(n); w = scheduler.next(w)) {
    auto coord = w.coord(p);
    auto [block, head] = coord;
    int again = get<1>(coord);
    o[threadIdx.x] = s[threadIdx.x * 2 + 32 * block + 64 * (head - again)];
  }
}
void go(float *o, int n) { k<Scheduler<2>><<<1, 32>>>({}, n, o); }
"""
)


def test_classes_inside_classes_have_methods_and_tuples_have_names():
    assert ways_of(SCHEDULED) == [(27, "load", 2.0)]


MEMBERS = """
struct Step {
  int stride = STRIDE;
  int count{};
  Step() {}
  void operator++() { ++count; }
  Step &operator+=(int n) { count += n; return *this; }
};
struct Base { int pitch = 4; };
struct Derived : Base { int extra = 2; };
__global__ void k(float *o) {
  __shared__ float s[4096];
  Step step;
  ++step;
  step += 1;
  Derived d;
  o[threadIdx.x] = s[threadIdx.x * step.stride * step.count];
  o[threadIdx.x] += s[threadIdx.x * d.pitch * d.extra];
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize("stride", [1, 2, 8])
def test_members_have_initializers_and_operators(stride):
    text = MEMBERS.replace("STRIDE", str(stride))
    assert ways_of(text) == [(17, "load", 2.0 * stride), (18, "load", 8.0)]


def test_coordinates_keep_what_is_not_known():
    text = (
        HEAD
        + """
__global__ void k(int n, float *o) {
  __shared__ float s[64 * 64];
  Tensor c = make_identity_tensor(Shape<_64, _64>{});
  for (int i = 0; i < n; ++i) {
    auto at = c(threadIdx.x, i);
    o[threadIdx.x] = s[get<0>(at) * 2 + get<1>(at) * 32];
  }
}
void go(float *o, int n) { k<<<1, 32>>>(n, o); }
"""
    )
    assert ways_of(text) == [(11, "load", 2.0)]


def test_a_file_that_instantiates_a_header_says_where_the_kernel_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.h").write_text("""
template <int N> __global__ void k(float *o) { __shared__ float s[32 * N]; o[threadIdx.x] = s[threadIdx.x * N]; }
template <int N> void run(float *o) { k<N><<<1, 32>>>(o); }
""")
    (tmp_path / "run_4.cu").write_text('#include "kernel.h"\ntemplate void run<4>(float *);\n')
    alone, _ = analyze([Source("run_4.cu")], Settings())
    assert [n.reason.code for n in alone.not_analysed] == [ReasonCode.LEFT_OUT]
    both, _ = analyze([Source("run_4.cu"), Source("kernel.h")], Settings())
    assert [a.ways for k in both.kernels for a in k.accesses] == [4.0]
    assert both.not_analysed == ()


LOCAL = """
template <int N> __global__ void k(int n, float *o) {
  __shared__ float s[64 * 64];
  constexpr int M = 2 * N;
  struct Ring {
    int at = 1;
    __device__ void update() { at = at * M; }
  };
  struct Reader {};
  struct Writer {};
  Ring ring;
  ring.update();
  auto access = [&](auto who) {
    constexpr bool writes = std::is_same_v<decltype(who), Writer>;
    o[threadIdx.x] = s[threadIdx.x * ring.at * (writes ? 4 : 1)];
  };
  access(Reader{});
  access(Writer{});
}
void go(float *o, int n) { k<2><<<1, 32>>>(n, o); }
"""


def test_classes_inside_functions_have_methods_and_are_told_apart():
    (a,) = accesses_of(LOCAL)
    assert (a.instructions, a.wavefronts.min, a.wavefronts.max) == (2, 4, 16)


TRAITS = (
    HEAD
    + """
struct MyMma {};
struct MyLoad {};
namespace cute {
template <> struct MMA_Traits<MyMma> {
  using Shape_MNK = Shape<_16, _8, _16>;
  using ThrID = Layout<_32>;
  using ALayout = Layout<Shape<Shape<_4, _8>, Shape<_2, _2, _2>>, Stride<Stride<_32, _1>, Stride<_16, _8, _128>>>;
  using BLayout = Layout<Shape<Shape<_4, _8>, Shape<_2, _2>>, Stride<Stride<_16, _1>, Stride<_8, _64>>>;
  using CLayout = SM80_16x8_Row;
};
template <> struct Copy_Traits<MyLoad> : Copy_Traits<SM75_U32x4_LDSM_N> {};
}
template <class Op, class Load> __global__ void k(float *o) {
  extern __shared__ __align__(128) half_t buffer[];
  Tensor s = make_tensor(make_smem_ptr(buffer), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  auto mma = make_tiled_mma(Op{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{});
  auto load = make_tiled_copy_A(Copy_Atom<Load, half_t>{}, mma);
  auto mine = load.get_slice(threadIdx.x);
  Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(load, mine.partition_S(s), mine.retile_D(r));
  o[threadIdx.x] = float(r(0));
}
void go(float *o) { k<OP, LOAD><<<1, 128, 65536>>>(o); }
"""
)


@pytest.mark.parametrize(
    ("op", "load"),
    [
        ("SM80_16x8x16_F32F16F16F32_TN", "SM75_U32x4_LDSM_N"),
        ("MyMma", "SM75_U32x4_LDSM_N"),
        ("MMA_Atom<MyMma>", "MyLoad"),
    ],
)
def test_traits_that_a_user_specializes_are_read(op, load):
    (a,) = accesses_of(TRAITS.replace("OP", op).replace("LOAD", load))
    assert (str(a.kind), a.instructions, a.ways) == ("ldmatrix", 64, 8.0)


def test_variable_templates_of_the_unit_are_evaluated():
    text = """
enum class Mode { Prefill, Decode };
template <Mode M> inline constexpr bool is_decode_v = M == Mode::Decode;
template <Mode M> struct Kernel {
  static constexpr bool IS_DECODE = is_decode_v<M>;
  static __device__ void run(float *o) {
    __shared__ float s[4096];
    if constexpr (IS_DECODE) o[threadIdx.x] = s[threadIdx.x * 2];
    else o[threadIdx.x] = s[threadIdx.x * 4];
  }
};
template <class T> __global__ void k(float *o) { T::run(o); }
template <Mode M> void launch(float *o) { k<Kernel<M>><<<1, 32>>>(o); }
void go(float *o) { launch<Mode::Decode>(o); launch<Mode::Prefill>(o); }
"""
    assert sorted(ways_of(text)) == [(8, "load", 2.0), (9, "load", 4.0)]


def test_kernels_of_the_library_are_said_to_be_left_out():
    text = (
        "using G = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;\nvoid go() { G{}.run(); }\n"
    )
    facts = facts_of(text)
    assert facts.kernels == ()
    assert [(n.span.line, n.reason.code) for n in facts.not_analysed] == [(1, ReasonCode.LEFT_OUT)]
