"""Functions that call themselves: followed as deep as constants lead them."""

from __future__ import annotations

import pytest
from conftest import facts_of, ways_of

KERNEL = """
__host__ __device__ constexpr int halved(int n, int times) {
  return times == 0 ? n : halved(n / 2, times - 1);
}
__global__ void k(float *o, int m) {
  __shared__ float s[1024];
  s[threadIdx.x * %s] = o[0];
}
void go(float *o, int m) { k<<<1, 32>>>(o, m); }
"""


@pytest.mark.parametrize(("stride", "ways"), [("halved(1 << 22, 20)", 4.0), ("halved(64, 3)", 8.0)])
def test_constants_are_followed_far(stride: str, ways: float) -> None:
    text = KERNEL % stride
    assert [found[2] for found in ways_of(text) if found[1] == "store"] == [ways]


def test_what_is_not_constant_ends() -> None:
    (kernel,) = facts_of(KERNEL % "halved(m, m)").kernels
    assert [note.reason.code for note in kernel.not_analysed] == ["too-large"]


QUALIFIED = """
%s
namespace image {
template <class U> __device__ U least(U a, U b) {
  if constexpr (sizeof(U) == 8) return ::llmin(a, b); else return ::min(a, b);
}
template <class T> __device__ T min(T a, T b) { return least(a, b); }
}
__global__ void k(int *o) {
  __shared__ int s[128];
  s[image::min((int)threadIdx.x * 2, 40)] = o[0];
}
void f(int *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("outer", "ways"),
    [("", 2.0), ("__device__ int min(int a, int b) { return a < b ? 2 * a : b; }", 3.0)],
)
def test_a_name_behind_two_colons_is_no_function_of_a_namespace(outer: str, ways: float) -> None:
    """CV-CUDA's `min` called `::min`, and so itself. `min(2t, 40)` is 21 words, two in each of five banks."""
    assert [found[2] for found in ways_of(QUALIFIED % outer)] == [ways]
