"""Loads of loops that run time ends: whether nvcc 13.0.88 (sm_90, -O3) fuses iterations is open.

The SASS of each kernel has, beside the loads of single iterations: LDS.64 for pitches of 24, 32
and 34 floats, none for 33 and none under a condition.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty
from smemlint.reasons import ReasonCode

KERNEL = """\
__global__ void k(float *o, int n) {
  __shared__ float h[128][%d];
  int t = threadIdx.x;
  h[t][t & 15] = o[t];
  __syncthreads();
  float s = 0;
  %s
  for (int k = 0; k < n; ++k) { %s }
  o[t] = s;
}
void run(float *o, int n) { k<<<1, 128>>>(o, n); }
"""


def load(pitch: int, body: str = "s += h[t][k];", pragma: str = ""):
    found = accesses_of(KERNEL % (pitch, pragma, body))
    (access,) = (access for access in found if access.kind is AccessKind.LOAD)
    return access


@pytest.mark.parametrize(("pitch", "wavefronts"), [(24, 8), (32, 32), (34, 2)])
def test_a_figure_that_fusion_may_change_is_a_sample(pitch, wavefronts):
    access = load(pitch)
    assert (access.certainty, access.wavefronts.max) == (Certainty.SAMPLED, wavefronts)
    assert access.reason is not None and access.reason.code is ReasonCode.COMPILER


@pytest.mark.parametrize(
    ("pitch", "body", "pragma", "wavefronts"),
    [
        (33, "s += h[t][k];", "", 1),
        (32, "if (s > k) s += h[t][k];", "", 32),
        (32, "s += h[t][2 * k];", "", 32),
        (32, "s += h[t][k];", "#pragma unroll 1", 32),
        (32, "s += h[t][k]; __syncthreads();", "", 32),
        (24, "s += h[k][t];", "", 1),
    ],
)
def test_others_are_what_one_iteration_shows(pitch, body, pragma, wavefronts):
    access = load(pitch, body, pragma)
    assert (access.certainty, access.wavefronts.max) == (Certainty.ASSUMED, wavefronts)
