"""Types are worked out once a unit: what is remembered never answers for other bindings."""

from __future__ import annotations

import pytest
from conftest import facts_of


def strides(text: str) -> list[tuple[str, int, float]]:
    """(instance, line, wavefronts) of every access."""
    return [
        (k.instance.title, a.line, a.wavefronts.mean)
        for k in facts_of(text).kernels
        for a in k.accesses
        if a.wavefronts is not None
    ]


def test_one_spelling_has_a_size_for_each_instance() -> None:
    found = strides("""
template <class T> struct Row { T cells[33]; };
template <class T> __global__ void k(float *out) {
  __shared__ Row<T> rows[32];
  out[threadIdx.x] = rows[threadIdx.x].cells[0];
}
void f(float *out) {
  k<float><<<1, 32>>>(out);
  k<short><<<1, 32>>>(out);
  k<double><<<1, 32>>>(out);
}
""")
    assert found == [("k<float>", 5, 1.0), ("k<short>", 5, 1.0), ("k<double>", 5, 2.0)]


@pytest.mark.parametrize(("rows", "expected"), [((32, 33), [32.0, 1.0]), ((33, 32), [1.0, 32.0])])
def test_a_constant_of_a_block_is_that_block_s(
    rows: tuple[int, int], expected: list[float]
) -> None:
    first, second = rows
    found = strides(f"""
template <class T, int N> struct Row {{ T cells[N]; }};
__global__ void k(float *out) {{
  __shared__ float s[33 * 32];
  {{
    constexpr int N = {first};
    Row<float, N> *rows = reinterpret_cast<Row<float, N> *>(s);
    out[0] = rows[threadIdx.x].cells[0];
  }}
  {{
    constexpr int N = {second};
    Row<float, N> *rows = reinterpret_cast<Row<float, N> *>(s);
    out[1] = rows[threadIdx.x].cells[0];
  }}
}}
void f(float *out) {{ k<<<1, 32>>>(out); }}
""")
    assert [w for _, _, w in found] == expected


def test_constants_of_a_class_template_are_those_of_its_arguments() -> None:
    found = strides("""
template <int N> struct Traits {
  static constexpr int kPadded = N + 1;
  struct Storage { float tile[32][kPadded]; };
};
template <class Traits> __global__ void k(float *out) {
  __shared__ typename Traits::Storage s;
  out[threadIdx.x] = s.tile[threadIdx.x][0];
}
void f(float *out) {
  k<Traits<31>><<<1, 32>>>(out);
  k<Traits<32>><<<1, 32>>>(out);
}
""")
    assert found == [("k<Traits<31>>", 8, 32.0), ("k<Traits<32>>", 8, 1.0)]


def test_an_alias_that_names_itself_means_the_outer_one_each_time() -> None:
    found = strides("""
struct Wide { using Element = double; };
template <class T> struct Policy { using Element = typename T::Element; };
template <class T> __global__ void k(float *out) {
  using Element = typename Policy<T>::Element;
  __shared__ Element s[64];
  out[threadIdx.x] = s[threadIdx.x * 2];
}
void f(float *out) {
  k<Wide><<<1, 32>>>(out);
  k<Wide><<<1, 64>>>(out);
}
""")
    assert [w for _, _, w in found] == [4.0, 4.0]


def test_the_members_of_a_class_are_its_own_and_its_bases():
    """Another class's `Storage` was taken: CUTLASS had accesses outside of 16 bytes."""
    text = """
struct Other { struct Storage { float s[4]; }; };
template <class T> struct Base { struct Storage { T s[64]; }; };
template <class T> struct Derived : Base<T> { };
struct Bare { int n; };
template <class T> __global__ void k(float *g) {
  __shared__ typename T::Storage shared;
  shared.s[threadIdx.x * 2] = g[0];
}
void f(float *g) { k<Derived<double>><<<1, 32>>>(g); k<Bare><<<1, 32>>>(g); }
"""
    found = {k.instance.title: k.accesses for k in facts_of(text).kernels}
    assert [a.array.bytes for a in found["k<Derived<double>>"]] == [512]
    assert [a.array.bytes for a in found["k<Bare>"]] == [None]
