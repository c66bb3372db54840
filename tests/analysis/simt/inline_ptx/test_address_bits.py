"""Swizzles of whole shared addresses: the bits above what the array's base is a multiple of."""

from __future__ import annotations

import numpy as np
from conftest import accesses_of

from smemlint.facts import Certainty

SOURCE = """
__global__ void k(float *out) {
  extern __shared__ float4 tile[];
  unsigned base = (unsigned)__cvta_generic_to_shared(tile), t = threadIdx.x;
  unsigned at = base + %s;
  at ^= (at & %s) >> %d;
  float a;
  asm volatile("ld.shared.f32 %%0, [%%1];" : "=f"(a) : "r"(at));
  out[t] = a;
}
void f(float *out) { k<<<1, 32, 32768>>>(out); }
"""


def _expected(offsets: np.ndarray, mask: int, shift: int, base: int) -> int:
    at = base + offsets
    at ^= (at & mask) >> shift
    words = np.unique(at // 4)
    return int(np.bincount(words % 32).max())


def test_a_base_that_moves_all_lanes_alike_leaves_the_figure_decided() -> None:
    t = np.arange(32)
    for offset, mask, shift in (("4096 + t * 256", 0x700, 4), ("4096 + t * 256", 0x800, 7)):
        (load,) = accesses_of(SOURCE % (offset, hex(mask), shift))
        expected = {_expected(4096 + t * 256, mask, shift, base) for base in range(0, 4096, 1024)}
        assert {load.wavefronts.min, load.wavefronts.max} == expected and len(expected) == 1
        assert load.certainty is Certainty.ASSUMED


def test_a_figure_that_hangs_on_the_base_is_a_sample() -> None:
    t = np.arange(32)
    offsets = t % 2 * 1024 + t // 2 * 4
    (load,) = accesses_of(SOURCE % ("(t & 1) * 1024 + (t >> 1) * 4", "0x800", 5))
    expected = {_expected(offsets, 0x800, 5, base) for base in range(0, 4096, 1024)}
    assert {load.wavefronts.min, load.wavefronts.max} == expected == {1, 2}
    assert load.certainty is Certainty.SAMPLED
