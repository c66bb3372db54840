"""Several stores at the end of both ways of a branch: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *o, const float *p, int n) {
  __shared__ float s[1024], q[1024];
  int t = threadIdx.x;
  float x = o[t], y = o[t + 128];
  __syncthreads();
  if (%s) { %s } else { %s }
}
void f(float *o) { k<<<1, 128>>>(o, o, 3); }
"""


@pytest.mark.parametrize(
    ("one", "other", "stores"),
    [
        ("s[4 * t] = 1; s[4 * t + 1] = 2;", "s[4 * t] = 3; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = x; s[4 * t + 1] = 2;", "s[4 * t] = y; s[4 * t + 1] = x;", [8]),
        ("s[4 * t] = p[t]; s[4 * t + 1] = 2;", "s[4 * t] = p[t + 7]; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = p[t]; s[4 * t + 1] = p[t];", "s[4 * t] = p[t + 7]; s[4 * t + 1] = p[t + 7];", [8]),
        ("s[4 * t] = p[t] * 2; s[4 * t + 1] = 2;", "s[4 * t] = p[t + 7] * 2; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = x * y; s[4 * t + 1] = 2;", "s[4 * t] = x + y; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = 1; s[4 * t + 1] = x * y;", "s[4 * t] = 3; s[4 * t + 1] = x + y;", [4, 4, 4]),
        ("s[4 * t] = p[t + 3]; s[4 * t + 1] = 2;", "s[4 * t] = 0; s[4 * t + 1] = 4;", [4, 4, 4]),
        ("s[4 * t] = 2; s[4 * t + 1] = p[t];", "s[4 * t] = 4; s[4 * t + 1] = 0;", [8, 8]),
        ("s[4 * t] = 1; q[2 * t] = 2;", "q[2 * t] = 3; s[4 * t] = 4;", [4, 4, 4, 4]),
        ("s[4 * t] = 1; s[4 * t + 1] = 2;", "s[4 * t + 1] = 4;", [4, 4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("condition", ["t & 1", "p[t] > 0"])
def test_the_last_stores_of_both_ways_are_one_as_far_as_nothing_is_between(
    condition, one, other, stores
):
    found = accesses_of(KERNEL % (condition, one, other))
    made = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    assert sorted(a.width_bytes for a in made for _ in range(a.instructions // 4)) == stores
