"""Which atomics on global memory loads of shared memory are fused past: SASS of nvcc 13.0.88, sm_90.

Each kernel was compiled with an atomic in front of each of eight unrolled loads `h[8 * t + j]`.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """\
#include <cuda_fp16.h>
__global__ void k(float *o, %s *q) {
  __shared__ float h[1024];
  int t = threadIdx.x;
  h[t] = o[t];
  __syncthreads();
  #pragma unroll
  for (int j = 0; j < 8; ++j) { %s; o[8 * t + j] = h[8 * t + j]; }
}
void run(float *o, %s *q) { k<<<1, 128>>>(o, q); }
"""


@pytest.mark.parametrize(
    ("type", "statement", "width"),
    [
        ("float4", "atomicAdd(q + j, float4())", 16),
        ("double", "atomicAdd(q + j, 1.0)", 16),
        ("int", "atomicCAS(q + j, 1, 2)", 16),
        ("half", "atomicAdd(q + j, half())", 4),
        ("half2", "atomicAdd(q + j, half2())", 4),
        ("__nv_bfloat16", "atomicAdd(q + j, __nv_bfloat16())", 4),
        ("unsigned short", "atomicCAS(q + j, 1, 2)", 4),
        ("int", "__threadfence()", 4),
        ("int", "__syncwarp()", 4),
    ],
)
def test_what_loads_are_fused_past(type, statement, width):
    found = accesses_of(KERNEL % (type, statement, type))
    (load,) = (access for access in found if access.kind is AccessKind.LOAD)
    assert {p.width for p in load.patterns if p.count} == {width}
