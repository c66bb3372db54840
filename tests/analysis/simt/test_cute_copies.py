"""CuTe kernels in CUDA C++: copies and gemms are accesses at the line where the user wrote them."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.analysis.simt.kernel import evaluate
from smemlint.facts import Certainty

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"


def figures(text: str) -> list[tuple[int, str, int, int, float, float]]:
    """(line, kind, bytes, instructions, worst wavefronts, ideal) of every access."""
    found = []
    for a in accesses_of(text):
        assert a.certainty.is_decided, a.reason
        worst, ideal = (a.worst.wavefronts, a.worst.ideal) if a.worst is not None else (0, 0)
        found.append((a.span.line, str(a.kind), a.width_bytes, a.instructions, worst, ideal))
    return found


def reasons(text: str) -> list[tuple[int, str]]:
    return [(n.span.line, n.reason.text) for k in facts_of(text).kernels for n in k.not_analysed]


TILED = (
    HEAD
    + """
template <class SL, class Copy>
__global__ void k(float const *in, float *out, SL layout, Copy tiled) {
  __shared__ float smem[cosize_v<SL>];
  Tensor s = make_tensor(make_smem_ptr(smem), layout);
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(Int<128>{}, Int<8>{}), make_stride(gridDim.x, _1{}));
  ThrCopy mine = tiled.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(g);
  Tensor to = mine.partition_D(s);
  Tensor values = make_fragment_like(to);
  copy(tiled, from, values);
  copy(values, to);
  __syncthreads();
  out[threadIdx.x] = s(threadIdx.x % 128, 0);
}
void launch(float *p) {
  auto layout = LAYOUT;
  TiledCopy tiled = make_tiled_copy(Copy_Atom<UniversalCopy<OP>, float>{}, THREADS{}, VALUES{});
  k<<<1, 256>>>(p, p, layout, tiled);
}
"""
)


@pytest.mark.parametrize(
    ("layout", "op", "threads", "values", "expected"),
    [
        # the tutorials sgemm_2 and sgemm_sm70: NT is free, TN's padding leaves 4-way stores
        ("make_layout(make_shape(Int<128>{}, Int<8>{}))", "uint128_t", "Layout<Shape<_32,_8>>",
         "Layout<Shape<_4,_1>>", (14, "store", 16, 8, 4, 4)),
        ("make_layout(make_shape(Int<128>{}, Int<8>{}), make_stride(Int<1>{}, Int<129>{}))", "float",
         "Layout<Shape<_32,_8>,Stride<_8,_1>>", "Layout<Shape<_1,_1>>", (14, "store", 4, 32, 4, 1)),
        ("make_layout(make_shape(Int<128>{}, Int<8>{}), make_stride(Int<1>{}, Int<132>{}))", "float",
         "Layout<Shape<_32,_8>,Stride<_8,_1>>", "Layout<Shape<_1,_1>>", (14, "store", 4, 32, 1, 1)),
    ],
)  # fmt: skip
def test_stores_of_a_tiled_copy(layout, op, threads, values, expected):
    text = TILED.replace("LAYOUT", layout).replace("OP", op)
    text = text.replace("THREADS", threads).replace("VALUES", values)
    store, load = figures(text)
    assert store == expected
    assert load[:3] == (16, "load", 4)


GEMM = (
    HEAD
    + """
template <class SL>
__global__ void k(float *out, SL layout) {
  __shared__ __align__(16) float a[1024];
  __shared__ __align__(16) float b[1024];
  Tensor sA = make_tensor(make_smem_ptr(a), layout);
  Tensor sB = make_tensor(make_smem_ptr(b), layout);
  auto tC = make_layout(make_shape(Int<16>{}, Int<16>{}));
  Tensor mine = local_partition(sA, tC, threadIdx.x, Step<_1, X>{});
  Tensor theirs = local_partition(sB, tC, threadIdx.x, Step<X, _1>{});
  Tensor sum = make_tensor<float>(make_shape(Int<8>{}, Int<8>{}));
  clear(sum);
  gemm(mine, theirs, sum);
}
void launch(float *p) { k<<<1, 256>>>(p, make_layout(make_shape(Int<128>{}, Int<8>{}), ORDER{})); }
"""
)


def test_loads_of_gemm_by_the_counters_of_an_h200():
    """sgemm_1: NT one wavefront a load; TN's are LDS.128, (8 + 2) / (4 + 2) = 1.67 measured."""
    assert figures(GEMM.replace("ORDER", "LayoutLeft")) == [
        (15, "load", 4, 512, 1, 1),
        (15, "load", 4, 512, 1, 1),
    ]
    assert figures(GEMM.replace("ORDER", "LayoutRight")) == [
        (15, "load", 16, 128, 8, 4),
        (15, "load", 16, 128, 2, 2),
    ]


OPERANDS = (
    HEAD
    + """
template <int Rows_, int Depth_, class Element_> struct Traits {
  using Element = Element_;
  static constexpr int Rows = Rows_, Depth = Depth_;
  using Atom = decltype(ATOM);
  using SmemLayout = decltype(tile_to_shape(Atom{}, Shape<Int<Rows>, Int<Depth>>{}));
  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
  using Load = Copy_Atom<SM75_U32x4_LDSM_N, Element>;
  using Store = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, Element>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
};
template <class T>
__global__ void k(typename T::Element const *in, float *out) {
  extern __shared__ char bytes[];
  using Element = typename T::Element;
  auto s = make_tensor(make_smem_ptr(reinterpret_cast<Element *>(bytes)), typename T::SmemLayout{});
  auto g = make_tensor(make_gmem_ptr(in), Shape<Int<T::Rows>, Int<T::Depth>>{}, make_stride(gridDim.x, _1{}));
  typename T::Store store;
  auto own = store.get_thread_slice(threadIdx.x);
  copy(store, own.partition_S(g), own.partition_D(s));
  typename T::Mma mma;
  auto thread = mma.get_thread_slice(threadIdx.x);
  auto registers = thread.partition_fragment_A(s);
  auto load = make_tiled_copy_A(typename T::Load{}, mma);
  auto slice = load.get_thread_slice(threadIdx.x);
  auto from = slice.partition_S(s);
  auto to = slice.retile_D(registers);
  for (int i = 0; i < size<2>(registers); ++i) {
    cute::copy(load, from(_, _, i), to(_, _, i));
  }
}
void launch(half_t *p, float *o) { k<Traits<128, 64, half_t>><<<1, 128, 16384>>>(p, o); }
"""
)
ROWS = "Layout<Shape<_8, _64>, Stride<_64, _1>>{}"


@pytest.mark.parametrize(
    ("atom", "wavefronts"),
    [(f"composition(Swizzle<3, 3, 3>{{}}, {ROWS})", 4), (f"composition(Swizzle<3, 4, 3>{{}}, {ROWS})", 8),
     (ROWS, 32)],
)  # fmt: skip
def test_operands_through_a_traits_class(atom, wavefronts):
    store, load = figures(OPERANDS.replace("ATOM", atom))
    assert store[:4] == (22, "async_copy", 16, 32)
    assert load == (31, "ldmatrix", 16, 64, wavefronts, 4)


def test_a_layout_of_values_makes_the_tile_wider():
    """Up to CUTLASS 3.3; its headers print the same thread-value layouts for both spellings."""
    text = OPERANDS.replace("ATOM", f"composition(Swizzle<3, 4, 3>{{}}, {ROWS})")
    text = text.replace("make_tiled_copy_A", "make_tiled_copy_B").replace(
        "fragment_A", "fragment_B"
    )
    old = text.replace("Tile<_32, _32, _16>", "Layout<Shape<_1, _2, _1>>")
    assert figures(old) == figures(text)
    assert figures(old)[1] == (31, "ldmatrix", 16, 64, 8, 4)
    columns = "decltype(size<1>(typename T::Mma::TiledShape_MNK{}))::value"
    fewer = old.replace("i < size<2>(registers)", f"i < {columns} / 16")
    assert figures(fewer)[1][3] == 32


def test_what_cannot_be_followed_names_the_call():
    text = OPERANDS.replace("ATOM", ROWS).replace("SM75_U32x4_LDSM_N", "MY_OWN_LOAD")
    ((line, reason), *_) = reasons(text)
    assert line == 28 and "partition_S" in reason
    odd = OPERANDS.replace("ATOM", ROWS).replace(
        "Traits<128, 64, half_t>", "Traits<128, 24, half_t>"
    )
    assert not accesses_of(odd)
    assert reasons(odd)


def test_a_function_of_the_units_own_is_followed_instead():
    text = (
        HEAD
        + """
template <class A, class B> __device__ void copy(A const &a, B &b) { b(0) = a(0); }
__global__ void k(float *out) {
  __shared__ float smem[64];
  auto s = make_tensor(make_smem_ptr(smem), Layout<Shape<_64>>{});
  auto mine = local_partition(s, Layout<Shape<_32>>{}, threadIdx.x);
  auto values = make_fragment_like(mine);
  copy(values, mine);
  __syncthreads();
  cute::copy(values, mine);
}
void launch(float *o) { k<<<1, 32>>>(o); }
"""
    )
    assert figures(text) == [(4, "store", 4, 1, 1, 1), (12, "store", 4, 2, 1, 1)]


SWITCHES = """
#define SWITCH(COND, NAME, ...) \\
  [&] { \\
    if (COND) { constexpr static bool NAME = true; return __VA_ARGS__(); } \\
    else { constexpr static bool NAME = false; return __VA_ARGS__(); } \\
  }()
struct Params { int n; float *p; };
template <int M> struct Traits { static constexpr int N = M; static constexpr int kThreads = 64; };
template <class T, bool A, bool B> __global__ void k(Params p) {
  __shared__ float s[T::N * 2];
  s[threadIdx.x * (A ? 2 : 1)] = 1;
  p.p[0] = s[0];
}
template <class T, bool C> void run(Params &params) {
  SWITCH(params.n > 0, B0, [&] { SWITCH(params.n > 1, B1, [&] { SWITCH(params.n > 2, B2, [&] {
    SWITCH(params.n > 3, B3, [&] { SWITCH(params.n > 4, B4, [&] { SWITCH(params.n > 5, B5, [&] {
      auto kernel = &k<T, B0 && C, B5 && T::N <= 512>;
      kernel<<<1, T::kThreads>>>(params);
    }); }); }); }); }); });
}
template <class T, int D> void run_(Params &params);
template <class T> void run_any(Params &params) { run<T, true>(params); }
template <> void run_<float, 64>(Params &params) { run<Traits<512>, true>(params); }
"""


def test_switches_of_host_code_choose_the_instances():
    """FlashAttention's launches: six nested switches, `<=` in a template argument."""
    kernels = facts_of(SWITCHES).kernels
    texts = {k.instance.template for k in kernels}
    assert len(texts) == 4
    assert all(("T", "Traits<512>") in text for text in texts)
    ways = {k.accesses[0].worst.wavefronts for k in kernels}
    assert ways == {1, 2}


def test_moving_a_tensor_by_whole_bank_rows_is_no_access():
    text = (
        HEAD
        + """
__global__ void k(float *out, int n) {
  __shared__ float smem[2048];
  auto layout = composition(Swizzle<3, 2, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(smem), layout);
  Tensor mine = local_partition(s, Layout<Shape<_8, _4>>{}, threadIdx.x);
  Tensor values = make_fragment_like(mine);
  if (n % 2) { mine.data() = mine.data() + 1024; }
  copy(AutoVectorizingCopy{}, mine, values);
  mine.data() = mine.data() + 1;
  copy(AutoVectorizingCopy{}, mine, values);
}
void launch(float *o, int n) { k<<<1, 32>>>(o, n); }
"""
    )
    assert [(a.span.line, str(a.kind)) for a in accesses_of(text)] == [(11, "load"), (13, "load")]


CLEARED = (
    HEAD
    + """
__global__ void k(float *out) {
  ARRAY
  auto atom = composition(SWIZZLE{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(smem), tile_to_shape(atom, Shape<_32, _64>{}));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                               Layout<Shape<_4, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  Tensor mine = tiled.get_slice(threadIdx.x).partition_D(s);
  FILL
}
void launch(float *o) { k<<<1, 32, 8192>>>(o); }
"""
)
VECTORS = [(11, "store", 16, 1, 4, 4)]
ELEMENTS = [(11, "store", 2, 8, 4, 1)]
"""4 rows of 128 bytes, and in each the first halves of 8 chunks of 16 bytes."""


@pytest.mark.parametrize(
    ("array", "fill", "expected"),
    [  # nvcc 13.0.88, sm_80: st.shared.v4.u32 in the aligned arrays, 8 st.shared.u16 in the other
        ("__shared__ alignas(16) half_t smem[2048];", "clear(mine(_, 0, _));", VECTORS),
        ("extern __shared__ half_t smem[];", "fill(mine(_, 0, _), half_t(1));", VECTORS),
        ("__shared__ half_t smem[2048];", "clear(mine(_, 0, _));", ELEMENTS),
    ],
)
def test_stores_of_one_value_become_vectors_where_the_array_is_aligned(array, fill, expected):
    text = CLEARED.replace("ARRAY", array).replace("FILL", fill)
    assert figures(text.replace("SWIZZLE", "Swizzle<3, 3, 3>")) == expected


def test_clearing_rows_under_another_shift_is_a_range():
    """nvcc merges only some of the stores under `Swizzle<2,3,3>`."""
    text = CLEARED.replace("ARRAY", "__shared__ alignas(16) half_t smem[2048];")
    text = text.replace("FILL", "clear(mine(_, 0, _));").replace("SWIZZLE", "Swizzle<2, 3, 3>")
    (access,) = accesses_of(text)
    # 16 bytes a lane take the 4 wavefronts that they need, 2 bytes take 4, too.
    assert (access.certainty, access.bounds) == (Certainty.SAMPLED, None)
    assert (access.span.line, access.width_bytes, access.wavefronts.mean) == (11, 16, 4)


def test_clearing_rows_whose_swizzle_keeps_less_than_a_vector_together_is_a_range():
    """Of bytes, `Swizzle<3,3,3>` moves chunks of 8: no vector of 16 bytes is stored."""
    text = CLEARED.replace("ARRAY", "__shared__ alignas(16) uint8_t smem[2048];")
    text = text.replace("half_t", "uint8_t").replace(
        "Layout<Shape<_1, _8>>", "Layout<Shape<_1, _16>>"
    )
    text = text.replace(
        "Layout<Shape<_4, _8>, Stride<_8, _1>>", "Layout<Shape<_8, _4>, Stride<_4, _1>>"
    )
    text = text.replace("FILL", "clear(mine(_, 0, _));").replace("SWIZZLE", "Swizzle<3, 3, 3>")
    found = accesses_of(text)
    assert {(access.certainty, access.width_bytes) for access in found} == {(Certainty.SAMPLED, 8)}


def test_elements_that_are_free_at_any_width_are_priced():
    """A warp reads one row of 64 halves, two a lane: free as words and as single halves."""
    text = (
        HEAD
        + """
__global__ void k(float *out) {
  __shared__ alignas(16) half_t smem[4096];
  auto atom = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(smem), tile_to_shape(atom, Shape<_32, _64>{}));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint32_t>, half_t>{},
                               Layout<Shape<_1, _32>>{}, Layout<Shape<_1, _2>>{});
  Tensor mine = tiled.get_slice(threadIdx.x).partition_D(s);
  clear(mine(_, 0, _));
}
void launch(float *o) { k<<<1, 32>>>(o); }
"""
    )
    (access,) = accesses_of(text)
    assert (access.width_bytes, access.ways, access.certainty) == (4, 1, Certainty.ASSUMED)


STAGES = (
    HEAD
    + """
__global__ void k(float *out, int tiles) {
  __shared__ float s[3 * 2052];
  Tensor sA = make_tensor(make_smem_ptr(s), make_shape(Int<128>{}, Int<8>{}, Int<3>{}), STRIDE);
  Tensor mine = local_partition(sA, make_layout(make_shape(_128{}, _1{}, _1{})), threadIdx.x);
  Tensor r = make_tensor<float>(make_shape(_1{}, Int<8>{}));
  int stage = 0;
  Tensor now = mine(_, _, stage);
  while (tiles > -2) {
    CUTE_UNROLL
    for (int m = 0; m < 8; ++m) {
      if (m == 7) { now = mine(_, _, stage); }
      int next = (m + 1) % 8;
      copy(now(_, next), r(_, next));
      if (m == 0) { --tiles; ++stage; stage = (stage == 3) ? 0 : stage; }
    }
  }
  out[threadIdx.x] = r(0);
}
void launch(float *p) { k<<<1, 128>>>(p, 9); }
"""
)


@pytest.mark.parametrize(
    ("stride", "wavefronts"),
    [
        ("make_stride(_1{}, Int<128>{}, Int<1024>{})", 1),
        ("make_stride(_2{}, Int<256>{}, Int<2048>{})", 2),
        ("make_stride(_2{}, Int<256>{}, Int<2052>{})", 2),  # a stage is no whole bank row further
    ],
)
def test_a_tensor_moves_to_the_next_stage_in_a_pipelined_loop(stride, wavefronts):
    """As in sgemm_sm80: 8 loads an iteration, of 4 warps, in whichever stage it is."""
    assert figures(STAGES.replace("STRIDE", stride)) == [(16, "load", 4, 32, wavefronts, 1)]


def test_elements_of_a_tensor_that_is_a_template_argument():
    text = """
template <class Source, class SL>
__global__ void k(Source in, SL) {
  using Element = typename Source::value_type;
  using Access = cutlass::AlignedArray<Element, 2>;
  __shared__ __align__(16) Element data[cosize(SL{})];
  auto s{make_tensor(make_smem_ptr(data), SL{})};
  auto tiled{make_tiled_copy(Copy_Atom<UniversalCopy<Access>, Element>{},
                             Layout<Shape<_32>>{}, Layout<Shape<_2>>{})};
  auto thread{tiled.get_thread_slice(threadIdx.x)};
  copy(tiled, thread.partition_S(in), thread.partition_D(s));
}
void launch(double const *p) {
  auto g{make_tensor(make_gmem_ptr(p), make_layout(Int<64>{}))};
  k<<<1, 32>>>(g, make_layout(Int<64>{}));
}
"""
    assert figures(HEAD + text) == [(13, "store", 16, 1, 4, 4)]


def test_a_block_of_a_member_type_of_a_local_object():
    text = """
template <int M> struct Config {
  using Tile = decltype(make_layout(make_shape(Int<M>{}, Int<8>{})));
  using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F16F16F16F16_TN>{},
                                      make_layout(Shape<_2, _2, _1>{})));
};
template <class C> __global__ void k(float *out) {
  __shared__ float data[1024];
  Tensor s = make_tensor(make_smem_ptr(data), typename C::Tile{});
  out[threadIdx.x] = s(threadIdx.x, 0);
}
int main(int argc, char **argv) {
  if (argc > 1) {
    Config<128> config;
    dim3 block(size(decltype(config)::Mma{}));
    k<decltype(config)><<<1, block>>>(nullptr);
  }
}
"""
    assert figures(HEAD + text) == [(12, "load", 4, 4, 1, 1)]


def test_lines_of_calls_that_span_lines():
    """SASS of nvcc 13.0.88: cute-gemm's copies stand where their calls begin, in no other line."""
    text = TILED.replace("LAYOUT", "make_layout(make_shape(Int<128>{}, Int<8>{}))")
    text = text.replace("OP", "uint128_t").replace("THREADS", "Layout<Shape<_32, _8>>")
    text = text.replace("VALUES", "Layout<Shape<_4, _1>>")
    text = text.replace("  copy(values, to);", "  copy(values,\n       to);")
    store = accesses_of(text)[0]
    assert (store.line, len(store.calls)) == (14, 0)


WGMMA = (
    HEAD
    + """
struct Plan {
  cutlass::arch::ClusterTransactionBarrier full[3];
  alignas(128) half_t o[64 * PITCH];
};
__global__ void k(float *out) {
  using Tile = Shape<Int<64>, Int<128>, Int<64>>;
  using Mma = decltype(make_tiled_mma(GMMA::SELECTOR<half_t, half_t, float, Tile>(),
                                      Layout<Shape<_1, _1, _1>>{}));
  __shared__ Plan plan;
  Tensor s = make_tensor(make_smem_ptr(plan.o), make_shape(_64{}, _128{}),
                         make_stride(Int<PITCH>{}, _1{}));
  Mma mma;
  auto store = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
  auto mine = store.get_slice(threadIdx.x);
  Tensor r = make_tensor<half_t>(shape(partition_fragment_C(mma, Shape<_64, _128>{})));
  copy(store, mine.retile_S(r), mine.partition_D(s));
  out[threadIdx.x] = s(cutlass::canonical_warp_group_idx(), threadIdx.x);
}
void launch(float *p) { k<<<1, 128>>>(p); }
"""
)


@pytest.mark.parametrize("selector", ["ss_op_selector", "rs_op_selector"])
@pytest.mark.parametrize(("pitch", "wavefronts"), [(128, 32), (136, 4)])
def test_an_epilogue_behind_a_selected_wgmma(selector, pitch, wavefronts):
    """64 x 128 halves by 4 warps: 8 stmatrix.x4 each; rows of 256 bytes put 8 rows in 4 banks."""
    text = WGMMA.replace("SELECTOR", selector).replace("PITCH", str(pitch))
    store, load = figures(text)
    assert store == (19, "stmatrix", 16, 32, wavefronts, 4)
    assert load[1:] == ("load", 2, 4, 1, 1)


def test_register_tensors_that_are_members():
    """As FlashAttention's softmax keeps them: two members, none of them ever assigned."""
    text = """
template <int N> struct Softmax {
  using Row = decltype(make_tensor<float>(Shape<Int<N>>{}));
  using Wide = decltype(make_tensor<half_t>(Shape<Int<N>>{}));
  Row maximum;
  Wide sum;
  template <class S> __device__ void keep(S &&s) {
    Tensor before = make_fragment_like(maximum);
    copy(maximum, before);
    copy(sum, s);
  }
};
__global__ void k(float *out) {
  __shared__ half_t data[128 * 2];
  Tensor s = make_tensor(make_smem_ptr(data), make_shape(_128{}, _2{}));
  Softmax<2> softmax;
  softmax.keep(s(threadIdx.x, _));
  out[threadIdx.x] = s(threadIdx.x, 1);
}
void launch(float *p) { k<<<1, 128>>>(p); }
"""
    assert figures(HEAD + text)[0] == (12, "store", 2, 8, 1, 1)
    assert reasons(HEAD + text) == []


SELECTED = """
template <bool SWAP, class Copy> __global__ void k(float const* in) {
  __shared__ float s[8 * 32];
  using Tile = Shape<_8, _32, _16>;
  auto rows = select<!SWAP ? 0 : 1, !SWAP ? 1 : 0>(Tile{});
  Tensor t = make_tensor(make_smem_ptr(s), make_layout(rows));
  Tensor p = Copy{}.get_slice(threadIdx.x).partition_D(t);
  Tensor whole = make_tensor(make_gmem_ptr(in), typename Copy::MEMBER{});
  copy(Copy{}, Copy{}.get_slice(threadIdx.x).partition_S(whole), p);
}
using Wide = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
                                      Layout<Shape<_8, _4>>{}, Layout<Shape<_1, _8>>{}));
void f(float* a) { k<false, Wide><<<1, 32>>>(a); }
"""


@pytest.mark.parametrize("member", ["Tiler_MN", "TiledShape_MN"])
def test_modes_are_selected_by_choices_and_the_tile_of_a_copy_has_two_names(member: str):
    # 8 columns a lane, one word each; lanes of a column lie side by side, columns 8 words apart:
    # four columns of eight rows, 8 * 8 words apart, meet in the same 8 banks
    assert figures(HEAD + SELECTED.replace("MEMBER", member)) == [(11, "store", 4, 8, 4, 1)]


THROUGH_A_POINTER = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float *o) {
  __shared__ __align__(128) T s[64 * 64];
  Tensor t = make_tensor(make_smem_ptr(s), LAYOUT);
  T *d = &t(threadIdx.x / 16, threadIdx.x % 16 * 4);
  BODY
}
void go(float *o) { k<<<1, 256>>>(o); }
"""
IN_ROWS = "Layout<Shape<_64, _64>, Stride<_64, _1>>{}"
STORES = "T x = T(o[0]); d[0] = x; d[1] = x; d[2] = x; d[3] = x;"


@pytest.mark.parametrize(
    ("element", "swizzle", "body", "expected"),
    [
        ("float", "Swizzle<3, 3, 3>{}", STORES, (16, 4, "assumed")),
        ("float", "Swizzle<3, 1, 5>{}", STORES, (8, 4, "assumed")),
        ("half_t", "Swizzle<3, 3, 3>{}", STORES, (8, 2, "assumed")),
        ("half_t", "Swizzle<3, 3, 3>{}", "o[1] = float(d[0]) + float(d[1]);", (2, 2, "sampled")),
        ("float", "Swizzle<3, 4, 3>{}, smem_ptr_flag_bits<32>{}", STORES, (4, 4, "assumed")),
    ],
)
def test_neighbours_through_a_pointer_to_a_swizzled_element(element, swizzle, body, expected):
    """As wide as the bits that the swizzle leaves alone; narrow loads may be (SASS, nvcc 13.0).

    Nothing is known of a swizzled address, only of a swizzled offset.
    """
    text = THROUGH_A_POINTER.replace("LAYOUT", f"composition({swizzle}, {IN_ROWS})")
    accesses = accesses_of(
        text.replace("BODY", body).replace("T ", f"{element} ").replace("T(", f"{element}(")
    )
    figures = {(a.width_bytes, a.wavefronts.mean, str(a.certainty)) for a in accesses}
    assert figures == {expected}


AT_RUN_TIME = (
    HEAD
    + """
__global__ void k(half_t *out, int shift) {
  __shared__ __align__(1024) half_t s[32 * 128];
  using Atom = decltype(composition(SWIZZLE{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  Tensor tile = make_tensor(make_smem_ptr(s), tile_to_shape(Atom{}, Shape<_32, _128>{}));
  Tensor chunks = tiled_divide(tile, Shape<_1, _8>{});
  int row = threadIdx.x / 8, column = threadIdx.x % 8;
  Copy_Atom<UniversalCopy<uint128_t>, half_t> atom;
  Tensor r = make_fragment_like(chunks(_, row, column));
  copy(atom, chunks(_, ROW, COLUMN), r);
  copy(atom, r, make_tensor(make_gmem_ptr(out), Layout<_8>{}));
}
void launch(half_t *p, int shift) { k<<<1, 32>>>(p, shift); }
"""
)
"""Atoms of 8 rows of 128 bytes, 4 by 2 of them: a quarter of a warp reads 8 chunks of 16 bytes."""


@pytest.mark.parametrize("swizzle", ["Swizzle<3, 3, 3>", "Swizzle<0, 3, 3>"])
@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("row", "column + shift"),
        ("row", "column + shift / 16"),
        ("row + shift", "column"),
        ("row + shift", "column + shift"),
        ("row + shift", "column + shift / 16"),
    ],
)
def test_rows_and_columns_that_run_time_tells_cost_what_each_of_them_does(row, column, swizzle):
    """No coordinate is negative: those of a tile are in it, and rounding is down."""
    text = AT_RUN_TIME.replace("ROW", row).replace("COLUMN", column)
    assert figures(text.replace("SWIZZLE", swizzle)) == [(12, "load", 16, 1, 4, 4)]


@pytest.mark.parametrize(
    ("row", "column", "wavefronts"),
    [
        ("row", "column + shift / 16", 4),
        ("row + shift", "column", 4),
        ("threadIdx.x / 4", "threadIdx.x % 4 + shift", 8),
        ("threadIdx.x / 4", "threadIdx.x % 4 / 2 * 4 + threadIdx.x % 2 + shift", None),
    ],
)
def test_residues_of_a_shift_are_priced_where_a_kernel_is_too_large_to_run_again(
    row, column, wavefronts, monkeypatch
):
    """Chunk `c` of row `r` lies in banks `4 * (c ^ r)`; a quarter of a warp reads one or two rows.

    Of rows 0 and 1 chunks 0 to 3 are the same banks, and so are any four that follow each other;
    chunks 0, 1, 4 and 5 are, but 1, 2, 5 and 6 are not: one shift costs twice what another does.
    """
    monkeypatch.setattr(evaluate, "MAX_EVENTS_TO_SPLIT", 0)
    text = AT_RUN_TIME.replace("ROW", row).replace("COLUMN", column)
    (access,) = accesses_of(text.replace("SWIZZLE", "Swizzle<3, 3, 3>"))
    assert access.certainty.is_decided == (wavefronts is not None)
    assert access.wavefronts is None or access.wavefronts.mean == wavefronts


@pytest.mark.parametrize(("row", "column"), [("threadIdx.x", "shift"), ("shift", "threadIdx.x")])
def test_one_column_that_run_time_tells_conflicts_whichever_it_is(row, column):
    """Without a swizzle: a quarter of a warp reads 8 rows of 128 bytes, or 8 neighbours."""
    text = AT_RUN_TIME.replace("ROW", row).replace("COLUMN", column)
    ways = 8 if column == "shift" else 1
    expected = [(12, "load", 16, 1, 4 * ways, 4)]
    assert figures(text.replace("SWIZZLE", "Swizzle<0, 3, 3>")) == expected


def test_a_loop_over_the_stages_of_a_tensor_is_run_for_the_first_another_and_the_last():
    """The tensor takes the counter as a coordinate, and does not write it."""
    text = (
        HEAD
        + """
template <class S, class G>
__global__ void k(half_t *out, S tile, G whole) {
  __shared__ alignas(128) half_t smem[cosize_v<S>];
  Tensor s = make_tensor(make_smem_ptr(smem), tile);
  Tensor g = flat_divide(make_tensor(make_gmem_ptr(out), whole), shape(tile));
  Tensor stages = group_modes<0, 2>(group_modes<2, 4>(g));
  for (int stage = 0; stage < size<1>(stages); ++stage) {
    __syncthreads();
    if (threadIdx.x == 0) copy(s, stages(_, stage));
    __syncthreads();
  }
}
void launch(half_t *o) {
  auto tile = composition(Swizzle<3, 4, 3>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{});
  k<<<1, 128>>>(o, tile, make_layout(make_shape(64, 128), make_stride(128, Int<1>{})));
}
"""
    )
    (kernel,) = facts_of(text).kernels
    (access,) = kernel.accesses
    assert (access.width_bytes, access.instructions, access.ways) == (8, 64 * 8 * 16 // 4, 1)
    assert kernel.steps < 40  # of 64 stages


ONE_BY_ONE = (
    HEAD
    + """
__global__ void k(ELEMENT *out) {
  extern __shared__ __align__(128) char smem[];
  auto atom = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<ELEMENT*>(smem)),
                         tile_to_shape(atom, Shape<_64, _64>{}));
  Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto tiled = make_tiled_copy(Copy_Atom<DefaultCopy, ELEMENT>{},
                               Layout<Shape<Int<2 * EACH>, Int<64 / EACH>>,
                                      Stride<Int<64 / EACH>, _1>>{}, Layout<Shape<_1, Int<EACH>>>{});
  auto mine = tiled.get_slice(threadIdx.x);
  copy(tiled, mine.partition_S(s), mine.partition_D(g));
}
void launch(ELEMENT *o) { k<<<1, 128, 16384>>>(o); }
"""
)


@pytest.mark.parametrize(
    ("element", "each", "width", "loads", "wavefronts", "ways"),
    [  # CUTLASS 4.7, nvcc 13.5, sm_90: LDS.64, LDS.128 and LDS.128 alone, as many
        ("float_e4m3_t", 16, 8, 16, 4, (2, 4)),
        ("half_t", 8, 16, 16, 4, None),
        ("float", 4, 16, 32, 4, None),
    ],
)
def test_elements_that_are_copied_one_by_one_are_vectors_or_stay(
    element, each, width, loads, wavefronts, ways
):
    """A swizzle of elements keeps 8 together: of bytes half of a vector, which is 2-way then.

    Single elements of lanes 16 bytes apart are 4-way.
    """
    (access,) = accesses_of(ONE_BY_ONE.replace("ELEMENT", element).replace("EACH", str(each)))
    assert (access.width_bytes, access.instructions) == (width, loads)
    assert (access.wavefronts.mean, access.certainty) == (wavefronts, Certainty.SAMPLED)
    bounds = access.bounds
    assert ((bounds.least, bounds.most) if bounds is not None else None) == ways
