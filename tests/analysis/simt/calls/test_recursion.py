"""Functions that call themselves: followed as deep as constants lead them."""

from __future__ import annotations

import pytest
from conftest import facts_of, ways_of

KERNEL = """
__host__ __device__ constexpr int halved(int n, int times) {
  return times == 0 ? n : halved(n / 2, times - 1);
}
__global__ void k(float *o, int m) {
  __shared__ float s[1024];
  s[threadIdx.x * %s] = o[0];
}
void go(float *o, int m) { k<<<1, 32>>>(o, m); }
"""


@pytest.mark.parametrize(("stride", "ways"), [("halved(1 << 22, 20)", 4.0), ("halved(64, 3)", 8.0)])
def test_constants_are_followed_far(stride: str, ways: float) -> None:
    text = KERNEL % stride
    assert [found[2] for found in ways_of(text) if found[1] == "store"] == [ways]


def test_what_is_not_constant_ends() -> None:
    (kernel,) = facts_of(KERNEL % "halved(m, m)").kernels
    assert [note.reason.code for note in kernel.not_analysed] == ["too-large"]
