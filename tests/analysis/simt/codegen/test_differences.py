"""How wide loads are whose index was subtracted, against the SASS of nvcc 13.0.88, sm_90, -O3.

ptxas sees no alignment through a difference but that of a common factor; LLVM, which knows what
`__align__` promises, does. Each kernel was compiled with threadIdx.x as `t` and four loads
`h[g + j]` or `h[g - j]` in an unrolled loop.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """\
__global__ void k(int *o, int n) {
  __shared__ %s int h[2048];
  int t = threadIdx.x;
  h[t] = o[t];
  __syncthreads();
  int g = %s, s = 0;
  #pragma unroll
  for (int j = 0; j < 4; ++j) s += h[%s];
  o[t] = s;
}
void run(int *o, int n) { k<<<1, 128>>>(o, n); }
"""


def width(start: str, index: str, aligned: str = "") -> int:
    found = accesses_of(KERNEL % (aligned, start, index))
    (load,) = (access for access in found if access.kind is AccessKind.LOAD)
    return max(pattern.width for pattern in load.patterns if pattern.count)


@pytest.mark.parametrize(
    ("start", "index", "expected"),
    [
        ("4 * (t & 31)", "g + j", 16),
        ("4 * t - 4", "g + j", 16),
        ("7 + 8 * (t & 31)", "g - j", 16),
        ("4 * (31 - (t & 31))", "g + j", 16),
        ("4 * (n - (t & 31))", "g + j", 16),
        ("4 * n - 4 * (t & 31)", "g + j", 16),
        ("512 - 4 * t", "g + j", 16),
        ("4 * (128 - t)", "g + j", 16),
        ("4 * (31 - (t & 31)) + 128 * (t >> 5)", "g + j", 16),
        ("128 - 4 * (t & 31)", "g + j", 4),
        ("124 - 4 * (t & 31)", "g + j", 4),
        ("127 - 4 * (t & 31)", "g - j", 4),
        ("512 - 16 * (t >> 5)", "g + j", 4),
        ("511 - 4 * t", "g - j", 4),
        ("64 * n - 4 * t", "g + j", 4),
        ("4 * (t & 31) + 128 - 16 * (t >> 5)", "g + j", 4),
        ("128 * (t >> 5) - 4 * (t & 7) + 124", "g + j", 4),
    ],
)
def test_what_ptxas_makes_of_a_difference(start, index, expected):
    assert width(start, index) == expected


@pytest.mark.parametrize(
    ("start", "index"),
    [("128 - 4 * (t & 31)", "g + j"), ("511 - 4 * t", "g - j"), ("64 * n - 4 * t", "g + j")],
)
def test_llvm_sees_through_it(start, index):
    assert width(start, index, "__align__(16)") == 16


def test_a_bucket_search_downwards_meets_in_four_banks():
    """Eight loads of 255 - 8 * lane - j: eight LDS of 8 wavefronts (exllamav3's dsa_topk)."""
    text = KERNEL.replace("j < 4", "j < 8") % ("", "255 - 8 * (t & 31)", "g - j")
    (load,) = (access for access in accesses_of(text) if access.kind is AccessKind.LOAD)
    assert {(p.width, p.wavefronts, p.ideal) for p in load.patterns} == {(4, 8, 1)}


BITONIC_STEP = """
struct Pair { unsigned key, value; };
__global__ void k(Pair *d) {
  __shared__ Pair s[512];
  unsigned t = threadIdx.x;
  s[t] = d[t];
  s[t + 256] = d[t + 256];
  __syncthreads();
  const unsigned stride = 1, at = 2 * t - (t & (%s));
  Pair a = s[at], b = s[at + stride];
  d[t].key = a.key * b.key + a.value * b.value;
}
void f(Pair *d) { k<<<1, 256>>>(d); }
"""


@pytest.mark.parametrize(("mask", "width"), [("stride - 1", 16), ("stride", 8)])
def test_a_mask_of_no_bits_is_nothing(mask, width):
    """A bitonic step whose stride is a constant: LDS.128 with `t & 0`, else LDS.64."""
    found = accesses_of(BITONIC_STEP % mask)
    assert {a.width_bytes for a in found if a.kind is AccessKind.LOAD} == {width}


MOVED = """\
__global__ void k(int *o, int n, int m) {
  __shared__ int h[8192];
  int t = threadIdx.x, s = 0;
  h[t] = o[t];
  __syncthreads();
  for (int k = 0; k < m; ++k) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) s += h[4 * k + %s + j];
  }
  o[t] = s;
}
void run(int *o, int n) { k<<<1, 128>>>(o, n, n); }
"""


@pytest.mark.parametrize(
    ("start", "widest", "certainty"),
    [
        ("(127 - t) * 4", 4, "assumed"),
        ("508 - t * 4", 4, "assumed"),
        ("(127 - t) * 8", 4, "assumed"),
        ("(n - t) * 4", 16, "assumed"),
        ("(t - 1) * 4", 16, "assumed"),
        ("(15 - t % 16) * 4", 4, "sampled"),  # four LDS
        ("(127 - t) * 4 + n * 4", 4, "sampled"),  # four LDS
        ("(64 - t % 16 - n) * 4", 4, "sampled"),  # one LDS.128
    ],
)
def test_what_a_loop_moves_from_a_constant_minus_something(start, widest, certainty):
    """LDS.128 was said of all."""
    *_, load = [a for a in accesses_of(MOVED % start) if a.kind is AccessKind.LOAD]
    widths = max(pattern.width for pattern in load.patterns if pattern.count)
    assert (widths, load.certainty.value) == (widest, certainty)


@pytest.mark.parametrize("index", ["64 - t / 2", "64 - (t ^ 3)", "63 - (t >> 1)"])
def test_multiples_of_a_constant_minus_what_is_shifted_are_open(index):
    """Four LDS; of `20 - t / 32` one LDS.128."""
    (load,) = [
        a
        for a in accesses_of(KERNEL % ("", f"({index}) * 4", "g + j"))
        if a.kind is AccessKind.LOAD
    ]
    assert load.certainty.value == "sampled"
