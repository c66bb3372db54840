"""Loops that run-time numbers end: widths as in the SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(int n, int k, const int *__restrict__ g, float *o) {
  __shared__ float s[64 * 33];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  float a = 0;
  for (int u = 0; %s; u++) a += s[32 * t + u];
  o[t] = a;
}
void run(int *g, float *o) { k<<<1, 64>>>(16, 2, g, o); }
"""


@pytest.mark.parametrize(
    ("condition", "width"),
    [
        ("u < n", 8),
        ("u * 2 < n", 8),
        ("(u << 2) < n", 8),
        ("3 * u + 1 < n", 8),
        ("n - u > 0", 8),
        ("u - k < n", 8),
        ("!(u >= n)", 8),
        ("(long long)u < (long long)n", 8),
        ("(1 << u) < n", 4),
        ("(n >> u) > 0", 4),
        ("u * u < n", 4),
        ("u * k < n", 4),
        ("u / 2 < n", 4),
        ("(u ^ 1) < n", 4),
        ("(u | 1) < n", 4),
        ("u < g[u]", 4),
    ],
)
def test_copies_are_made_of_loops_whose_trip_count_a_division_gives(condition, width):
    found = [a for a in accesses_of(KERNEL % condition) if a.kind == "load" and a.instructions]
    assert {a.width_bytes for a in found} == {width}


PAIR = """
__global__ void k(float *g, int n) {
  __shared__ __align__(16) float s[4096];
  int t = threadIdx.x;
  for (int i = 0; i < 4096; i += 128) s[t + i] = g[t + i];
  __syncthreads();
  float a = s[%s], b = s[%s];
  g[t] = a;
  g[t + 128] = b;
}
void run(float *g) { k<<<1, 128>>>(g, 1); }
"""


@pytest.mark.parametrize(
    ("one", "other", "width"),
    [
        ("2 * t << n", "(2 * t << n) + 1", 8),
        ("t * (4 << n)", "t * (4 << n) + 1", 8),
        ("(2 * t) * (2 * n)", "(2 * t) * (2 * n) + 1", 8),
        ("(2 * t + 2) << n", "((2 * t + 2) << n) + 1", 8),
        ("2 * t << n", "(2 * t + 1) << n", 4),
        ("(2 * t + 1) * n", "(2 * t + 1) * n + 1", 4),
        ("t << n", "(t << n) + 1", 4),
    ],
)
def test_what_is_shifted_by_a_run_time_number_keeps_what_divides_it(one, other, width):
    found = [a for a in accesses_of(PAIR % (one, other)) if a.kind == "load" and a.instructions]
    assert {a.width_bytes for a in found} == {width}
