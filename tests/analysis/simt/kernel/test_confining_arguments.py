"""Arguments that all launches pass confine the threads that take part."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = out[t];
  __syncthreads();
  BODY
}
void f(float *o, int m) { LAUNCHES }
"""
BRANCH = "if (t < n) out[t] = s[2 * t];"
LOOP = "for (int i = t; i < n; i += 64) out[i] = s[2 * i];"


@pytest.mark.parametrize(
    ("body", "launches", "expected"),
    [
        (BRANCH, "k<<<1, 64>>>(o, 8); k<<<1, 64>>>(o, 12);", [1]),
        (LOOP, "k<<<1, 64>>>(o, 8); k<<<1, 64>>>(o, 12);", [1]),
        (LOOP, "switch (m) { case 4: k<<<1, 64>>>(o, m); break; case 6: k<<<1, 64>>>(o, m); }", [1]),
        (BRANCH, "k<<<1, 64>>>(o, 8); k<<<1, 64>>>(o, 24);", [1, 2]),
        (BRANCH, "k<<<1, 64>>>(o, 8); k<<<1, 64>>>(o, m);", [2]),
        (BRANCH, "k<<<1, 64>>>(o, m);", [2]),
        (BRANCH, "k<<<1, 64>>>(o, 64);", [2]),
    ],
)  # fmt: skip
def test_few_threads_do_not_conflict(body, launches, expected):
    found = accesses_of(KERNEL.replace("BODY", body).replace("LAUNCHES", launches))
    assert [a.wavefronts.mean for a in found if a.kind is AccessKind.LOAD] == expected
