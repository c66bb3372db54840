"""Objects, views and pointers in shared memory, and what calls do with them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from conftest import accesses_of, facts_of
from figures import expected_lanes, figure, kernel, lanes


def gap(why):
    """A known gap; the mark goes when the evaluator learns."""
    return pytest.mark.xfail(strict=True, reason=why)


def only(body, **how):
    (access,) = accesses_of(kernel(body, **how))
    return access


@pytest.mark.parametrize(
    ("shared", "store", "element", "width"),
    [
        ("float s[32][33]", "s[t][3] = 1;", lambda t: t * 33 + 3, 4),
        ("float s[4][8][36]", "s[t / 8][t % 8][5] = 1;", lambda t: t // 8 * 288 + t % 8 * 36 + 5, 4),
        ("double s[64]", "s[t + 1] = 1;", lambda t: t + 1, 8),
        ("short s[2][64]", "s[1][t] = 1;", lambda t: 64 + t, 2),
        ("char s[64]", "s[t ^ 3] = 1;", lambda t: t ^ 3, 1),
        ("float4 s[64]", "s[t * 2] = float4();", lambda t: 2 * t, 16),
        ("float s[64]", "*(s + t + 2) = 1;", lambda t: t + 2, 4),
        ("float s[64]", "t[s] = 1;", lambda t: t, 4),
        ("float s[64]", "float *p = &s[t]; p[3] = 1;", lambda t: t + 3, 4),
        ("float s[64]", "float *p = s + t; p++; *p = 1;", lambda t: t + 1, 4),
        ("float s[64]", "float *p = s + 8; p -= 2; p[t] = 1;", lambda t: t + 6, 4),
        ("float s[64]", "float &r = s[t]; r = 1;", lambda t: t, 4),
        ("float s[64]", "auto p = s; p[t] = 1;", lambda t: t, 4),
        ("float s[64]", "float *p = t < 9 ? s : s + 8; p[t] = 1;", lambda t: t if t < 9 else t + 8, 4),
        ("float s[8][64]", "float *row = s[t / 8]; row[t % 8] = 1;", lambda t: t // 8 * 64 + t % 8, 4),
        ("float s[8][64]", "float (*v)[64] = s + 1; v[t / 8][t % 8] = 1;", lambda t: 64 + t // 8 * 64 + t % 8, 4),
        ("float s[512]", "float (*v)[17] = reinterpret_cast<float (*)[17]>(s); v[t][1] = 1;", lambda t: 17 * t + 1, 4),
        ("float s[512]", "auto &v = *reinterpret_cast<float (*)[16][32]>(s); v[t / 2][t % 2] = 1;", lambda t: t // 2 * 32 + t % 2, 4),
        ("float s[512]", "reinterpret_cast<float4 *>(s)[t] = float4();", lambda t: t, 16),
        ("float s[512]", "*(float2 *)&s[t * 4] = make_float2(1, 2);", lambda t: 2 * t, 8),
        ("float s[512]", "((int *)s)[t] = 1;", lambda t: t, 4),
        ("float4 s[64]", "((float *)s)[t * 3] = 1;", lambda t: 3 * t, 4),
        ("float4 s[64]", "(&s[t].x)[2] = 1;", lambda t: 4 * t + 2, 4),
        ("float4 s[64]", "s[t].w = 1;", lambda t: 4 * t + 3, 4),
        ("P s[32]", "s[t].b = 1;", lambda t: 3 * t + 1, 4),
        ("P s[32]", "s[t].c[1] = 1;", lambda t: t * 6 + 5, 2),
        ("P s[32]", "P *p = &s[t]; p->a = 1;", lambda t: 3 * t, 4),
        ("M s", "s.second[t] = 1;", lambda t: 64 + t, 4),
        ("M s", "s.at(t) = 1;", lambda t: 64 + 2 * t, 4),
        ("U s", "s.words[t * 2] = 1;", lambda t: 2 * t, 4),
        ("U s", "s.bytes[t * 2] = 1;", lambda t: 2 * t, 1),
        ("volatile float s[64]", "s[t * 2] = 1;", lambda t: 2 * t, 4),
        ("std::array<float, 64> s", "s[t * 2] = 1;", lambda t: 2 * t, 4),
        ("uint4 s[64]", "int *p = (int *)(s + 2); p[t] = 1;", lambda t: 8 + t, 4),
    ],
)  # fmt: skip
def test_where_a_store_goes(shared, store, element, width):
    before = (
        "struct P { float a, b; short c[2]; }; "
        "struct M { float first[64]; float second[128]; "
        "__device__ float &at(int i) { return second[i * 2]; } }; "
        "union U { int words[64]; char bytes[256]; };"
    )
    access = only(store, shared=shared, before=before)
    assert lanes(access) == expected_lanes(element, 32, width)
    assert (access.width_bytes, access.instructions) == (width, 1)


def test_dynamic_memory_that_is_carved_up():
    text = """
extern __shared__ char pool[];
__global__ void k(float *g) {
  int t = threadIdx.x;
  float *a = (float *)pool;
  double *b = reinterpret_cast<double *>(a + 256);
  short *c = (short *)&b[64];
  a[t * 2] = 1;
  b[t] = 1;
  c[t * 32] = 1;
}
void run(float *g) { k<<<1, 32, 4096>>>(g); }"""
    a, b, c = accesses_of(text)
    assert lanes(a) == expected_lanes(lambda t: 2 * t, 32, 4)
    assert lanes(b) == expected_lanes(lambda t: 128 + t, 32, 8)
    assert lanes(c) == expected_lanes(lambda t: 512 + 512 // 2 + 32 * t, 32, 2)
    assert [x.wavefronts.mean / x.ideal.mean for x in (a, b, c)] == [2, 1, 16]
    assert all(x.array.name == "pool" and x.array.is_dynamic for x in (a, b, c))


def test_carving_by_an_unknown_size_keeps_what_is_aligned():
    text = """
__global__ void k(float *g, int n) {
  extern __shared__ float pool[];
  float *second = pool + n;
  second[threadIdx.x * 2] = 1;
}
void run(float *g, int n) { k<<<1, 32, n * 8>>>(g, n); }"""
    (access,) = accesses_of(text)
    assert (access.wavefronts.mean, access.ideal.mean) == (2, 1)


@gap("every array has base 0")
def test_arrays_lie_one_after_another():
    arrays = facts_of(
        kernel("s[t] = 1; u[t] = 2; v[t] = 3;", shared="char s[5]; __shared__ double u[40]; __shared__ float v[3][32]")
    ).kernels[0].arrays  # fmt: skip
    assert [(a.name, a.bytes, a.element_bytes, a.dims) for a in arrays] == [
        ("s", 5, 1, (5,)), ("u", 320, 8, (40,)), ("v", 384, 4, (3, 32)),
    ]  # fmt: skip
    ends = [(a.base, a.base + a.bytes) for a in sorted(arrays, key=lambda a: a.base)]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))
    assert all(a.base % a.alignment == 0 for a in arrays)


@pytest.mark.parametrize(
    ("before", "call", "element"),
    [
        ("__device__ void put(float *p, int i) { p[i * 2] = 1; }", "put(s, t);", lambda t: 2 * t),
        ("__device__ void put(float *p) { *p = 1; }", "put(s + t * 4);", lambda t: 4 * t),
        ("__device__ float &at(float *p, int i) { return p[i * 3]; }", "at(s, t) = 1;", lambda t: 3 * t),
        ("__device__ void put(float (&p)[1024], int i) { p[i * 2] = 1; }", "put(s, t);", lambda t: 2 * t),
        ("template <int N> __device__ void put(float (&p)[N], int i) { p[N / 128 * i] = 1; }", "put(s, t);", lambda t: 8 * t),
        ("template <class T> __device__ void put(T *p, int i) { p[i * sizeof(T)] = 1; }", "put(s, t);", lambda t: 4 * t),
        ("template <class T, int N> __device__ void put(T *p, int i) { p[i * N] = 1; }", "put<float, 6>(s, t);", lambda t: 6 * t),
        ("template <int N> __device__ int deep(int i) { if constexpr (N == 0) return i; else return 1 + deep<N - 1>(i); }", "s[deep<4>(t)] = 1;", lambda t: 4 + t),
        ("__device__ int down(int i, int n) { return n == 0 ? i : down(i + 2, n - 1); }", "s[down(t, 5)] = 1;", lambda t: 10 + t),
        ("__device__ int f(int x) { return 2 * x; } __device__ int f(float x) { return 7; } __device__ int f(int x, int y) { return x * y; }", "s[f(t) + f(1.0f) + f(t, 3)] = 1;", lambda t: 5 * t + 7),
        ("__device__ void next(int &i) { i += 5; }", "int i = t; next(i); next(i); s[i] = 1;", lambda t: 10 + t),
        ("__device__ void next(int *i) { *i *= 2; }", "int i = t; next(&i); s[i] = 1;", lambda t: 2 * t),
        ("namespace a { __device__ int f(int x) { return 3 * x; } }", "s[a::f(t)] = 1;", lambda t: 3 * t),
        ("#define PUT(i, v) do { s[(i) * 2] = (v); } while (0)", "PUT(t + 1, 3);", lambda t: 2 * t + 2),
        pytest.param("struct Tile { float *p; int pitch; __device__ Tile(float *q, int n) : p(q), pitch(n) {} __device__ void set(int r, int c) { p[r * pitch + c] = 1; } };", "Tile tile(s, 17); tile.set(t, 1);", lambda t: 17 * t + 1),
        ("struct Swz { __device__ int operator()(int r, int c) const { return r * 8 + (r ^ c) % 8; } };", "s[Swz()(t / 8, t % 8)] = 1;", lambda t: t // 8 * 8 + (t // 8 ^ t % 8) % 8),
        pytest.param("struct View { float *p; __device__ float &operator[](int i) { return p[i * 2]; } };", "View v{s}; v[t] = 1;", lambda t: 2 * t),
        ("template <class T> struct SharedMemory { __device__ operator T *() { return (T *)pool(); } __device__ static float *pool() { extern __shared__ float d[]; return d; } };", "float *p = SharedMemory<float>(); p[t * 2] = 1;", lambda t: 2 * t),
        ("", "auto put = [&](int i) { s[i * 2] = 1; }; put(t);", lambda t: 2 * t),
        ("", "auto idx = [=](int i) { return i * 2 + t; }; s[idx(t)] = 1;", lambda t: 3 * t),
        ("template <class F> __device__ void apply(F f, int i) { f(i * 4); }", "apply([&](int i) { s[i] = 1; }, t);", lambda t: 4 * t),
        ("", "int v[4]; for (int i = 0; i < 4; i++) v[i] = i * t; s[v[2] + v[1]] = 1;", lambda t: 3 * t),
        pytest.param("", "struct { int a; int b[2]; } v = {t, {2 * t, 3 * t}}; s[v.b[1] + v.a] = 1;", lambda t: 4 * t),
        ("template <int N> struct Tr { __device__ static int at(int r) { return r * (N + 1); } };", "s[Tr<6>::at(t)] = 1;", lambda t: 7 * t),
        ("template <int N> struct Tr { template <int M> __device__ static int at(int r) { return r * N + M; } };", "s[Tr<6>::template at<3>(t)] = 1;", lambda t: 6 * t + 3),
        ("template <class T, int N> struct Pool { __device__ static T *get(T *p) { return p + N; } };", "float *p = Pool<float, 8>::get(s); p[t * 2] = 1;", lambda t: 2 * t + 8),
        ("", "float *p[2] = {s, s + 64}; p[1][t * 2] = 1;", lambda t: 2 * t + 64),
        ("struct P { int a; int b[2]; };", "const P p[2] = {{1, {2, 3}}, {4, {5, 6}}}; s[p[1].b[0] * t + p[0].b[1]] = 1;", lambda t: 5 * t + 3),
        ("", "const int2 p[2] = {{0, 1}, {2, 3}}; s[p[1].y * t] = 1;", lambda t: 3 * t),
        ("", "constexpr std::array<int, 3> p = {4, 5, 6}; s[p[1] * t] = 1;", lambda t: 5 * t),
        ("", "constexpr std::array<int, 3> p{{4, 5, 6}}; s[p[2] * t] = 1;", lambda t: 6 * t),
        ("struct One { int v[2]; };", "One a = {3, 5}; One b = a; One c(b); s[c.v[1] * t] = 1;", lambda t: 5 * t),
        ("__constant__ int table[4];", "const int mine[3] = {4, 5, 6}; s[mine[1] * t] = 1;", lambda t: 5 * t),
    ],
)  # fmt: skip
def test_what_calls_touch(before, call, element):
    access = only(call, before=before)
    assert lanes(access) == expected_lanes(element, 32)


def test_the_conversion_operator_of_the_cuda_samples():
    text = """
template <class T> struct SharedMemory {
  __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; }
  __device__ inline operator const T *() const { extern __shared__ int __smem[]; return (T *)__smem; }
};
template <> struct SharedMemory<double> {
  __device__ inline operator double *() { extern __shared__ double __smem_d[]; return (double *)__smem_d; }
};
template <class T> __global__ void k(T *g) {
  T *s = SharedMemory<T>();
  s[threadIdx.x * 2] = g[0];
}
void run(float *f, double *d) { k<float><<<1, 32>>>(f); k<double><<<1, 32>>>(d); }"""
    single, double = sorted(accesses_of(text), key=lambda a: a.width_bytes)
    assert figure(single) == ("store", 4, 1, 2, 1)
    assert figure(double) == ("store", 8, 1, 4, 2)
    assert double.array.name == "__smem_d"


def test_shared_memory_given_to_a_function_nobody_read_is_said():
    (k,) = facts_of(kernel("elsewhere(s, t);\ns[t] = 1;")).kernels
    assert [n.reason.code for n in k.not_analysed] == ["not-declared"]
    assert len(k.accesses) == 1


def test_recursion_without_an_end_is_bounded_and_said():
    text = kernel(
        "s[loop(t)] = 1;", before="__device__ int loop(int x) { return loop(x + 1) + 1; }"
    )
    (k,) = facts_of(text).kernels
    undecided = [a.reason for a in k.accesses if not a.certainty.is_decided]
    assert undecided or [n.reason for n in k.not_analysed]


def test_loads_stores_and_compound_assignments_are_told_apart():
    text = kernel("s[t] = s[t + 1];\ns[t * 2] += 1;\ns[t]++;\ng[t] = s[t] ? s[t + 32] : 0;")
    found = [(a.span.line, str(a.kind)) for a in accesses_of(text)]
    assert found == [
        (5, "store"), (5, "load"), (6, "load"), (6, "store"), (7, "load"), (7, "store"),
        (8, "load"), (8, "load"),
    ]  # fmt: skip


def test_addresses_and_sizes_are_no_accesses():
    assert accesses_of(kernel("float *p = &s[t]; int n2 = sizeof(s[0]); p = s; (void)p;")) == []


def test_a_whole_struct_is_split_into_its_members():
    text = kernel("s[t] = P{1, 2};", shared="P s[64]", before="struct P { float a, b; };")
    total = sum(a.instructions * a.width_bytes for a in accesses_of(text))
    assert total == 8


@pytest.mark.parametrize(
    ("before", "use", "found"),
    [
        ("__device__ float &at(float *p, int i) { return p[i * 2]; }", "float v = at(s, t);\ng[t] = v;", [("load", 2)]),
        ("__device__ const float &at(float *p, int i) { return p[i * 2]; }", "g[t] = at(s, t) * 2.f;", [("load", 2)]),
        ("__device__ float &at(float *p, int i) { return p[i * 2]; }", "at(s, t) += 1.f;", [("load", 2), ("store", 2)]),
        ("__device__ float &at(float *p, int i) { return p[i * 2]; }", "float &x = at(s, t); g[t] = x;", [("load", 2)]),
        ("__device__ float &at(float *p, int i) { return p[i * 2]; }", "g[t] = fmaxf(at(s, t), 3.f);", [("load", 2)]),
        ("__device__ float &twice(float &x) { x *= 2.f; return x; }", "twice(s[t * 4]);", [("load", 4), ("store", 4)]),
        ("struct View { float *p; __device__ float &operator()(int i) { return p[i * 8]; } };", "View v{s}; g[t] = v(t);", [("load", 8)]),
        ("struct View { float *p; __device__ const float &get(int i) const { return p[i * 8]; } };", "View v{s}; g[t] = v.get(t);", [("load", 8)]),
        ("", "auto at = [&](int i) -> float & { return s[i * 16]; }; g[t] = at(t);", [("load", 16)]),
        ("", "auto at = [&](int i) -> float & { return s[i * 16]; }; at(t) = 1.f;", [("store", 16)]),
        ("", "auto at = [&](int i) -> float * { return &s[i * 16]; }; *at(t) = 1.f;", [("store", 16)]),
    ],
)  # fmt: skip
def test_a_returned_reference(before, use, found):
    """Kinds and wavefronts as in the SASS of nvcc 13.0.88 (sm_90), line by line."""
    accesses = {(str(a.kind), a.wavefronts.mean) for a in accesses_of(kernel(use, before=before))}
    assert accesses == set(found)


@pytest.mark.parametrize(
    ("member", "use", "element"),
    [
        ("float *operator[](int i) { return p + i * 4; }", "v[t][2] = 1;", lambda t: 4 * t + 2),
        ("float &operator[](int i) { return p[i * 2]; }", "v[t + 1] = 1;", lambda t: 2 * t + 2),
        ("int operator[](int i) { return i * 3; }", "s[v[t]] = 1;", lambda t: 3 * t),
        ("int operator[](int i) { return i * 3; }", "int i = t; s[v[i++]] = 1;", lambda t: 3 * t),
    ],
)
def test_subscript_operators(member, use, element):
    access = only(f"View v{{s}}; {use}", before=f"struct View {{ float *p; __device__ {member} }};")
    assert lanes(access) == expected_lanes(element, 32)


MATRIX = """
struct Row { float v[8]; __device__ float &operator[](int i) { return v[i]; } };
struct Matrix { Row rows[4]; __device__ Row &operator[](int i) { return rows[i]; } };
struct Both { int n; Matrix m; };
__device__ void by_reference(Matrix &m, int i) { m[i / 8][i % 8] = 1.f; }
__device__ void row_by_reference(Row &row, int i) { row[i % 8] = 1.f; }
__shared__ Matrix m;
__shared__ Both both;
"""


@pytest.mark.parametrize(
    ("use", "element"),
    [
        ("m[t / 8][t % 8] = 1.f;", lambda t: t),
        ("by_reference(m, t);", lambda t: t),
        ("row_by_reference(m[2], t);", lambda t: 16 + t % 8),
        ("both.m[t / 8][t % 8] = 1.f;", lambda t: 1 + t),
        ("Matrix *p = &m; (*p)[t / 8][t % 8] = 1.f;", lambda t: t),
    ],
)
def test_subscript_operators_of_places_load_nothing(use, element):
    """What is indexed is no variable of the class itself; its `operator[]` is called even so.

    A load of the whole matrix was recorded in its place, and no store.
    """
    access = only(use, before=MATRIX)
    assert str(access.kind) == "store"
    assert lanes(access) == expected_lanes(element, 32)


TILE = """
template <class T, int R, int C> struct Tile {
  T v[R * C];
  __device__ T &operator()(int r, int c) { return v[r * C + c]; }
};
struct Two { int n; Tile<float, 4, 8> a; };
__device__ void by_reference(Tile<float, 4, 8> &s, int i) { s(i / 8, i % 8) = 1.f; }
__shared__ Tile<float, 4, 8> tile;
__shared__ Tile<float, 4, 8> several[2];
__shared__ Two two;
"""


@pytest.mark.parametrize(
    ("use", "element"),
    [
        ("tile(t / 8, t % 8) = 1.f;", lambda t: t),
        ("by_reference(tile, t);", lambda t: t),
        ("several[1](t / 8, t % 8) = 1.f;", lambda t: 32 + t),
        ("two.a(t / 8, t % 8) = 1.f;", lambda t: 1 + t),
        ("Tile<float, 4, 8> *p = &tile; (*p)(t / 8, t % 8) = 1.f;", lambda t: t),
    ],
)
def test_call_operators_of_places_load_nothing(use, element):
    """A load of all that the object holds was recorded beside the store, of a member nothing."""
    access = only(use, before=TILE)
    assert str(access.kind) == "store"
    assert lanes(access) == expected_lanes(element, 32)


CONSTANT = """
struct Row {
  float v[64];
  __device__ float operator[](int i) const { return v[i]; }
  __device__ float &operator[](int i) { return v[i]; }
  __device__ float operator()(int i) const { return v[i]; }
  __device__ float &operator()(int i) { return v[i]; }
  __device__ float at(int i) const { return v[i]; }
  __device__ float &at(int i) { return v[i]; }
};
struct Header { int n; };
struct Numbered : Header, Row {};
__shared__ Row row;
__shared__ Numbered numbered;
"""


@pytest.mark.parametrize("use", ["row[2 * t] = 1;", "row(2 * t) = 1;", "row.at(2 * t) = 1;"])
def test_operators_of_constant_objects_are_others(use):
    """The first one, which returns a value, was called: the store was a load."""
    access = only(use, before=CONSTANT)
    assert str(access.kind) == "store"
    assert lanes(access) == expected_lanes(lambda t: 2 * t, 32)


@pytest.mark.parametrize("use", ["numbered[t] = 1;", "numbered(t) = 1;", "numbered.at(t) = 1;"])
def test_operators_are_inherited(use):
    """All of the object was recorded as loaded, and nothing as stored."""
    access = only(use, before=CONSTANT)
    assert str(access.kind) == "store"
    assert lanes(access) == expected_lanes(lambda t: 1 + t, 32)


BYTES = """
template <int N> struct Bytes { using type = char; };
template <> struct Bytes<8> { using type = uint2; };
template <> struct Bytes<16> { using type = uint4; };
template <class T, int N> struct Vec {
  __device__ void put(T *p, int i) { p[2 * i] = T(0); }
};
template <int N> struct Vec<float, N> {
  __device__ void put(float *p, int i) { p[4 * i] = 0.f; }
};
template <class T> struct Vec<T, 1> {
  __device__ void put(T *p, int i) { p[i] = T(0); }
};
template <class T, int N> struct Vec<T *, N> {
  __device__ void put(T *p, int i) { p[8 * i] = T(0); }
};
"""


@pytest.mark.parametrize(
    ("call", "element"),
    [
        ("Vec<int, 4> v; v.put(s, t);", lambda t: 2 * t),
        ("Vec<float, 4> v; v.put((float *)s, t);", lambda t: 4 * t),
        ("Vec<int, 1> v; v.put(s, t);", lambda t: t),
        ("Vec<int *, 4> v; v.put(s, t);", lambda t: 8 * t),
    ],
)
def test_a_specialization_has_members_of_its_own(call, element):
    assert lanes(only(call, before=BYTES)) == expected_lanes(element, 32)


@pytest.mark.parametrize(("size", "width"), [(4, 1), (8, 8), (16, 16)])
def test_a_specialization_is_chosen_by_a_computed_value(size, width):
    body = (
        f"constexpr int n = {size}; using V = typename Bytes<n / 2 * 2>::type; ((V *)s)[t] = V();"
    )
    assert only(body, before=BYTES).width_bytes == width


def test_a_member_behind_one_of_unknown_size_is_decided_where_its_place_does_not_matter():
    """All figures are the same wherever the members begin, as long as their types are aligned."""
    text = """
template <class T> struct Storage {
  typename T::Unknown tensors; unsigned base; float tile[32][32]; float wide[32][33]; char bytes[64];
};
template <class T> __global__ void k(float *o) {
  extern __shared__ char buf[];
  Storage<T> &s = *reinterpret_cast<Storage<T> *>(buf);
  s.base = 1;
  s.tile[threadIdx.x][0] = 1.f;
  s.wide[threadIdx.x][0] = 1.f;
  s.bytes[threadIdx.x] = 1;
}
struct N;
void go(float *o) { k<N><<<1, 32>>>(o); }
"""
    found = {a.span.line: a for a in accesses_of(text)}
    assert {n: a.ways for n, a in found.items() if n < 11} == {8: 1, 9: 32, 10: 1}
    # 32 bytes lie in 8 or in 9 words: one wavefront, too.
    assert found[11].ways == 1


VEC = """
template <typename T, int G> struct Dot {
  template <typename V, int N> static __device__ float of(const V (&q)[N], int t) { return q[t * G]; }
};
template <typename T> struct Unread;
"""


def test_a_static_function_of_a_class_template_is_followed():
    access = only("g[t] = Dot<float, 2>::of(s, t);", before=VEC.replace("\n", " "))
    assert figure(access) == ("load", 4, 1, 2, 1)


def test_a_type_that_was_not_read_and_is_given_shared_memory_is_noted():
    text = kernel("g[t] = Unread<float>(s).sum();", before=VEC.replace("\n", " "))
    (facts,) = facts_of(text).kernels
    assert not facts.accesses
    assert [(n.span.line, n.reason.code) for n in facts.not_analysed] == [(5, "not-declared")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "value", ["a->x", "a->missing", "a->f()", "a->missing()", "A39::missing()"]
)
def test_bases_that_many_paths_lead_to_are_searched_once(value):
    bases = "\n".join(f"struct A{k} : A{k - 1}, A{k - 1} {{}};" for k in range(1, 40))
    source = "struct A0 { float x; __device__ float f() { return x; } };\n" + bases
    source += f"""
    __global__ void k(float *o, A39 *a) {{
      __shared__ float s[64];
      s[threadIdx.x * 2] = {value};
    }}
    void f(float *o, A39 *a) {{ k<<<1, 32>>>(o, a); }}
    """
    assert [a.wavefronts.mean for a in accesses_of(source)] == [2]


@pytest.mark.parametrize(
    ("body", "kind", "instructions", "wavefronts"),
    [
        ("m[t % 32][t / 32] = 1;", "store", 1, 1),
        ("h.m[t][2] = 3;", "store", 1, 1),
        ("h.v.at(t * 2) = 4;", "store", 1, 2),
        ("m.at(t).at(3) = o[5];", "store", 1, 1),
        ("m.back().front() = o[7];", "store", 1, 1),
        ("auto p = &h.v; (*p)[t * 2] = o[5];", "store", 1, 2),
        ("auto p = &h.v; p->at(t * 2) = o[5];", "store", 1, 2),
        ("auto p = &m[t]; o[t] = p->back();", "load", 1, 1),
        ("auto &row = m[t / 32 + 1]; o[t] = row[t % 32];", "load", 1, 1),
        ("o[t] = m[t][7];", "load", 1, 1),
        ("float x = 0; for (auto &r : m) x += r[t]; o[t] = x;", "load", 32, 1),
    ],
)
def test_elements_of_standard_arrays_of_arrays(body, kind, instructions, wavefronts):
    """SASS of nvcc 13.0.88, sm_90, -O3: one instruction each, 32 rows of the loop unrolled."""
    text = f"""struct Holder {{ std::array<std::array<float, 33>, 32> m; std::array<float, 64> v; }};
    __global__ void k(float *o) {{ int t = threadIdx.x; __shared__ Holder h;
      __shared__ std::array<std::array<float, 33>, 32> m; {body} }}
    void run(float *o) {{ k<<<1, 32>>>(o); }}"""
    (access,) = accesses_of(text)
    found = access.kind.value, access.width_bytes, access.instructions, access.wavefronts.mean
    assert found == (kind, 4, instructions, wavefronts)


def test_other_methods_of_standard_arrays_in_shared_memory_are_noted():
    text = """__global__ void k(float *o) { __shared__ std::array<float, 64> v; v.fill(1); o[0] = v.size(); }
    void run(float *o) { k<<<1, 32>>>(o); }"""
    (kernel,) = facts_of(text).kernels
    assert kernel.accesses == ()
    assert [n.reason.code for n in kernel.not_analysed] == ["not-declared"]
