"""Of which sums in a loop LLVM makes pointers: none of what no constant is added to.

SASS of nvcc 13.5.37, -O3, sm_90, of each kernel: one LDS.128 an iteration, for the four words.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
struct E { unsigned u[4]; };
__global__ void k(unsigned *o, const unsigned *n, int m) {
  __shared__ TYPE;
  unsigned t = threadIdx.x, a = 0;
  int stride = 2, off = START, q = 1;
  LOOP {
    GUARD { READ }
    STEP
    __syncthreads();
  }
  o[t] = a;
}
void f(unsigned *o, const unsigned *n) { k<<<1, 256>>>(o, n, 8); }
"""
HALVES = "for (unsigned idx = blockDim.x >> 1; idx > 0; idx >>= 1)"
FOLLOWS = "for (unsigned x = n[0]; x != 0; x = n[x])"
COUNTS = "#pragma unroll 1\n for (int idx = 0; idx < 256; idx += 32)"
DOUBLES = "stride <<= 1; off = stride - 1;"
RECORD = "E d = s[PLACE]; for (int i = 0; i < 4; i++) a += d.u[i];"
WORDS = "for (int i = 0; i < 4; i++) a += s[4 * (PLACE) + i];"


def loads(loop, start, place, step, *, of_records=False, guard=""):
    text = KERNEL.replace("TYPE", "E s[1024]" if of_records else "unsigned s[4096]")
    text = text.replace("READ", RECORD if of_records else WORDS).replace("PLACE", place)
    text = text.replace("START", str(start)).replace("LOOP", loop).replace("STEP", step)
    text = text.replace("GUARD", guard)
    return [a for a in accesses_of(text) if a.kind is AccessKind.LOAD]


@pytest.mark.parametrize("of_records", [True, False])
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("place", ["t + off", "2 * t + off + 1", "t + off + stride - 1"])
@pytest.mark.parametrize("step", ["off += 2;", DOUBLES])
@pytest.mark.parametrize("loop", [HALVES, FOLLOWS])
def test_loops_that_nothing_counts(loop, start, place, step, of_records):
    widths = {a.width_bytes for a in loads(loop, start, place, step, of_records=of_records)}
    assert widths == {16}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("place", ["t + off", "t + off + q", "t + stride - 1 + q"])
@pytest.mark.parametrize("step", [f"q += 2; {DOUBLES}", "q += 1; off = 2 * off + 1; stride <<= 1;"])
def test_sums_of_what_leaps(start, place, step):
    assert {a.width_bytes for a in loads(COUNTS, start, place, step)} == {16}


def test_a_tree_of_elements():
    """Elements of 16 bytes lie `stride` apart: of 2, 4, 8 and more 4, 2 and 1 meet no other."""
    place, guard = "t * stride + off", "if (t < idx)"
    (load,) = loads(HALVES, 1, place, DOUBLES, of_records=True, guard=guard)
    wavefronts = 0
    for half in range(8):
        for first in range(0, 128 >> half, 32):
            threads = min(32, (128 >> half) - first)
            wavefronts += -(-threads // max(4 >> half, 1))
    assert load.width_bytes == 16
    assert load.instructions * load.wavefronts.mean == pytest.approx(wavefronts)
