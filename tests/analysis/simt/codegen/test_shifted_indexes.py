"""Neighbours whose indexes were divided, against the SASS of nvcc 13.0.88 (sm_90, -O3)."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(float *g, int d) {
  __shared__ TYPE s[4096];
  int t = threadIdx.x, l = t & 31, w = t >> 5;
  s[t] = g[t];
  __syncthreads();
  TYPE v = 0;
  #pragma unroll
  for (int j = 0; j < 4; ++j) v += s[INDEX] * (j + 1);
  g[t] = v;
}
void run(float *g, int d) { k<<<1, 128>>>(g, d); }
"""


@pytest.mark.parametrize(
    ("type_", "index", "expected"),
    [
        ("float", "(16 * t + 4 * j) / 4", (16, 4)),
        ("float", "(16 * l + 512 * w + 4 * j) / 4", (16, 4)),
        ("float", "(8 * t + 8 * d + 2 * j) / 2", (16, 4)),
        ("float", "(16 * t + 4 * j) >> 2", (16, 4)),
        ("float", "(4 * t + j) >> 1", (8, 4)),
        ("float", "(12 * t + j) >> 1", (8, 4)),
        ("float", "(4 * threadIdx.x + j) / 2", (8, 4)),
        ("float", "(4 * t + j + 1) >> 1", (8, 8)),
        ("double", "(8 * t + 2 * j) / 2", (16, 8)),
        ("float", "((l << 2) | j) >> 1", (8, 4)),
        ("float", "((8 * l + 2 * j) >> 1) + 128 * w", (16, 4)),
        ("float", "((16 * t + 4 * j) >> 2) + 1024", (16, 4)),
        ("float", "(16 * d >> 2) + j + 4 * t", (16, 4)),
        ("float", "((16 * t + 4 * j) >> 2) + 64 * d", (4, 16)),
        ("float", "((16 * t + 4 * j) / 4) + 64 * w", (4, 16)),
        ("float", "(64 * d + 16 * j) / 16 + 4 * t", (4, 16)),
        ("float", "((16 * t + 4 * j) >> 2) + (16 * d >> 2)", (4, 16)),
    ],
)
def test_constants_below_the_bits_of_a_sum_are_taken_out(type_, index, expected):
    text = KERNEL.replace("TYPE", type_).replace("INDEX", index)
    (load,) = (a for a in accesses_of(text) if a.kind is AccessKind.LOAD)
    assert (load.width_bytes, load.instructions) == expected
    assert load.certainty is Certainty.ASSUMED


@pytest.mark.parametrize("index", ["(4 * (t & 31) + j) >> 1", "(4 * (t & 31) + j) / 2"])
def test_odd_numbers_of_masked_bits_are_computed_apart(index):
    """nvcc: two LDS.64, of the first three j and of the fourth."""
    text = KERNEL.replace("TYPE", "float").replace("INDEX", index)
    (load,) = (a for a in accesses_of(text) if a.kind is AccessKind.LOAD)
    assert (load.width_bytes, load.instructions, load.wavefronts.mean) == (8, 8, 2)


@pytest.mark.parametrize(
    "index",
    [
        "(64 * t + 16 * j) >> 4",  # four LDS
        "(64 * l + 16 * j) / 16",  # one LDS.128
    ],
)
def test_what_may_be_computed_apart_is_open(index):
    text = KERNEL.replace("TYPE", "float").replace("INDEX", index)
    (load,) = (a for a in accesses_of(text) if a.kind is AccessKind.LOAD)
    assert load.certainty is Certainty.SAMPLED
