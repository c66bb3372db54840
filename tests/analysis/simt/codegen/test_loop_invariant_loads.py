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


def loads(loop: str, kernel: str = KERNEL) -> dict[str, tuple[int, int]]:
    """Returns width and instructions of the loads of each array."""
    (facts,) = facts_of(kernel.format(loop=loop)).kernels
    return {
        a.array.name: (
            max(p.width for p in a.patterns if p.count or not a.instructions),
            a.instructions,
        )
        for a in facts.accesses
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


@pytest.mark.parametrize("length", [32, 64])
def test_a_row_of_the_array_of_the_other_rows_is_loaded_once(length: int) -> None:
    inner = f"#pragma unroll\nfor (int d = 0; d < {length}; d++) s += Q[t][d] * Q[n][d];"
    loop = f"for (int n = 0; n < 64; n++) {{ float s = 0;\n{inner}\nm += s * s; }}"
    (facts,) = facts_of(KERNEL.format(loop=loop)).kernels
    issued = [a.instructions for a in facts.accesses if a.kind.value == "load"]
    assert sorted(issued) == [length // 4 * 2, length // 4 * 2 * 64]


def test_an_index_that_only_arithmetic_shows_to_be_the_same_is_loaded_again() -> None:
    loop = "for (int i = t; i < 4096; i += 64) m += Q[i % 64][3] * K[i / 64][5];"
    assert loads(loop) == {"Q": (4, 128), "K": (4, 128)}


@pytest.mark.parametrize(
    ("loop", "loaded"),
    [
        ("for (int n = 0; n < 64; n++) m = fmaxf(m, expf(Q[t][3] * K[n][5]));", 0),
        ("for (int n = 0; n < 64; n++) if (n < rows) m += expf(Q[t][3] * K[n][5]);", 0),
        ("for (int n = 0; n < 64; n++) if (m < 5) m += expf(Q[t][3] * K[n][5]);", 0),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][3] * K[n][2]); Q[t][3] = m; }", 0),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][3] * K[n][2]); Q[n][1] = m; }", 0),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][3] * K[n][2]); Q[t][n] = m; }", 128),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][3] * K[n][2]); K[n][25] = m; }", 0),
        ("for (int n = 0; n < 64; n++) { m += expf(Q[t][3] * K[n][2]); __syncthreads(); }", 128),
        ("for (int n = 0; n < 64; n++) m += __shfl_xor_sync(~0u, Q[t][3] * K[n][2], 1);", 0),
        (
            "for (int n = 0; n < 64; n += 4)"
            " for (int d = 0; d < 64; d++) m = expf(m * Q[t][3] * K[n][d]);",
            0,
        ),
    ],
)
def test_what_was_stored_before_a_loop_stays_in_its_register(loop: str, loaded: int) -> None:
    assert loads(f"Q[t][3] = g[t + 99];\n#pragma unroll 1\n{loop}")["Q"] == (4, loaded)


@pytest.mark.parametrize(
    ("pragma", "loaded"), [("#pragma unroll 1", (16, 16)), ("#pragma unroll", (4, 0))]
)
def test_what_an_unrolled_loop_stored_is_in_registers_of_the_next_one(pragma, loaded) -> None:
    """As a softmax and its product with a matrix: STS.128 and LDS of K, and no other"""
    loop = "for (int d = 0; d < 32; d++) Q[t][d] = g[t + d * 99];\n"
    product = "for (int j = 0; j < 32; j++) m += Q[t][j] * K[j][n];"
    loop += f"for (int n = 0; n < 64; n++) {{ m = 0;\n{product}\no[t * 64 + n] = m; }}"
    kernel = KERNEL.replace("#pragma unroll 1", pragma)
    assert loads(loop, kernel) == {"Q": loaded, "K": (4, 4096)}


@pytest.mark.parametrize(("length", "loaded"), [(48, 24), (56, 28), (64, 32)])
def test_an_index_that_a_loop_counts_costs_nothing_beside_its_load(length, loaded) -> None:
    """Such loops are fully unrolled: LDS.128 of a row of Q in front of the loop around it"""
    inner = f"float s = 0; for (int d = 0; d < {length}; d++) s += Q[t][d] * K[n][d];"
    found = loads(f"for (int n = 0; n < 64; n++) {{ {inner} o[n * 64 + t] = s; }}")
    assert found == {"Q": (16, loaded), "K": (16, 64 * loaded)}
