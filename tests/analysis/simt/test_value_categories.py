"""What an expression names, or the value it has: `decltype(auto)`, results of lambdas, unread parts.

The figures are those of nvcc 13.0's SASS for sm_90.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

SOURCE = """
struct P { int &r; int v; };
__device__ decltype(auto) named(int *p, int i) { return (p[i]); }
__device__ decltype(auto) value(int *p, int i) { int x = p[i]; return x; }
__global__ void k(int *o) {
  __shared__ int s[4096];
  int t = threadIdx.x, v = 3;
  %s
  __syncthreads();
  o[t] = s[o[t] & 127];
}
void f(int *o) { k<<<1, 32>>>(o); }
"""


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        ("decltype(auto) r = (s[2 * t]); r = 3;", 2),
        ("decltype(auto) r = s[2 * t]; r = 3;", 2),
        ("int &q = s[2 * t]; decltype(auto) r = q; r = 3;", 2),
        ("P p{s[2 * t], 1}; decltype(auto) r = p.r; r = 3;", 2),
        ("decltype(auto) r = v; r = 4 * t; s[r] = v;", 4),
        ("decltype(auto) r = t + t; s[r] = 1;", 2),
        ("named(s, 2 * t) = 3;", 2),
        ("decltype(s[t]) r = s[2 * t]; r = 3;", 2),
        ("int &q = s[2 * t]; decltype(q) r = s[4 * t]; r = 3;", 4),
        ("decltype((v)) r = v; r = 4 * t; s[v] = 3;", 4),
        ("P p{s[t], 1}; decltype(p.v) r = p.v; r = 4 * t; s[r] = p.v;", 4),
        ("decltype(auto) r = named(s, 2 * t); r = 3;", 2),
        ("auto l = [&](int i) -> decltype(auto) { return s[2 * i]; }; l(t) = 3;", 2),
        ("auto l = [](int i) -> unsigned char { return i * 64; }; s[l(t)] = 1;", 4),
        ("auto l = [](int i) -> int2 { return {i, 2 * i}; }; s[l(t).y] = 1;", 2),
        ("auto l = [&](int i) -> void { s[2 * i] = 1; }; l(t);", 2),
    ],
)
def test_a_name_is_stored_through_and_a_value_is_copied(body, wavefronts) -> None:
    stores = [a for a in accesses_of(SOURCE % body) if a.kind == "store"]
    assert [(a.instructions, a.wavefronts.mean) for a in stores] == [(1, wavefronts)]


def test_a_value_is_loaded_where_it_is_returned() -> None:
    accesses = accesses_of(SOURCE % "decltype(auto) r = value(s, 2 * t); r = 3; o[t + 9] = r;")
    assert {(a.kind, a.span.line) for a in accesses} == {("load", 4), ("load", 10)}


@pytest.mark.parametrize(
    "body",
    [
        "u[t].a = 1;", "o[t] = u[t].a[t].b;", "u[t].reset(3);", "u->a = 1;", "use(u[t].a);",
        "Unread &r = u[t]; r.a += 1;", "use(u[t]);", "use(u);",
    ],
)  # fmt: skip
def test_parts_of_a_shared_object_of_an_unread_class_are_said(body) -> None:
    text = "__global__ void k(int *o) { __shared__ Unread u[64]; int t = threadIdx.x; %s }"
    facts = facts_of(text % body + " void f(int *o) { k<<<1, 64>>>(o); }")
    (kernel,) = facts.kernels
    assert not [a for a in kernel.accesses if a.wavefronts is not None]
    assert kernel.accesses or kernel.not_analysed


def test_a_method_of_a_shared_object_that_was_not_read_is_said() -> None:
    text = """
struct V { float x, y; __device__ void scale(float by); };
__global__ void k(float *o) { __shared__ V s[64]; s[threadIdx.x].scale(2); }
void f(float *o) { k<<<1, 64>>>(o); }
"""
    (kernel,) = facts_of(text).kernels
    assert [(n.span.line, n.reason.code) for n in kernel.not_analysed] == [(3, "not-declared")]


@pytest.mark.parametrize(("body", "found"), [
    ("int *const &p = s; p[2 * t] = 1;", [("store", 4, 2)]),  # `s` was loaded as a pointer
    ("first(s, 2 * t) = 1;", [("store", 4, 2)]),
    ("short a = 2 * t; s[larger(a, 1)] = 1;", [("store", 4, 2)]),
    ("const long &l = t; s[l * 2] = 1;", [("store", 4, 2)]),
    ("const float &x = s[2 * t]; o[t] = x + x;", [("load", 4, 2)]),
    ("int (&r)[4096] = s; auto &q = s; r[2 * t] = 1; q[2 * t + 64] = 2;", [("store", 4, 2)] * 2),
])  # fmt: skip
def test_a_reference_to_another_type_refers_to_a_copy(body, found) -> None:
    text = """
__device__ int &first(int *const &p, int i) { return p[i]; }
__device__ int larger(const int &a, const int &b) { return a > b ? a : b; }
__global__ void k(float *o) { __shared__ int s[4096]; int t = threadIdx.x; %s }
void f(float *o) { k<<<1, 32>>>(o); }
"""
    accesses = accesses_of(text % body)
    assert [(a.kind, a.width_bytes, a.wavefronts.mean) for a in accesses] == found
