"""A fused load may take bytes behind its array that the source does not read."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
template <int A> __global__ void k(const int *p, int *o) {
  __shared__ int q[A];
  if (threadIdx.x < A) q[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  int y = 1;
  for (int i = A - 1; i >= BEGIN; --i) y *= q[i];
  o[threadIdx.x] = y;
}
void run(const int *p, int *o, int b) { k<SIZE><<<1, b>>>(p, o); }
"""


@pytest.mark.parametrize(("size", "width"), [(2, 8), (3, 16), (4, 16), (5, 16)])
def test_bytes_that_the_source_does_not_read_refute_no_guessed_block(size, width):
    """SASS of nvcc 13.5.37: LDS.64, LDS.128, LDS.128, LDS.128 and LDS."""
    found = accesses_of(KERNEL.replace("SIZE", str(size)).replace("BEGIN", "0"))
    (load,) = (a for a in found if a.kind is AccessKind.LOAD)
    assert load.width_bytes == width
    assert {a.certainty for a in found} == {Certainty.ASSUMED}
    assert {(p.width, p.reach) for p in load.patterns} >= {(width, min(4 * size, width))}


def test_bytes_that_it_reads_do():
    text = KERNEL.replace("SIZE", "3").replace("BEGIN", "0").replace("int i = A", "int i = A + 1")
    assert {a.certainty for a in accesses_of(text)} == {Certainty.SAMPLED}
