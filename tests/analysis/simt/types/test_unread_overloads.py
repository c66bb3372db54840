"""Overloads for classes of a template that was not read: ways as the chosen definition has them."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
using namespace nvcuda;
namespace d {
template <class F> __device__ void each(
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::col_major> &, F f) {
  f(32 * threadIdx.x);
}
template <class F> __device__ void each(
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> &, F f) {
  f(threadIdx.x);
}
template <class F> __device__ void each(
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> &, F f) {
  f(2 * threadIdx.x);
}
template <int N, class F> __device__ void each(
    wmma::fragment<wmma::accumulator, N, 32 - N, 16, float> &, F f) {
  f(N * threadIdx.x);
}
}
template <class T, class F> __device__ void each(F f) {
  typename std::remove_reference<T>::type fragment;
  d::each(fragment, f);
}
__global__ void __launch_bounds__(32) k(float *p) {
  __shared__ float s[1024];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::col_major> a;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, nvcuda::wmma::col_major> b[2];
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 8, 24, 16, float> c;
  %s([&](unsigned i) { s[i] = p[i]; });
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x + p[0] * 32];
}
"""


@pytest.mark.parametrize(
    "call, ways",
    [
        ("auto f = [&](auto g) { d::each(a, g); }; f", 1),
        ("auto f = [&](auto g) { d::each(b[1], g); }; f", 2),
        ("auto f = [&](auto g) { d::each(c, g); }; f", 8),
        ("each<decltype(a)>", 1),
        ("each<decltype(b[0])>", 2),
    ],
)
def test_an_overload_is_of_the_class_template_that_its_operand_has(call: str, ways: int) -> None:
    assert {a.ways for a in accesses_of(KERNEL % call) if a.kind == "store"} == {ways}
