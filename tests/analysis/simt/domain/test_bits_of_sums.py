"""What is aligned down and set in bits of unknowns, by the SASS of nvcc 13.0.88 (sm_90, -O3)."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(float *g, int d) {
  __shared__ float s[8192];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  float v = 0;
  for (int j = 0; j < 4; ++j) v += s[%s + 4 * t + j] * (j + 1);
  g[t] = v;
}
void run(float *g, int d) { k<<<1, 128>>>(g, d); }
"""


@pytest.mark.parametrize(
    "start", ["(d & ~3)", "((d + 3) & ~3)", "((d & ~3) | 4)", "((d & ~3) ^ 4)", "(d & 60)"]
)
def test_neighbours_behind_an_aligned_unknown_are_one_load(start):
    (load,) = (a for a in accesses_of(KERNEL % start) if a.kind is AccessKind.LOAD)
    assert (load.width_bytes, load.instructions) == (16, 4)
    assert (load.wavefronts.mean, load.certainty) == (4, Certainty.ASSUMED)


@pytest.mark.parametrize("start", ["(d & ~2)", "((d + 2) & ~1)", "(d | 4)"])
def test_four_behind_an_unknown_that_is_not_aligned_are_not(start):
    (load,) = (a for a in accesses_of(KERNEL % start) if a.kind is AccessKind.LOAD)
    assert load.width_bytes < 16
