"""Class templates of a user's own around CuTe's types; strides of a store tell what they give."""

from __future__ import annotations

import pytest
from conftest import facts_of

TEMPLATES = """#include <cute/tensor.hpp>
using namespace cute;
using Nibble = cutlass::float_e2m1_t;
template <class T> struct Wrapped {};
template <class T> struct Operand { using type = T; };
template <class T> struct Operand<Wrapped<T>> { using type = T; };
struct Rows {};
template <class T> struct IsPair { static constexpr int value = 2; };
template <class A, class B> struct IsPair<cute::tuple<A, B>> { static constexpr int value = 4; };
template <int N> struct Choice {
  static constexpr int M = N;
  using Small = conditional_t<(M < 3), _4, _2>;
  template <class A, int B> using Both = decltype(make_shape(A{}, Small{}, Int<B>{}));
  template <class A> using Capped = Shape<A, Int<(M < 8 ? M : 8)>>;
  using Product = Both<_2, 4>;
  using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_1, _4, _1>>{},
                                      Tile<Int<(M < 128 ? M : 128)>, _4, _1>{}));
  static __device__ int inner() { return size(Capped<_2>{}); }
};
struct Loader {
  template <class S> static __device__ void fill(S s) { s[2 * threadIdx.x] = 1; }
};
using Alias = Loader;
template <class T> __device__ void through(float* s) { T::fill(s); }
__global__ void k() {
  extern __shared__ float s[];
  STATEMENT;
}
int main() { k<<<1, 32>>>(); }
"""


def stored(expression: str) -> float | None:
    """Returns the ways of a store with an expression as its stride."""
    statement = expression if ";" in expression else f"s[threadIdx.x * ({expression})] = 1"
    (kernel,) = facts_of(TEMPLATES.replace("STATEMENT", statement.rstrip(";"))).kernels
    (access,) = kernel.accesses
    return access.ways


@pytest.mark.parametrize(
    ("expression", "stride"),
    [
        ("sizeof_bits_v<Nibble>", 4),
        ("sizeof_bits_v<typename Operand<Wrapped<Nibble>>::type>", 4),
        ("IsPair<Rows>::value", 2),
        ("IsPair<cute::tuple<Rows*, Shape<_2>*>>::value", 4),
        ("size(typename Choice<2>::Product{})", 32),
        ("size(typename Choice<4>::Product{})", 16),
        ("size(typename Choice<2>::Capped<_2>{})", 4),
        ("Choice<2>::inner()", 4),
        ("Choice<16>::inner()", 16),
        ("tile_size<0>(typename Choice<2>::Mma{})", 2),
    ],
)
def test_what_templates_around_types_of_cute_give(expression: str, stride: int):
    assert stored(expression) == stride


@pytest.mark.parametrize("call", ["Loader::fill(s);", "Alias::fill(s);", "through<Alias>(s);"])
def test_a_method_of_a_class_is_no_function_of_cute(call: str):
    assert stored(call) == 2.0


def test_instructions_of_one_place_that_move_four_matrices_or_two_have_figures_of_their_own():
    text = """#include <cute/tensor.hpp>
    using namespace cute;
    template <class Op, class N> __device__ void load(half_t* smem) {
      Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
      auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_1, _1, _1>>{},
                                Tile<_16, N, _16>{});
      auto copies = make_tiled_copy_B(Copy_Atom<Op, half_t>{}, mma);
      auto mine = copies.get_slice(threadIdx.x);
      Tensor r = mma.get_slice(threadIdx.x).partition_fragment_B(s);
      copy(copies, mine.partition_S(s), mine.retile_D(r));
    }
    __global__ void k() {
      extern __shared__ half_t smem[];
      load<SM75_U32x4_LDSM_N, _16>(smem);
      load<SM75_U32x2_LDSM_N, _8>(smem);
    }
    int main() { k<<<1, 32>>>(); }
    """
    (kernel,) = facts_of(text).kernels
    # Rows of 128 bytes: eight rows of a matrix share their four banks.
    assert {
        (a.matrices, a.instructions, a.wavefronts.max, a.ideal.max) for a in kernel.accesses
    } == {
        (4, 4, 32, 4),
        (2, 8, 16, 2),
    }


def test_a_copy_of_any_types_hands_tensors_to_cute() -> None:
    source = """#include <cute/tensor.hpp>
    using namespace cute;
    namespace own {
    template <class A, class B> __device__ void copy(const A& a, B& b) { copy(a, b); }
    }
    __global__ void k() {
      __shared__ float raw[32 * 32];
      auto s = make_tensor(make_smem_ptr(raw), Layout<Shape<_32, _32>>{});
      auto row = local_partition(s, Layout<Shape<_1, _32>>{}, threadIdx.x);
      auto r = make_tensor<float>(shape(row));
      own::copy(row, r);
    }
    int main() { k<<<1, 32>>>(); }
    """
    (kernel,) = facts_of(source).kernels
    (access,) = kernel.accesses
    assert (access.width_bytes, access.instructions, access.ways) == (16, 8, 8)  # SASS: 8 LDS.128
