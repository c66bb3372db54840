"""Stores of values that a condition picks: one wide store, or one a value.

Widths are of machine code: nvcc 13.0.88 -O3 -arch=sm_90, nvdisasm 13.0.85, read by
tests/oracle/compiled.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
#include <cuda_fp16.h>
struct P { int n; const float *a, *b; const float *bias; int k; unsigned u; long long w; };
struct M {
  const float *p; int n;
  __device__ float get(int l) const { return p[l]; }
  __device__ float safe(int l) const { return l < n ? p[l] : 0.f; }
  __device__ float operator()(int l) const { return p[l]; }
  __device__ float operator[](int l) const { return p[l]; }
};
__constant__ float c[8];
__device__ __forceinline__ float ld(const float *p, int l) { return p[l]; }
__device__ __forceinline__ float picked(const float *p, int l, int n) { return l < n ? p[l] : 0.f; }
__device__ __forceinline__ float early(const float *p, int l, int n) {
  if (l < n) return p[l];
  return 0.f;
}
__device__ __forceinline__ float written(const float *p, int l, int n) {
  float v = 0.f;
  if (l < n) v = p[l];
  return v;
}
__device__ __forceinline__ float softplus(float x) { return x > 20.f ? x : __logf(1.f + __expf(x)); }
__device__ __forceinline__ float elu(float x) { return x > 0.f ? x : expf(x) - 1.f; }
__device__ __forceinline__ float cube(float x) { return x * x * x; }
__device__ __forceinline__ float relu(float x) { return x > 0.f ? x : 0.f; }
__device__ __forceinline__ float leaky(float x) { if (x > 0.f) return x; return 0.1f * x; }
__device__ __forceinline__ int clamp(int x, int a, int b) { return x < a ? a : (x > b ? b : x); }
__global__ void k(P p, M m, const float *xs, const int *ip, TYPE *o) {
  __shared__ TYPE s[512];
  int r[4];
  float q[4], y = xs[3];
  for (int i = 0; i < 4; ++i) { r[i] = ip[threadIdx.x * 4 + i]; q[i] = xs[threadIdx.x * 4 + i]; }
  int base = blockIdx.x * 512 + threadIdx.x * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int l = base + i, j = r[i];
    float x = q[i];
    s[threadIdx.x * 4 + i] = VALUE;
  }
  __syncthreads();
  o[threadIdx.x] = s[511 - threadIdx.x];
}
void f(P p, M m, float *x, int *ip, TYPE *o) { k<<<4, 128>>>(p, m, x, ip, o); }
"""


def width(value: str, ctype: str = "float") -> int | None:
    """The bytes that a lane stores at once; None where that is open."""
    text = KERNEL.replace("VALUE", value).replace("TYPE", ctype)
    stores = [a for a in accesses_of(text) if a.kind is AccessKind.STORE]
    if any(a.certainty is not Certainty.ASSUMED for a in stores):
        return None
    return max(a.width_bytes for a in stores if a.instructions)


@pytest.mark.parametrize(
    "value",
    [
        "l < p.n ? p.a[l] : 0.f",
        "l >= p.n ? 0.f : p.a[l]",
        "l < p.n ? *(p.a + l) : 0.f",
        "l < p.n ? x : p.a[l]",
        "l < p.n ? p.bias[0] : 0.f",
        "(l < p.n && threadIdx.x < 100) ? p.a[l] : 0.f",
        "2.f * (l < p.n ? p.a[l] : 0.f)",
        "l < p.n ? (x > 0.f ? p.a[l] : 1.f) : 0.f",
        "l < m.n ? m.get(l) : 0.f",
        "l < m.n ? m(l) : 0.f",
        "l < m.n ? m[l] : 0.f",
        "m.safe(l)",
        "l < p.n ? ld(p.a, l) : 0.f",
        "picked(p.a, l, p.n)",
        "early(p.a, l, p.n)",
        "written(p.a, l, p.n)",
    ],
)
def test_a_load_on_a_condition_parts_the_stores(value: str) -> None:
    assert width(value) == 4


@pytest.mark.parametrize(
    "value",
    ["fmaxf(x, y)", "fabsf(x)", "fmaf(x, y, 2.f)", "rsqrtf(x)", "min(x, y)"],
)
def test_a_call_on_a_condition_parts_the_stores(value: str) -> None:
    assert width(f"l < p.n ? {value} : 0.f") == 4


@pytest.mark.parametrize("value", ["softplus(x)", "elu(x)"])
def test_a_branch_of_an_inlined_function_parts_the_stores(value: str) -> None:
    assert width(value) == 4


@pytest.mark.parametrize(
    "value",
    [
        "l < p.n ? x : y",
        "l < p.n ? q[i] : 0.f",
        "l < p.n ? x * y * y * y * y * y : 0.f",
        "l < p.n ? (x > y ? x * 2.f : y) : 0.f",
        "l < p.n ? (float)j : 0.f",
        "l < p.n ? p.a[l] : p.b[l]",
        "l < p.n ? cube(x) : 0.f",
        "relu(x)",
        "leaky(x)",
        "fmaxf(x, y)",
    ],
)
def test_cheap_arithmetic_on_a_condition_lets_stores_fuse(value: str) -> None:
    assert width(value) == 16


@pytest.mark.parametrize(
    "value",
    [
        "l < p.n ? (int)x : 0",
        "l < p.n ? __float2int_rn(x) : 0",
        "l < p.n ? j % 8 : 0",
        "l < p.n ? j / p.k : 0",
        "l < p.n ? __umulhi(j, 77) : 0",
        "l < p.n ? __shfl_xor_sync(~0u, j, 1) : 0",
        "l < p.n ? ip[j & 3] : 0",
        "(l < p.n && ip[l] > 2) ? j : 0",
        "(l < p.n || ip[l] > 2) ? j : 0",
    ],
)
def test_integers_that_take_a_block_part_the_stores(value: str) -> None:
    assert width(value, "int") == 4


@pytest.mark.parametrize(
    "value",
    [
        "l < p.n ? min(j, p.k) : 0",
        "l < p.n ? abs(j) : 0",
        "l < p.n ? __popc(j) : 0",
        "l < p.n ? __float_as_int(x) : 0",
        "l < p.n ? (int)((unsigned)j / 8u) : 0",
        "l < p.n ? (j ^ 1) + (p.k >> 2) : 0",
        "clamp(j, 0, p.k)",
        "(l < p.n && j > 2) ? j : 0",
        "j / 7",
        "(int)((unsigned)j / p.u)",
    ],
)
def test_integers_that_are_selected_let_stores_fuse(value: str) -> None:
    assert width(value, "int") == 16


@pytest.mark.parametrize(
    "value",
    [
        "j / p.k",
        "j % p.k",
        "ip[(base + i) / p.k]",
        "(int)((long long)j / p.w)",
    ],
)
def test_a_division_by_a_variable_may_part_the_stores(value: str) -> None:
    assert width(value, "int") is None
