"""What stays in loops that convert halves: counted in SASS of nvcc 13.5.37, -O3, sm_90.

Conversions and operators of half are inline assembly, of which LLVM does not know that it ends.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
#include <cuda_fp16.h>
__global__ void k(float *o, const half *__restrict__ g, int n) {
  __shared__ half q[64][8];
  __shared__ half k[32][8];
  __shared__ float s[64][33];
  int t = threadIdx.x;
  for (int x = 0; x < 8; x++) q[t][x] = g[t * 8 + x];
  for (int x = 0; x < 4; x++) k[t / 2][t %% 2 * 4 + x] = g[t * 4 + x + n];
  __syncthreads();
  float m = 0;
  for (int y = 0; y < 32; y++) {
    %s
  }
  o[t] = m + s[t ^ 1][t %% 32];
}
void f(float *o, half *g, int n) { k<<<1, 64>>>(o, g, n); }
"""
PRODUCTS = """
    float a = 0;
    for (int x = 0; x < 8; x++)
      a += __half2float(%s) * __half2float(k[y][x]);
"""


def instructions(source, kind, line):
    """Returns how many instructions of a kind each warp executes for the line with this text."""
    number = next(i for i, text in enumerate(source.splitlines(), 1) if line in text)
    found = [a for a in accesses_of(source) if a.kind is kind and a.span.line == number]
    return sum(a.instructions for a in found) // 2


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (PRODUCTS % "q[t][x]" + "m += a;", 64 + 2),  # no store: ptxas moves the two LDS.64
        (PRODUCTS % "q[t][x]" + "m += a; o[y * 64 + t + 64] = a;", 64 + 2),
        (PRODUCTS % "q[t][x]" + "m += a; s[t][y] = a;", 64 + 2 * 16),
        ("s[t][y] = y * 2;" + PRODUCTS % "q[t][x]" + "m += a;", 64 + 2 * 16),
    ],
)
def test_loads_behind_assembly_stay_in_a_loop_that_stores(body, count):
    assert instructions(KERNEL % body, AccessKind.LOAD, "a += ") == count


def test_loads_in_front_of_assembly_are_made_in_front_of_the_loop():
    first = "half r[8];\n for (int x = 0; x < 8; x++)\n r[x] = q[t][x];"
    source = KERNEL % (first + PRODUCTS % "r[x]" + "m += a; s[t][y] = a;")
    assert instructions(source, AccessKind.LOAD, "r[x] = q") == 2


@pytest.mark.parametrize(("value", "count"), [("__half2float(g[y * 64 + t])", 32), ("n * y", 1)])
def test_stores_stay_in_a_loop_with_assembly(value, count):
    source = KERNEL.replace("for (int y", "#pragma unroll 1\nfor (int y") % f"s[t][2] += {value};"
    assert instructions(source, AccessKind.STORE, "s[t][2]") == count
