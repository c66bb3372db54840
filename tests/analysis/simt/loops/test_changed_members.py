"""Members that a loop of run-time length changes, of objects that begin with a pointer."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind, Certainty

KERNEL = """
struct Reader {
  float *first, *second;
  int stride;
  __device__ void advance() { float *next = second; second = first; first = next; }
  __device__ void widen() { stride += 1; }
};
__global__ void k(float *out, const float *in, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  Reader r{s, s + 2048, 2};
  float v = 0;
  for (int i = 0; i < n; i++) {
    v += r.first[t * r.stride];
    CHANGE;
  }
  out[t] = v;
}
void f(float *out, const float *in, int n) { k<<<1, 128>>>(out, in, n); }
"""


@pytest.mark.parametrize(
    ("change", "certainty", "ways"),
    [
        ("v = v", Certainty.ASSUMED, 2),
        ("r.advance()", Certainty.ASSUMED, 2),
        ("r.stride += 1", Certainty.UNKNOWN, None),
        ("r.widen()", Certainty.UNKNOWN, None),
    ],
)
def test_a_changed_member_is_not_the_one_that_the_loop_begins_with(change, certainty, ways):
    (load,) = (a for a in accesses_of(KERNEL.replace("CHANGE", change)) if a.line == 16)
    assert load.kind is AccessKind.LOAD and load.certainty is certainty
    assert (load.wavefronts.max if load.wavefronts is not None else None) == ways


HOLDERS = """
struct Last { float *p; int v; __device__ void grow() { v += 1; } };
struct Pair { float *p[2]; int v[2]; };
struct Outer { float *p; Last r; __device__ void grow() { r.grow(); } };
struct Bits { float *p; int v : 16; };
union Both { int i[2]; long long l; };
__device__ void grow(int &v) { v += 1; }
__device__ void grow_at(int *v) { *v += 1; }
__device__ Last grown(Last r) { r.v += 1; return r; }
__global__ void k(float *out, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  DECLARED
  float sum = 0;
  for (int i = 0; i < n; i++) {
    sum += s[t * VALUE];
    CHANGE
  }
  out[t] = sum;
}
void f(float *out, int n) { k<<<1, 128>>>(out, n); }
"""


@pytest.mark.parametrize(
    ("declared", "value", "change"),
    [
        ("int v = 1;", "v", "v += 1;"),
        ("int v = 1; int &w = v;", "v", "w += 1;"),
        ("int v = 1; int *w = &v;", "v", "*w += 1;"),
        ("int v = 1; auto grow = [&]() { v += 1; };", "v", "grow();"),
        ("int v = 1;", "v", "grow(v);"),
        ("int v = 1;", "v", "grow_at(&v);"),
        ("int v[2] = {5, 1};", "v[1]", "v[1] += 1;"),
        ("Last r{s, 1};", "r.v", "r.v += 1;"),
        ("Last r{s, 1}; Last *q = &r;", "r.v", "q->v += 1;"),
        ("Last r{s, 1}; auto grow = [&]() { r.v += 1; };", "r.v", "grow();"),
        ("Last r{s, 1};", "r.v", "r.grow();"),
        ("Last r{s, 1};", "r.v", "grow(r.v);"),
        ("Last r{s, 1};", "r.v", "r = grown(r);"),
        ("Last r{s, 1};", "r.v", "Last q = r; q.v += 1; r = q;"),
        ("Last r{s, 1};", "r.v", "if (n > 5) r.grow();"),
        ("Pair r; r.p[0] = r.p[1] = s; r.v[1] = 1;", "r.v[1]", "r.v[1] += 1;"),
        ("Outer o; o.p = s; o.r.p = s; o.r.v = 1;", "o.r.v", "o.grow();"),
        ("Bits r; r.p = s; r.v = 1;", "r.v", "r.v += 1;"),
        ("Both u; u.i[1] = 1;", "u.i[1]", "u.i[1] += 1;"),
        ("int2 v = make_int2(7, 1);", "v.y", "v.y += 1;"),
    ],
)
def test_what_an_iteration_changes_is_not_known_in_the_next(declared, value, change):
    """The stride is 1, 2, 3, .. in turn: the ways are those of no one iteration."""
    source = HOLDERS.replace("DECLARED", declared).replace("VALUE", value)
    (load,) = accesses_of(source.replace("CHANGE", change))
    assert load.kind is AccessKind.LOAD and load.certainty is Certainty.UNKNOWN
