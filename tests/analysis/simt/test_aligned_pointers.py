"""Pointers to dynamic shared memory that are rounded up as integers, behind a run-time offset."""

import pytest

from tests.conftest import accesses_of

SOURCE = """\
__global__ void k(float *g, int n) {
  extern __shared__ char dyn[];
  char *base = dyn + n * 4;
  base = reinterpret_cast<char *>((reinterpret_cast<%s>(base) + 127) & %s);
  float *tot = reinterpret_cast<float *>(base);
  tot[threadIdx.x * 2] = g[0];
}
void f(float *g, int n) { k<<<1, 256, 4096>>>(g, n); }
"""


@pytest.mark.parametrize(
    ("integer", "mask"),
    [("uintptr_t", "~127"), ("unsigned long long", "~127ull"), ("size_t", "~uintptr_t(127)")],
)
def test_a_pointer_that_is_rounded_up_stays_one(integer, mask):
    """Arithmetic: 32 lanes 8 bytes apart."""
    (store,) = accesses_of(SOURCE % (integer, mask))
    assert (store.ways, store.patterns[0].wavefronts) == (2, 2)
