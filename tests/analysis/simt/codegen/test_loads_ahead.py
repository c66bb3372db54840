"""Loads that ptxas moves ahead of a branch: SASS of nvcc 13.0.88, -O3, sm_90, of these kernels.

The words of a slot that become one LDS are `sampled`, those that stay apart are `assumed`.
"""

from __future__ import annotations

import re

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void k(float *g, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = 0;
  %s
  g[t] = v;
}
void f(float *g, float *in, int n) { k<<<1, 128>>>(g, in, n); }
"""
OPEN, APART = Certainty.SAMPLED, Certainty.ASSUMED


def loads(body):
    """Returns the certainty and the wavefronts of each load that conflicts, in source order."""
    found = [a for a in accesses_of(KERNEL % body) if a.kind is AccessKind.LOAD and a.instructions]
    return [(a.certainty, a.wavefronts.mean) for a in found if a.wavefronts.mean > a.ideal.mean]


@pytest.mark.parametrize(
    "body",
    [
        "float c = s[2*t]; if (c > 0.5f) v = s[2*t+1]; v += c;",
        "float c = s[2*t+1]; if (c > 0.5f) v = s[2*t]; v += c;",
        "float c = s[2*t]; if (n > 5) v = s[2*t+1]; v += c;",
        "float c = s[2*t]; if (c > 0.5f) v = 1; else v = s[2*t+1]; v += c;",
        "float c = s[2*t]; if (c > 0.5f) { g[t+99] = c; return; } v = s[2*t+1] * c;",
        "float c = s[2*t]; if (c > 0.5f) v = in[t+99]; v += s[2*t+1] * c;",
        "float c = s[2*t]; if (c > 0.5f) { atomicAdd(&g[t+99], c); v = s[2*t+1]; } v += c;",
    ],
)
def test_loads_of_one_slot_may_pass_a_branch(body):
    """All LDS.64."""
    assert loads(body) == [(OPEN, 2), (OPEN, 2)]


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 77 && s[2*t] > 0.5f) v = s[2*t+1];",
        "if (t > 77 || s[2*t] > 0.5f) v = 1; else v = s[2*t+1];",
        "if (!(t >= 77 || s[2*t] > 0.5f)) v = s[2*t+1];",
        "if (t < 77 && n > 4 && s[2*t] > 0.5f) { g[t+500] = 1; v = s[2*t+1]; }",
    ],
)
def test_an_operand_that_a_way_hangs_on_stands_in_front_of_it(body):
    """LDS.64, as of `if (s[t + k].v > s[t].v) s[t] = s[t + k]` in a search for the largest."""
    assert loads(body)[0][0] == OPEN


def test_an_operand_that_another_way_hangs_on_does_not():
    """Where `t > 77` holds, s[2 * t] is not loaded."""
    assert {c for c, _ in loads("if (t > 77 || s[2*t] > 0.5f) v = s[2*t+1];")} == {APART}


def test_three_words_are_loaded_as_four():
    """LDS.128."""
    found = loads("float c = s[4*t]; if (c > 0.5f) v = s[4*t+1] * s[4*t+2]; v += c;")
    assert {certainty for certainty, _ in found} == {OPEN}


def test_the_load_in_front_may_be_that_of_all_threads():
    """LDS.64 of all threads; the load of every other thread alone conflicts as little."""
    assert loads("float c = s[2*t]; if (t & 1) v = s[2*t+1]; v += c;")[0] == (OPEN, 2)


@pytest.mark.parametrize(
    "body",
    [
        "v = in[t]; if (v > 0.5f) v += s[2*t]; v *= s[2*t+1];",
        "v = in[t]; if (v > 0.5f) v += s[2*t]; if (v > 1.5f) v *= s[2*t+1];",
        "if (v = in[t], v > 0.5f) v += s[2*t]; else v *= s[2*t+1];",
        "v = in[t]; float w = in[t+7]; if (w > .5f) v += s[2*t]; v *= v; if (w > .5f) v *= s[2*t+1];",
        "float c = s[2*t]; if (c > 0.5f) { s[t] = 2; v = s[2*t+1]; } v += c;",
        "float c = s[2*t]; __syncwarp(); if (c > 0.5f) v = s[2*t+1]; v += c;",
    ],
)
def test_loads_on_conditions_of_their_own_stay_apart(body):
    assert loads(body) == [(APART, 2), (APART, 2)]


def test_words_of_no_common_half_stay_apart():
    assert loads("float c = s[4*t]; if (c > 0.5f) v = s[4*t+2]; v += c;") == [(APART, 4)] * 2


def test_guarded_iterations_stay_apart():
    """Four predicated LDS, though all have one condition by its text."""
    body = '_Pragma("unroll") for (int i = 0; i < 4; ++i) if (i < n) v += s[i + 4 * t];'
    assert loads(body) == [(APART, 4)]


@pytest.mark.parametrize(
    ("behind", "certainty"),
    [
        ("v = x < v ? v : x;", OPEN),  # LDS.64
        ("if (x > v) v = in[(int)x];", OPEN),  # LDS.64
        ("if (x > v) { g[i + 99] = x; v = x; }", OPEN),  # LDS.64
        ("if (x > v) s[i] = v;", APART),
        ("if (x > 3.f) break; v += x;", APART),
    ],
)
def test_iterations_with_branches_may_fuse(behind, certainty):
    body = f"for (int i = 0; i < n; ++i) {{ float x = s[32 * t + i]; {behind} }}"
    assert loads(body)[0] == (certainty, 32)


def test_guarded_loads_of_iterations_stay_apart():
    body = "for (int i = 0; i < n; ++i) if (in[i] > v) v += s[32 * t + i];"
    assert loads(body) == [(APART, 32)]


UNROLLED = """
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    float w = in[8 * t + i] * 0.5f;
    %s
    v += w * w;
  }"""


@pytest.mark.parametrize(
    ("body", "certainty"),
    [
        ("if (n) w += s[8 * t + i];", OPEN),  # two LDS.128
        ("w = w / (1.f + w); if (n) w += s[8 * t + i];", OPEN),  # LDS; LDS.128 if aligned
        ("if (n) w += s[8 * t + i]; if (n > 7) w *= tanhf(w);", OPEN),  # two LDS.128
        ("if (i < n) w += s[8 * t + i];", APART),  # eight LDS
    ],
)
def test_a_condition_that_no_iteration_changes_is_taken_out_of_the_loop(body, certainty):
    assert loads(UNROLLED % body) == [(certainty, 8)]


def test_the_name_of_the_counter_is_no_matter():
    body = UNROLLED % "if (n) w += s[8 * t + i];"
    named = re.sub(r"\bi\b", "holds", body)
    assert loads(named) == [(OPEN, 8)]


def test_such_a_condition_may_stand_under_one_that_parts_threads():
    """Two LDS.128 behind the outer branch."""
    body = UNROLLED % "if (n) w += s[8 * t + i];"
    assert loads("if (in[t] > 0.5f) {" + body + "}") == [(OPEN, 8)]
    assert loads(UNROLLED % "if (in[t] > 0.5f) w += s[8 * t + i];") == [(APART, 8)]


@pytest.mark.parametrize(
    ("condition", "certainty"),
    [("n", OPEN), ("i < n", APART), ("w > 0.5f", APART)],  # two STS.128, eight STS, eight STS
)
def test_stores_on_such_a_condition_are_open_too(condition, certainty):
    text = KERNEL % (UNROLLED % f"if ({condition}) s[8 * t + i] = w;")
    *_, stored = [a for a in accesses_of(text) if a.kind is AccessKind.STORE]
    assert (stored.certainty, stored.wavefronts.mean) == (certainty, 8)


def test_the_bounds_of_such_stores_are_those_of_both_widths():
    """Of 4 warps: 8 STS of 8 wavefronts, or 2 STS.128 of 8 where 4 are ideal."""
    text = KERNEL % (UNROLLED % "if (n) s[8 * t + i] = w;")
    *_, stored = [a for a in accesses_of(text) if a.kind is AccessKind.STORE]
    bounds = stored.bounds
    assert bounds is not None
    assert (bounds.least, bounds.most, bounds.wavefronts, bounds.ideal) == (2, 8, 64, 32)
