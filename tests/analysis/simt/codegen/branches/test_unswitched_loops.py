"""Branches that part no threads and that their loop does not change: LLVM takes them out of it.

Widths as in the SASS of nvcc 13.5.37, -O3, sm_90: LDS.128 and STS.128 of each.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

KERNEL = """
__global__ void k(float *y, const float *__restrict__ in, int n, bool flag) {
  __shared__ __align__(16) float s[2048], q[2048];
  int t = threadIdx.x;
  float v = in[t + 5];
  s[t] = in[t]; q[t] = v;
  __syncthreads();
  LOOP { BODY }
  __syncthreads();
  y[t] = v + s[63 - t] + q[t ^ 5];
}
void f(float *p, int n, bool flag) { k<<<1, 64>>>(p, p, n, flag); }
"""
LINE = KERNEL[: KERNEL.index("LOOP")].count("\n") + 1
FOUR = "for (int i = 0; i < 4; i++)"
BODIES = [
    "float x = s[4 * t + i]; if (C) x *= q[4 * t + i]; v += x;",
    "if (C) v += s[4 * t + i]; v = v * in[i];",
    "if (C) v += s[4 * t + i]; else v += q[4 * t + i];",
    "if (C) s[4 * t + i] = v; v = v * in[i];",
    "float b = 0.f; if (C) b = q[4 * t + i]; s[4 * t + i] = v * 2 + b;",
]


def found(loop: str, body: str, condition: str) -> set[tuple[int, Certainty]]:
    """Returns the widths of the loop's accesses, and how sure they are."""
    text = KERNEL.replace("LOOP", loop).replace("BODY", body.replace("C", condition))
    here = [a for a in accesses_of(text) if a.span.line == LINE]
    return {(a.width_bytes, a.certainty) for a in here if a.instructions}


@pytest.mark.parametrize("condition", ["n > 3", "flag", "n > 3 && flag"])
@pytest.mark.parametrize("body", BODIES)
def test_iterations_of_an_unswitched_loop_are_one_block(body, condition):
    assert {width for width, _ in found(FOUR, body, condition)} == {16}


@pytest.mark.parametrize("body", BODIES)
def test_no_word_of_a_loop_of_run_time_length_is_said_to_be_one(body):
    """LDS.128 of four iterations, and words of those that are left."""
    certainties = {
        c for _, c in found('_Pragma("unroll 4") for (int i = 0; i < n; i++)', body, "flag")
    }
    assert Certainty.SAMPLED in certainties


@pytest.mark.parametrize("condition", ["n > i", "t < n", "t < 20"])
def test_what_the_loop_changes_or_threads_decide_otherwise_parts_iterations(condition):
    """Four LDS."""
    assert {width for width, _ in found(FOUR, BODIES[1], condition)} == {4}
