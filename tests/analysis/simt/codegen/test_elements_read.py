"""Loads of elements of an array of numbers that nothing reads: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

LOOP = "for (int i = 0; i < 4; ++i) f[i] = s[4 * t + i];"


@pytest.mark.parametrize(
    ("body", "widths"),
    [
        (f"{LOOP} o[t] = f[2];", {4: 1}),
        (f"{LOOP} o[t] = f[0] + f[3];", {4: 2}),
        (f"{LOOP} o[t] = f[0] + f[1];", {8: 1}),
        (f"{LOOP} o[t] = fmaxf(f[2], f[3]);", {8: 1}),
        (f"{LOOP} o[t] = f[n & 3];", {16: 1}),
        (f"{LOOP} o[t] = f[0]; if (n > 3) o[t] = f[1] + f[2] + f[3];", {16: 1}),
        (f"{LOOP} for (int i = 0; i < 2; ++i) o[t + i] = f[i];", {8: 1}),
        (f"{LOOP} float h[4]; for (int i = 0; i < 4; ++i) h[i] = f[i] * 2; o[t] = h[1];", {4: 1}),
        ("for (int i = 0; i < 4; ++i) f[i] = s[4 * t + i] * 2; o[t] = f[2];", {4: 1}),
        ("for (int i = 0; i < 4; ++i) f[3 - i] = s[4 * t + i]; o[t] = f[2];", {4: 1}),
        ("f[0] = s[4 * t]; f[1] = s[4 * t + 1]; f[2] = s[4 * t + 2]; o[t] = f[2];", {4: 1}),
        (f"#pragma unroll 1\n{LOOP} o[t] = f[2];", {4: 4}),
    ],
)
def test_only_what_is_read_is_loaded(body, widths):
    source = f"""__global__ void k(const float *g, float *o, int n) {{
      __shared__ __align__(16) float s[512];
      int t = threadIdx.x;
      s[t] = g[t];
      __syncthreads();
      float f[4];
      {body}
    }}
    void run(float *g, int n) {{ k<<<1, 32>>>(g, g, n); }}
    """
    loads = [a for a in accesses_of(source) if a.kind == "load" and a.instructions]
    counts = dict.fromkeys((a.width_bytes for a in loads), 0)
    for load in loads:
        counts[load.width_bytes] += load.instructions
    assert counts == widths


def test_what_is_read_hangs_on_constants_of_the_iteration() -> None:
    text = """
    __global__ void k(float *o) {
      __shared__ float s[256]; int t = threadIdx.x;
      for (int i = 0; i < 2; ++i) {
        const int h = 2 * i + 1;
        float f[4];
        for (int j = 0; j < 4; ++j) f[j] = s[8 * t + 4 * i + j];
        o[t + 32 * i] = f[h] + f[3];
      }
    }
    void f(float *o) { k<<<1, 32>>>(o); }
    """
    (load,) = accesses_of(text)
    assert (load.width_bytes, load.instructions) == (4, 3)
