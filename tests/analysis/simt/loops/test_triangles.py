"""Loops whose length hangs on the counter of the one around, by SASS of nvcc 13.5.37 for sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(const float *g, float *o) {
  __shared__ float s[256 * N];
  int t = threadIdx.x;
  float r[N], a = 0;
  for (int i = 0; i < N; i++) r[i] = g[256 * i + t];
  for (int i = 0; i < N; i++) s[256 * i + t] = g[256 * i + t];
  __syncthreads();
  for (int i = 0; i < N; i++)
    for (HEAD) BODY;
  for (int i = 0; i < N; i++) o[256 * i + t] = r[i] + a;
}
void f(float *p) { k<<<1, 256>>>(p, p); }
"""
UP, DOWN, BEHIND = "int j = 0; j < i; j++", "int j = 0; j < N - i; j++", "int j = i; j < N; j++"


def widths(n: int, head: str, body: str) -> set[int] | None:
    """Returns the bytes of what is loaded; None where they are open."""
    text = KERNEL.replace("HEAD", head).replace("BODY", body).replace("N", str(n))
    loads = [a for a in accesses_of(text) if a.kind is AccessKind.LOAD]
    if any(a.certainty is not Certainty.ASSUMED for a in loads):
        return None
    return {p.width for a in loads for p in a.patterns if p.count}


@pytest.mark.parametrize("head", [UP, DOWN])
@pytest.mark.parametrize("body", ["r[i] += s[N * t + j]", "r[i] -= r[j] * s[N * t + j]"])
def test_where_registers_are_indexed_both_are_unrolled(head, body):
    assert widths(8, head, body) == {16}
    assert widths(10, head, body) is None  # 12 of 13 are, too


@pytest.mark.parametrize(
    ("n", "head", "expected"),
    [
        (4, DOWN, {16}),
        (6, UP, None),  # as what is computed costs
        (6, BEHIND, None),
        (16, BEHIND, {4}),  # four together, from any place on
        (16, UP, None),  # LDS.64, and LDS.128 for the rest
        (9, BEHIND, {4}),
    ],
)
def test_else_only_few_are(n, head, expected):
    assert widths(n, head, "a += s[N * t + j]") == expected
