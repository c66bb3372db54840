"""Stores to one place on both ways of a branch; machine code of nvcc 13.0.88 -O3 -arch=sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *o, const float *p, const float *q, int n) {
  __shared__ SPECIFIER float s[512];
  float v[4];
  for (int i = 0; i < 4; ++i) v[i] = p[threadIdx.x * 4 + i];
  int base = blockIdx.x * 512 + threadIdx.x * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int l = base + i;
    BODY
  }
  __syncthreads();
  o[threadIdx.x] = s[511 - threadIdx.x];
}
void f(float *o, float *p, int n) { k<<<4, 128>>>(o, p, p, n); }
"""


def stores(body: str, specifier: str = "") -> list[tuple[int, int]]:
    """Bytes a lane and instructions of four warps of each store that is issued."""
    text = KERNEL.replace("BODY", body).replace("SPECIFIER", specifier)
    found = [a for a in accesses_of(text) if a.kind is AccessKind.STORE and a.instructions]
    return [(a.width_bytes, a.instructions) for a in found]


@pytest.mark.parametrize(
    "body",
    [
        "if (l < n) s[threadIdx.x * 4 + i] = v[i]; else s[threadIdx.x * 4 + i] = 0.f;",
        "if (l < n) { s[threadIdx.x * 4 + i] = v[i]; } else { s[threadIdx.x * 4 + i] = 2 * v[i]; }",
        "if (l < n) s[threadIdx.x * 4 + i] = p[l]; else s[threadIdx.x * 4 + i] = q[l];",
    ],
)
def test_a_value_that_is_selected_is_stored_once(body: str) -> None:
    assert stores(body) == [(16, 4)]


def test_a_value_that_one_way_loads_at_the_end_of_an_iteration_is_stored_once() -> None:
    body = "if (l < n) s[threadIdx.x * 4 + i] = p[l]; else s[threadIdx.x * 4 + i] = 0.f;"
    assert stores(body) == [(4, 16)]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("if (n > l) { if (v[i] > 3) s[l & 511] = 1; else s[l & 511] = 0; }", 2),
        ("if (n > l) s[l & 511] = 2; else if (v[i] > 3) s[l & 511] = 1; else s[l & 511] = 0;", 3),
    ],
)
def test_ways_of_a_branch_in_another_one_keep_their_stores(body: str, count: int) -> None:
    assert len(stores(body)) == count


def test_other_places_are_stored_to_on_each_way() -> None:
    body = "if (l < n) s[threadIdx.x * 4 + i] = v[i]; else s[threadIdx.x + 128 * i] = v[i];"
    assert len(stores(body)) == 2


def test_volatile_stores_stay_as_they_are_written() -> None:
    body = "if (l < n) s[threadIdx.x * 4 + i] = v[i]; else s[threadIdx.x * 4 + i] = 0.f;"
    assert len(stores(body, "volatile")) == 2
