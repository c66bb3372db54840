"""Loops whose inner loop runs as often as their counter says: nvcc unrolls them up to four times.

nvcc 13.0.88, sm_90, -O3: LDS.64 and STS.64 for four iterations of the outer loop, LDS and STS alone
for five and eight, where the inner loop stays one whose variable is known only at run time.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

SORT = """
__global__ void k(float *p) {
  __shared__ float s[256];
  s[threadIdx.x] = p[threadIdx.x];
  s[threadIdx.x + 128] = p[threadIdx.x + 128];
  __syncthreads();
  for (int major = 1; major < %d; major++)
    for (int minor = major; minor > 0; minor--) {
      int block = threadIdx.x >> (minor - 1), thread = threadIdx.x & ((1 << minor - 1) - 1);
      int a = (block << minor) + thread, b = a + (1 << minor - 1);
      float x = s[a], y = s[b];
      s[a] = fminf(x, y);
      s[b] = fmaxf(x, y);
      __syncthreads();
    }
  p[threadIdx.x] = s[threadIdx.x];
}
void go(float *p) { k<<<1, 128>>>(p); }
"""


@pytest.mark.parametrize(("iterations", "is_fused"), [(4, True), (5, False), (8, False)])
def test_neighbours_fuse_where_the_nest_is_unrolled(iterations, is_fused):
    (kernel,) = facts_of(SORT % (iterations + 1)).kernels
    exchanged = [a for a in kernel.accesses if a.span.line in (11, 12, 13)]
    assert (8 in {a.width_bytes for a in exchanged}) is is_fused


def test_the_exchanges_of_a_bitonic_sort_cost_what_the_machine_code_does():
    (kernel,) = facts_of(SORT % 9).kernels
    exchanged = [a for a in kernel.accesses if a.span.line in (11, 12, 13)]
    # 36 exchanges, 30 of them at distances below 32, where two lanes meet
    assert len(exchanged) == 4
    assert all(a.wavefronts.mean == pytest.approx(66 / 36) for a in exchanged)


def test_a_nest_that_halves_is_unrolled_whole():
    text = """
__global__ void k(float *p) {
  __shared__ float s[256];
  for (int size = 2; size <= 128; size <<= 1)
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      int a = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      float x = s[a], y = s[a + stride];
      s[a] = fminf(x, y);
      s[a + stride] = fmaxf(x, y);
    }
}
void go(float *p) { k<<<1, 128>>>(p); }
"""
    (kernel,) = facts_of(text).kernels
    assert 8 in {a.width_bytes for a in kernel.accesses}
