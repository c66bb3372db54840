"""Loads at addresses that are numbers, of an array that begins at no multiple of their width."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(int *g) {
  __shared__ int a;
  __shared__ int w[10];
  int t = threadIdx.x, v = 0;
  if (t == 0) a = g[0];
  if (t % 32 == 0) w[1 + t / 32] = g[t];
  __syncthreads();
#pragma unroll
  for (int i = 1; i < 8; ++i) v += w[1 + i];
  g[t] = v + a;
}
void f(int *g) { k<<<1, 256>>>(g); }
"""


def test_each_has_a_figure_wherever_the_array_lies() -> None:
    """LDS, LDS.128, LDS.64 of w and LDS of a (nvcc 13.5.37): two wavefronts of a LDS.128."""
    loads = [a for a in accesses_of(KERNEL) if a.kind is AccessKind.LOAD]
    assert [a.instructions for a in loads] == [3 * 8, 8]
    assert [a.wavefronts.mean if a.wavefronts else None for a in loads] == [pytest.approx(4 / 3), 1]
