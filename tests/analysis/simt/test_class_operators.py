"""Operators of classes that hold shared addresses, and loops over them.

The figures are those of nvcc 13.0's SASS for sm_90 (`python -m tests.oracle.compiled`).
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

from smemlint.reasons import ReasonCode

SOURCE = """
template <typename T, int LD> struct Mat {
  T *p;
  __device__ T &operator()(int r, int c) { return p[r * LD + c]; }
  __device__ T &operator*() { return *p; }
  __device__ Mat operator+(int n) const { return {p + n}; }
  __device__ Mat &operator++() { ++p; return *this; }
  __device__ T *operator->() { return p; }
};
struct It {
  float *p;
  __device__ float &operator*() { return *p; }
  __device__ It &operator++() { p += 32; return *this; }
  __device__ bool operator!=(const It &o) const { return p != o.p; }
};
__device__ It operator-(It it, int n) { it.p -= n; return it; }
struct Range {
  float *b;
  __device__ It begin() { return {b}; }
  __device__ It end() { return {b + 128}; }
};
struct Part { float *b; int n; __device__ float *begin() { return b; } __device__ float *end() { return b + n; } };
struct V { float x, y; };
__global__ void k(float *g, int n) {
  __shared__ float s[4096];
  int t = threadIdx.x;
  Mat<float, 32> m{s};
  %s
  __syncthreads();
  g[t] = s[(t + n) & 4095];
}
void run(float *g) { k<<<1, 32>>>(g, 3); }
"""


def stores(text):
    """Returns the instructions and the wavefronts of each, of all places that are stored to."""
    found = [a for a in accesses_of(SOURCE % text) if a.kind.value == "store"]
    return [(a.instructions, a.wavefronts.mean) for a in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*(m + t * 2) = 3;", (1, 2)),
        ("++m; *m = 5;", (1, 1)),
        ("*m = 5;", (1, 1)),
        ("(m + 3)(t, 2) = 8;", (1, 32)),
        ("Mat<V, 1> v{(V *)s + t}; v->y = 3;", (1, 2)),
        ("It it{s + 2 * t}; ++it; *it = 4;", (1, 2)),
        ("It it{s + 2 * t + 64}; *(it - 32) = 4;", (1, 2)),
        ("for (float &x : Range{s + t}) x = 6;", (4, 1)),
        ("Range r{s + 2 * t}; for (auto &x : r) x = 6;", (4, 2)),
        ("for (float &x : Part{s + t * 4, 2}) x = t;", (1, 4)),
        ("Range r{s + t}; for (auto it = r.begin(); it != r.end(); ++it) *it = 1;", (4, 1)),
    ],
)
def test_what_an_operator_gives_is_followed(text, expected):
    assert stores(text) == [expected]


def notes_of(text):
    return [n.reason.code for k in facts_of(text).kernels for n in k.not_analysed]


@pytest.mark.parametrize("text", ["auto x = !m;", "auto x = -(m + t);"])
def test_an_operator_that_is_not_defined_is_said(text):
    assert notes_of(SOURCE % text) == [ReasonCode.NOT_MODELLED]


def test_an_object_that_holds_a_shared_address_is_not_given_away_in_silence():
    assert notes_of(SOURCE % "put(m);") == [ReasonCode.NOT_DECLARED]


PLACED = """
struct Acc {
  float x, y;
  __device__ Acc(float a) : x(a), y(1) {}
  __device__ void add(float v) { x += v; }
};
struct Pod { float x, y; };
__device__ void use(Pod *p);
__global__ void k(float *g, int n) {
  __shared__ __align__(16) char raw[8192];
  int t = threadIdx.x;
  %s
  __syncthreads();
  g[t] = raw[(t + n) & 4095];
}
void run(float *g) { k<<<1, 32>>>(g, 3); }
"""


@pytest.mark.parametrize(
    ("text", "width", "wavefronts"),
    [
        ("new (raw + t * sizeof(Acc)) Acc(2.f);", 8, 2),
        ("Pod *p = ::new ((void *)(raw + 16 * t)) Pod{1, 2}; n += p->x;", 8, 4),
        ("new (&raw[t * 4]) float(3);", 4, 1),
        ("auto *p = new (raw) Pod{g[0], 2}; p += t; p->y = 3;", 4, 2),
    ],
)
def test_what_a_placement_makes_is_stored(text, width, wavefronts):
    *_, last = (a for a in accesses_of(PLACED % text) if a.kind.value == "store")
    assert (last.width_bytes, last.wavefronts.mean) == (width, wavefronts)


@pytest.mark.parametrize("text", ["new (raw) Pod;", "new (raw) float[4];", "new (raw) Unread(n);"])
def test_a_placement_that_is_not_followed_is_said(text):
    assert len(notes_of(PLACED % text)) == 1


def test_a_method_that_was_not_read_is_not_given_a_shared_address_in_silence():
    text = (
        "struct Arena { char *p; int at; float *take(int n); } arena{raw, 0}; arena.take(3)[t] = 1;"
    )
    assert notes_of(PLACED % text) == [ReasonCode.NOT_DECLARED]


STEPS = """
struct Step {{ float *p; __device__ Step &operator++() {{ p += 2; return *this; }}
  __device__ Step operator++(int) {{ Step c = *this; ++*this; return c; }}
  __device__ float &operator*() const {{ return *p; }} }};
struct Free {{ float *p; }};
__device__ Free &operator++(Free &f) {{ f.p += 2; return f; }}
__device__ Free &operator+=(Free &f, int n) {{ f.p += n; return f; }}
__global__ void k() {{
  __shared__ float s[4096];
  int t = threadIdx.x;
  Step it{{s + 4 * t}};
  Free f{{s + 4 * t}};
  {}
}}
void f() {{ k<<<1, 32>>>(); }}
"""


@pytest.mark.parametrize(
    ("body", "stores"),
    [
        ("*++it = 1; it.p[64] = 2;", 2),  # it was written over, and its stores were lost
        ("*it++ = 1; *it = 2; *++it = 3;", 3),
        ("Step j = ++it; *j = 1; it.p[9] = 2;", 2),
        ("++f; f.p[0] = 1; f += 30; f.p[1] = 2; (f += 8).p[1] = 7;", 3),
    ],
)
def test_what_an_increment_refers_to_is_used(body, stores):
    found = accesses_of(STEPS.format(body))
    assert sum(a.instructions for a in found) == stores
    assert {a.wavefronts.mean for a in found} == {4}


GUARDS = """
struct Guard {{
  float *p;
  __device__ Guard(float *q) : p(q) {{}}
  __device__ ~Guard() {{ {} }}
}};
struct Holder {{ Guard a; int n; __device__ Holder(float *q) : a(q), n(3) {{}} }};
struct Derived : Guard {{ __device__ Derived(float *q) : Guard(q) {{}} }};
__global__ void k(float *o) {{
  __shared__ float s[256];
  {{ {} if (o[0] > 0) o[1] = 2; }}
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}}
void f(float *o) {{ k<<<1, 32>>>(o); }}
"""


@pytest.mark.parametrize("declared", ["Guard g(s);", "Holder h(s);", "Derived d(s);"])
@pytest.mark.parametrize(
    ("body", "wavefronts"), [("p[4 * threadIdx.x] = 0;", [4, 1]), ("", [1])]
)  # nvcc 13.0, sm_90
def test_an_object_runs_its_destructor_at_the_end_of_its_block(declared, body, wavefronts):
    found = accesses_of(GUARDS.format(body, declared))
    assert [a.wavefronts.mean for a in found] == wavefronts


CALLED = """
struct Tile {{
  float d[32][33];
  __device__ float &operator()(int r, int c) {{ return d[r][2 * c]; }}
}};
struct Four {{ __device__ int operator()(int x) const {{ return 4 * x; }} }};
template <class O> struct With {{ O op_; float *s; __device__ void run(int t) {{ s[op_(t)] = 1; }} }};
struct Loader {{
  Tile &tile;
  __device__ Loader(Tile &t) : tile(t) {{}}
  __device__ void run(int t) {{ tile(0, t) = 1; }}
}};
struct Owner {{ Tile tile; __device__ void run(int t) {{ tile(0, t) = 1; }} }};
__global__ void k() {{ {} }}
void f() {{ k<<<1, 16>>>(); }}
"""


@pytest.mark.parametrize(
    ("body", "wavefronts"),
    [
        ("__shared__ Tile t; Loader l(t); l.run(threadIdx.x);", 1),
        ("__shared__ Owner o; o.run(threadIdx.x);", 1),
        ("__shared__ float s[256]; With<Four> w{Four{}, s}; w.run(threadIdx.x);", 2),
    ],
)
def test_a_method_calls_an_object_that_is_a_member(body, wavefronts):
    (access,) = accesses_of(CALLED.format(body))
    assert access.wavefronts.mean == wavefronts
