"""How wide nvcc 13.5.37 for sm_90 makes four neighbours behind an index that a branch changed."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """__device__ int f(int w, int l) {
  if (w & 1) return 128 + 4 * l;
  if (w == 2) return 64;
  return 4 * w;
}
__global__ void k(const float *p, float *o) {
  __shared__ float s[8192];
  const int t = threadIdx.x, l = t & 31, w = t / 32;
  float v[4];
  for (int j = 0; j < 4; ++j) v[j] = p[t + 512 * j];
  int g = l << 2;
  CHANGE
  s[g] = v[0]; s[g + 1] = v[1]; s[g + 2] = v[2]; s[g + 3] = v[3];
}
void run(float *o) { k<<<1, 512>>>(o, o); }
"""


@pytest.mark.parametrize(
    "change",
    [
        "if (w & 1) g += 128;",
        "if (w & 1) { g += 128; } else { g += 0; }",
        "if ((w & 1) == 0) g += 0; if ((w & 1) == 1) g += 128;",
        "if (t & 1) g += 128;",
        "if (w & 1) g += 128; g += (w >> 1) * 256;",
        "int h = 0; if (w & 1) h = 128; g += h;",
        "if (w & 1) g += 128 + 4 * w;",
        "if (w & 1) g = 4 * w;",
        "g += f(w, l);",
        "if (w & 1) g |= 128;",
        "if (w & 1) g = 128; else g = 64;",
        "if (t > 300) return; g += 128;",
        "if (w & 1) { g += 128; if (w & 2) g += 64; }",
        "switch (w & 3) { case 0: g += 4; break; case 1: g += 128; break; default: g += 12; }",
    ],
)
def test_what_divides_both_divides_what_is_chosen(change):
    assert _widths(change) == {16}


@pytest.mark.parametrize("change", ["if (w & 1) g = l * 8;", "g = (w & 1) ? l * 8 : g;"])
def test_two_shifts_of_one_number_are_open(change):
    """LLVM shifts by the 2 or 3 that it chooses: four STS."""
    assert _widths(change) == {None}


def test_a_choice_that_divides_less_stays_apart():
    assert _widths("if (w & 1) g += 2;") == {8}


def _widths(change: str) -> set[int | None]:
    """Returns the widths of the stores; None for those that are open."""
    found = [a for a in accesses_of(KERNEL.replace("CHANGE", change)) if a.instructions]
    return {None if a.certainty.value == "sampled" else a.width_bytes for a in found}
