"""Copies of objects with members of CUDA's classes of two halves: SASS of nvcc 13.0.88, sm_90, -O3.

Of every other class of 8 aligned bytes the SASS has one access of 64 bits, of these two of 32,
unless the array or what is added to it is aligned, too.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty
from smemlint.reasons import ReasonCode

KERNEL = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Inner { half2 v[2]; };
struct __align__(%d) T { %s };
__global__ void stored(float *g, const T *in, int n) {
  %s s[4096];
  int t = threadIdx.x;
  *(T *)(s + %s) = in[t];
  __syncthreads();
  g[t] = *(float *)(s + t);
}
__global__ void loaded(T *g, const float *in, int n) {
  %s s[4096];
  int t = threadIdx.x;
  *(float *)(s + t) = in[t];
  __syncthreads();
  g[t] = *(T *)(s + %s);
}
void f(float *g, float *in, int n) {
  stored<<<1, 128>>>(g, (T *)in, n);
  loaded<<<1, 128>>>((T *)g, in, n);
}
"""


def copies(members, place, align=8, array="__shared__ float"):
    """Returns the width of the copy's accesses and how many there are, of the store and the load."""
    found = accesses_of(KERNEL % (align, members, array, place, array, place))
    copied = {"stored": AccessKind.STORE, "loaded": AccessKind.LOAD}
    own = [a for a in found if a.kind is copied[a.instance.kernel] and a.instructions]
    return [(a.width_bytes, a.instructions // 4) for a in own]


ANYWHERE = "n * 33 + 4 * t"


@pytest.mark.parametrize(
    ("members", "align", "expected"),
    [
        ("half2 v[2];", 8, (4, 2)),
        ("half2 a, b;", 8, (4, 2)),
        ("__nv_bfloat162 a, b;", 8, (4, 2)),
        ("half2 a; int b;", 8, (4, 2)),
        ("half2 v[4];", 16, (4, 4)),
        ("Inner a, b;", 16, (4, 4)),
        ("float v[2];", 8, (8, 1)),
        ("half v[4];", 8, (8, 1)),
        ("unsigned char c[8];", 8, (8, 1)),
        ("float2 a, b;", 16, (16, 1)),
    ],
)
def test_pairs_are_copied_by_themselves(members, align, expected):
    assert copies(members, ANYWHERE, align) == [expected] * 2


@pytest.mark.parametrize(
    ("members", "align", "width"), [("half2 v[2];", 8, 8), ("half2 v[4];", 16, 16)]
)
def test_pairs_fuse_where_their_place_is_aligned(members, align, width):
    assert copies(members, f"{width // 4} * t", align) == [(width, 1)] * 2


def test_a_record_copied_from_an_unknown_element_is_unknown_member_by_member():
    (access,) = accesses_of("""
__global__ void k(float *o, int n) {
  __shared__ float s[1024];
  uint4 b[4];
  for (int i = 0; i < n; ++i) b[i / 2] = make_uint4(i, i, i, i);
  uint4 e = b[1];
  s[e.w] = 1;
}
void run(float *o, int n) { k<<<1, 128>>>(o, n); }""")
    assert access.reason.code is ReasonCode.UNKNOWN_ADDRESS


@pytest.mark.parametrize("source", ["in[0]", "unread(n)"])
def test_no_member_of_an_overwritten_record_keeps_its_value(source):
    (access,) = accesses_of(
        """
struct Part { int many[80]; int stride[2]; };
struct P { Part part; int last; };
__device__ P unread(int n);
__global__ void k(const P *in, int n) {
  __shared__ float s[4096];
  P p;
  p.part.stride[1] = 32;
  p = SOURCE;
  s[threadIdx.x * p.part.stride[1]] = 1;
}
void run(P *in, int n) { k<<<1, 128>>>(in, n); }""".replace("SOURCE", source)
    )
    assert (access.certainty, access.wavefronts) == (Certainty.UNKNOWN, None)


FILLED = """
#include <cuda_fp16.h>
struct T { %s };
__global__ void __launch_bounds__(128) k(const T *g, T *out, const float *in) {
  __shared__ T s[128];
  int t = threadIdx.x;
  %s
  __syncthreads();
  out[t] = s[t ^ 3];
}"""


def instructions(members, text, kind):
    """Returns how many a warp issues, or None where that is open."""
    own = [a for a in accesses_of(FILLED % (members, text)) if a.kind is kind]
    is_open = any(a.certainty is Certainty.SAMPLED for a in own)
    return None if is_open else sum(a.instructions for a in own) // 4


@pytest.mark.parametrize(
    ("members", "stores", "loads"),
    [
        ("double a; float b, c;", 2, 2),
        ("double a; float b;", 2, 2),
        ("double a; float2 b;", 2, 2),
        ("float *a; int b;", 2, 2),
        ("float a; int b; long long c;", 2, 2),
        ("double a, b;", 1, 1),
        ("int b; double a;", 1, 1),
        ("float a; short b; double d;", 1, 1),
        ("float2 a; int b;", 1, 1),
        ("float a, b; int c, d;", 1, 1),
        ("float a; short b;", 2, 3),
        ("int a; short b; char c;", 2, 3),
        ("float a; char b;", 1, 1),
        ("float a; short b, c;", 1, 1),
        ("int a; char b; short c;", 1, 1),
        ("float a; half b;", 2, 2),
        ("struct { float x; short y; } a; float b;", 3, 4),
    ],
)
def test_scalars_are_copied_one_by_one_unless_padding_lies_between_them(members, stores, loads):
    assert instructions(members, "s[t] = g[t];", AccessKind.STORE) == stores
    assert instructions(members, "s[t] = g[t];", AccessKind.LOAD) == loads


@pytest.mark.parametrize(
    ("text", "stores"),
    [
        ("T p; p.a = in[t]; p.b = in[t + 1]; s[t] = p;", 2),
        ("T p = {(int)in[t], in[t + 1]}; s[t] = p;", 2),
        ("T p; p.a = in[t]; p.b = in[t + 1]; if (in[t] > 5) p.a = 3; s[t] = p;", 2),
        ("s[t] = g[t];", 1),
        ("T p = g[t]; if (in[t] > 5) p.a = 3; s[t] = p;", None),
        ("T p = {}; p.a = in[t]; p.b = in[t + 1]; s[t] = p;", None),
    ],
)
def test_padding_of_a_variable_filled_member_by_member_is_not_stored(text, stores):
    assert instructions("int a; double b;", text, AccessKind.STORE) == stores


@pytest.mark.parametrize(
    ("body", "stores"),
    [
        ("P c; c.val = a.val + b.val; c.flag = a.flag; return c;", 2),
        ("P c = a; c.val = a.val + b.val; return c;", None),
        ("P c; c.val = a.val; c.flag = 1; if (n) return a; return c;", None),
    ],
)
def test_padding_of_what_a_call_returns_member_by_member_is_not_stored(body, stores):
    """SASS of nvcc 13.0.88, sm_90, of the first: an STS and an STS.U8."""
    text = (
        "struct P { unsigned val; bool flag; };\n"
        f"__device__ P both(const P &a, const P &b, int n) {{ {body} }}\n"
        "__global__ void k(P *g, int n) { __shared__ P s[128]; s[threadIdx.x] = g[threadIdx.x];\n"
        "  __syncthreads();\n"
        "  P x = both(g[threadIdx.x], g[0], n);\n"
        "  s[threadIdx.x] = both(g[threadIdx.x], g[n], n);\n"
        "  g[0] = s[127 - threadIdx.x]; }\n"
        "void run(P *g, int n) { k<<<1, 128>>>(g, n); }\n"
    )
    found = [a for a in accesses_of(text) if a.kind is AccessKind.STORE and a.span.line == 6]
    is_open = any(a.certainty is Certainty.SAMPLED for a in found)
    assert (None if is_open else sum(a.instructions for a in found) // 4) == stores


@pytest.mark.parametrize(
    ("members", "place", "widths"),
    [  # STS of nvcc 13.0.88, sm_90, of `p[threadIdx.x] = w[threadIdx.x]`
        ("half2 a; unsigned char q[12];", "m", [16]),
        ("half2 a; unsigned char q[12];", "m + n", [4, 4, 4, 4]),
        ("unsigned char q[12]; half2 a;", "m", [16]),
        ("half2 a; short q[6];", "m", [16]),
        ("half2 a; unsigned char c, d, e, f;", "m", [8]),
        ("half2 a; unsigned char q[5];", "m", [4, 4, 1]),
        ("half2 a; unsigned char q[12], r[128];", "m", [16] * 9),
    ],
)
def test_arrays_of_a_class_that_is_copied_by_member_are_copied_in_words(members, place, widths):
    text = f"""
    struct T {{ {members} }};
    __global__ void k(const T *w, int n) {{
      extern __shared__ char m[];
      T *p = reinterpret_cast<T *>({place});
      p[threadIdx.x] = w[threadIdx.x];
    }}"""
    (access,) = accesses_of(text, block_dim=(32, 1, 1))
    assert (access.width_bytes, access.instructions) == (max(widths), len(widths))
