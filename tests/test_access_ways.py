"""Which patterns of an access give its ways: those of instructions that are counted there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, WarpPattern

KERNEL = """
__global__ void k(float *g, const float *in) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = 0;
  v = s[4 * t];
  g[t] = v;
}
void f(float *g) { k<<<1, 128>>>(g, g); }
"""


def pattern(stride, count):
    lanes = np.arange(32) * 4 * stride
    every = np.ones(32, dtype=bool)
    return WarpPattern(lanes, every, 0, count, stride, 1, 1, 4)


@pytest.mark.parametrize(
    ("counts", "ways"), [((1, 1, 1), 8), ((1, 1, 0), 4), ((1, 0, 0), 2), ((0, 0, 0), 8)]
)
def test_ways_are_those_of_instructions_counted_here(counts, ways):
    load = next(a for a in accesses_of(KERNEL) if a.kind is AccessKind.LOAD)
    patterns = tuple(pattern(s, c) for s, c in zip((2, 4, 8), counts, strict=True))
    assert replace(load, patterns=patterns).ways == ways
