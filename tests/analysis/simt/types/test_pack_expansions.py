"""Folds, expansions in lists and index sequences: the stride follows from the elements."""

import pytest
from conftest import accesses_of
from strides import access_of

TEXT = """
template <class... T> __device__ int sum(T... t) { return (t + ...); }
template <class... T> __device__ int with_init(T... t) { return (1 + ... + t); }
template <class... T> __device__ int left(T... t) { return (... - t); }
template <class... T> __device__ int right(T... t) { return (t - ...); }
template <int... I> __device__ int numbers() { return (I + ... + 0); }
template <int... I> __device__ int steps() { int r = 1; ((r *= I), ...); return r; }
template <class... T> __device__ int sizes() { int n = 0; ((n += sizeof(T)), ...); return n; }
template <class... T> __device__ int deduced(T... t) { return (sizeof(T) + ...); }
template <int... I> __device__ int last() { constexpr int a[] = {I...}; return a[sizeof...(I) - 1]; }
template <int... I> __device__ int doubled() { int a[] = {I * 2 ...}; return a[0] + a[1]; }
template <bool... B> __device__ int all() { return (B && ...) ? 8 : 2; }
template <bool... B> __device__ int any() { return (B || ...) ? 8 : 2; }
template <class F, size_t... I> __device__ int over(F f, std::index_sequence<I...>) {
  return (f(I) + ...); }
template <int N, class F> __device__ int times(F f) { return over(f, std::make_index_sequence<N>{}); }
template <int... I> __device__ int of(std::integer_sequence<int, I...>) { return (I + ...); }
__device__ int twice(int x) { return 2 * x; }
template <class... T> __device__ int mapped(T... t) { return sum(twice(t)...); }
struct In { int x = 2, y = 4; };
struct P { int a; int b = 8; In in; int c[2] = {16, 2}; };
__device__ P one() { P p{1}; return p; }
__device__ P named() { P p = {.a = 16, .in = {.y = 2}}; return p; }
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("sum(1, 1, 2)", 4), ("with_init(4, 3)", 8), ("left(8, 2, 2)", 4), ("right(8, 2, 2)", 8),
        ("numbers<1, 2, 5>()", 8), ("numbers<>() + 2", 2), ("steps<2, 4>()", 8),
        ("sizes<int, float, double>()", 16), ("deduced(1, 1.0, 'a', 'a', (short)1)", 16),
        ("last<1, 2, 16>()", 16), ("doubled<1, 3>()", 8), ("all<true, true>()", 8),
        ("all<true, false>()", 2), ("any<false, true>()", 8), ("any<false>()", 2),
        ("times<3>([](int i) { return i; }) + 1", 4),
        ("of(std::integer_sequence<int, 3, 5>{})", 8), ("mapped(1, 3)", 8),
        ("one().b", 8), ("one().in.y", 4), ("one().c[0]", 16), ("named().a", 16),
        ("named().b", 8), ("named().in.x", 2), ("named().in.y", 2), ("named().c[1]", 2),
    ],
)  # fmt: skip
def test_elements_are_put_together(index, expected):
    assert access_of(TEXT, index).wavefronts.mean == expected


@pytest.mark.parametrize("index", ["(unread<1>() + ...)", "times<unread>(twice)"])
def test_packs_that_are_not_known_are_not_guessed(index):
    assert access_of(TEXT, index).wavefronts is None


def test_a_fold_launches_once_for_each_element():
    text = """template <int N> __global__ void k() { __shared__ int s[4096]; s[N * threadIdx.x] = 1; }
    template <int... N> void all() { (k<N><<<1, 32>>>(), ...); }
    int main() { all<4, 8>(); }"""
    assert sorted(a.wavefronts.mean for a in accesses_of(text)) == [4, 8]
