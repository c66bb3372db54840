"""Neighbouring branches on one condition: widths as in the SASS of nvcc 13.0.88, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void __launch_bounds__(64) k(const float *q, float *p, unsigned n, unsigned m) {
  __shared__ __align__(16) float s[512];
  for (int i = threadIdx.x; i < 512; i += 64) s[i] = q[i];
  __syncthreads();
  unsigned t = threadIdx.x, g = blockIdx.x * blockDim.x + threadIdx.x;
  float a = 0, b = 0, d = 0, e = 0;
  %s
  p[g] = a + 3 * b + 5 * d + 7 * e;
}
"""


def widths_of(body: str) -> set[int]:
    return {a.width_bytes for a in accesses_of(KERNEL % body) if a.kind == "load"}


@pytest.mark.parametrize(
    "body",
    [
        "a = t < n ? s[2 * t] : 0; b = t < n ? s[2 * t + 1] : 0;",
        "if (t < n) a = s[2 * t]; if (t < n) b = s[2 * t + 1];",
        "a = t < n ? s[2 * t] : float(0); b = t < n ? s[2 * t + 1] : -1.f;",
        "a = t < n ? s[2 * t] : (float)m; b = t < n ? s[2 * t + 1] : d * 2;",
        "a = t < n ? s[2 * t] : sinf(d); b = t < n ? s[2 * t + 1] : q[t];",
        "if (t < n) a = s[2 * t]; else a = d * 2; if (t < n) b = s[2 * t + 1]; else { b = -1; }",
        "if (t < 40) a = s[2 * t]; if (t < 40) b = s[2 * t + 1];",
        "if (t < n && g < m) a = s[2 * t]; if (t < n && g < m) b = s[2 * t + 1];",
        "if (t < n) { a = s[2 * t]; p[g + 99] = a; } if (t < n) b = s[2 * t + 1];",
    ],
)
def test_neighbours_on_one_condition_are_one_branch(body: str) -> None:
    assert widths_of(body) == {8}


OBJECTS = """
struct P { float x, y; float2 v; float r[2]; };
__global__ void __launch_bounds__(64) k(const float *q, float *p, P *o, unsigned n) {
  __shared__ __align__(16) float s[512];
  __shared__ P u;
  for (int i = threadIdx.x; i < 512; i += 64) s[i] = q[i];
  __syncthreads();
  unsigned t = threadIdx.x;
  P a; float r[4];
  %s
}
"""
OF_THREADS = ["a.x, a.y", "a.v.x, a.v.y", "r[0], r[1]", "a.r[0], a.r[1]", "P& b = a; b.x, b.y"]
IN_MEMORY = [
    "u.x, u.y",
    "p[0], p[1]",
    "p[2 * t], p[2 * t + 1]",
    "o->x, o->y",
    "P& b = o[t]; b.x, b.y",
]


@pytest.mark.parametrize(
    ("places", "width"), [(p, 8) for p in OF_THREADS] + [(p, 4) for p in IN_MEMORY]
)
def test_what_a_branch_assigns_parts_it_from_the_next_if_it_is_in_memory(
    places: str, width: int
) -> None:
    """Widths as in SASS of nvcc 13.5.37."""
    declared, _, pair = places.rpartition(";")
    one, other = pair.split(",")
    body = f"{declared}; {one} = t < n ? s[2 * t] : 0; {other} = t < n ? s[2 * t + 1] : 0;"
    found = accesses_of(OBJECTS % f"{body} p[t + 9] = {one}; p[t + 99] = {other};")
    loads = [a for a in found if a.kind == "load" and a.array and a.array.name == "s"]
    assert {a.width_bytes for a in loads} == {width}


def test_four_neighbours_are_one_branch() -> None:
    names = enumerate("abde")
    assert widths_of(" ".join(f"if (t < n) {x} = s[4 * t + {i}];" for i, x in names)) == {16}


@pytest.mark.parametrize(
    "body",
    [
        "a = t < n ? s[2 * t] : 0; b = t < m ? s[2 * t + 1] : 0;",
        "if (t < n) a = s[2 * t]; d = a * 2 + q[t]; if (t < n) b = s[2 * t + 1];",
        "if (t < n) a = s[2 * t]; else n = m; if (t < n) b = s[2 * t + 1];",
        "if (t < n) { a = s[2 * t]; n = m; } if (t < n) b = s[2 * t + 1];",
        "for (int i = 0; i < 2; ++i) if (t < n) a += s[2 * t + i] * (i + 2);",
    ],
)
def test_what_stands_between_or_differs_parts_them(body: str) -> None:
    assert widths_of(body) == {4}
