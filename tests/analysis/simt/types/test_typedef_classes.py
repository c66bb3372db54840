"""Classes without a name that a `typedef` names: each is a class of its own, with its methods.

All had the same empty name: of the instances of a kernel for several of them one was evaluated, and
nothing said so. 11 of 18 launches of a program were lost (nvcc 13.0, launches logged).
"""

from __future__ import annotations

import pytest
from conftest import facts_of

TYPES = """
typedef struct { float x; } A;
typedef struct __align__(8) { float x, y; } B;
typedef struct { float x, y, z, w; } __attribute__((aligned(16))) C;
typedef union { double x; int i; } D;
typedef struct E_ { float x, y, z; } E;
using F = struct { double x, y; };
namespace s { typedef struct { float x; } W; } namespace t { typedef struct { double x; } W; }
struct O { typedef struct { float a[4]; } I; };
template <class T> __global__ void k(T *o) {
  __shared__ T s[64];
  s[threadIdx.x] = o[threadIdx.x];
}
template <class T> void run(void *o) { k<T><<<1, 32>>>((T *)o); }
"""


def instances(calls):
    kernels = facts_of(f"{TYPES} int main() {{ {calls} }}").kernels
    return {k.instance.template[0][1] for k in kernels}


def test_each_class_is_an_instance():
    names = ["A", "B", "C", "D", "E", "F", "s::W", "t::W", "O::I"]
    found = instances("".join(f"run<{name}>(0);" for name in names))
    assert len(found) == len(names)


def test_classes_of_a_function_are_told_apart():
    found = instances(
        "typedef struct { float a; } P; typedef struct { double a; } Q; run<P>(0); run<Q>(0);"
    )
    assert found == {"P", "Q"}


@pytest.mark.parametrize(
    "head", ["typedef struct {", "typedef struct S_ {", "typedef struct __align__(4) {"]
)
def test_methods_are_found(head):
    kernel = f"""
    {head} int n; __device__ int f() const {{ return 4; }} }} S;
    __global__ void k(S p) {{ __shared__ float s[256]; s[threadIdx.x * p.f()] = 1.0f; }}
    void run(S p) {{ k<<<1, 32>>>(p); }}
    """
    (found,) = facts_of(kernel).kernels
    assert [a.wavefronts.mean for a in found.accesses] == [4]
