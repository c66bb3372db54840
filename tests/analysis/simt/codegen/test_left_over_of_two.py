"""One iteration left over of a loop that is unrolled by two: SASS of nvcc 13.5.37, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(float *o, const float *g, int n) {{
  __shared__ float s[256 * {count}];
  int t = threadIdx.x;
  for (int x = 0; x < {count}; x++) s[x * 256 + t] = 0;
  __syncthreads();
  for (int j = 0; j < n; j++)
    for (int i = 0; i < {count}; i++)
      s[{count} * t + i] += g[{count} * j + i];
  __syncthreads();
  for (int x = 0; x < {count}; x++) o[x * 256 + t] = s[x * 256 + t];
}}
void f(float *o, const float *g, int n) {{ k<<<64, 256>>>(o, g, n); }}
"""


@pytest.mark.parametrize(
    ("count", "is_open"),
    [
        (4, False),  # of four: LDS.128 in front of the loop and of what is left over
        (6, True),  # three LDS.64, and six LDS in what is left over
        (7, False),  # LDS everywhere
        (8, True),
        (10, True),
        (16, False),  # the loop is left alone
    ],
)
def test_neighbours_are_open_where_one_iteration_is_left_over(count, is_open):
    found = [a for a in accesses_of(KERNEL.format(count=count)) if a.span.line == 9]
    assert {a.kind for a in found} == {AccessKind.LOAD, AccessKind.STORE}
    assert {a.certainty is Certainty.SAMPLED for a in found} == {is_open}


def test_tiles_that_each_iteration_fills_are_not_open():
    source = """
    __global__ void k(double *o, const double *g, int n) {
      __shared__ double a[16][16], b[16][16];
      int tx = threadIdx.x, ty = threadIdx.y;
      double sum = 0;
      for (int m = 0; m < n / 16; m++) {
        a[ty][tx] = g[ty * n + m * 16 + tx];
        b[ty][tx] = g[(m * 16 + ty) * n + tx];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; k++) sum += a[ty][k] * b[k][tx];
        __syncthreads();
      }
      o[ty * n + tx] = sum;
    }
    void f(double *o, const double *g, int n) { k<<<64, dim3(16, 16)>>>(o, g, n); }
    """
    assert all(a.certainty is not Certainty.SAMPLED for a in accesses_of(source))
