"""Cases that fall through: each access stands once in SASS (nvcc 13.0, sm_90), whatever enters."""

from __future__ import annotations

import pytest
from conftest import accesses_of

SOURCE = """
__global__ void k(float *o, int n) {
  __shared__ float4 v[64];
  float *s = (float *)v;
  int t = threadIdx.x;
  switch (%s) {
  case 3: s[4 * t + 3] = 1; [[fallthrough]];
  case 2: s[4 * t + 2] = 2;
  case 1: s[4 * t + 1] = 3; %s
  default: s[4 * t] = 4;
  }
}
void f(float *o, int n) { k<<<1, 64>>>(o, n); }
"""


@pytest.mark.parametrize("subject", ["n", "n & 3", "t & 3"])
@pytest.mark.parametrize("leave", ["", "break;"])
def test_what_several_cases_come_to_is_issued_once_and_is_no_part_of_a_vector(
    subject, leave
) -> None:
    found = accesses_of(SOURCE % (subject, leave))
    assert [(a.span.line, a.width_bytes, a.instructions) for a in found] == [
        (line, 4, 2) for line in (7, 8, 9, 10)
    ]
