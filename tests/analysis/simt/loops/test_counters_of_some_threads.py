"""Counters that are declared in front of a branch that some threads take, and count in it.

LLVM sees a variable of its own in each way. SASS of nvcc 13.5.37, sm_90, -O3: LDS.128 each.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

SOURCE = """
__global__ void k(const float *x, int n, float *mean) {
  __shared__ float s[512];
  int t = threadIdx.x, i;
  s[t] = x[t];
  FIRST
  __syncthreads();
  if (THREADS) {
    mean[3] = 0;
    for (i = 0; i < 512; ++i) mean[3] += s[i];
  }
}
void f(float *p) { k<<<1, 512>>>(p, 1, p); }
"""


@pytest.mark.parametrize("first", ["", "for (i = 0; i < n; i += 512) mean[i] = 3;", "i = t;"])
@pytest.mark.parametrize(("threads", "warps"), [("t == 0", 1), ("t < 32", 1), ("t % 8 == 0", 16)])
def test_the_loop_is_unrolled_as_if_it_declared_its_counter(first, threads, warps):
    found = accesses_of(SOURCE.replace("FIRST", first).replace("THREADS", threads))
    loads = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    assert [(a.width_bytes, a.instructions) for a in loads] == [(16, 128 * warps)]
