"""How many iterations share a basic block; factors as in the SASS of nvcc 13.0.88 -O3, sm_90."""

from __future__ import annotations

import pytest
from conftest import accesses_of
from figures import kernel

from smemlint.analysis.simt.codegen.unroll import is_block_settled, unrolled
from smemlint.facts import Certainty


@pytest.mark.parametrize(
    ("trips", "cost", "pragma", "is_constant", "factor"),
    [
        (8, 80, "", True, 8),  # 8 * 9 + 2 are at most 405
        (31, 434, "", True, 31),  # 31 * 13 + 2 = 405
        (32, 448, "", True, 8),  # 32 * 13 + 2 are more; 8 * 13 are at most 200, 16 * 13 are not
        (1000, 10_000, "", True, 8),  # 1000 is no multiple of 16
        (999, 9990, "", True, 1),
        (100, 1000, "", False, 4),  # 4 * 9 are at most 200
        (100, 6000, "", False, 2),  # 2 * 59 are
        (100, 12_000, "", False, 1),
        (8, 80, "nounroll", True, 1),
        (100, 10_000, "unroll 4", False, 4),
        (100, 10_000, "unroll(5)", True, 5),
        (16, 160, "unroll 0", True, 16),
        (64, 6400, "unroll", True, 64),  # 64 * 99 are at most 16384
        (256, 25_600, "unroll", True, 128),
        (8, 80, "unroll N", False, 4),
        (0, 0, "", True, 1),
        (7, 70, "unroll 1000000000000", True, 7),
    ],
)
def test_the_factor(trips, cost, pragma, is_constant, factor):
    assert unrolled(trips, cost, pragma, is_constant=is_constant) == factor


@pytest.mark.parametrize(
    ("ctype", "body", "whole", "rolled"),
    [
        ("unsigned", "v = v * a + b;", 61, 73),
        ("int", "v = v / 8 + b;", 41, 53),
        ("int", "v = v % 7;", 43, 53),
        ("float", "v = v / a + b;", 37, 53),
        ("float", "v = fmaxf(v, a) * b;", 61, 73),
    ],
)
def test_operations_on_what_the_loop_carries_count(ctype, body, whole, rolled):
    """The PTX of nvcc 13.0.88 has st.shared.v4 for one prime number of iterations, not the other."""
    for trips, bytes_in_one in ((whole, 16), (rolled, 4)):
        pitch = trips // 4 * 4 + 4
        (access,) = accesses_of(
            kernel(
                f"{ctype} v = b + t; for (int i = 0; i < {trips}; i++) {{ s[{pitch} * t + i] = v; {body} }}",
                shared=f"__align__(16) {ctype} s[{32 * pitch}]",
                params=f"{ctype} a, {ctype} b",
            )
        )
        assert access.width_bytes == bytes_in_one


@pytest.mark.parametrize("cost", [1000, 30000])
def test_what_cannot_be_counted_in_front_of_the_loop_stays_rolled(cost):
    assert unrolled(100, cost, "", is_constant=False, is_countable=False) == 1


@pytest.mark.parametrize(
    ("trips", "cost", "pragma", "is_settled"),
    [
        (16, 160, "", True),  # 16 * 11 + 2 are at most 200: whole, with room to spare
        (50, 450, "", False),  # 502 are more than 405, and nvcc has it whole
        (64, 576, "", True),  # by 4, 8, 16 or whole: slots of four are filled
        (60, 540, "", False),  # by 4 or by 20, whose pointer moves by no power of two
        (64, 6400, "", False),  # not even four of cost 101 are at most 200
        (64, 64_000, "", True),  # one by one
        (50, 450, "unroll 2", True),
    ],
)
def test_whether_other_blocks_would_fuse_alike(trips, cost, pragma, is_settled):
    assert is_block_settled(trips, cost, pragma) == is_settled


PAIRS = """
for (int k = 0; k < 100; k += 2) {
  float2 v;
  v.x = g[100 * c[t] + k];
  v.y = g[100 * c[t] + k + 1];
  ((float2 *)s)[t * 100 / 2 + k / 2] = v;
}"""


@pytest.mark.parametrize(
    ("body", "certainty", "wavefronts"),
    [
        (PAIRS, Certainty.SAMPLED, 4),  # SASS: 25 STS.128 of 4, which are free
        ("for (int k = 0; k < 50; k++) s[52 * t + k] = g[k * n + t];", Certainty.SAMPLED, 4),
        ("for (int k = 0; k < 50; k++) s[51 * t + k] = g[k * n + t];", Certainty.ASSUMED, 1),
        ("for (int k = 0; k < 64; k++) s[64 * t + k] = g[k * n + t];", Certainty.ASSUMED, 32),
    ],
    ids=["25 STS.128", "12 STS.128, STS.64", "50 STS", "16 STS.128"],
)
def test_blocks_that_are_not_settled_give_no_sure_conflict(body, certainty, wavefronts):
    params = "float *g, const int *c, int n"
    (access,) = accesses_of(kernel(body, shared="float s[4096]", params=params))
    assert (access.certainty, access.wavefronts.max) == (certainty, wavefronts)


NAMED = """
#define FACTOR 4
enum { FOUR = 4 };
template <int N>
__global__ void k(float *o, const float *g) {
  __shared__ float s[4096];
  const int U = 4;
  int t = threadIdx.x;
  float a = 0;
  s[t] = g[t];
  __syncthreads();
  #pragma unroll ASKED
  for (int i = 0; i < 16; i++) a += s[16 * t + i] * g[i];
  o[t] = a;
}
void go(float *a) { k<4><<<1, 128>>>(a, a); }
"""


@pytest.mark.parametrize(
    ("asked", "width"),
    [
        *((asked, 8) for asked in ("4", "U", "(U)", "N", "FACTOR", "FOUR", "(N * 2 - U)", "4u")),
        ("1", 4),
        ("N - 3", 4),
        ("", 16),
    ],
)
def test_factors_are_constant_expressions(asked, width):
    """SASS of nvcc 13.5.37, sm_90: LDS, LDS.64 and LDS.128."""
    *_, load = accesses_of(NAMED.replace("ASKED", asked))
    assert {p.width for p in load.patterns if p.count} == {width}
    assert load.certainty is Certainty.ASSUMED
