"""How far LLVM sees that a remainder of an int is aligned: SASS of nvcc 13.5.37, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(float *g) {
  extern __shared__ float s[];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, t = x + y * 32 + z * 64;
  int row = z * 64 + x / 4, col = y * 64 + x % 4 * 2;
  float *d = s + SUM;
  d[0] = g[t]; d[1] = g[t + 99];
  __syncthreads();
  g[t] = s[t * 3];
}
void f(float *g) { k<<<1, dim3(32, 2, 2), 65536>>>(g); }
"""


@pytest.mark.parametrize(
    ("terms", "width"),
    [
        ("col % 16", 8),
        ("row / 16 * 2048 + col % 16", 8),
        ("col % 16 + row / 16 * 2048", 8),
        ("row % 16 * 16 + col % 16", 8),
        ("row / 16 * 2048 + col / 16 * 256 + col % 16", 4),
        ("z * 512 + x / 8 * 64 + col % 16", 4),
        ("row / 16 * 2048 + col / 16 * 256 + row % 16 * 16 + col % 16", 4),
        ("row / 16 * 2048 + col / 16 * 256 + row % 16 * 16 + x % 4 * 2", 8),
    ],
)
def test_it_looks_no_deeper_than_into_a_sum_of_two(terms: str, width: int) -> None:
    found = accesses_of(KERNEL.replace("SUM", terms))
    stores = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    assert {(a.width_bytes, a.certainty) for a in stores} == {(width, Certainty.ASSUMED)}
    assert sum(a.instructions for a in stores) == 4 * 8 // width
