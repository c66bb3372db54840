"""Products of 24 bits: what they are, and that what fuses behind them is open (SASS: mul24)."""

from __future__ import annotations

import pytest
from conftest import accesses_of

KERNEL = """
__global__ void k(float *out, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  float *a = s + %s;
  s[t] = n;
  __syncthreads();
  out[t] = %s;
}
void f(float *o) { k<<<1, 64>>>(o, 3); }
"""
FOUR = "a[0] + a[1] + a[2] + a[3]"


def loads(base: str, read: str) -> set[tuple[str, float]]:
    found = [a for a in accesses_of(KERNEL % (base, read)) if a.kind == "load"]
    return {(a.certainty, a.wavefronts.mean / a.ideal.mean) for a in found}


@pytest.mark.parametrize(
    "base", ["__mul24(t, 4)", "__umul24(t, 4)", "__mul24(t, 4) + __mul24(n, 8)"]
)
def test_neighbours_behind_a_product(base: str) -> None:
    assert loads(base, FOUR) == {("sampled", 4.0)}


@pytest.mark.parametrize(
    "base", ["__mul24(t, 4)", "__umul24(t, 4)", "__mul24(t, 4) + __mul24(n, 8)"]
)
def test_a_load_alone_is_known(base: str) -> None:
    assert loads(base, "a[0]") == {("assumed", 4.0)}


def test_a_plain_product_lets_them_fuse() -> None:
    assert loads("t * 4", FOUR) == {("assumed", 1.0)}
