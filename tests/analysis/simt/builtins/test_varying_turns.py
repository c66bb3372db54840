"""Wide atomics that are loops: the turns of warps that meet on a word are a matter of timing.

An H100 counted 303,078 wavefronts for an ideal of 282,440 (nvcc 13.0, sm_90) where four warps add
doubles to one word; a warp alone spends 4 of 4 for each turn (fixtures/gpu/atomics.json).
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(%s *o) {
  __shared__ %s s[64];
  s[threadIdx.x %% 64] = 0;
  __syncthreads();
  atomicAdd(&s[%s], o[threadIdx.x]);
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x %% 64];
}
void go(%s *o) { k<<<1, 128>>>(o); }
"""


@pytest.mark.parametrize(
    ("kind", "index", "certainty"),
    [
        ("double", "0", Certainty.SAMPLED),
        ("double", "threadIdx.x / 32", Certainty.ASSUMED),
        ("double", "threadIdx.x % 32", Certainty.ASSUMED),
        ("float", "0", Certainty.ASSUMED),
    ],
)
def test_warps_that_meet_on_a_word_of_eight_bytes_are_sampled(kind, index, certainty):
    found = accesses_of(KERNEL % (kind, kind, index, kind))
    (atomic,) = (a for a in found if a.kind is AccessKind.ATOMIC)
    assert atomic.certainty is certainty
