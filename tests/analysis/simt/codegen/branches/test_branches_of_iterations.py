"""Conditions that no iteration changes: widths as in the SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import Certainty

KERNEL = """
__device__ bool both(int a, int n, int m) { return a < n && a > m; }
__global__ void k(float *out, const float *in, int n, int m) {
  __shared__ __align__(16) float s[2048];
  __shared__ __align__(16) float q[2048];
  int t = threadIdx.x;
  float x = in[t], v = in[t + 256];
  for (int i = 0; i < 8; ++i) { s[t + 256 * i] = in[t + i]; q[t + 256 * i] = in[t + i * 256]; }
  __syncthreads();
  float r[4] = {0, 0, 0, 0};
  int count = 0, o = t;
  float *p = s + 4 * t;
BODY
  __syncthreads();
  out[t] = s[255 - t] + q[t] + x + v + r[0] * r[1] + r[2] * r[3] + count;
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, n, n); }
"""
FIRST = KERNEL[: KERNEL.index("BODY")].count("\n") + 1
ITERATIONS = '_Pragma("unroll") for (int i = 0; i < 4; ++i) '


def figures(body: str) -> tuple[set[int], bool]:
    """The widths of the accesses of a body, and whether a figure is a range."""
    found = [a for a in accesses_of(KERNEL.replace("BODY", body)) if a.span.line == FIRST]
    is_open = any(a.certainty is Certainty.SAMPLED for a in found)
    return {a.width_bytes for a in found if a.instructions}, is_open


@pytest.mark.parametrize(
    "body",
    [
        "if (t * 3 < n) s[4 * t + i] = x;",
        "if (t < 100) s[4 * t + i] = x;",
        "if (t * 3 < n && t * 5 < m) s[4 * t + i] = in[t + i * 256];",
        "{ if (t * 3 < n) s[4 * t + i] = in[t + i * 99]; if (t * 3 < n) q[4 * t + i] = x; }",
        "{ if (t * 3 < n) s[4 * t + i] = x; float w = in[t + i]; if (t * 3 < n) q[4 * t + i] = w; }",
        "{ float w = in[t + i * 256] * 2; if (t * 3 < n) s[4 * t + i] = w + 1; }",
        "{ int b = t * 3; if (b < n) s[4 * t + i] = x; }",
        "if (min(t * 3, n) < 100) s[4 * t + i] = x;",
        "if (in[t] > 0) s[4 * t + i] = x;",
        "{ if (t * 3 < n) *p = x; ++p; }",
        "{ if (t * 3 >= n) continue; float w = in[t + i * 256]; s[4 * t + i] = w * x; }",
        "{ if (t * 3 >= n) break; s[4 * t + i] = in[t + i * 256]; }",
        "if (t * 3 < n) out[4 * t + i] += s[4 * t + i];",
        "if (t * 3 < n) r[i] = s[4 * t + i];",
        "{ if (t * 3 < n) { float w = in[t + i * 256]; w = w * 2; s[4 * t + i] = w; } }",
    ],
)
def test_what_consists_of_the_branch_is_one_of_all_iterations(body: str) -> None:
    assert figures(ITERATIONS + body) == ({16}, False)


@pytest.mark.parametrize(
    "body",
    [
        "if (t * 3 + i < n) s[4 * t + i] = x;",
        "{ int b = t * 3 + i; if (b < n) s[4 * t + i] = x; }",
        "{ if (t * 3 < n) s[4 * t + i] = x; if (t * 5 < m) q[4 * t + i] = x; }",
        "if (t * 3 < n) s[4 * t + i] = x; else q[4 * t + i] = x;",
        "{ out[t + 256 * i] = x; if (t * 3 < n) s[4 * t + i] = x; }",
        "if (t * 3 < n) { v = in[t + 256 * i]; s[4 * t + i] = v; }",
        "if (t * 3 < n) { s[4 * t + i] = x; ++count; }",
        "if (t * 3 < n) x += s[4 * t + i];",
        "{ if (t * 3 < n) s[4 * t + i] = in[o]; o += n; }",
        "if (__shfl_sync(~0u, t, 0) < n) s[4 * t + i] = x;",
        "if (t * 3 < n) { if (i < m) s[4 * t + i] = x; }",
    ],
)
def test_what_stands_beside_it_parts_the_copies(body: str) -> None:
    assert figures(ITERATIONS + body) == ({4}, False)


@pytest.mark.parametrize(
    "body",
    [
        "if (both(t, n, m)) s[4 * t + i] = x;",  # STS.128
        "if (t * 3 < n) if (t * 5 < m) s[4 * t + i] = x;",  # STS.128
        "{ int j = t + i * 256; if (t * 3 < n) s[4 * t + i] = in[j] + j; }",  # STS.128
        "{ int j = 4 * t + i; if (t * 3 < n) s[j] = in[j]; }",  # four STS
        "{ float w = in[t + i * 256]; if (t * 3 < n) s[4 * t + i] = w * w; }",  # four STS
        "if (t * 3 < n) s[4 * t + i] = i < m ? in[t + 256 * i] : 0.f;",  # four STS
        "if (t * 3 < n) r[0] += s[4 * t + i];",  # four LDS
    ],
)
def test_what_may_part_them_leaves_it_open(body: str) -> None:
    assert figures(ITERATIONS + body)[1]


def test_loops_in_loops_go_on_as_far_as_the_condition_stays() -> None:
    """One STS.128, two STS.64, and one STS.128 of a loop in the branch."""
    inner = '_Pragma("unroll") for (int j = 0; j < 2; ++j) '
    outer = ITERATIONS.replace("< 4", "< 2")
    assert figures(f"{outer}{inner}if (t < n) s[4 * t + 2 * i + j] = x;") == ({16}, False)
    assert figures(f"{outer}{inner}if (t + i < n) s[4 * t + 2 * i + j] = x;") == ({8}, False)
    assert figures(f"{outer}if (t < n) {inner}s[4 * t + 2 * i + j] = x;") == ({16}, False)


def test_a_loop_of_run_time_length_may_be_unrolled_with_its_branch() -> None:
    """Four iterations are one STS.128 behind one branch."""
    assert figures("for (int i = 0; i < m; ++i) if (t * 3 < n) s[64 * t + i] = x;") == ({4}, True)


@pytest.mark.parametrize(("element", "count"), [("char", 16), ("short", 8), ("float", 4)])
def test_open_copies_are_as_wide_as_llvm_may_make_them(element: str, count: int) -> None:
    """One STS.128 (nvcc 13.5, sm_90), which has no conflict: no single store is one, either."""
    text = f"""
__device__ bool both(int a, int n, int m) {{ return a < n && a > m; }}
__global__ void k({element} x, int n, int m) {{
  __shared__ __align__(16) {element} s[2048];
  int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < {count}; ++i) if (both(t, n, m)) s[{count} * t + i] = x;
}}
void f() {{ k<<<1, 128>>>(1, 1, 1); }}
"""
    (found,) = accesses_of(text)
    assert (found.certainty, found.bounds is None) == (Certainty.SAMPLED, True)
