"""Neighbours behind a number that some threads have changed: SASS of nvcc 13.5 (sm_90, -O3)."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """\
__global__ void k(int *g, int m) {
  __shared__ __align__(16) int s[4096];
  int v = g[threadIdx.x], w = g[threadIdx.x + 512];
  BEFORE;
  if (threadIdx.x < 20) { CHANGE; AT[0] = v; AT[1] = w; AT[2] = v; AT[3] = w; }
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x];
}
void run(int *g, int m) { k<<<1, 256>>>(g, m); }
"""


@pytest.mark.parametrize(
    ("before", "change", "at", "widths"),
    [
        ("int *p = s + 4 * threadIdx.x", "p += 64", "p", [16]),
        ("int *p = s + 4 * threadIdx.x", "p = p + 62", "p", [8, 8]),
        ("int *p = s + 4 * threadIdx.x", "p += 63", "p", [4, 8, 4]),
        ("int i = 4 * threadIdx.x", "i += 64", "(s + i)", [16]),
        ("int i = 4 * threadIdx.x", "i += 2", "(s + i)", [8, 8]),
        ("int i = 4 * threadIdx.x; if (threadIdx.x > 9) i += 32", "i += 64", "(s + i)", [16]),
        ("int i = threadIdx.x", "i = 4 * threadIdx.x", "(s + i)", [16]),
        ("int i = threadIdx.x", "i *= 4", "(s + i)", [16]),
    ],
)
def test_a_branch_computes_with_what_it_assigned(before, change, at, widths):
    text = KERNEL.replace("BEFORE", before).replace("CHANGE", change).replace("AT", at)
    stores = [a for a in accesses_of(text) if a.kind is AccessKind.STORE and a.instructions]
    assert [a.width_bytes for a in stores] == widths
