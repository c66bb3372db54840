"""How wide loads are whose index was divided, against the SASS of nvcc 13.0.88, sm_90, -O3.

A division by a power of two is a shift to the compiler where the dividend is unsigned or made of
thread numbers. Each kernel was compiled with sixteen loads `mask[at + i]` in a loop.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

_KERNEL = """
__global__ void k(const unsigned *in, unsigned *out, unsigned size) {
  extern __shared__ float sum[];
  unsigned *mask = (unsigned *)&sum[64], tid = threadIdx.x;
  for (unsigned i = tid; i < size; i += blockDim.x) mask[i] = in[i];
  __syncthreads();
  int at = INDEX;
  unsigned found[16];
  for (int i = 0; i < 16; i++) found[i] = mask[at + i];
  for (int i = 0; i < 16; i++) out[i * 1024 + tid] = found[i];
}
void run(const unsigned *in, unsigned *out, unsigned n) { k<<<1, 256, 65536>>>(in, out, n); }
"""


@pytest.mark.parametrize(
    ("index", "width"),
    [
        ("tid * 32 / 8", 16),
        ("tid * 32 / 16", 8),
        ("tid * 32 / 32", 4),
        ("tid * 24 / 4", 8),
        ("(tid & 1020) * 32 / 8", 16),
        ("(size + tid) * 16 / 4", 16),
        ("int(threadIdx.x) * 32 / 8", 16),
        ("int(threadIdx.x) * 32 / 16", 8),
    ],
)
def test_a_division_by_a_power_of_two_is_a_shift(index, width):
    accesses = accesses_of(_KERNEL.replace("INDEX", index))
    (load,) = (access for access in accesses if access.kind is AccessKind.LOAD)
    assert load.width_bytes == width
