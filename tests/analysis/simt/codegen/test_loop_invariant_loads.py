"""Loads of one place in every iteration: which of them the compiler makes in front of the loop.

The instructions of each load were read off the SASS of these kernels (nvcc 13.0.88, -O3, sm_90).
"""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
__global__ void k(const float *g, float *o, int rows) {{
  __shared__ float Q[64][64]; __shared__ float K[64][64];
  int t = threadIdx.x;
  for (int d = 0; d < 64; d++) {{ Q[t][d] = g[t * 64 + d]; K[t][d] = g[t + 64 * d]; }}
  __syncthreads();
  float m = 0;
  #pragma unroll 1
  {loop}
  o[t] = m;
}}
void run(float *g) {{ k<<<1, 64>>>(g, g, 50); }}
"""


def loads(loop: str) -> dict[str, tuple[int, int]]:
    """Returns width and instructions of the loads of each array."""
    (kernel,) = facts_of(KERNEL.format(loop=loop)).kernels
    return {
        a.array.name: (max(p.width for p in a.patterns if p.count), a.instructions)
        for a in kernel.accesses
        if a.array is not None and a.kind.value == "load"
    }


@pytest.mark.parametrize(
    ("loop", "invariant"),
    [
        ("for (int n = 0; n < 64; n++) m = fmaxf(m, expf(Q[t][3] * K[n][5]));", 2),
        ("for (int n = 0; n < 64; n++) if (n < rows) m += expf(Q[t][7] * K[n][9]);", 128),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][1] * K[n][2]); K[n][25] = m; }", 2),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][1] * K[n][2]); Q[n][1] = m; }", 128),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][1] * K[n][2]); Q[n][2] = m; }", 2),
    ],
)
def test_what_no_condition_guards_is_loaded_once(loop: str, invariant: int) -> None:
    assert loads(loop) == {"Q": (4, invariant), "K": (4, 128)}


def test_a_row_that_is_read_whole_is_loaded_once() -> None:
    inner = "float s = 0;\n#pragma unroll\nfor (int d = 0; d < 64; d++) s += Q[t][d] * K[n][d];"
    loop = f"for (int n = 0; n < 64; n++) {{ {inner} %s }}"
    assert loads(loop % "m = fmaxf(m, expf(s));") == {"Q": (16, 32), "K": (16, 2048)}


def test_an_index_that_only_arithmetic_shows_to_be_the_same_is_loaded_again() -> None:
    loop = "for (int i = t; i < 4096; i += 64) m += Q[i % 64][3] * K[i / 64][5];"
    assert loads(loop) == {"Q": (4, 128), "K": (4, 128)}
