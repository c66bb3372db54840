"""A class that a launch gives is the one that the kernel's code names: host code worked it out, too."""

from __future__ import annotations

import pytest
from conftest import facts_of

HEAD = """
#include <type_traits>
struct A { int x; };
struct B { int x; };
template <class T> struct Box { T x; };
template <class T, int N> struct Row { T x[N]; };
template <class P> struct Is { static constexpr int v = 32; };
template <> struct Is<A> { static constexpr int v = 33; };
template <> struct Is<Box<int>> { static constexpr int v = 33; };
template <> struct Is<Row<A, 2>> { static constexpr int v = 33; };
template <> struct Is<A *> { static constexpr int v = 33; };
template <class P> __device__ int pitch() { return 32; }
template <> __device__ int pitch<A>() { return 33; }
template <> __device__ int pitch<Box<int>>() { return 33; }
template <> __device__ int pitch<Row<A, 2>>() { return 33; }
template <> __device__ int pitch<A *>() { return 33; }
template <class P> constexpr bool is_any = std::is_same<P, A>::value || std::is_same_v<P, Box<int>>
    || std::is_same_v<P, Row<A, 2>> || std::is_same_v<P, A *>;
template <class P> __device__ int of(P x) { return 32; }
__device__ int of(A x) { return 33; }
__device__ int of(Box<int> x) { return 33; }
__device__ int of(Row<A, 2> x) { return 33; }
"""
PITCHES = ("Is<P>::v", "pitch<P>()", "(is_any<P> ? 33 : 32)", "of(*out)")


@pytest.mark.parametrize("pitch", PITCHES)
@pytest.mark.parametrize("named", ["A", "Box<int>", "Row<A, 2>", "A *"])
def test_a_class_that_is_named(named, pitch):
    is_left = named == "A *" and pitch.startswith("of(")  # no overload takes it
    assert figures(named, pitch) == [32.0 if is_left else 1.0]


@pytest.mark.parametrize("pitch", PITCHES)
@pytest.mark.parametrize("other", ["B", "Box<float>", "Box<A>", "Row<A, 3>", "Row<B, 2>", "B *"])
def test_another_class(other, pitch):
    assert figures(other, pitch) == [32.0]


def figures(named, pitch):
    text = f"""{HEAD}template <class P> __global__ void k(P *out) {{
  __shared__ float tile[32 * 64];
  tile[threadIdx.x * {pitch}] = 1;
}}
void run(void *g) {{ k<{named}><<<1, 32>>>(0); }}
"""
    (kernel,) = facts_of(text).kernels
    return [access.wavefronts.mean for access in kernel.accesses]
