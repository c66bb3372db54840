"""Several stores at the end of both ways of a branch: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *o, const float *p, int n) {
  __shared__ float s[1024], q[1024];
  int t = threadIdx.x;
  float x = o[t], y = o[t + 128];
  __syncthreads();
  if (%s) { %s } else { %s }
}
void f(float *o) { k<<<1, 128>>>(o, o, 3); }
"""


@pytest.mark.parametrize(
    ("one", "other", "stores"),
    [
        ("s[4 * t] = 1; s[4 * t + 1] = 2;", "s[4 * t] = 3; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = x; s[4 * t + 1] = 2;", "s[4 * t] = y; s[4 * t + 1] = x;", [8]),
        ("s[4 * t] = p[t]; s[4 * t + 1] = 2;", "s[4 * t] = p[t + 7]; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = p[t]; s[4 * t + 1] = p[t];", "s[4 * t] = p[t + 7]; s[4 * t + 1] = p[t + 7];", [8]),
        ("s[4 * t] = p[t] * 2; s[4 * t + 1] = 2;", "s[4 * t] = p[t + 7] * 2; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = x * y; s[4 * t + 1] = 2;", "s[4 * t] = x + y; s[4 * t + 1] = 4;", [8]),
        ("s[4 * t] = 1; s[4 * t + 1] = x * y;", "s[4 * t] = 3; s[4 * t + 1] = x + y;", [4, 4, 4]),
        ("s[4 * t] = p[t + 3]; s[4 * t + 1] = 2;", "s[4 * t] = 0; s[4 * t + 1] = 4;", [4, 4, 4]),
        ("s[4 * t] = 2; s[4 * t + 1] = p[t];", "s[4 * t] = 4; s[4 * t + 1] = 0;", [8, 8]),
        ("s[4 * t] = 1; q[2 * t] = 2;", "q[2 * t] = 3; s[4 * t] = 4;", [4, 4, 4, 4]),
        ("s[4 * t] = 1; s[4 * t + 1] = 2;", "s[4 * t + 1] = 4;", [4, 4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("condition", ["t & 1", "p[t] > 0"])
def test_the_last_stores_of_both_ways_are_one_as_far_as_nothing_is_between(
    condition, one, other, stores
):
    found = accesses_of(KERNEL % (condition, one, other))
    made = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    assert sorted(a.width_bytes for a in made for _ in range(a.instructions // 4)) == stores


LOOP = """
__global__ void k(float *o, const float *p, int n, int m) {
  __shared__ float s[1024], q[1024];
  int t = threadIdx.x, u = 3 * t;
  float *r = s + t;
  %s
  __syncthreads();
  o[t] = s[t ^ 1] + q[t ^ 1];
}
void f(float *o) { k<<<1, 128>>>(o, o, 3, 4); }
"""
IN_LOOP = "for (int i = 0; i < m; i++) { %s __syncthreads(); o[t] += s[t ^ 1] + q[t ^ 1]; __syncthreads(); }"


@pytest.mark.parametrize(
    ("body", "stores"),
    [
        (IN_LOOP % "if (i + t < n) s[t] = p[i + t]; else s[t] = 0;", 1),
        (IN_LOOP % "if (i + t < n) s[u + 5] = p[i + t] * 2; else s[u + 5] = 0;", 1),
        (IN_LOOP % "if (i + t < n) *r = p[i + t]; else *r = 0; r += 32;", 1),
        (IN_LOOP % "if (i + t < n) { s[t] = p[t + i]; q[t] = 1; } else { s[t] = 0; q[t] = 0; }", 2),
        (IN_LOOP % "if (i + t < n) { s[t] = p[i]; q[t] = p[t]; } else { s[t] = 0; q[t] = 0; }", 3),
        (IN_LOOP % "if (i + t < n) s[t + i] = p[i + t]; else s[t + i] = 0;", 2),
        (IN_LOOP % "int v = t + i; if (v < n) s[v] = p[v]; else s[v] = 0;", 2),
        ("for (int i = 0; i < m; i++) if (i + t < n) s[t + i] = p[i + t]; else s[t + i] = 0;", 1),
        ("for (int i = t; i < 512; i += 128) if (i < n) s[i] = p[i]; else s[i] = 0;", 4),
        ("do { if (t < n) s[t] = p[t]; else s[t] = 0; __syncthreads(); } while (0);", 2),
        ("if (t < n) *r = p[t]; else *r = 0;", 1),
        ("if (t < n) r[4] = p[t]; else r[4] = 0;", 2),
        ("if (t < n) s[t] = p[t]; else s[t] = 0;", 2),
        ("if (t < n) s[u] = p[t]; else s[u] = 0;", 2),
    ],
)  # fmt: skip
def test_a_load_and_a_constant_are_one_store_where_the_address_is_no_part_of_the_ways(body, stores):
    found = [a for a in accesses_of(LOOP % body) if a.kind is AccessKind.STORE]
    assert sum(a.instructions for a in found) == stores * 4
