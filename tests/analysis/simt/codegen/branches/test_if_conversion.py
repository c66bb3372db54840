"""Which branches part the stores around them; widths and wavefronts from machine code.

nvcc 13.0.88 -O3 -arch=sm_90, nvdisasm 13.5.37, read by tests/oracle/compiled.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
__global__ void k(float *out, const float *in, const float *in2, int n) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  float v[4];
  for (int i = 0; i < 4; ++i) v[i] = in[t + i * 256];
  BODY
  __syncthreads();
  out[t] = s[(t * 5) & 1023];
}
void f(float *p, int n) { k<<<1, 256>>>(p, p, p, n); }
"""
LOOP = '_Pragma("unroll") for (int i = 0; i < 4; ++i) '


def store(body: str) -> tuple[int, float]:
    """The widest store's bytes, and wavefronts over the ideal of all."""
    found = [
        a
        for a in accesses_of(KERNEL.replace("BODY", body))
        if a.kind is AccessKind.STORE and a.wavefronts and a.ideal
    ]
    spent = sum(a.wavefronts.mean * a.instructions for a in found if a.wavefronts)
    best = sum(a.ideal.mean * a.instructions for a in found if a.ideal)
    return max(a.width_bytes for a in found), spent / best


@pytest.mark.parametrize(
    "value",
    [
        "t + i < n ? in[t + i] : 0.f",
        "t + i < 77 ? in[t + i] : 0.f",
        "t < n ? in[t + i] : 0.f",
        "(t + i < n && t > 3) ? in[t + i] : 0.f",
        "t + i < n ? __ldg(&in[t + i]) : 0.f",
        "t + i < n ? __fdividef(v[i], 3.f) : 1.f",
        "t + i < n ? expf(v[i]) : 1.f",
    ],
)
def test_a_load_or_long_call_under_a_condition_parts_stores(value: str) -> None:
    assert store(f"{LOOP} s[t * 4 + i] = {value};") == (4, 4.0)


@pytest.mark.parametrize(
    "value",
    [
        "n > 5 ? in[t + i] : 0.f",
        "t + i < n ? v[i] * 2.f : 1.f",
        "t + i < n ? in[t + i] : in2[t + i]",
    ],
)
def test_what_becomes_a_select_lets_stores_fuse(value: str) -> None:
    assert store(f"{LOOP} s[t * 4 + i] = {value};") == (16, 1.0)


def test_loads_before_all_stores_let_them_fuse() -> None:
    first = f"{LOOP} v[i] = t + i < n ? in[t + i] : 0.f;"
    assert store(f"{first} {LOOP} s[t * 4 + i] = v[i];") == (16, 1.0)


def test_cheap_arithmetic_under_an_if_becomes_a_select() -> None:
    body = "float w = v[i]; if (t + i < n) w = w * 3.f + 1.f; s[t * 4 + i] = w;"
    assert store(f"{LOOP} {{ {body} }}") == (16, 1.0)


def test_a_load_under_an_if_parts_stores() -> None:
    body = "float w = 0; if (t + i < n) w = in[t + i]; s[t * 4 + i] = w;"
    assert store(f"{LOOP} {{ {body} }}") == (4, 4.0)


OBJECTS = """
struct C {
  float re, im;
  __device__ float real() const { return re; }
  __device__ float imag() const { return im; }
};
__global__ void k(const CLASS *v, float *out, int n) {
  __shared__ float2 s[1024];
  int t = threadIdx.x, r = t * 32 % 1024;
  DECLARATION
  s[r].x = t < n ? OBJECT.real() : 0.0f;
  s[r].y = t < n ? OBJECT.imag() : 0.0f;
  __syncthreads();
  out[t] = s[t].x + s[t].y;
}
void f(float *p, int n) { k<<<1, 256>>>((CLASS *)p, p, n); }
"""


@pytest.mark.parametrize(
    ("class_", "declaration", "object_", "expected"),
    [
        ("C", "", "v[t]", [(4, 8), (4, 8)]),  # STS, STS (nvcc 13.5.37)
        ("other::complex<float>", "", "v[t]", [(4, 8), (4, 8)]),  # thrust's: STS, STS
        ("C", "C c = v[t];", "c", [(8, 8)]),  # STS.64
    ],
)
def test_a_method_of_an_object_in_memory_loads(class_, declaration, object_, expected):
    source = OBJECTS.replace("CLASS", class_).replace("OBJECT", object_)
    found = accesses_of(source.replace("DECLARATION", declaration))
    stores = [a for a in found if a.kind is AccessKind.STORE and a.instructions]
    assert [(a.width_bytes, a.instructions) for a in stores] == expected


KNOWN = """
__global__ void k(float *o, const float *p, int n) {
  __shared__ __align__(16) float s[2048];
  __shared__ float v[32];
  __shared__ int a[160];
  int t = threadIdx.x, k = 0;
  for (int q = t; q < 2048; q += 128) s[q] = p[q];
  if (t < 32) v[t] = p[t];
  for (int q = t; q < 160; q += 128) a[q] = n + q;
  __syncthreads();
  float x = 2e38f;
  for (int i = 0; i < 8; ++i) { BODY }
  o[t] = x + k;
}
void f(float *o) { k<<<1, 128>>>(o, o, 3); }
"""


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("if (s[8 * t + i] < x) x = s[8 * t + i];", [16] * 2),
        ("if (s[8 * t + i] < x) { x = s[8 * t + i]; k = i; }", [16] * 2),
        ("if (s[8 * t + i] > 0) x += s[8 * t + i];", [16] * 2),
        ("if (v[i] < x) { x = v[i]; k = a[i]; }", [16] * 4),
        ("if (i < n) x += v[i];", [16] * 2),
        ("x += i < n ? v[i] : 0.f;", [16] * 2),
        ("if (i != n) x += v[i] * a[i];", [16] * 4),
    ],
)  # nvcc 13.5.37, sm_90, -O3
def test_loads_of_the_condition_and_constant_elements_are_loaded_in_any_case(body, loads):
    found = [a for a in accesses_of(KNOWN.replace("BODY", body)) if a.kind is AccessKind.LOAD]
    assert sorted(a.width_bytes for a in found for _ in range(a.instructions // 4)) == loads
