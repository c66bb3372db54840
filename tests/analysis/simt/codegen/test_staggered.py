"""Threads that leave a loop in different iterations: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(128) k(float *out, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x, lane = t %% 32;
  for (int i = t; i < 4096; i += 128) s[i] = in[i];
  __syncthreads();
  float a = 0;
  %s
  out[t] = a;
}
void f(float *out, float *in, int n) { k<<<1, 128>>>(out, in, n); }
"""


def load(loop):
    return next(a for a in accesses_of(KERNEL % loop) if a.kind is AccessKind.LOAD)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i <= lane; i++) a += s[33 * i + lane];",  # 188 LDS, 248 wavefronts
        "for (int i = 0; i < lane % 8; i++) a += s[33 * i + lane];",  # 28, 40
        "for (int i = lane; i < 20 + lane % 2; i++) a += s[4 * i];",  # 120, 136
        "for (int i = 0; i < lane % 4; i++) a += s[33 * i + lane];",  # 12, 16
        "for (int i = 0; i <= lane % 4; i++) a += s[33 * i + lane];",  # 16, 20
        "for (int i = 0, j = lane; i < lane; i++, j += 33) a += s[j];",  # 124, 184
        "\n#pragma unroll 4\nfor (int i = 0; i < lane; i++) { a += s[33 * i + lane]; }",  # 124, 136
        "for (int i = t; i < 1000; i += 128) a += s[i];",  # 32, and 39 behind no other loop
        "for (int i = t; i < 2000; i += 128) a += s[i];",  # 78, 78
        "for (int i = t; i < 3000; i += 128) a += s[i];",  # 101, 101
    ],
)
def test_in_which_iterations_they_meet_is_open(loop):
    assert load(loop).certainty is Certainty.SAMPLED


@pytest.mark.parametrize(
    ("loop", "loads"),
    [
        ("for (int i = t; i < 1300; i += 128) a += s[i];", 41),
        ("for (int i = t; i < 2000; i += blockDim.x) a += s[i];", 63),
        ("for (int i = 0; i < lane % 5; i++) a += s[33 * i + lane];", 16),
        ("for (int i = 0; i <= t / 32 * 8; i++) a += s[33 * i + lane];", 52),
    ],
)
def test_they_stay_in_step(loop, loads):
    access = load(loop)
    assert access.certainty is not Certainty.SAMPLED
    assert access.instructions == access.wavefronts.mean * loads == loads


@pytest.mark.parametrize(("bound", "is_open"), [("100", False), ("300", False), ("500", True)])
def test_an_object_that_takes_several_instructions_is_one_access_an_iteration(bound, is_open):
    """Two STS.128 an iteration: 100 of 128 threads run one, of 300 to three, of 500 up to four."""
    accesses = accesses_of(f"""
struct V {{ double v, x, y, z; }};
__global__ void __launch_bounds__(128) k(V *g) {{
  __shared__ V s[{bound}];
  int w = threadIdx.x;
  while (w < {bound}) {{ s[w] = g[w]; w = w + 128; }}
}}
void f(V *g) {{ k<<<1, 128>>>(g); }}
""")
    (store,) = (a for a in accesses if a.instructions)
    assert (store.certainty is Certainty.SAMPLED) == is_open
    if is_open:
        return
    full, left = divmod(int(bound), 32)
    assert store.instructions == 2 * (full + 1)
    assert store.wavefronts.mean * store.instructions == 2 * (8 * full + left // 4)


def test_a_loop_that_is_not_unrolled_stays_in_step():
    loop = "\n#pragma unroll 1\nfor (int i = 0; i <= lane; i++) { a += s[33 * i + lane]; }"
    assert (load(loop).instructions, load(loop).wavefronts.mean) == (128, 1)
    assert load(loop).certainty is not Certainty.SAMPLED


@pytest.mark.parametrize(
    ("loop", "is_open"),
    [
        ("int m = in[t]; for (int i = 0; i < m; i++) a += s[33 * i + lane];", True),
        ("int m = in[t]; for (int i = 0; i < m; i++) a += s[8 * lane + 256 * i];", True),
        ("for (int i = lane; i < in[t]; i += 32) a += s[i];", False),
        ("for (int i = lane; i < n; i += 32) a += s[2 * i];", False),
        ("\n#pragma unroll 1\nfor (int i = 0; i < in[t]; i++) a += s[33 * i + lane];", False),
    ],
)
def test_who_is_in_a_loop_that_data_end_for_each_thread_is_open(loop, is_open):
    """Where any threads cost as much in any iteration, nothing is open."""
    assert (load(loop).certainty is Certainty.SAMPLED) == is_open
