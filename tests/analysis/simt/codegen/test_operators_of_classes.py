"""What operators of classes read of their operands: SASS of nvcc 13.5.37, sm_90, -O3."""

from __future__ import annotations

import pytest
from conftest import accesses_of

from smemlint.facts import AccessKind

CLASSES = """
struct V { float x, y, z, w; };
__device__ V operator+(V a, V b) {
  V r; r.x = a.x + b.x; r.y = a.y + b.y; r.z = a.z + b.z; r.w = a.w + b.w; return r;
}
__device__ V operator*(V a, float b) { return {a.x * b, a.y * b, a.z * b, a.w * b}; }
__device__ V operator*(V a, V b) { return V{a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__device__ V operator%(V a, V b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, 0};
}
__device__ float operator^(V a, V b) { return a.x * b.x + a.y * b.y; }
__device__ void operator+=(V &a, V b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }
__device__ V &operator-=(V &a, const V &b) {
  a.x -= b.x; a.y -= b.y; a.z -= b.z; a.w -= b.w; return a;
}
struct alignas(8) D {
  float x, y;
  __device__ D operator+(D o) const { D r; r.x = this->x + o.x; r.y = y + o.y; return r; }
  __device__ D operator*(D o) const { return {x * o.x - y * o.y, x * o.y + y * o.x}; }
  __device__ D &operator+=(D o) { x += o.x; y += o.y; return *this; }
};
"""
KERNEL = """
__global__ void __launch_bounds__(64) k(float *o, const float *p) {
  __shared__ __align__(16) %s s[128];
  int t = threadIdx.x;
  %s
}
void f(float *o) { k<<<1, 64>>>(o, o); }
"""


@pytest.mark.parametrize(
    ("name", "body", "loads"),
    [
        ("V", "o[t] = (s[t] + s[t + 32]).x;", {(4, 2)}),
        ("V", "float v = (s[t] + s[t + 32]).y; o[t] = v;", {(4, 2)}),
        ("V", "V a = s[t], b = s[t + 32], r = a + b; o[t] = r.z + r.w;", {(8, 2)}),
        ("V", "V r = s[t] * 2.f + s[t + 32]; o[t] = r.y;", {(4, 2)}),
        ("V", "V r = s[t] * s[t + 32]; o[t] = r.x + r.y + r.z;", {(16, 2)}),
        ("V", "V a = s[t], b = s[t + 32], r = a % b; o[t] = r.x;", {(4, 4)}),
        ("V", "V r = (s[t] + s[t + 32]) % s[t + 64]; o[t] = r.z;", {(8, 3)}),
        ("V", "V a = s[t], b = s[t + 32]; float d = a ^ b; o[t] = d;", {(8, 2)}),
        ("V", "V a = s[t]; a += s[t + 32]; o[t] = a.w;", {(4, 2)}),
        ("V", "V a = s[t], b = s[t + 32]; a -= b; o[t] = a.w;", {(4, 2)}),
        ("V", "V a = {0, 0, 0, 0}; for (int i = 0; i < 8; i++) a += s[t + i] * p[i]; o[t] = a.x;", {(4, 8)}),
        ("V", "V a = {0, 0, 0, 0}; for (int i = 0; i < 8; i++) a = a + s[t + i]; o[t] = a.x;", {(4, 8)}),
        ("V", "V r; r = s[t] * 3.f; V q = r + s[t + 32]; o[t] = q.z;", {(4, 2)}),
        ("V", "V r = s[t] + s[t + 32], q = r; r = q * q; o[t] = r.w;", {(4, 2)}),
        ("V", "V r = s[t] + s[t + 32]; V *q = &r; o[t] = r.x + q->y;", {(8, 2)}),
        ("V", "V r = s[t] + s[t + 32]; ((V *)o)[t] = r;", {(16, 2)}),
        ("D", "D a = s[t], b = s[t + 32]; o[t] = (a + b).y;", {(4, 2)}),
        ("D", "D a = s[t], b = s[t + 32]; o[t] = (a * b).y;", {(8, 2)}),
        ("D", "D a = s[t]; a += s[t + 32]; o[t] = a.y;", {(4, 2)}),
    ],
)  # fmt: skip
def test_operands_are_loaded_as_far_as_the_result_is_read(name, body, loads):
    found = accesses_of(CLASSES + KERNEL % (name, body))
    made = [a for a in found if a.kind is AccessKind.LOAD and a.instructions]
    assert {a.width_bytes for a in made} == {width for width, _ in loads}
    assert sum(a.instructions for a in made) == sum(2 * count for _, count in loads)


def test_an_operator_that_is_not_known_may_read_all():
    classes = "struct V { float x, y, z, w; }; template <class T> __device__ T operator+(T a, T b);"
    found = accesses_of(classes + KERNEL % ("V", "V r = s[t] + s[t + 32]; o[t] = r.x;"))
    assert {a.width_bytes for a in found} == {16}


MEMBERS = "float x, y, z, w; "
SUMS = "l.x += r.x; l.y += r.y; l.z += r.z; l.w += r.w;"
REDUCTION = """
%s
__global__ void k(%s *o) {
  __shared__ %s s[256];
  int t = threadIdx.x;
  if (t < 128) { %s; }
}
void f() { k<<<1, 256>>>(0); }
"""


@pytest.mark.parametrize(
    ("classes", "name", "statement"),
    [
        ("struct C { %s}; __device__ C &operator+=(C &l, const C &r) { %s return l; }", "C", "s[t] += s[t + 128]"),
        ("struct C { %s}; __device__ C &operator+=(C &l, const C &r) { %s return l; }", "C", "C *p = s + t; *p += p[128]"),
        ("struct C { %sfriend __device__ C &operator+=(C &l, const C &r) { %s return l; } };", "C", "s[t] += s[t + 128]"),
        ("namespace n { struct C { %s__device__ friend void add(C &l, const C &r) { %s } }; }", "n::C", "add(s[t], s[t + 128])"),
        ("struct A { struct C { %sfriend __device__ C &operator-=(C &l, const C &r) { %s return l; } }; };", "A::C", "s[t] -= s[t + 128]"),
        ("template <class T> struct C { %sfriend __device__ C<T> &operator+=(C<T> &l, const C<T> &r) { %s return l; } };", "C<float>", "s[t] += s[t + 128]"),
        ("template <class T> struct C { %sfriend __device__ C &operator+=(C &l, const C &r) { %s return l; } };", "C<float>", "s[t] += s[t + 128]"),
        ("template <class T> struct C { %sfriend __device__ void add(C &l, const C &r) { %s } };", "C<float>", "add(s[t], s[t + 128])"),
    ],
)  # fmt: skip
def test_what_a_function_beside_the_class_does_to_places_is_followed(classes, name, statement):
    """Each member is loaded and stored by itself: a store stands between (4 of 4 bytes, 4-way)."""
    text = REDUCTION % (classes % (MEMBERS, SUMS), name, name, statement)
    found = [a for a in accesses_of(text) if a.instructions]
    assert {(a.width_bytes, a.wavefronts.mean) for a in found} == {(4, 4.0)}
    loads, stores = (
        sum(a.instructions for a in found if a.kind is kind)
        for kind in (AccessKind.LOAD, AccessKind.STORE)
    )
    assert (loads, stores) == (32, 16)


@pytest.mark.parametrize(("align", "width"), [(8, 8), (16, 16)])
def test_what_is_aligned_is_vectorized_across_its_members(align, width):
    classes = f"struct alignas({align}) C {{ {MEMBERS}}};"
    classes += f"__device__ C &operator+=(C &l, const C &r) {{ {SUMS} return l; }}"
    found = accesses_of(REDUCTION % (classes, "C", "C", "s[t] += s[t + 128]"))
    assert {a.width_bytes for a in found if a.instructions} == {width}


@pytest.mark.parametrize(
    "defined",
    [
        "}; __device__ bool operator<(const C &l, const C &r) { return l.y < r.y; }",
        "__device__ bool operator<(const C &r) const { return y < r.y; } };",
        "friend __device__ bool operator<(const C &l, const C &r) { return l.y < r.y; } };",
    ],
)
@pytest.mark.parametrize("test", ["s[t] < s[t + 128]", "*(s + t) < s[t + 128]"])
def test_a_comparison_of_elements_reads_what_its_operator_reads(defined, test):
    """SASS: LDS of four bytes in lanes of 16, 4-way, twice in each of 4 warps."""
    text = REDUCTION % (f"struct C {{ {MEMBERS}{defined}", "C", "C", f"if ({test}) o[t].x = 1")
    found = [a for a in accesses_of(text) if a.instructions]
    assert {(a.width_bytes, a.wavefronts.mean) for a in found} == {(4, 4.0)}
    assert sum(a.instructions for a in found) == 8


def test_elements_that_no_operator_in_sight_compares_are_not_priced():
    classes = "struct C { float x, y; bool operator<(const C &r) const; };"
    classes += "struct D { float x; }; bool operator<(const D &l, const D &r) { return l.x < r.x; }"
    found = accesses_of(REDUCTION % (classes, "C", "C", "if (s[t] < s[t + 128]) o[t].x = 1"))
    assert not [a for a in found if a.instructions]
