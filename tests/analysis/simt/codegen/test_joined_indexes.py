"""Neighbours whose indexes are joined by `^` and `|` or padded by a shift: SASS of nvcc 13.0.88 (sm_90, -O3)."""

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """\
__global__ void k(float *g, int m) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = g[t];
  __syncthreads();
  float v = 0;
  #pragma unroll
  for (int j = 0; j < COUNT; ++j) { TYPE i = 4 * t + j; v += s[INDEX]; }
  g[t] = v;
}
void run(float *g, int m) { k<<<1, 32>>>(g, m); }
"""


def load_of(index: str, count: int = 4, type_: str = "int"):
    text = KERNEL.replace("INDEX", index).replace("COUNT", str(count)).replace("TYPE", type_)
    (load,) = (a for a in accesses_of(text) if a.kind is AccessKind.LOAD)
    return load


@pytest.mark.parametrize(
    ("index", "count", "instructions", "wavefronts"),
    [
        ("4 * t ^ j", 4, 1, 4),
        ("(8 * t + j) ^ 4", 4, 1, 8),
        ("(4 * t + j) ^ 3", 4, 4, 16),
        ("(4 * t + j) ^ 4", 4, 4, 16),
        ("(4 * t + j) ^ 5", 4, 4, 16),
        ("t * 32 + (j ^ ((t & 7) * 4))", 4, 1, 4),
        ("(t * 4 + j) ^ ((t & 7) * 4)", 4, 4, 16),
        ("t * 32 + ((4 * (t >> 3) + j) ^ ((t & 7) * 4))", 4, 4, 16),
        ("t * 32 + (j ^ ((t & 7) * 4))", 8, 5, 20),  # one LDS.128 and four LDS
        ("t * 32 + (j ^ (t & 4))", 8, 5, 80),
        ("t * 32 + ((j ^ (t & 7)) * 4)", 4, 4, 16),
    ],
)
def test_a_sum_is_what_has_no_bit_of_both(index, count, instructions, wavefronts):
    load = load_of(index, count)
    assert (load.instructions, load.instructions * load.wavefronts.mean) == (
        instructions,
        wavefronts,
    )
    assert load.certainty is Certainty.ASSUMED


@pytest.mark.parametrize(
    "index",
    [
        "(4 * t + j) ^ 1",  # one LDS.128
        "(4 * t + 3) ^ j",  # four LDS
        "((t & 15) * 32 + j) ^ 4",  # four LDS
        "((t & 15) * 32 + 4) ^ j",  # one LDS.128
        "(t >> 1) * 32 + j | 8",  # four LDS
        "(32 * t + j) ^ ((t & 7) * 4)",  # four LDS, one LDS.128 if the sum is used for nothing else
        "i + (i >> 5) * 4",  # the same of an unsigned i
    ],
)
def test_constant_bits_that_meet_are_open(index):
    assert load_of(index).certainty is Certainty.SAMPLED


@pytest.mark.parametrize(
    ("type_", "index", "instructions", "wavefronts"),
    [
        ("int", "i + i / 32 * 4", 4, 16),
        ("int", "(i >> 5) * 36 + (i & 31)", 4, 16),
        ("unsigned", "i / 32 * 36 + i % 32", 4, 16),
    ],
)
def test_bits_below_a_shift_are_none_of_a_sum(type_, index, instructions, wavefronts):
    load = load_of(index, type_=type_)
    assert (load.instructions, load.instructions * load.wavefronts.mean) == (
        instructions,
        wavefronts,
    )
    assert load.certainty is Certainty.ASSUMED


WRITTEN = """\
__global__ void k(unsigned *g) {
  __shared__ __align__(16) unsigned s[8192];
  unsigned t = threadIdx.x, lane = t % 32, l = LOW, v = 0;
  s[t] = t;
  __syncthreads();
  #pragma unroll
  for (int j = 0; j < COUNT; ++j) { unsigned i = MADE; v += s[INDEX] * (j + 3); }
  g[t] = v;
}
void run(unsigned *g) { k<<<1, 32>>>(g); }
"""
DIVIDED, SHIFTED = "i / 32 * 36 + i % 32", "(i >> 5) * 36 + (i & 31)"


@pytest.mark.parametrize(
    ("low", "made", "index", "count", "loads"),
    [
        ("4 * t", "l | j", DIVIDED, 4, [16]),
        ("4 * t", "l | j", SHIFTED, 4, [16]),
        ("2 * t", "l | j", "(i >> 4) * 24 + (i & 15)", 2, [8]),
        ("4 * t", "l | j", "i + (i >> 5) * 4", 4, [16]),
        ("4 * t", "l | j", "(i & 63) + 4 * (i >> 6)", 4, [16]),
        ("4 * t", "l ^ j", DIVIDED, 4, [16]),
        ("4 * t", "l | j", "i & 1023", 4, [16]),
        ("t & ~3u", "l | j", SHIFTED, 4, [16]),
        ("4 * t + 128", "l | j", SHIFTED, 4, [16]),
        ("8 * t | 4", "l | j", SHIFTED, 4, [16]),
        ("4 * lane", "l | j", SHIFTED, 4, [16]),
        ("t + (t & -1u)", "l | j", DIVIDED, 2, [8]),
        ("4 * t", "(l | j) + 32", SHIFTED, 4, [4, 4, 4, 4]),
        ("2 * t", "l + j", DIVIDED, 2, [4, 4]),
        ("4 * t", "l | j", "i % 64 * 4", 4, [4, 4, 4, 4]),
    ],
)
def test_all_that_takes_bits_of_what_the_source_joins_sees_its_parts(
    low: str, made: str, index: str, count: int, loads: list[int]
) -> None:
    """nvcc 13.5.37: as many LDS, of so many bytes."""
    text = WRITTEN.replace("LOW", low).replace("MADE", made).replace("INDEX", index)
    found = [a for a in accesses_of(text.replace("COUNT", str(count))) if a.kind is AccessKind.LOAD]
    assert [a.width_bytes for a in found for _ in range(a.instructions)] == loads
    assert {a.certainty for a in found} == {Certainty.ASSUMED}
