"""Loops of floating-point numbers that load shared memory under names from outside a function."""

from __future__ import annotations

import pytest
from conftest import accesses_of

LOOP = "for (int i = 0; i < 8; i++) a += FROM[threadIdx.x * (i + 1)];"
OUTSIDE = "extern __shared__ float sm[];"
MEMBER = "struct Sums { int n; float *p; __device__ float sum() { float a = 0; LOOP return a; } };"
LOCAL = "__shared__ float sm[1024];"


@pytest.mark.parametrize(
    ("outside", "body"),
    [
        (OUTSIDE, "float a = 0; LOOP".replace("LOOP", LOOP.replace("FROM", "sm"))),
        (MEMBER, LOCAL + " Sums t{1, sm}; float a = t.sum();"),
        (MEMBER, LOCAL + " Sums t{1, sm}; float a = 0; " + LOOP.replace("FROM", "t.p")),
        (MEMBER, LOCAL + " float *p[2] = {out, sm}; float a = 0; " + LOOP.replace("FROM", "p[1]")),
    ],
)
def test_each_iteration_loads_with_its_own_stride(outside, body):
    text = outside.replace("LOOP", LOOP.replace("FROM", "p")) + (
        f"__global__ void k(float *out) {{ {body} out[threadIdx.x] = a; }}"
        "void f(float *o) { k<<<1, 32, 4096>>>(o); }"
    )
    [access] = accesses_of(text)
    ways = [1, 2, 1, 4, 1, 2, 1, 8]
    assert (access.instructions, access.wavefronts.mean) == (len(ways), sum(ways) / len(ways))


def test_a_loop_that_stays_one_parts_the_stores_around_it():
    """Two STS, and the branch between them: nvcc 13.5, -arch=sm_90 -O3."""
    text = """
    __global__ void k(const float *in) {
        __shared__ float s[256];
        float a = in[threadIdx.x];
        s[threadIdx.x * 2] = a;
        for (int i = 0; i < 3000; ++i) a += a * in[i];
        s[threadIdx.x * 2 + 1] = a;
    }
    void f(const float *i) { k<<<1, 32>>>(i); }
    """
    found = [(a.instructions, a.wavefronts.mean) for a in accesses_of(text)]
    assert found == [(1, 2), (1, 2)]
