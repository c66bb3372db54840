"""Four loads whose indexes are masked behind a small constant, against SASS of nvcc 13.0.88, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(float *g, int n) {
  __shared__ float s[512];
  float v = 1;
  for (int i = threadIdx.x; i < 512; i += 128) s[i] = g[i];
  __syncthreads();
  #pragma unroll
  for (int j = 0; j < 4; ++j) v *= s[%s];
  g[threadIdx.x] = v;
}
void run(float *g) { k<<<1, 128>>>(g, 1); }
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("((threadIdx.x * 4 + j) & 508) + j", (16, 4, Certainty.ASSUMED)),
        ("((threadIdx.x * 4) & 511) + j", (16, 4, Certainty.ASSUMED)),
        ("((int)threadIdx.x * 4 + j) %% 512", (4, 16, Certainty.ASSUMED)),
        ("(threadIdx.x * 2 + j) & 511", (8, 12, Certainty.ASSUMED)),  # LDS.64 and two LDS
        ("(threadIdx.x * 4 + j) & 511", (16, 8, Certainty.ASSUMED)),  # three are one LDS.128
        ("(threadIdx.x * 4 + j) %% 512", (16, 8, Certainty.ASSUMED)),  # three are one LDS.128
        ("(threadIdx.x * 12 + j) & 511", (4, 16, Certainty.ASSUMED)),  # four LDS
        ("((threadIdx.x + 1) * 4 + j) & 511", (4, 16, Certainty.ASSUMED)),  # four LDS
        ("((threadIdx.x >> 1) * 4 + j) & 511", (4, 16, Certainty.SAMPLED)),  # one LDS.128
    ],
)
def test_a_mask_over_a_constant_below_it(index, expected):
    found = accesses_of(KERNEL % index.replace("%%", "%"))
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert (load.width_bytes, load.instructions, load.certainty) == expected


def test_a_mask_of_bits_that_are_known():
    kernel = KERNEL.replace("j < 4", "j < 2")  # one LDS.64
    found = accesses_of(kernel % "(2 * (threadIdx.x & 31) + j) & 127")
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert (load.width_bytes, load.certainty) == (8, Certainty.ASSUMED)
