"""Loads that both ways of a branch begin with are one: SASS of nvcc 13.0.88, -O3, sm_90.

The counts are of LDS instructions, all at one place of the source together.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(float *g, const float *in, int n) {
  __shared__ float s[2048], q[2048];
  int t = threadIdx.x;
  s[t] = in[t];
  q[t] = in[t + 9];
  __syncthreads();
  float v = 0;
  if (%s) {
    %s;
  } else {
    %s;
  }
  g[t] = v;
}
void f(float *g, float *in, int n) { k<<<1, 128>>>(g, in, n); }
"""


def loads(first, second, condition="t & 1"):
    """Returns how many loads the warps issue, and the wavefronts of each, in source order."""
    found = accesses_of(KERNEL % (condition, first, second))
    read = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    return [(a.instructions // 4 or 1, a.wavefronts.mean) for a in read]


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("v = expf(s[4 * t])", "v = sinf(s[4 * t])", 1),
        ("v = expf(s[4 * t]) * q[4 * t]", "v = sinf(s[4 * t]) * q[4 * t]", 3),
        ("v = s[4 * t] * q[4 * t] + expf(q[3 * t])", "v = s[4 * t] + q[4 * t] + sinf(s[3 * t])", 4),
        ("v = (s[4*t] + q[4*t]) * q[3*t]", "v = (s[4*t] + q[4*t]) / q[3*t]", 3),
        ("int i = 4 * t + 3; v = expf(s[i])", "int i = 4 * t + 3; v = sinf(s[i])", 1),
        ("float w = s[3 * t]; v = w * q[t]", "float w = s[3 * t]; v = w + q[t]", 2),
        ("v = t & 2 ? expf(s[4 * t]) : sinf(s[4 * t])", "v = 1", 1),
        ("v = expf(s[4 * t]) * q[t]", "v = sinf(q[t + 1]) + s[4 * t]", 4),
        ("v = in[t + 77] * s[4 * t]", "v = in[t + 99] + s[4 * t]", 2),
        ("g[t + 99] = 1; v = expf(s[4 * t])", "v = sinf(s[4 * t])", 2),
        ("v = s[4 * t] * n", "if (n > 5) v = s[4 * t] + in[t]", 2),
        ("v = expf(s[4 * t])", "if (t & 2) v = sinf(s[4 * t])", 2),
        ("s[4 * t] = expf(s[4 * t + 1])", "s[4 * t] = sinf(s[4 * t + 1])", 1),
        ("if (s[t] > s[t + 7]) s[t] = 3", "if (s[t] < s[t + 7]) s[t + 7] = 5", 2),
        ("if (s[t] > s[t + 7]) s[t] = 3", "if (s[t + 7] < s[t]) s[t + 7] = 5", 4),
        ("if (s[t] > q[t + 7]) s[t] = 3", "if (s[t] < s[t + 7]) s[t + 7] = 5", 3),
        ("if (s[t] > 2) s[t] = 3", "if (s[t] < 7) s[t + 7] = 5", 1),
        ("if (s[t] > 1 && q[t] > 2) s[t] = 3", "if (s[t] > 3 && q[t] > 5) s[t + 7] = 5", 3),
        ("float u = s[t]; if (u > q[t]) s[t] = 3", "float u = s[t]; if (u < q[t]) q[t] = 5", 2),
        ("if (s[t] + 1 > q[t]) s[t] = 3", "if (s[t] + 2 < q[t]) q[t] = 5", 3),
    ],
)  # fmt: skip
def test_equal_loads_are_one(first, second, count):
    assert len(loads(first, second)) == count


def test_the_load_is_that_of_all_threads():
    """Of a warp without thread 0 no load conflicts less; the one of thread 0 alone is free."""
    found = loads(
        "v = (s[4 * t] - q[4 * t] * s[4 * t + 7]) / q[4 * t + 9]",
        "v = (s[4 * t] - q[4 * t + 11] * s[4 * t + 5] - q[4 * t] * s[4 * t + 7]) / q[4 * t + 9]",
        "t == 0",
    )
    assert found == [(1, 4), *[(1, 1)] * 3, *[(1, 4)] * 5]


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("v = s[4 * t]", "v = s[4 * t + 1]", 1),
        ("v = s[4 * t] * 2.f", "v = s[4 * t + 1] * 2.f", 1),
        ("v = s[t] + s[t + 7]", "v = s[3 * t] + s[3 * t + 1]", 2),
        ("v = t & 2 ? s[4 * t] : s[4 * t + 1]", "v = 1", 2),
        ("v = s[4 * t] * 2.f", "v = s[4 * t + 1] + 2.f", 2),
        ("v = s[4 * t]", "v = s[4 * t + 1] + 2.f", 2),
        ("v = s[4 * t]; g[500] = 2", "v = s[4 * t + 1]", 2),
        ("v += t < 20 ? s[4 * t] : v", "v = v * 2 + s[16 * t]", 2),
        ("v = s[4 * t] * 2.f", "v = s[3 * t + 1] * 3.f", 1),
        ("v = v * 2 + s[4 * t]", "v = v + s[3 * t + 1]", 1),
        ("v += s[4 * t] + n * 2", "v += s[3 * t + 1] + v * n", 1),
        ("v = sqrtf(s[4 * t])", "v = sqrtf(s[t + 3])", 1),
        ("v = (float)((short *)s)[4 * t]", "v = (float)((short *)s)[t + 3]", 1),
        ("v = ((float2 *)s)[2 * t].x", "v = ((float2 *)s)[t + 3].y", 1),
    ],
)
def test_loads_of_other_addresses_are_selected(first, second, count):
    assert len(loads(first, second)) == count


@pytest.mark.parametrize(
    ("way", "count"),
    [
        ("v = t < 20 ? s[4 * t] : s[3 * t + 1];", 2),
        ("if (t < 20) v = s[4 * t]; else v = s[3 * t + 1];", 2),
        ("v += t < 20 ? s[4 * t] : s[3 * t + 1];", 1),
        ("if (t < 20) v = s[4 * t]; else v = s[3 * t + 1];\n g[t + 64] = v;", 1),
    ],
)
def test_a_branch_at_the_end_of_a_way_keeps_its_loads(way, count):
    assert len(loads(way, "v = 1", "t & 8")) == count


def test_one_load_from_either_of_two_arrays_is_not_decided():
    """nvcc: one LDS, whose lanes of both arrays meet in banks; each alone has fewer words."""
    found = accesses_of(KERNEL % ("t & 1", "v = s[4 * t]", "v = q[4 * t]"))
    certainties = {a.certainty for a in found if a.kind is AccessKind.LOAD}
    assert certainties == {Certainty.UNKNOWN}


def test_one_load_of_either_of_two_structures_is_not_decided():
    """nvcc: one LDS.64 of 2 wavefronts for each warp; each way alone would have 2-way conflicts."""
    found = accesses_of(
        "struct P { float x, y; };\n"
        "__global__ void k(float *g) {\n"
        "  __shared__ P a[128], b[128];\n"
        "  int t = threadIdx.x;\n"
        "  a[t] = {g[t], g[t + 1]}; b[t] = {g[t + 2], g[t + 3]};\n"
        "  __syncthreads();\n"
        "  P p = t & 1 ? a[t] : b[t];\n"
        "  g[t] = p.x * p.y;\n"
        "}\n"
        "void f(float *g) { k<<<1, 128>>>(g); }\n"
    )
    certainties = {a.certainty for a in found if a.kind is AccessKind.LOAD}
    assert certainties == {Certainty.UNKNOWN}


CHOICE = """
__global__ void k(float *g) {
  __shared__ float s[2048];
  int t = threadIdx.x, lane = t %% 32;
  s[t] = g[t];
  __syncthreads();
  %s
}
void f(float *g) { k<<<1, 128>>>(g); }
"""


@pytest.mark.parametrize(
    ("type_", "read", "counts"),
    [
        ("float2", "v.x + v.y", [4, 4]),
        ("int2", "v.x + v.y", [4, 4]),
        ("float4", "v.x + v.y * v.z / v.w", [4, 0]),
    ],
)
def test_vectors_of_two_words_are_loaded_in_each_way(type_, read, counts):
    text = f"{type_} *p = ({type_} *)s, v = t & 1 ? p[2 * t] : p[2 * t + 1]; g[t] = {read};"
    found = accesses_of(CHOICE % text)
    assert [a.instructions for a in found if a.kind is AccessKind.LOAD] == counts


def test_a_load_of_three_ways_is_one():
    """nvcc: one LDS of 2 wavefronts for each warp; of the ways alone only the last has them."""
    text = "g[t] = lane < 8 ? s[4 * lane] : lane < 16 ? s[4 * lane + 1] : s[4 * lane + 2];"
    found = [a for a in accesses_of(CHOICE % text) if a.kind is AccessKind.LOAD]
    assert [(a.instructions, a.wavefronts.mean) for a in found if a.instructions] == [(4, 2)]
