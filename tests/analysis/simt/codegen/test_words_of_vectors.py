"""Words that a wider load has, too: SASS of nvcc 13.0.88, -O3, sm_90, of each kernel.

The figures are the widths of the LDS behind the barrier, in source order.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

KERNEL = """
#include <cuda_fp16.h>
__global__ void k(float *g, const %(type)s *in, int n) {
  __shared__ %(type)s q[512];
  float *s = (float *)q;
  int t = threadIdx.x;
  q[t] = in[t];
  __syncthreads();
  float v = 0;
  %(body)s
  g[t] = v;
}
void f(float *g, float *in, int n) { k<<<1, 128>>>(g, (%(type)s *)in, n); }
"""
ALL = "b.x * b.y * b.z * b.w"


def widths(type_, body):
    """Returns the bytes of a lane of each load that one iteration of each warp makes."""
    found = accesses_of(KERNEL % {"type": type_, "body": body})
    loads = [a for a in found if a.kind is AccessKind.LOAD]
    return [a.width_bytes for a in loads for _ in range(a.instructions // 4)]


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("float4", f"float4 b = q[t]; v = {ALL} + q[t].x;"),
        ("float4", f"float4 b = q[t]; v = {ALL} + s[4 * t + 1];"),
        ("float4", f"float4 b = q[t]; v = {ALL}; if (n > 5) v += q[t].x * in[t].y;"),
        ("float4", f"float4 b = q[t]; v = {ALL}; if (t & 1) v += q[t].x * in[t].x;"),
        ("float4", f"float a = s[4 * t]; float4 b = q[t]; v = a + {ALL};"),
        ("float4", f"float4 c = q[t]; v = c.x * c.z; g[t + 99] = v; float4 b = q[t]; v *= {ALL};"),
        ("double2", "double2 c = q[t]; v = c.y; double2 b = q[t]; v += b.x * b.y;"),
        ("double2", "double2 b = q[t]; v = b.x * b.y + q[t].x;"),
    ],
)
def test_a_vector_has_its_words(type_, body):
    assert widths(type_, body) == [16]


@pytest.mark.parametrize("member", ["q[t].x", "q[t + 1].y"])
def test_a_word_becomes_the_vector_that_is_loaded_next(member):
    """Three LDS.64: that of the one word is the first or the second of the loop's."""
    body = "for (int i = 0; i < 3; ++i) { float2 b = q[t + i]; v += b.x * b.y; }"
    assert widths("float2", f"v = {member}; {body}") == [8, 8, 8]


@pytest.mark.parametrize(
    ("type_", "body", "expected"),
    [
        ("half2", "half2 b = q[t]; v = __low2float(b) + __half2float(q[t].x);", [4]),
        ("half2", "v = __half2float(q[t].x); half2 b = q[t]; v *= __low2float(b);", [2, 4]),
        ("double", "v = q[t]; v += s[2 * t];", [8]),
        ("double", "v = s[2 * t]; v += q[t];", [4, 8]),
        (
            "float2",
            "v = q[t].x; q[t + 256].x = v; float2 b = q[t]; v += b.x * b.y; __syncthreads();",
            [4, 8],
        ),
        (
            "float4",
            f"if (t & 1) v = q[t].x; g[t + 99] = v; float4 b = q[t]; v += {ALL};",
            [4, 16],
        ),
    ],
)
def test_only_words_of_vectors_grow(type_, body, expected):
    assert widths(type_, body) == expected


STORED = """
__global__ void k(%(type)s *g, int *o) {
  __shared__ __align__(16) %(type)s s[1024];
  int t = threadIdx.x;
  %(body)s;
  __syncthreads();
  o[t + 1024] = ((int *)s)[t];
}
void f(void *g, int *o) { k<<<1, 128>>>((%(type)s *)g, o); }
"""


@pytest.mark.parametrize(
    ("type_", "body", "loaded"),
    [
        ("int", "*(int4 *)&s[4 * t] = ((int4 *)g)[t]; o[t] = s[4 * t + 1]", []),
        ("float", "*(float4 *)&s[4 * t] = ((float4 *)g)[t]; o[t] = ((int *)s)[4 * t + 2]", []),
        (
            "int",
            "*(int4 *)&s[4 * t] = ((int4 *)g)[t]; *(int2 *)&o[2 * t] = *(int2 *)&s[4 * t + 2]",
            [],
        ),
        ("double", "s[2 * t] = g[t]; o[t] = ((int *)s)[4 * t]", []),
        ("double", "*(double2 *)&s[2 * t] = ((double2 *)g)[t]; ((double *)o)[t] = s[2 * t]", []),
        ("short", "*(short4 *)&s[4 * t] = ((short4 *)g)[t]; o[t] = s[4 * t]", []),
        ("double", "s[2 * t] = g[t]; o[t] = ((int *)s)[4 * t + 1]", [4]),
        (
            "double",
            "*(double2 *)&s[2 * t] = ((double2 *)g)[t]; ((double *)o)[t] = s[2 * t + 1]",
            [8],
        ),
        ("short", "*(short4 *)&s[4 * t] = ((short4 *)g)[t]; o[t] = s[4 * t + 3]", [2]),
        (
            "int",
            "*(int4 *)&s[4 * t] = ((int4 *)g)[t]; o[t] = ((unsigned char *)s)[16 * t + 4]",
            [1],
        ),
        ("int", "s[2 * t] = g[t]; *(int2 *)&o[2 * t] = *(int2 *)&s[2 * t]", [8]),
    ],
)
def test_a_stored_vector_has_its_words_and_what_it_begins_with(type_, body, loaded):
    found = accesses_of(STORED % {"type": type_, "body": body})
    loads = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    assert sorted(a.width_bytes for a in loads) == sorted([4, *loaded])


OBJECTS = """
struct alignas(16) Words { unsigned c[4]; };
struct alignas(16) Pairs { uint2 p, q; };
union alignas(16) Union { unsigned c[4]; float f[4]; };
__global__ void k(%(type)s *g, unsigned x) {
  __shared__ %(type)s s[128];
  %(type)s &r = s[threadIdx.x];
  r = g[threadIdx.x];
  %(body)s
}
void f(Words *g) { k<<<1, 128>>>((%(type)s *)g, 1); }
"""
SUMS = "__syncthreads(); r.c[0] += x; r.c[1] += x; r.c[2] += x; r.c[3] += x; "


@pytest.mark.parametrize(
    ("type_", "body", "loads"),
    [
        ("Words", "g[x].c[1] = r.c[1];", []),
        ("Pairs", "g[x].q.x = r.q.x;", []),
        ("Union", "g[x].c[1] = r.c[1];", [4]),
        ("Words", SUMS + "g[x] = r;", [16]),
        ("Words", "__syncthreads(); r.c[0] += x; r.c[1] += x; r.c[2] += x; g[x] = r;", [16, 16]),
        ("Words", "__syncthreads(); g[x].c[0] = r.c[1]; g[9] = r;", [16]),
        ("Union", "__syncthreads(); g[x].c[0] = r.c[1]; g[9] = r;", [4, 16]),
        ("uint4", "__syncthreads(); r.x = x; r.z = 2; r.y = 1; r.w = 3; g[x] = r;", []),
    ],
)
def test_words_of_objects(type_, body, loads):
    """Of nvcc 13.5.37: members of unions are loaded again, words that are stored are not."""
    found = accesses_of(OBJECTS % {"type": type_, "body": body})
    counted = [a for a in found if a.kind is AccessKind.LOAD]
    assert sorted(a.width_bytes for a in counted for _ in range(a.instructions // 4)) == loads
