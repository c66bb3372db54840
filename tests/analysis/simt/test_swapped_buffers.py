"""Two buffers that a loop of run-time length swaps: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.facts import AccessKind, Certainty

SOURCE = """
__global__ void k(const float *a, float *o, int n) {
  __shared__ float s0[EXTENT], s1[EXTENT];
  int t = threadIdx.x, b = 0;
  float *in = s0, *out = s1, v = 0;
  s0[t] = a[t];
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    HEAD
    LOADS
    __syncthreads();
    STORES
    __syncthreads();
    TAIL
  }
  o[t] = v;
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, n); }
"""
SWAP = "float *q = in; in = out; out = q;"
WAYS = {
    "swap": ("", SWAP),
    "choice": ("in = b ? s1 : s0; out = b ? s0 : s1;", "b ^= 1;"),
    "branch": ("if (b) { in = s1; out = s0; } else { in = s0; out = s1; }", "b = 1 - b;"),
    "perhaps": ("", f"if (i + 1 < n) {{ {SWAP} }}"),
}


def _accesses(extent: int, way: str, loads: str, stores: str):
    head, tail = WAYS[way]
    source = SOURCE.replace("EXTENT", str(extent)).replace("HEAD", head).replace("TAIL", tail)
    found = accesses_of(source.replace("LOADS", loads).replace("STORES", stores))
    return [a for a in found if a.instructions and a.array is not None and a.array.buffers]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("loads", "stores", "expected"),
    [
        ("v += in[t];", "out[t] = v;", [(4, 1), (4, 1)]),
        ("v += in[4 * t];", "out[2 * t] = v;", [(4, 4), (4, 2)]),
        ("v += in[4 * t] + in[4 * t + 1];", "out[2 * t] = v; out[2 * t + 1] = 3;", [(8, 4), (8, 2)]),
        ("for (int j = 0; j < 4; ++j) v += in[4 * t + j];", "out[t] = v;", [(16, 4), (4, 1)]),
    ],
)  # fmt: skip
def test_each_access_costs_the_same_in_both(way, loads, stores, expected):
    found = _accesses(1024, way, loads, stores)
    assert [(a.width_bytes, a.wavefronts.mean) for a in found] == expected
    assert all(a.certainty is Certainty.ASSUMED for a in found)
    assert [a.array.name for a in found] == ["s0 or s1"] * 2


@pytest.mark.parametrize(
    ("loads", "stores"),
    [
        ("for (int j = 0; j < 4; ++j) v += in[4 * t + j];", "out[t] = v;"),  # LDS.128 and LDS.64
        ("v += in[t];", "out[2 * t] = v; out[2 * t + 1] = v;"),  # STS.64 and two STS
    ],
)
def test_neighbours_that_fuse_in_one_buffer_only_are_open(loads, stores):
    extent = 1030 if "j" in loads else 1089
    found = _accesses(extent, "swap", loads, stores)
    assert Certainty.SAMPLED in {a.certainty for a in found}


def test_no_advice_changes_one_of_them():
    head, tail = WAYS["swap"]
    source = SOURCE.replace("EXTENT", "1024").replace("HEAD", head).replace("TAIL", tail)
    source = source.replace("s0[t] = a[t];", "s0[(t & 31) * 32 + (t >> 5)] = a[t];")
    source = source.replace("LOADS", "v += in[t];").replace("STORES", "out[t] = v;")
    kernels = facts_of(source).kernels
    assert [a.array.name for k in kernels for a in k.accesses if a.kind is AccessKind.STORE] == [
        "s0",
        "s0 or s1",
    ]


@pytest.mark.parametrize("other", ["float s1[2048];", "int s1[1024];", "double s1[1024];"])
def test_arrays_that_differ_are_not_followed(other):
    head, tail = "if (b) { in = (float *)s1; } else { in = s0; }", "b ^= 1;"
    source = SOURCE.replace("float s0[EXTENT], s1[EXTENT];", f"float s0[1024]; __shared__ {other}")
    source = source.replace("HEAD", head).replace("TAIL", tail).replace("*out = s1", "*out = s0")
    source = source.replace("LOADS", "v += in[t];").replace("STORES", "")
    loads = [a for a in accesses_of(source) if a.kind is AccessKind.LOAD and a.instructions]
    assert {a.certainty for a in loads} == {Certainty.UNKNOWN}


CHOSEN = """
__global__ void k(const float *a, float *o, int n) {
  __shared__ float s0[1024], s1[1024];
  int t = threadIdx.x;
  s0[t] = a[t];
  s1[t] = a[t + 1];
  __syncthreads();
  float *p = CONDITION ? s1 : s0, *q = n > 7 ? s0 : s1;
  o[t] = p[t / 2] + q[t / 2];
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, n); }
"""


@pytest.mark.parametrize("condition", ["(t & 1)", "a[t] > 0"])
def test_threads_that_choose_for_themselves_may_meet_in_one_bank(condition):
    """Lanes 0 and 1 read one place of two arrays: two words of one bank, 2-way."""
    loads = [a for a in accesses_of(CHOSEN.replace("CONDITION", condition)) if a.span.line == 9]
    assert [a.certainty for a in loads] == [Certainty.UNKNOWN, Certainty.ASSUMED]


def test_two_choices_are_two_places():
    loads = [a for a in accesses_of(CHOSEN.replace("CONDITION", "n > 5")) if a.span.line == 9]
    assert [(a.width_bytes, a.instructions) for a in loads] == [(4, 8), (4, 8)]
