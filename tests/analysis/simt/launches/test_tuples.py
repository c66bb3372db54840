"""Shapes in `std::tuple` and `std::pair`, and in braces that a call passes.

Each expression is 96 where g++ 12.2 runs it.
"""

from __future__ import annotations

import pytest
from conftest import accesses_of, facts_of

BEFORE = """
__global__ void k(float *o) {
  __shared__ float s[1024];
  s[threadIdx.x] = o[0];
  __syncthreads();
  o[0] = s[threadIdx.x ^ 1];
}
std::tuple<dim3, dim3> shapes(int t) { dim3 b(t); return std::make_tuple(dim3(4), b); }
std::tuple<int, int> listed(int t) { return {4, t}; }
std::pair<int, int> wider(size_t t) { return std::make_pair(4, t); }
auto deduced(int t) { return std::make_tuple(1, t, 7); }
std::array<int, 2> both(int t) { return {t, 2}; }
struct Shape { int warps; int lanes = 32; };
int size_of(Shape s) { return s.warps * s.lanes; }
int of_const(const Shape &s, int n = 1) { return s.warps * s.lanes * n; }
unsigned of_dim(dim3 grid, dim3 block) { return block.x; }
"""


@pytest.mark.parametrize(
    ("statements", "size"),
    [
        ("auto [g, b] = shapes(96);", "b"),
        ("auto [g, b] = listed(96);", "b"),
        ("const auto [g, b] = wider(96);", "b"),
        ("auto &&[g, b, c] = deduced(96);", "b"),
        ("auto [b, c] = both(96);", "b"),
        ("auto t = shapes(96);", "std::get<1>(t)"),
        ("std::tuple<dim3, dim3> t = shapes(96);", "std::get<1>(t).x"),
        ("dim3 g, b; std::tie(g, b) = shapes(96);", "b"),
        ("int g, b; std::tie(g, b) = wider(96);", "b"),
        ("std::tuple<int, int> t(3, 96);", "std::get<1>(t)"),
        ("std::tuple<int, int> t{3, 96};", "std::get<1>(t)"),
        ("std::pair<int, int> p{3, 96};", "p.second"),
        ("std::pair<int, int> p; p.first = 96;", "p.first"),
        ("std::pair<int, int> p; p = std::make_pair(1L, 96L);", "p.second"),
        ("auto p = wider(96);", "p.second"),
        ("int g, b; auto t = std::tie(g, b); std::get<1>(t) = 96;", "b"),
        ("auto t = std::make_tuple(3, 32);", "std::apply([](int a, int b) { return a * b; }, t)"),
        ("", "size_of({3})"),
        ("", "size_of({12, 8})"),
        ("", "of_const({3, 16}, 2)"),
        ("", "of_dim({1, 2}, {96, 2})"),
        ("", "of_dim({}, 96)"),
        ("auto f = [](Shape s) { return s.warps * s.lanes; };", "f({3})"),
    ],
)
def test_elements_tell_the_block(statements, size):
    facts = facts_of(f"{BEFORE}void f() {{ {statements} k<<<1, {size}>>>(nullptr); }}")
    (kernel,) = facts.kernels
    assert kernel.instance.block == (96, 1, 1)
    assert kernel.instance.place is not None


@pytest.mark.parametrize(
    ("shared", "body", "found"),
    [
        ("cub::KeyValuePair<int, double> s[256]", "s[t].key = 3;", [(4, 4)]),
        ("thrust::pair<int, short> s[256]", "s[t].second = 3;", [(2, 2)]),
        ("cuda::std::tuple<char, float> s[256]", "cuda::std::get<1>(s[t]) = 3;", [(4, 2)]),
        ("std::iterator_traits<double *>::value_type s[256]", "s[2 * t] = 3;", [(8, 4)]),
    ],
)
def test_classes_of_libraries_have_sizes(shared, body, found):
    """Widths and wavefronts of nvcc 13.0, sm_90."""
    accesses = accesses_of(f"""
__global__ void k(float *o) {{ __shared__ {shared}; int t = threadIdx.x; {body} }}
void f(float *o) {{ k<<<1, 32>>>(o); }}
""")
    assert [(a.width_bytes, a.wavefronts.mean) for a in accesses] == found
