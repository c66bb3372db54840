"""Pointers that a host function is given: each may be null, or equal to another.

They were taken to be neither, so that one way of `if (in)` was never run: the kernel that it launches
was not analysed, or only under a guessed block, and nothing said so.
"""

from __future__ import annotations

import pytest
from conftest import facts_of

KERNEL = """
template <int N> __global__ void k(float *g) {
  __shared__ float s[64 * 32];
  s[threadIdx.x * N] = g[0];
}
struct P { float *w; int n; };
static float *held;
"""
CHOICE = "if ({}) k<1><<<1, 32>>>(o); else k<2><<<1, 64>>>(o);"


def blocks(host):
    return sorted({k.instance.block[0] for k in facts_of(KERNEL + host).kernels})


@pytest.mark.parametrize(
    "condition",
    ["in", "!in", "in == nullptr", "in != NULL", "0 == in", "in == o", "in != o", "in && o",
     "p.w", "q->w == nullptr", "held", "static_cast<bool>(in)"],
)  # fmt: skip
def test_both_launches_of_an_open_pointer_are_evaluated(condition):
    host = f"void run(float *in, float *o, P p, P *q) {{ {CHOICE.format(condition)} }}"
    assert blocks(host) == [32, 64]


@pytest.mark.parametrize(
    "condition", ["x", "&x[1] != nullptr", "&y", "&y != o", '"a"', "in == in", "in + 1 != in"]
)
def test_a_known_pointer_decides(condition):
    host = f"void run(float *in, float *o) {{ int x[4], y; {CHOICE.format(condition)} }}"
    assert blocks(host) == [32]


def test_a_block_may_hang_on_a_pointer():
    host = "void run(float *in, float *o) { int t = in ? 64 : 32; k<1><<<1, t>>>(o); }"
    assert blocks(host) == [32, 64]
