"""Template arguments of classes that declarations leave out."""

from __future__ import annotations

import pytest
from conftest import ways_of

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class T, int N> struct Strided {
  T *base;
  __device__ Strided(T *p, Int<N>) : base(p) {}
  __device__ T &at(int i) { return base[i * N]; }
};
template <class T, class L = int> struct Pair { T *base; L step; __device__ T &at(int i) { return base[i * step]; } };
template <class T, class L> Pair(T *, L) -> Pair<T, L>;
template <class T, int N> struct Rows {
  T *base;
  __device__ Rows(T (&a)[32][N]) : base(&a[0][0]) {}
  __device__ T &at(int i) { return base[i * N]; }
};
__global__ void k(float *out) {
  __shared__ float s[2048];
  __shared__ float rows[32][4];
  BODY
}
void go(float *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("Strided v(s, Int<2>{}); v.at(threadIdx.x) = 1.f;", 2),
        ("Strided v{s, Int<8>{}}; v.at(threadIdx.x) = 1.f;", 8),
        ("auto v = Strided(s, Int<4>{}); v.at(threadIdx.x) = 1.f;", 4),
        ("Strided<float, 16> v(s, Int<16>{}); v.at(threadIdx.x) = 1.f;", 16),
        ("Pair v{s, 4}; v.at(threadIdx.x) = 1.f;", 4),
        ("Pair v{s, Int<2>{}}; v.at(threadIdx.x) = 1.f;", 2),
        ("Rows v(rows); v.at(threadIdx.x) = 1.f;", 4),
    ],
)
def test_arguments_follow_from_those_of_the_constructor(body, ways):
    ((_, kind, found),) = ways_of(KERNEL.replace("BODY", body))
    assert (kind, found) == ("store", ways)


def test_arguments_with_effects_are_evaluated_once():
    """Each of the two loads of the initializer is one access."""
    body = "int i = 0; Strided v(s + i++, Int<2>{}); v.at(threadIdx.x) = 1.f; out[i] = s[i + threadIdx.x * 2];"
    assert [ways for _, kind, ways in ways_of(KERNEL.replace("BODY", body)) if kind == "load"] == [
        2.0
    ]
