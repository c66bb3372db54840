"""Loops of which threads run different numbers of iterations."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *g) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  float x = 0;
#pragma unroll 1
  for (HEAD) x += s[64 * t + k];
  g[t] = x;
}
void f(float *g) { k<<<1, 64>>>(g); }
"""


@pytest.mark.parametrize(
    ("head", "ks"),
    [
        ("int k = t; k < 64; ++k", lambda t: range(t, 64)),
        ("int k = t / 32 * 20; k < 64; k += 2", lambda t: range(t // 32 * 20, 64, 2)),
        ("int k = 0; k < t; ++k", lambda t: range(t)),
        ("int k = t; k > 0; k--", lambda t: range(t, 0, -1)),
        ("int k = 0; k < 64; ++k", lambda t: range(64)),
    ],
)
def test_threads_that_left_the_loop_access_nothing(head, ks):
    (load,) = (a for a in accesses_of(KERNEL.replace("HEAD", head)) if a.kind is AccessKind.LOAD)
    longest = [max(len(ks(t)) for t in range(w, w + 32)) for w in (0, 32)]
    assert load.instructions == sum(longest)
    first, last = (end(64 * t + k for t in range(64) for k in ks(t)) for end in (min, max))
    reached = [p.addresses[p.active] - load.array.base for p in load.patterns if p.active.any()]
    assert (min(map(min, reached)), max(map(max, reached))) == (4 * first, 4 * last)
