"""Overloads that differ in class templates, and recursion that ends by one; g++ 12 gives the sums.

Each overload stores with a stride of its own: the conflict says which one was taken.
"""

import pytest
from conftest import accesses_of
from strides import access_of

DEFINITIONS = """
struct row {};
struct col {};
template <class L> struct Tag {};
template <int N> struct Int {};
template <class A, class B> struct Pair {};
__device__ int of(Tag<row>) { return 1; }
__device__ int of(Tag<col>) { return 32; }
template <class T> __device__ int any(T) { return 2; }
template <class L> __device__ int any(Tag<L>) { return 4; }
__device__ int any(Tag<row>) { return 8; }
template <class A> __device__ int both(Pair<A, A>) { return 2; }
template <class A> __device__ int both(Pair<A, row>) { return 4; }
template <class A> __device__ int both(Pair<A, Tag<A>>) { return 8; }
template <class A, class B> __device__ int late(const Pair<A, B>&) { return 4; }
template <class T> __device__ int late(T) { return 16; }
template <int N> __device__ int number(Int<N>) { return N; }
template <int N> __device__ int sum(Int<N>) { return N + sum(Int<N - 1>()); }
__device__ int sum(Int<0>) { return 1; }
template <int N> __device__ int sum(std::integral_constant<int, N> n) {
  return N + sum(std::integral_constant<int, N - 1>{});
}
__device__ int sum(std::integral_constant<int, 0>) { return 2; }
__device__ int chosen(std::true_type) { return 4; }
__device__ int chosen(std::false_type) { return 8; }
template <class L> __device__ int named(float *p) { return of(Tag<L>()); }
"""


@pytest.mark.parametrize(
    ("call", "stride"),
    [
        ("of(Tag<col>{})", 32),
        ("of(Tag<row>())", 1),
        ("any(Int<1>())", 2),
        ("any(Tag<col>())", 4),
        ("any(Tag<row>())", 8),
        ("both(Pair<col, col>())", 2),
        ("both(Pair<col, row>())", 4),
        ("both(Pair<col, Tag<col>>())", 8),
        ("late(Pair<col, row>())", 4),
        ("late(3)", 16),
        ("late(g[0])", 16),
        ("number(Int<16>())", 16),
        ("sum(Int<5>())", 16),
        ("sum(std::integral_constant<int, 3>())", 8),
        ("chosen(std::false_type())", 8),
        ("chosen(std::bool_constant<2 == 2>{})", 4),
        ("named<col>(g)", 32),
    ],
)
def test_the_class_of_an_argument_chooses(call, stride):
    assert access_of(DEFINITIONS, call).ways == stride


POINTED = """
template <class A> __device__ int to(A, const double *) { return 2; }
template <class A> __device__ int to(A, half *const) { return 4; }
template <class T, class A> __device__ int to(A, T const *) { return 8; }
__device__ int named(int *) { return 2; }
__device__ int named(float *, int = 0) { return 4; }
__device__ int bytes(void *) { return 2; }
__device__ int bytes(int *) { return 4; }
"""


@pytest.mark.parametrize(
    ("call", "stride"),
    [
        ("to(1, (double *)0)", 2),
        ("to(1, (half *)0)", 4),
        ("to(1, (float *)0)", 8),
        ("to(1, (int4 *)0)", 8),
        ("named((float *)0)", 4),
        ("bytes((float *)0)", 2),
        ("bytes((int *)0)", 4),
    ],
)
def test_a_pointer_to_numbers_takes_no_other_numbers(call, stride):
    assert access_of(POINTED, call).ways == stride


@pytest.mark.parametrize("pointer", ["uint32_t *", "const uint32_t *", "float4 *", "int2 *"])
def test_what_points_to_a_vector_is_not_for_pointers_to_numbers_or_other_vectors(pointer) -> None:
    """The value of the second argument, and its type with it, is not known."""
    source = f"""
__device__ void put(const float2 *p, float2 v) {{ *(float2 *)p = v; }}
__device__ void put(const uint32_t *p, uint32_t v) {{ *(uint32_t *)p = v; }}
__device__ void put(const float4 *p, float4 v) {{ *(float4 *)p = v; }}
__device__ void put(const int2 *p, int2 v) {{ *(int2 *)p = v; }}
__global__ void k({pointer} in) {{
  __shared__ __align__(16) char s[1024];
  put(({pointer})s + threadIdx.x, unread(in + threadIdx.x));
}}
void f({pointer} in) {{ k<<<1, 32>>>(in); }}
"""
    (access,) = accesses_of(source)
    assert access.width_bytes == {"float4 *": 16, "int2 *": 8}.get(pointer, 4)
    assert access.span.line == {"float4 *": 4, "int2 *": 5}.get(pointer, 3)
