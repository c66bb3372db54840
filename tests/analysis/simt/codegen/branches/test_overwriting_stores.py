"""Stores on a condition to what was just stored; machine code of nvcc 13.0.88 -O3 -arch=sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *o, const float *in, int n, int m) {
  __shared__ __align__(16) float s[1024];
  __shared__ float q[1024];
  int t = threadIdx.x;
  float x = in[t], y = in[t + 256];
  BODY
  __syncthreads();
  o[t] = s[255 - t];
}
void f(float *o, float *p, int n) { k<<<1, 256>>>(o, p, n, n); }
"""


def stores(body: str) -> list[tuple[int, int]]:
    """Bytes a lane and instructions of eight warps of each store that is issued."""
    found = [a for a in accesses_of(KERNEL.replace("BODY", body)) if a.kind is AccessKind.STORE]
    return [(a.width_bytes, a.instructions) for a in found if a.instructions]


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = x; if (t * 3 < n) s[t] += y;",
        "s[t] = x; if (t < 100) s[t] = y;",
        "s[t] = x; if (n > 5) s[t]++;",
        "s[t] = 0; if (t * 3 < n) s[t] = x; if (t * 5 < m) { s[t] = y; }",
        "s[t] = x; if (t * 3 < n && t * 5 < m) s[t] = y;",
        "s[t] = x; if (t * 3 < n) { if (t * 5 < m) s[t] = y; }",
    ],
)
def test_a_cheap_value_is_selected(body: str) -> None:
    assert stores(body) == [(4, 8)]


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = x; if (t * 3 < n) s[t] = in[t + 512];",
        "s[t] = x; if (t * 3 < n) s[t] = y / in[t + 512];",
        "s[t] = x; __syncthreads(); if (t * 3 < n) s[t] = y;",
        "s[t] = x; if (t * 3 < n) { o[t] = 1; s[t] = y; }",
        "s[t] = x; if (q[t] > 3) s[t] = 3;",
        "s[t] = x; if (t * 3 < n) s[t ^ 1] = y;",
    ],
)
def test_others_are_stored_by_whom_the_condition_holds_for(body: str) -> None:
    assert len(stores(body)) == 2


def test_what_is_selected_lets_the_stores_of_iterations_fuse() -> None:
    """One STS.128; it was a false 4-way."""
    body = "for (int i = 0; i < 4; ++i) { s[4 * t + i] = 0; if (t + i < n) s[4 * t + i] = y * i; }"
    assert stores(body) == [(16, 8)]
