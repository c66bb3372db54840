"""Members that a loop of run-time length changes, of objects that begin with a pointer."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
struct Reader {
  float *first, *second;
  int stride;
  __device__ void advance() { float *next = second; second = first; first = next; }
  __device__ void widen() { stride += 1; }
};
__global__ void k(float *out, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  Reader r{s, s + 2048, 2};
  float v = 0;
  for (int i = 0; i < n; i++) {
    v += r.first[t * r.stride];
    CHANGE;
  }
  out[t] = v;
}
void f(float *out, const float *in, int n) { k<<<1, 128>>>(out, in, n); }
"""


@pytest.mark.parametrize(
    ("change", "certainty", "ways"),
    [
        ("v = v", Certainty.ASSUMED, 2),
        ("r.advance()", Certainty.ASSUMED, 2),
        ("r.stride += 1", Certainty.UNKNOWN, None),
        ("r.widen()", Certainty.UNKNOWN, None),
    ],
)
def test_a_changed_member_is_not_the_one_that_the_loop_begins_with(change, certainty, ways):
    (load,) = (a for a in accesses_of(KERNEL.replace("CHANGE", change)) if a.line == 16)
    assert load.kind is AccessKind.LOAD and load.certainty is certainty
    assert (load.wavefronts.max if load.wavefronts is not None else None) == ways
