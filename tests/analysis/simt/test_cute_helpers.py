"""CuTe kernels that wrap CuTe in functions of their own: selectors, predicated copies, `Op::copy`."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"


def figures(text: str) -> list[tuple[str, int, int, float]]:
    """(kind, bytes, instructions, wavefronts) of every access."""
    found = []
    for a in accesses_of(HEAD + text):
        assert a.wavefronts is not None, a.reason
        found.append((str(a.kind), a.width_bytes, a.instructions, a.wavefronts.mean))
    return found


SELECTED = """
template <class T, int K> SPECIFIER auto atom() {
  if constexpr (K % 64 == 0) return composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>, Stride<_64,_1>>{});
  else return composition(Swizzle<2,3,3>{}, Layout<Shape<_8,_32>, Stride<_32,_1>>{});
}
template <class T, int K> struct Traits {
  using L = decltype(tile_to_shape(atom<T, K>(), Shape<_64, Int<K>>{}));
  using Turned = decltype(select<1, 0>(GMMA::Layout_K_SW128_Atom<T>{}));
  static constexpr int turned = size<0>(Turned{});
};
template <class Traits> __global__ void k(half_t *out) {
  __shared__ __align__(1024) half_t s[cosize_v<typename Traits::L>];
  static_assert(Traits::turned == 64);
  Tensor t = make_tensor(make_smem_ptr(s), typename Traits::L{});
  auto c = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                           Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{});
  Tensor part = c.get_slice(threadIdx.x).partition_D(t);
  copy(c, make_fragment_like(part), part);
}
void go(half_t *p) { k<Traits<half_t, WIDTH>><<<1, 128>>>(p); }
"""


@pytest.mark.parametrize("specifier", ["CUTE_HOST_DEVICE constexpr", "__device__ constexpr"])
@pytest.mark.parametrize(("width", "stores", "wavefronts"), [(64, 16, 8), (32, 8, 4)])
def test_a_layout_that_an_own_function_selects(specifier, width, stores, wavefronts):
    """The kernel's template argument is worked out on the host, where `decltype` calls it too.

    Eight lanes store four chunks of two rows: in rows of 128 bytes both are in the same half.
    """
    text = SELECTED.replace("SPECIFIER", specifier).replace("WIDTH", str(width))
    assert figures(text) == [("store", 16, stores, wavefronts)]


LESS = """
namespace own {
template <size_t I, class A, class B> CUTE_HOST_DEVICE constexpr auto elem_less(A const& a, B const& b) {
  return CALL(get<I>(a), get<I>(b));
}
template <class Copy, class S, class D, class I, class R>
__device__ void some(Copy const& c, S const& src, D& dst, I const& id, R const& residue) {
  for (int i = 0; i < size<1>(dst); ++i) {
    if (elem_less<0>(id(_0{}, i, _0{}), residue)) c.call(src(_, i, _0{}), dst(_, i, _0{}));
  }
}
}
__global__ void k(float const* in, int rows, Rows where) {
  __shared__ __align__(16) float s[64 * 32];
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  Tensor g = own_gather(in, where);
  Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float> atom;
  auto c = make_tiled_copy(atom, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{});
  auto mine = c.get_slice(threadIdx.x);
  Tensor to = mine.partition_D(t);
  own::some(atom, mine.partition_S(g), to, mine.partition_D(make_identity_tensor(Shape<_64, _32>{})),
            make_coord(rows, 32));
}
void go(float* p, int rows, Rows w) { k<<<1, 128>>>(p, rows, w); }
"""


@pytest.mark.parametrize("call", ["elem_less", "cute::elem_less"])
def test_an_overload_that_has_to_be_given_arguments_is_not_the_callee(call: str):
    """Its name is CuTe's; a copy of a fixed width is decided by the side that is known."""
    text = LESS.replace("CALL", call)
    assert figures(text) == [("async_copy", 16, 16, 4.0)]
    notes = [n.reason.code for k in facts_of(HEAD + text).kernels for n in k.not_analysed]
    assert ReasonCode.TOO_LARGE not in notes


INSTRUCTION = """
__global__ void k(uint32_t* out, float const* in) {
  __shared__ __align__(128) half_t s[64 * PITCH];
  uint32_t r[4];
  int lane = threadIdx.x % 32;
  auto& row = *reinterpret_cast<uint128_t*>(&s[lane % 16 * PITCH + lane / 16 * 8]);
  CALL;
  out[threadIdx.x] = r[0] + r[3];
}
void go(uint32_t* p, float* q) { k<<<1, 32>>>(p, q); }
"""


@pytest.mark.parametrize(
    ("call", "pitch", "expected"),
    [  # 16 rows of 128 bytes lie in the same banks: eight of them are one pass; 144 spread them
        ("SM75_U32x4_LDSM_N::copy(row, r[0], r[1], r[2], r[3])", 64, ("ldmatrix", 16, 1, 32.0)),
        ("SM75_U32x4_LDSM_N::copy(row, r[0], r[1], r[2], r[3])", 72, ("ldmatrix", 16, 1, 4.0)),
        ("SM90_U32x4_STSM_N::copy(r[0], r[1], r[2], r[3], row)", 64, ("stmatrix", 16, 1, 32.0)),
        ("cute::SM90_U32x4_STSM_N::copy(r[0], r[1], r[2], r[3], row)", 72, ("stmatrix", 16, 1, 4.0)),
        ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>::copy(((uint128_t const*)in)[lane], ((uint128_t*)s)[lane])",
         64, ("async_copy", 16, 1, 4.0)),
    ],
)  # fmt: skip
def test_the_copy_of_an_operation(call: str, pitch: int, expected: tuple[str, int, int, float]):
    text = INSTRUCTION.replace("CALL", call).replace("PITCH", str(pitch))
    assert figures(text) == [expected]


def test_the_copy_of_an_operation_without_lane_addresses():
    text = INSTRUCTION.replace("CALL", "SM90_BULK_COPY_S2G::copy(s, out, 4096)")
    (kernel,) = facts_of(HEAD + text.replace("PITCH", "64")).kernels
    assert [n.reason.code for n in kernel.not_analysed] == [ReasonCode.NO_LANES]


BY_MAJOR = """
using Mma = decltype(make_tiled_mma(GMMA::MMA_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MAJOR>{}));
using L = decltype(tile_to_shape(GMMA::Layout_SW128_Atom<half_t, GMMA::Major::MAJOR>{}, Shape<_64, _64>{}));
__global__ void k(half_t* g) {
  __shared__ __align__(1024) half_t s[cosize_v<L>];
  Tensor t = make_tensor(make_smem_ptr(s), L{});
  auto c = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, Mma{});
  auto mine = c.get_slice(threadIdx.x);
  auto r = make_tensor<half_t>(partition_shape_C(Mma{}, Shape<_64, _64>{}));
  copy(c, mine.retile_S(r), mine.partition_D(t));
}
void go(half_t* g) { k<<<1, 128>>>(g); }
"""


def test_names_that_take_the_major_mode():
    """4 stmatrix.x4 a warp and half a tile; rows along M cannot be stored without transposing."""
    assert figures(BY_MAJOR.replace("MAJOR", "K")) == [("stmatrix", 16, 16, 4.0)]
    (kernel,) = facts_of(HEAD + BY_MAJOR.replace("MAJOR", "MN")).kernels
    assert not any(a.wavefronts for a in kernel.accesses)
    assert kernel.not_analysed


UNNAMED = """
__global__ void k(float* g) {
  __shared__ __align__(16) float s[64 * 32];
  auto c = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32>>{}, Layout<_1>{});
  float* p = &(make_tensor(make_smem_ptr(s), Layout<Shape<_64, _32>, Stride<_32, _1>>{})(threadIdx.x, 0));
  p[1] = g[threadIdx.x];
  g[0] = *p;
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  float* q = &t(_, 3)(threadIdx.x);
  q[2] = g[1];
}
void go(float* g) { k<<<1, 32>>>(g); }
"""


def test_the_address_of_an_element_of_an_unnamed_tensor_loads_nothing():
    assert figures(UNNAMED) == [("store", 4, 1, 32.0), ("load", 4, 1, 32.0), ("store", 4, 1, 32.0)]


def test_members_that_are_aligned_by_macro():
    """And no header of CUTLASS's is missed, however it is included."""
    text = """
#include "cutlass/bfloat16.h"
struct Plan {
  array_aligned<half_t, 100> a;
  CUTE_ALIGNAS(1024) array_aligned<float, 1024> b;
};
__global__ void k(float* g) {
  extern __shared__ char bytes[];
  Plan& plan = *reinterpret_cast<Plan*>(bytes);
  Tensor t = make_tensor(make_smem_ptr(plan.b.data()), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  t(threadIdx.x, 0) = g[threadIdx.x];
}
void go(float* g) { k<<<1, 32>>>(g); }
"""
    assert figures(text) == [("store", 4, 1, 32.0)]
    assert not facts_of(HEAD + text).not_analysed


LOADER = """
template <class G, class S, class C> class Loader {
 public:
  __device__ Loader(G& g, S& s, C c) : g(g), s(s), c(c) {}
  __device__ void go() {
    for (int m = 0; m < size<1>(g); ++m) copy(c, g(_, m, _0{}), s(_, m, _0{}));
  }
 private:
  MEMBERS
  C c;
};
template <class L, class C> __device__ auto make(const float* from, float* to) {
  C c;
  auto t = make_tensor(make_gmem_ptr(from), L{});
  auto u = make_tensor(make_smem_ptr(to), L{});
  auto mine = c.get_thread_slice(threadIdx.x);
  auto a = mine.partition_S(t);
  auto b = mine.partition_D(u);
  CLASS loader(a, b, c);
  return loader;
}
template <class C> __global__ void k(float const* p) {
  __shared__ __align__(16) float s[64 * 32];
  make<Layout<Shape<_64, _32>, Stride<_32, _1>>, C>(p, s).go();
}
using Copy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
void go(float* p) { k<Copy><<<1, 128>>>(p); }
"""


@pytest.mark.parametrize("members", ["G& g; S& s;", "G g; S s;"])
@pytest.mark.parametrize("name", ["Loader", "Loader<decltype(a), decltype(b), C>"])
def test_tensors_that_are_members(members: str, name: str):
    text = LOADER.replace("MEMBERS", members).replace("CLASS", name)
    assert figures(text) == [("async_copy", 16, 16, 4.0)]


def test_members_whose_type_says_all():
    """A layout of numbers and a tiled copy need no initializer: the type has them."""
    text = """
struct Loader {
  __device__ void operator()(float const* from, float* to) {
    auto mine = tiled.get_slice(threadIdx.x);
    copy(tiled, mine.partition_S(make_tensor(make_gmem_ptr(from), layout)),
         mine.partition_D(make_tensor(make_smem_ptr(to), layout)));
  }
 private:
  Layout<Shape<_64, _32>, Stride<_32, _1>> layout;
  decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{},
                           Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{})) tiled;
};
__global__ void k(float const* p) {
  __shared__ __align__(16) float s[64 * 32];
  Loader loader;
  loader(p, s);
}
void go(float* p) { k<<<1, 128>>>(p); }
"""
    assert figures(text) == [("async_copy", 16, 16, 4.0)]


@pytest.mark.parametrize(
    ("name", "is_missed"),
    [
        ("cutlass/gemm/kernel/any.h", False),
        ("cutlass/half.h", False),
        ("cutlass/mine/rows.h", True),
        ("cute/mine.hpp", True),
        ("cutlass/", True),
    ],
)
def test_a_folder_of_ones_own_that_is_called_as_cutlass_is_missed(name, is_missed):
    text = """
__global__ void k(float* g) { __shared__ float s[32]; s[threadIdx.x] = g[threadIdx.x]; }
void go(float* g) { k<<<1, 32>>>(g); }
"""
    missed = facts_of(f'{HEAD}#include "{name}"{text}').not_analysed
    assert [name in n.reason.text for n in missed] == [True] * is_missed


def test_calling_a_member_of_a_class_that_is_not_known_loads_nothing():
    text = """
template <class F> struct S {
  F op; float v[32];
  __device__ float run(int i) { return op(i) + v[i * 2]; }
};
__global__ void k(float* o) { __shared__ S<Foreign> s; o[threadIdx.x] = s.run(threadIdx.x); }
void f(float* o) { k<<<1, 32>>>(o); }
"""
    assert figures(text) == [("load", 4, 1, 2.0)]


def test_a_universal_copy_without_an_atom_is_an_assignment():
    text = """
__global__ void k(uint32_t* g) {
  __shared__ uint32_t t[1024];
  UniversalCopy<uint32_t>::copy(g[threadIdx.x], t[threadIdx.x * 2]);
  cute::UniversalCopy<uint32_t, uint32_t>::copy(t[threadIdx.x * 4 + 1], g[threadIdx.x]);
}
void f(uint32_t* g) { k<<<1, 32>>>(g); }
"""
    assert figures(text) == [("store", 4, 1, 2.0), ("load", 4, 1, 4.0)]
    assert not facts_of(HEAD + text).kernels[0].not_analysed


def test_what_initializes_a_reference_is_evaluated_once():
    text = """
struct S { const int& r; __device__ S(int& c) : r(c++) {} };
__global__ void k() {
  __shared__ float s[1024];
  int c = 0;
  S a(c);
  s[threadIdx.x * c] = 1.f;
}
void f() { k<<<1, 32>>>(); }
"""
    assert figures(text) == [("store", 4, 1, 1.0)]


def test_what_names_an_element_of_no_tensor_is_evaluated_once():
    text = """
template <class U> __global__ void k(float* o, U u) {
  __shared__ float t[1024];
  int e = 0;
  o[1] = local_tile(u, make_shape(_32{}, _1{}), make_coord(0, e++))(threadIdx.x, 0);
  t[threadIdx.x * e] = 1.f;
}
template <class T> void f(float* o, T u) { k<<<1, 32>>>(o, u); }
"""
    assert figures(text) == [("store", 4, 1, 1.0)]


GIVEN_TEMPLATE = """
namespace mine {
template <typename T, int bits, template <typename U> typename Op, typename N>
constexpr auto make_tiled_copy(N n) {
  return make_tiled_copy(Copy_Atom<Op<uint_bit_t<bits>>, T>{},
      make_layout(make_shape(Int<n / 8>{}, Int<8>{}), LayoutRight{}),
      make_layout(make_shape(Int<1>{}, Int<bits / sizeof_bits_v<T>>{})));
}
__global__ void k(half_t *a) {
  __shared__ __align__(1024) half_t s[64 * 64];
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor g = make_tensor(make_gmem_ptr(a), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  TiledCopy in = make_tiled_copy<half_t, 128, SM80_CP_ASYNC_CACHEALWAYS>(Int<128>{});
  TiledCopy out = make_tiled_copy<half_t, 64, UniversalCopy>(Int<128>{});
  copy(in, in.get_slice(threadIdx.x).partition_S(g), in.get_slice(threadIdx.x).partition_D(t));
  __syncthreads();
  copy(out, out.get_slice(threadIdx.x).partition_S(t), out.get_slice(threadIdx.x).partition_D(g));
}
}
void go(half_t *a) { mine::k<<<1, 128>>>(a); }
"""


def test_a_function_is_given_a_class_template_of_cute():
    """Eight lanes move a row of 128 bytes, or half of it: then two rows of a half-warp meet."""
    assert figures(GIVEN_TEMPLATE) == [("async_copy", 16, 16, 4), ("load", 8, 32, 4)]


TURNED = """
template <int... Is, typename T> CUTE_HOST_DEVICE constexpr auto modes_of(T&& t) {
  if constexpr (is_composed_layout<decltype(t.layout())>::value) {
    return make_tensor(std::forward<T>(t).data(), make_composed_layout(
        t.layout().layout_a(), t.layout().offset(), select<Is...>(t.layout().layout_b())));
  } else {
    return make_tensor(std::forward<T>(t).data(), select<Is...>(t.layout()));
  }
}
__global__ void k(float *o) {
  __shared__ float s[32 * 32];
  Tensor t = make_tensor(make_smem_ptr(s), LAYOUT);
  t(threadIdx.x, 0) = 1;
  __syncthreads();
  o[threadIdx.x] = modes_of<1, 0>(t)(3, threadIdx.x);
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("layout", "wavefronts"),
    [
        ("Layout<Shape<_32, _32>, Stride<_32, _1>>{}", 32),
        ("composition(Swizzle<5, 0, 5>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{})", 1),
    ],
)
def test_a_pack_of_numbers_that_a_call_gives_selects_modes(layout, wavefronts):
    assert figures(TURNED.replace("LAYOUT", layout)) == [
        ("store", 4, 1, wavefronts),
        ("load", 4, 1, wavefronts),
    ]


PRODUCT = """
__global__ void k(float *o) {
  __shared__ __align__(128) half_t a[64 * 64], b[64 * 64], c[64 * 64];
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{});
  auto swizzled = tile_to_shape(
      composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{});
  auto plain = Layout<Shape<_64, _64>, Stride<_64, _1>>{};
  Tensor sA = make_tensor(make_smem_ptr(a), swizzled);
  Tensor sB = make_tensor(make_smem_ptr(b), plain);
  Tensor sC = make_tensor(make_smem_ptr(c), plain);
  Tensor gC = make_tensor(make_gmem_ptr(o), Layout<Shape<_64, _64>>{});
  Tensor rC = mma.get_slice(threadIdx.x).partition_fragment_C(gC);
  identity same;
  SM75_U32x4_LDSM_N load;
  SM90_U32x4_STSM_N store;
  cooperative_gemm(threadIdx.x, mma, ARGUMENTS);
}
void go(float *o) { k<<<1, 128>>>(o); }
"""
OPERANDS = [("ldmatrix", 16, 32, 4), ("ldmatrix", 16, 32, 32)]
"""Of A, whose rows of 128 bytes are swizzled, and of B: 2 x 4 copies by each of 4 warps."""
RESULT = ("stmatrix", 16, 16, 32)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("sA, sB, rC, same, same, load, load", OPERANDS),
        (
            "1.f, sA, sB, 0.f, sC, same, same, same, same, load, load, load, store",
            [*OPERANDS, RESULT],
        ),
        (
            "1.f, sA, sB, 1.f, sC, same, same, same, same, load, load, load, store",
            [*OPERANDS, ("ldmatrix", 16, 16, 32), RESULT],
        ),
    ],
)
def test_cooperative_gemm_loads_its_operands_and_stores_its_result(arguments, expected):
    """C is loaded where the second factor is not 0."""
    assert sorted(figures(PRODUCT.replace("ARGUMENTS", arguments))) == sorted(expected)


def test_a_tile_that_the_mma_does_not_divide_is_not_followed():
    text = PRODUCT.replace("ARGUMENTS", "sA, sB, rC").replace(
        "_2, _2>>{}, Tile<_32, _32, _16>", "_3, _2>>{}, Tile<_48, _32, _16>"
    )
    facts = facts_of(HEAD + text)
    assert not accesses_of(HEAD + text)
    notes = [note for kernel in facts.kernels for note in kernel.not_analysed]
    assert [note.reason.code for note in notes] == [ReasonCode.NOT_MODELLED]


SLICE_AS_MMA = """
template <class F, class S, class M> __device__ void put(F const& f, S& s, M const& thr_mma, int t) {
  auto c = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, thr_mma);
  auto thr = c.get_slice(t);
  copy(c, thr.retile_S(make_fragment_like<half_t>(f)), thr.partition_D(s));
}
__global__ void k() {
  __shared__ __align__(1024) half_t c[64 * 64];
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{});
  auto rows = composition(Swizzle<3, 4, 3>{}, smem_ptr_flag_bits<16>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sC = as_position_independent_swizzle_tensor(make_tensor(make_smem_ptr(c), rows));
  auto thr = mma.get_slice(threadIdx.x);
  put(thr.partition_fragment_C(sC), sC, thr, threadIdx.x);
}
void go() { k<<<1, 128>>>(); }
"""


def test_a_threads_slice_of_an_mma_is_an_mma_and_a_flag_swizzles_the_pointer():
    assert figures(SLICE_AS_MMA) == [("stmatrix", 16, 16, 4)]


HIDDEN = """#include <cute/tensor.hpp>
namespace own::core { class Layout { int n; }; template <class T> struct Tile {}; }
namespace own {
__global__ void k() {
  __shared__ float s[32 * 32];
  using namespace cute;
  make_tensor(make_smem_ptr(s), Layout<Shape<_32, _32>, Stride<_32, _1>>{})(threadIdx.x, 0) = 1;
}
}
namespace other {
template <class T> struct Layout { int pitch; };
__global__ void k() {
  __shared__ float s[64];
  Layout<int> rows{2};
  s[threadIdx.x * rows.pitch] = 1;
}
}
void go() { own::k<<<1, 32>>>(); other::k<<<1, 32>>>(); }
"""


def test_a_class_that_is_not_visible_does_not_hide_that_of_cute():
    assert sorted(a.wavefronts.mean for a in accesses_of(HIDDEN)) == [2, 32]


@pytest.mark.parametrize("using", ["", "using namespace own;"])
def test_nor_where_its_arguments_are_deduced(using):
    """`Tensor t = ..` beside torch::Tensor: accesses of `t` were silently missing."""
    spelled = "cute::Tensor" if using else "Tensor"
    text = f"""namespace own {{ struct Tensor {{ int size(int i) const; void* data; }}; }}
{using}
__global__ void k() {{
  __shared__ float s[32 * 32];
  {spelled} t = make_tensor(make_smem_ptr(s), Layout<Shape<_32, _32>, Stride<_32, _1>>{{}});
  t(threadIdx.x, 0) = 1;
}}
void go(own::Tensor x) {{ k<<<x.size(0), 32>>>(); }}
"""
    assert figures(text) == [("store", 4, 1, 32)]


CHOICE = """
template <int N> struct Traits {
  using Tile = Layout<Shape<Int<N < 32 ? N : 32>, _32>, Stride<_32, _1>>;
};
template <int N> __global__ void k() {
  __shared__ float s[1024];
  Tensor t = make_tensor(make_smem_ptr(s), typename Traits<N>::Tile{});
  t(threadIdx.x % size<0>(t), 0) = 1;
}
void launch() { k<64><<<1, 32>>>(); k<8><<<1, 32>>>(); }
"""


def test_a_choice_among_template_arguments_needs_no_brackets() -> None:
    assert figures(CHOICE) == [("store", 4, 1, 32), ("store", 4, 1, 8)]


OVERLOADED = """
namespace own {
template <bool All = true, class C, class E0, class L0, class E1, class L1, class E2, class L2>
__device__ void copy(C c, Tensor<E0, L0> const& src, Tensor<E1, L1>& dst, Tensor<E2, L2> const& id,
                     int const rows = 0) {
  for (int m = 0; m < size<1>(src); ++m) {
    if (All || get<0>(id(0, m, 0)) < rows) cute::copy(c, src(_, m, _), dst(_, m, _));
  }
}
}
__global__ void k(half_t const* in, int rows) {
  __shared__ __align__(128) half_t s[64 * 64];
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto c = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                           Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mine = c.get_slice(threadIdx.x);
  Tensor to = mine.partition_D(t);
  CALL(c, mine.partition_S(g), to, mine.partition_S(make_identity_tensor(Shape<_64, _64>{}))REST);
}
void go(half_t* p, int rows) { k<<<1, 128>>>(p, rows); }
"""


@pytest.mark.parametrize(("call", "rest"), [("own::copy", ""), ("::own::copy<false>", ", rows")])
def test_a_qualified_name_is_that_of_its_namespace(call: str, rest: str):
    """`copy` means CuTe's where the call stands, `own::copy` does not."""
    text = OVERLOADED.replace("CALL", call).replace("REST", rest)
    assert figures(text) == [("async_copy", 16, 16, 4.0)]


SHAPES = """
#include "cutlass/matrix_shape.h"
#include "cutlass/gemm_coord.h"
using Tile = cutlass::MatrixShape<64, 32>;
using Block = cutlass::gemm::GemmShape<64, 128>;
using Tiler = Shape<Int<Tile::kRow>, Int<Tile::kColumn>>;
static_assert(Tile::kCount == 2048 && Block::kMN == 8192 && Block::kK == 1);
__global__ void k(float* out) {
  __shared__ float s[Tile::kCount];
  Tensor t = make_tensor(make_smem_ptr(s), make_layout(Tiler{}, LayoutRight{}));
  for (int i = 0; i < Block::kM / 32; ++i) out[threadIdx.x] += t(threadIdx.x + 32 * i, 0);
}
void go(float* p) { k<<<1, 32>>>(p); }
"""


def test_cutlass_shapes_are_numbers():
    """A column of rows of 32 words is in one bank."""
    assert figures(SHAPES) == [("load", 4, 2, 32.0)]


OLD_NAMES = """
__global__ void k(half_t const* in) {
  __shared__ __align__(128) half_t s[64 * 64];
  using Atom = decltype(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>, Stride<_64,_1>>{}));
  using L = decltype(tile_to_shape(Atom{}, Shape<_64,_64>{}));
  using Turned = decltype(composition(L{}, make_layout(Shape<_64,_64>{}, GenRowMajor{})));
  Tensor t = make_tensor(make_smem_ptr(s), L{});
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto c = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                           Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mine = c.get_thread_slice(threadIdx.x);
  copy(COPY, mine.partition_S(g), mine.partition_D(t));
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4,_1,_1>>, TILE> mma;
  auto plain = make_tensor(t.data(), Turned{}.PLAIN());
  static_assert(Turned{}.OFFSET() == 0);
  auto fragment = mma.get_thread_slice(threadIdx.x).partition_fragment_B(plain);
  auto c2 = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma);
  auto mine2 = c2.get_thread_slice(threadIdx.x);
  copy(COPY2, mine2.partition_S(make_tensor(t.data(), Turned{})), mine2.retile_D(fragment));
}
void go(half_t* p) { k<<<1, 128>>>(p); }
"""
NOW = {
    "COPY2": "c2",
    "COPY": "c",
    "TILE": "Tile<_64,_16,_16>",
    "PLAIN": "layout_b",
    "OFFSET": "offset",
}
BEFORE = {
    "COPY2": "mine2", "COPY": "mine", "TILE": "Layout<Shape<_1,_2,_1>>", "PLAIN": "layout_fn",
    "OFFSET": "offset_fn",
}  # fmt: skip


@pytest.mark.parametrize("names", [NOW, BEFORE])
def test_names_up_to_cutlass_3_1(names: dict[str, str]):
    """A thread's slice was a copy atom then; a swizzled row of 128 bytes is free of conflicts."""
    text = OLD_NAMES
    for name, spelled in names.items():
        text = text.replace(name, spelled)
    assert figures(text) == [("async_copy", 16, 16, 4.0), ("ldmatrix", 16, 64, 4.0)]


SCALES = """
template <class L, class Atom, class Threads, class Tiles>
CUTE_DEVICE auto rows_of(L const& l, TiledMMA<Atom, Threads, Tiles>& mma) {
  auto atoms = zipped_divide(logical_divide(l, make_tile(get<0>(Tiles{}), _1{})),
                             make_tile(make_layout(size<0>(typename Atom::Shape_MNK{})), make_layout(_1{})));
  auto rows = atoms.compose(Layout<Shape<Shape<_2,_2,_8>,_1>, Stride<Stride<_8,_0,_1>,_16>>{}, _);
  auto threads = zipped_divide(rows, make_tile(_, make_tile(make_layout(size<0>(Threads{})), make_layout(_1{}))));
  auto v = mma.get_thr_layout_vmnk();
  auto warps = make_layout(make_shape(size<1>(v), size<2>(v)), make_stride(Int<1>{}, Int<0>{}));
  return threads.compose(make_tile(_, make_tile(warps, _)), _).compose(right_inverse(v), _);
}
using Stated = Layout<Shape<Shape<_4,_8,_2,_2>, Shape<_2>>, Stride<Stride<_0,_1,_16,_0>, Stride<_8,_0>>>;
__global__ void k(float* o) {
  __shared__ float s[1024];
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2,_1>>{}, Tile<_32,_32,_16>{});
  auto c = make_tiled_copy_impl(Copy_Atom<UniversalCopy<float>, float>{}, TV, Shape<_32,_1>{});
  auto t = c.get_slice(threadIdx.x).partition_S(make_tensor(make_smem_ptr(s), Layout<Shape<_64,_1>, Stride<_8,_1>>{}));
  auto r = make_fragment_like(t);
  copy(c, t, r);
  o[threadIdx.x] = r(0) + r(1) + r(size(r) - 1);
}
void go(float* o) { k<<<1, 128>>>(o); }
"""


@pytest.mark.parametrize(
    ("tv", "instructions", "wavefronts"),
    [("rows_of(Layout<Shape<_32,_1>>{}, mma)", 8, 4), ("Stated{}", 16, 2)],
)
def test_layouts_of_scales_are_made_of_an_mma_or_stated(tv, instructions, wavefronts):
    """`rows_of` is ((2,2,8,2,2),1):((8,0,1,16,0),0) by CUTLASS 4.7's headers; 16 and 8 rows a warp.

    A stride without an extent is of no consequence: both forms of `Stated` partition alike there.
    """
    assert figures(SCALES.replace("TV", tv)) == [("load", 4, instructions, wavefronts)]
