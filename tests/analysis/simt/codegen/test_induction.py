"""Loops that `#pragma unroll 1` keeps: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(256) k(const float *in, float *out, int n) {
  __shared__ ALIGN float s[8192];
  int t = threadIdx.x;
  for (int i = t; i < 8192; i += 256) s[i] = in[i];
  __syncthreads();
  float x = 0;
  const float *p = s + 16 * t;
#pragma unroll 1
  for (int k = 0; k < n; k++) { BODY }
  out[t] = x;
}
"""


def loads(body, align=""):
    """Returns width, number in each warp, and certainty of the loads of the loop."""
    found = accesses_of(KERNEL.replace("BODY", body).replace("ALIGN", align))
    own = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    return {(a.width_bytes, a.certainty) for a in own}, sum(a.instructions for a in own) // 8


def product(offsets, place="s[16 * t + 32 * k + {}]"):
    return "x = x * " + " * ".join(f"({place.format(o)} + {o})" for o in offsets) + ";"


@pytest.mark.parametrize(("count", "width"), [(2, 4), (4, 8), (6, 4), (8, 16), (12, 8), (16, 16)])
def test_a_pointer_into_the_middle_of_neighbours_is_as_aligned_as_the_middle(count, width):
    expected = {(width, Certainty.ASSUMED)}, count * 4 // width
    assert loads(product(range(count))) == expected
    assert loads(product(reversed(range(count)))) == expected


@pytest.mark.parametrize("offsets", [(0, 1, 2), (1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5)])
def test_which_other_offset_the_pointer_has_is_open(offsets):
    assert {certainty for _, certainty in loads(product(offsets))[0]} == {Certainty.SAMPLED}


def test_addresses_that_need_no_such_pointer_stay_as_aligned_as_they_are():
    four = {(16, Certainty.ASSUMED)}, 1
    assert loads(product(range(4), "s[32 * k + {}]")) == four
    assert loads(product(range(4)), "__align__(16)") == four
    assert loads(product(range(4), "p[{}]") + " p += 32;") == four
