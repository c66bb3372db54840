"""Constants in what is shifted or divided: SASS of nvcc 13.0.88, -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
__global__ void __launch_bounds__(32) k(const float *in, float *out, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  for (int i = t; i < 4096; i += 32) s[i] = in[i];
  __syncthreads();
  BODY
}
"""
UNROLLED = """
  float a = 0;
  #pragma unroll
  for (int i = 0; i < 8; i++) a += s[INDEX] * i;
  out[t] = a;"""
LOOP = "float a = 0; for (int i = 0; i < n; i++) { BODY } out[t] = a;"


def loads(body):
    """Returns the widths of the loads that are issued, in bytes, widest first."""
    found = accesses_of(KERNEL.replace("BODY", body))
    read = [a for a in found if a.kind is AccessKind.LOAD]
    assert all(a.certainty is Certainty.ASSUMED for a in read)
    return [p.width for a in read for p in a.patterns for _ in range(p.count) if a.instructions]


@pytest.mark.parametrize(
    ("body", "widths"),
    [
        ("int x = t << 2; out[t] = s[x / 2] * s[(x + 2) / 2];", [8]),
        ("int x = t << 2; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [8]),
        ("int x = t * 4, y = (t & 3) * 8; out[t] = s[(x + y) / 2] * s[(x + y + 2) / 2];", [8]),
        ("int x = n * 4 - t * 4; out[t] = s[x / 2] * s[(x + 2) / 2];", [8]),
        ("int x = t * 4; out[t] = s[(x + 4) / 2] * s[(x + 6) / 2];", [8]),
        ("unsigned char x = t; x = x << 2; out[t] = s[x / 2] * s[(x + 2) / 2];", [8]),
        ("int x = t * 4 + 1; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [8]),
        ("unsigned x = t << 3; out[t] = s[x / 4] * s[(x + 6) / 4];", [8]),
        ("int x = t * 4 + (2 * t & 1); out[t] = s[x / 2] * s[(x + 2) / 2];", [8]),
        ("int x = (t & 28) * 8; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [8]),
        ("int x = (t & 28) * 8 + 1; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [4, 4]),
        ("int x = t / 4 * 32 + 5; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [4, 4]),
        ("int x = t % 8 * 32 + 5; out[t] = s[x >> 1] * s[(x + 2) >> 1];", [8]),
        ("int x = (t & 28) * 8 + 5; out[t] = s[x >> 1] * s[(x >> 1) + 1];", [8]),
        ("int x = t * 4 + 1; out[t] = s[x / 2] * s[(x + 2) / 2];", [4, 4]),
        ("int x = t * 8; out[t] = s[x / 4] * s[(x + 6) / 4];", [4, 4]),
        ("int x = t * 6; out[t] = s[x / 3] * s[(x + 3) / 3];", [4, 4]),
        (UNROLLED.replace("INDEX", "(t * 8 + i) >> 1"), [16]),
        (UNROLLED.replace("INDEX", "(t * 8 + i) / 2"), [16, 4, 4, 4, 4]),
    ],
)
def test_what_is_one_load(body, widths):
    assert sorted(loads(body), reverse=True) == widths


@pytest.mark.parametrize(
    "body",
    [
        "unsigned char u = t & 31, x = ((2 * u + 64) >> 1) << 2; out[t] = s[x / 2] * s[(x + 2) / 2];",
        "int x = (t ^ t >> 2) * 8; out[t] = s[x >> 1] * s[(x + 2) >> 1];",
        "int x = (t + 3) * 8; out[t] = s[(x + 1) >> 1] * s[(x + 3) >> 1];",
    ],
)
def test_sums_that_are_two_loads_where_others_alike_are_one_are_open(body):
    found = accesses_of(KERNEL.replace("BODY", body))
    assert [a.certainty for a in found if a.kind is AccessKind.LOAD] == [Certainty.SAMPLED] * 2


@pytest.mark.parametrize(
    "body",
    [
        "int x = t * 4; a += s[x / 2 + i * 64] * s[(x + 2) / 2 + i * 64];",
        "int x = i * 128 + t * 4; a += s[x / 2] * s[(x + 2) / 2];",
    ],
)
def test_it_is_open_in_a_loop_of_unknown_length(body):
    found = accesses_of(KERNEL.replace("BODY", LOOP.replace("BODY", body)))
    read = [a.certainty for a in found if a.kind is AccessKind.LOAD]
    assert read == [Certainty.SAMPLED] * 2
