"""Conditions that hold for all threads of a block, which LLVM does not know the size of.

Widths as in the SASS of nvcc 13.0.88, -O3, sm_90.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

KERNEL = """
__global__ void k(float *out, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  float x = in[t], y = in[t + 128];
  for (int i = 0; i < 8; ++i) s[t + 128 * i] = in[t + 128 * i];
  __syncthreads();
BODY
  __syncthreads();
  out[t] = x + s[n];
}
void f(float *p, int n) { k<<<1, 128>>>(p, p, n); }
"""
LINE = KERNEL[: KERNEL.index("BODY")].count("\n") + 1
ITERATIONS = '_Pragma("unroll") for (int i = 0; i < 4; ++i) '


def found(body: str) -> tuple[set[int], bool]:
    """The widths of the body's accesses, and whether a figure is a range."""
    here = [a for a in accesses_of(KERNEL.replace("BODY", body)) if a.span.line == LINE]
    is_open = any(a.certainty is Certainty.SAMPLED for a in here)
    return {a.width_bytes for a in here if a.instructions}, is_open


@pytest.mark.parametrize(
    "body",
    [
        "s[t * 4 + i] = t + i * 128 < 512 ? in[t + i * 128] : 0.f;",
        "{ float v = 0; if (t + i * 128 < 512) v = in[t + i * 128]; s[t * 4 + i] = v; }",
        "{ if (t + i >= 500) continue; s[t * 4 + i] = in[t + i * 128]; }",
    ],
)
def test_the_branch_stays_and_parts_the_stores(body: str) -> None:
    """Four STS; LDS.128 and STS.128 were said, since the condition holds for all threads."""
    assert found(ITERATIONS + body) == ({4}, False)


@pytest.mark.parametrize(
    "body",
    [
        "if (t + i * 128 < 512) s[t * 4 + i] = in[t + i * 128];",  # four STS
        "if (t * 4 + i < 512) x += s[t * 4 + i];",  # four LDS
        "{ int j = t * 4 + i; if (j >= 0 && j < 512) s[j] = in[j]; }",  # four STS
        "if (t * 4 + i < 512) s[t * 4 + i] = in[t + i * 128];",  # STS.128: as `t < 128`
    ],
)
def test_conditions_that_may_become_one_leave_it_open(body: str) -> None:
    assert found(ITERATIONS + body)[1]


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 128) s[t * 4 + i] = in[t + i * 128];",
        "if (t * 4 + i < 4096) s[t * 4 + i] = in[t + i * 128];",
        "if (t % 32 + i < 36) s[t * 4 + i] = in[t + i * 128];",
        "{ float v = x; if (t + i < 512) v += y; s[t * 4 + i] = v; }",
    ],
)
def test_what_it_knows_and_what_no_iteration_changes_is_none(body: str) -> None:
    assert found(ITERATIONS + body) == ({16}, False)


@pytest.mark.parametrize("limit", ["65 * t + i < 2000", "64 * t + i < 1920", "31 - t + i >= -20"])
def test_a_branch_in_a_long_loop_stays_one(limit: str) -> None:
    """64 times two words (SASS of nvcc 13.5.37); 38 LDS.64 were said, as all 30 threads go on."""
    body = f"for (int i = 0; i < 64; i++) if ({limit}) {{ u[2 * t] += p[i * n]; u[2 * t + 1] += p[i]; }}"
    found = accesses_of(
        "__global__ void k(float *p, int n) {\n  __shared__ float u[64]; int t = threadIdx.x;\n"
        f"  u[t] = p[t]; u[t + 30] = 1; __syncthreads();\n  {body}\n"
        "  __syncthreads(); p[t] = u[t ^ 1];\n}\nvoid f(float *p) { k<<<1, 30>>>(p, 7); }\n"
    )
    here = [(a.kind, a.width_bytes, a.instructions) for a in found if a.span.line == 4]
    assert here == [(kind, 4, 64) for kind in ("load", "store") * 2]
