"""`s[2 * t + (i & 1)]`: in iterations that the compiler puts together, `i & 1` is a constant.

SASS of nvcc 13.0.88, -O3, sm_90, of the loads in a loop that `n` ends: LDS 30, LDS.64 14 of
`2 * t`, LDS 58 of `2 * t + 1`; in eight iterations 8 and 4.
"""

from __future__ import annotations

from conftest import accesses_of

from smemlint.facts import Certainty

ODD_EVEN = """
__global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  for (int i = 0; i < %s; i++) {
    float x = s[%s + (i & 1)], y = s[%s + (i & 1) + 1];
    __syncthreads();
    g[t + 128 * i] = x * y;
  }
}
void f(float *g, int n) { k<<<1, 128>>>(g, n); }
"""


def costs(trips, start):
    """Returns how sure the two loads are, and the wavefronts of each."""
    found = accesses_of(ODD_EVEN % (trips, start, start))
    return [(a.certainty, a.wavefronts.mean) for a in found]


def test_every_other_iteration_may_be_wide():
    assert costs("n", "2 * t") == [(Certainty.SAMPLED, 2)] * 2


def test_an_odd_start_is_never_wide():
    assert costs("n", "2 * t + 1") == [(Certainty.ASSUMED, 2)] * 2


def test_iterations_whose_number_is_known_are_told_apart():
    found = [a for a in accesses_of(ODD_EVEN % ("8", "2 * t", "2 * t")) if a.instructions]
    assert {a.certainty for a in found} == {Certainty.ASSUMED}
    assert sum(a.instructions for a in found) == 4 * (4 + 8)
    assert sum(a.wavefronts.mean * a.instructions for a in found) == 4 * (4 * 2 + 8 * 2)


def test_neighbours_that_no_iteration_aligns_stay_apart():
    """`3 * t` is even and odd in turn: no instruction can be wide."""
    assert costs("n", "3 * t") == [(Certainty.ASSUMED, 1)] * 2
