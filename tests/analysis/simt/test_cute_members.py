"""Members and small functions of CuTe's classes, which kernels compute sizes and indexes with.

The numbers are those that CuTe's own headers (CUTLASS 4.7) give, printed by a program of g++ 12.
"""

from __future__ import annotations

from math import gcd

import pytest
from conftest import accesses_of, facts_of

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
using L = Layout<Shape<_8, _4>, Stride<_4, _1>>;
using Swizzled = decltype(composition(Swizzle<2, 0, 3>{}, L{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Copy = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                                      Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
template <int N, bool B> struct Chosen { using Modes = Shape<_1, Int<(B && N > 8) ? ((N < 32) ? N : 32) : 4>>; };
"""
CASES = {
    "cosize_v<decltype(Swizzled{}.layout_b())>": 32,
    "int(size(Swizzled{}.layout_b()))": 32,
    "int(get<0>(Swizzled{}.layout().shape()))": 8,
    "int(get<1>(L{}.get_hier_coord(6)))": 2,
    "int(L{}.get_1d_coord(4))": 1,
    "int(size<0>(t.tensor()))": 8,
    "int(sizeof(typename Mma::ValTypeA))": 2,
    "int(sizeof(typename Mma::ValTypeC))": 4,
    "int(size<0>(typename Mma::ThrLayoutVMNK{}))": 32,
    "int(Copy::NumValSrc)": 8,
    "int(get<1>(idx2crd(17, Shape<_8, _4>{})))": 2,
    "int(crd2idx(make_coord(1, 2), Shape<_8, _4>{}, Stride<_4, _1>{}))": 6,
    "int(crd2idx(make_coord(4, 1), Shape<_8, _4>{}))": 12,
    "int(size(recast_layout<uint16_t, uint32_t>(Layout<Shape<_8>>{})))": 4,
    "int(size(replace<0>(Shape<_8, _4>{}, _2{})))": 8,
    "int(tuple_size_v<Shape<_8, _4>>)": 2,
    "int(tuple_size<Shape<_8, _4>>::value)": 2,
    "int(sizeof_bits<half_t>::value)": 16,
    "(is_static_v<Shape<int, _1>> ? 4 : 2)": 2,
    "(is_static<Shape<_2, _1>>::value ? 4 : 2)": 4,
    "int(tuple_element_t<1, Shape<_8, _4>>{})": 4,
    "int(bits_to_bytes(16))": 2,
    "int(cosize_t<Layout<Shape<_4, _2>, Stride<_1, _6>>>::value)": 10,
    "(decltype(_4{} > _2{})::value ? 4 : 2)": 4,
    "int(conditional_t<decltype(_4{} > _2{}){}, _8, _4>{})": 8,
    "int(conditional_t<decltype(_4{} == _2{}){}, _8, _4>{})": 4,
    "int(get<1>(typename Chosen<16, true>::Modes{}))": 16,
    "int(get<1>(typename Chosen<16, false>::Modes{}))": 4,
    "int(conditional_t<decltype(_1{} && _2{}){}, _8, _4>{})": 8,
    "int(conditional_t<decltype(_0{} && _2{}){}, _8, _4>{})": 4,
    "int(conditional_t<decltype(_0{} || _2{}){}, _8, _4>{})": 8,
    "int(conditional_t<decltype(!(_4{} == _4{})){}, _8, _4>{})": 4,
    "(is_same_v<decltype(_4{} && _2{}), C<true>> ? 4 : 2)": 4,
    "(is_static<decltype(make_shape(_4{}, int(3)))>::value ? 4 : 2)": 2,
    "(is_integral<_4>::value ? 4 : 2)": 4,
    "(is_constant<4, _4>::value ? 4 : 2)": 4,
    "(is_tuple<Shape<_8, _4>>::value ? 4 : 2)": 4,
    "int(rank_v<Shape<_8, _4>>)": 2,
    "(is_same_v<decltype(_2{} * _2{}), _4> ? 4 : 2)": 4,
    "(is_same_v<Int<4>, _4> == true ? 4 : 2)": 4,
    "(is_same_v<_4, _8> ? 4 : 2)": 2,
    "(is_same_v<_4, int> ? 4 : 2)": 2,
    "(is_same_v<Shape<_8, _4>, decltype(L{}.shape())> ? 4 : 2)": 4,
    "(is_same_v<Shape<_8, _4>, Shape<_4, _8>> ? 4 : 2)": 2,
    "(is_same_v<Layout<Shape<_8, _4>, Stride<_4, _1>>, L> ? 4 : 2)": 4,
    "(is_same_v<Swizzled, L> ? 4 : 2)": 2,
    "int(sizeof(conditional_t<is_same_v<Int<4>, _4> == true, float, double>))": 4,
    "int(sizeof(conditional_t<is_same_v<Int<4>, _8> == true, float, double>))": 8,
    "int(size<0>(prepend(L{}, Layout<_2>{})))": 2,
    "int(size<2>(append(Shape<_8, _4>{}, _16{})))": 16,
    "int(size<1>(unwrap(make_tuple(L{}))))": 4,
    "int(size<0>(dice(Step<_1, X>{}, L{})))": 8,
    "Swizzle<2, 0, 3>{}(9)": 8,
    "Swizzle<2, 0, 3>{}.apply(11)": 10,
}


@pytest.fixture(scope="module")
def figures():
    kernels = "".join(
        f"""__global__ void k{n}(float *o) {{
          __shared__ float s[1024];
          Tensor t = make_tensor<half_t>(L{{}});
          s[threadIdx.x * {expression}] = 1;
          __syncthreads();
          o[threadIdx.x] = s[threadIdx.x];
        }}
        """
        for n, expression in enumerate(CASES)
    )
    launches = "".join(f"k{n}<<<1, 32>>>(o);" for n in range(len(CASES)))
    facts = facts_of(f"{HEAD}{kernels} void host(float *o) {{ {launches} }}")
    found = ((k.instance.kernel, a) for k in facts.kernels for a in k.accesses)
    return {kernel: a.ways for kernel, a in found if str(a.kind) == "store"}


@pytest.mark.parametrize("expression", CASES)
def test_a_member_has_the_number_that_cute_gives(figures, expression):
    number = list(CASES).index(expression)
    assert figures[f"k{number}"] == gcd(CASES[expression], 32)


def test_a_member_of_a_class_that_was_not_read_is_no_member_of_another_one():
    text = """#include "cutlass/gemm/collective/collective_builder.hpp"
    __global__ void k(float *o) {
      __shared__ float s[1024];
      s[threadIdx.x * unread<half_t>::value] = 1;
    }
    void host(float *o) { k<<<1, 32>>>(o); }
    """
    (store,) = accesses_of("#include <cute/tensor.hpp>\n" + text)
    assert store.wavefronts is None


ROWS = (
    HEAD
    + """
template <class Tile>
__global__ void k(float *o, Tile tile) {
  __shared__ float s[4096];
  Tensor t = make_tensor(make_smem_ptr(s), tile);
  t(int(threadIdx.x), 0) = 1;
  o[0] = s[0];
}
template <int Pitch> void run(float *o) {
  auto tile = make_layout(make_shape(Int<32>{}, Int<Pitch>{}), LayoutRight{});
  k<<<1, 32>>>(o, tile);
}
void host(float *o) { run<16>(o); }
"""
)


def test_callers_tell_the_numbers_in_the_type_of_a_layout():
    """`Int<Pitch>{}` is static whoever calls: the launch alone does not say what it is."""
    (store,) = (a for a in accesses_of(ROWS) if str(a.kind) == "store")
    assert store.ways == 16


SCALED = """
template <int N> struct Scaled {
  using MMA_Atom = cute::MMA_Atom<OP>;
  using TiledMma = TiledMMA<MMA_Atom, Layout<Shape<_2, _2, _1>>, Tile<Int<(N < 32) ? N : 32>, _16, Underscore>>;
};
__global__ void k(float *o) {
  __shared__ __align__(1024) float_e4m3_t bytes[8192];
  typename Scaled<64>::TiledMma mma;
  Tensor s = make_tensor(make_smem_ptr(bytes), tile_to_shape(GMMA::Layout_K_SW128_Atom<float_e4m3_t>{}, Shape<_64, _128>{}));
  auto thread = mma.get_slice(threadIdx.x);
  Tensor a = thread.partition_fragment_A(s);
  Tensor b = thread.partition_fragment_B(s);
  auto load = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, float_e4m3_t>{}, mma);
  auto mine = load.get_slice(threadIdx.x);
  copy(load, mine.partition_S(s), mine.retile_D(a));
  gemm(mma, make_zip_tensor(a, a), make_zip_tensor(b, b), partition_fragment_C(mma, Shape<_64, _64>{}));
}
void host(float *o) { k<<<1, 128>>>(o); }
"""


@pytest.mark.parametrize(
    "op",
    [
        "SM120_16x8x32_TN<float_e4m3_t, float_e4m3_t, float>",
        "SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 32>",
    ],
)
def test_operations_of_sm_120_name_their_types_as_arguments(op):
    """Each of four warps loads 32 of 64 rows, 16 by 32 bytes at a time: two by four times."""
    (kernel,) = facts_of(HEAD + SCALED.replace("OP", op)).kernels
    (load,) = kernel.accesses
    assert (str(load.kind), load.width_bytes, load.instructions, load.wavefronts.max) == (
        "ldmatrix", 16, 4 * 8, 4,
    )  # fmt: skip
    assert not kernel.not_analysed


STRIDES = """
template <class T> __global__ void k(T t, float *o) {
  extern __shared__ __align__(16) char bytes[];
  auto *s = reinterpret_cast<typename T::value_type *>(bytes);
  s[threadIdx.x * STRIDE_OF] = 0;
  o[0] = s[0];
}
struct Problem {
  using Rows = tuple<int, _2>;
  using Columns = tuple<_4, int>;
  Rows rows;
  Columns columns;
  void fill(int n, tuple<int, _2> &stride) { stride = make_stride(n, _2{}); }
  void fill(int n, tuple<_4, int> &stride) { stride = make_stride(_4{}, n); }
  void run(int n, float *data) {
    fill(n, rows);
    fill(n, columns);
    Tensor t = make_tensor(make_gmem_ptr(data), make_shape(n, n), WHICH);
    k<<<1, 32, 4096>>>(t, data);
  }
};
void host(float *o, int n) { Problem p; p.run(n, o); }
"""


@pytest.mark.parametrize(("which", "index", "ways"), [("rows", 1, 2), ("columns", 0, 4)])
def test_overloads_tell_tuples_apart_that_are_static_in_part(which, index, ways):
    text = STRIDES.replace("STRIDE_OF", f"int(get<{index}>(stride(t)))").replace("WHICH", which)
    (store,) = (a for a in accesses_of(HEAD + text) if str(a.kind) == "store")
    assert store.ways == ways


CHOSEN = """
template <int Row> struct Traits {
  using Rows = std::conditional_t<Row <= 64, cute::Swizzle<3, 3, 3>, cute::Swizzle<3, 3, 4>>;
};
template <class Traits> __global__ void k(half *o) {
  __shared__ __align__(1024) half s[4096];
  typename Traits::Rows chunk;
  auto at = chunk(threadIdx.x % 8 * 64 + threadIdx.x / 8 * 8);
  *reinterpret_cast<int4 *>(&s[at]) = *reinterpret_cast<int4 *>(&o[threadIdx.x * 8]);
  __syncthreads();
  o[0] = s[0];
}
void host(half *o) { k<Traits<ROW>><<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(("row", "wavefronts"), [(64, 4), (128, 8)])
def test_a_swizzle_is_called_with_an_index_of_lanes(row, wavefronts):
    """Eight lanes store one chunk of eight rows of 128 bytes.

    The swizzle for rows of 256 bytes takes bits 7 to 9 of the index: four places for the eight.
    """
    text = HEAD + CHOSEN.replace("ROW", str(row))
    (store,) = (a for a in accesses_of(text) if str(a.kind) == "store")
    assert (store.width_bytes, store.wavefronts.mean) == (16, wavefronts)


@pytest.mark.parametrize("spelled", ["size<0>(t)", "size(t) / 4", "int(size(t.layout())) / 4"])
def test_functions_for_other_classes_do_not_hide_those_of_cute(spelled):
    text = f"""#include <cute/tensor.hpp>
namespace own {{
template <typename T, int N> struct vec_t {{ T data[N]; }};
template <typename T, int N> __device__ constexpr int size(vec_t<T, N> &v) {{ return 1; }}
template <class Tensor> __device__ int columns(Tensor const &t) {{
  using namespace cute;
  return {spelled};
}}
}}
__global__ void k(float *o) {{
  __shared__ float s[1024];
  auto t = cute::make_tensor(cute::make_smem_ptr(s), cute::Layout<cute::Shape<cute::_8, cute::_4>>{{}});
  s[threadIdx.x * own::columns(t)] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}}
void run(float *o) {{ k<<<1, 32>>>(o); }}
"""
    (store,) = (a for a in accesses_of(text) if str(a.kind) == "store")
    assert (store.certainty.is_decided, store.wavefronts.mean) == (True, 8)


NONE = """#include <cute/tensor.hpp>
using namespace cute;
struct Storage { cute::array<float, 0> none; cute::array_aligned<float, 1024> some; };
__global__ void k() {
  extern __shared__ char raw[];
  auto &storage = *reinterpret_cast<Storage *>(raw);
  auto layout = Layout<Shape<_32, _32>, Stride<_32, _1>>{};
  Tensor unused = make_tensor(make_smem_ptr(storage.none.data()), layout);
  Tensor used = make_tensor(make_smem_ptr(storage.some.data()), layout);
  used(0, threadIdx.x) = 1;
}
void launch() { k<<<1, 32, 8192>>>(); }
"""


def test_an_array_of_none_is_one_byte_and_has_a_place() -> None:
    (kernel,) = facts_of(NONE).kernels
    (access,) = kernel.accesses
    assert kernel.not_analysed == ()
    assert min(access.patterns[0].addresses) == 16
